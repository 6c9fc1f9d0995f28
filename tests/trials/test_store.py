"""The store keeps results exactly, apart from each other, and for one run at a time."""

import math
import os
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.trials import Fingerprint, StoreError, TrialStore, take_fingerprint
from counterbalance.trials.fingerprint import FingerprintError, source_digest
from counterbalance.trials.trial import trial_key

MADE = Fingerprint({"folds": 10, "runs": 3}, "code a", {"numpy": "2.4"})
KEY = trial_key({"data": "glass", "run": 1})


def bits(value):
    return "nan" if math.isnan(value) else value.hex()


@pytest.fixture
def store(tmp_path):
    with TrialStore(tmp_path / "trials.sqlite", MADE) as store:
        yield store


def test_a_trial_is_recorded_once_it_is_done(store):
    assert store.results() == []
    assert store.counts() == {"done": 0, "failed": 0}
    store.finish(KEY, {"gmean": 0.1}, {"note": [1, "x"]}, 2.5)
    assert store.states() == {KEY: "done"}
    assert store.counts() == {"done": 1, "failed": 0}
    (record,) = store.results()
    assert record.trial == {"data": "glass", "run": 1}
    assert record.figures == {"gmean": 0.1}
    assert record.payload == {"note": [1, "x"]}
    assert record.seconds == 2.5


@given(st.lists(st.floats(), max_size=8))
def test_every_float_comes_back_with_the_same_bits(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("floats") / "trials.sqlite"
    figures = {f"f{place}": value for place, value in enumerate(values)}
    with TrialStore(path, MADE) as store:
        store.finish(KEY, figures, None, 0.0)
    with TrialStore(path, MADE) as store:
        (record,) = store.results()
    assert {k: bits(v) for k, v in record.figures.items()} == {
        k: bits(v) for k, v in figures.items()
    }


def test_results_come_in_the_order_of_the_trials_asked_for(store):
    for run in range(4):
        key = trial_key({"run": run})
        store.finish(key, {"f": float(run)}, None, 0.0)
    asked = [{"run": 3}, {"run": 9}, {"run": 0}]
    assert [record.trial["run"] for record in store.results(asked)] == [3, 0]
    assert store.frame(asked)["f"].tolist() == [3.0, 0.0]


def test_a_failed_trial_keeps_its_error_until_it_is_done(store):
    store.fail(KEY, "ValueError: no", "Traceback ...", 0.1)
    assert store.states() == {KEY: "failed"}
    (record,) = store.results()
    assert (record.state, record.error) == ("failed", "ValueError: no")
    store.finish(KEY, {"f": 1.0}, None, 0.1)
    assert store.counts() == {"done": 1, "failed": 0}
    (record,) = store.results()
    assert (record.state, record.error, record.traceback) == ("done", "", "")


def test_a_key_does_not_depend_on_the_order_of_names():
    assert trial_key({"a": 1, "b": "x"}) == trial_key({"b": "x", "a": 1})
    assert trial_key({"a": 1}) != trial_key({"a": "1"})


@pytest.mark.parametrize("trial", [{"a": 1.5}, {"a": None}, {1: "a"}, {"a": True}, {"a": [1]}])
def test_a_trial_with_values_other_than_text_and_whole_numbers_is_refused(trial):
    with pytest.raises(StoreError, match="text or whole numbers"):
        trial_key(trial)


# --- fingerprints


def finished(path, fingerprint, value):
    with TrialStore(path, fingerprint) as store:
        store.finish(KEY, {"f": value}, None, 0.0)


def test_results_of_other_settings_code_or_versions_are_kept_apart_and_never_lost(tmp_path):
    path = tmp_path / "trials.sqlite"
    others = [
        Fingerprint({"folds": 5, "runs": 3}, "code a", {"numpy": "2.4"}),
        Fingerprint({"folds": 10, "runs": 3}, "code b", {"numpy": "2.4"}),
        Fingerprint({"folds": 10, "runs": 3}, "code a", {"numpy": "2.5"}),
    ]
    for value, fingerprint in enumerate([MADE, *others]):
        finished(path, fingerprint, float(value))
    for value, fingerprint in enumerate([MADE, *others]):
        with TrialStore(path, fingerprint) as store:
            assert [record.figures for record in store.results()] == [{"f": float(value)}]
    with TrialStore(path, MADE) as store:
        sections = store.others()
    assert [section.done for section in sections] == [1, 1, 1]
    assert [section.differences for section in sections] == [
        ("settings folds: 5, here 10",),
        ("code: code b, here code a",),
        ("packages numpy: 2.5, here 2.4",),
    ]


def test_a_fingerprint_knows_the_settings_the_source_and_the_versions(tmp_path, monkeypatch):
    tmp_path.joinpath("my_method.py").write_text("a = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = ("my_method",)
    first = take_fingerprint({"folds": 10}, modules=modules)
    assert first == take_fingerprint({"folds": 10}, modules=modules)
    assert first.digest != take_fingerprint({"folds": 9}, modules=modules).digest
    assert {"numpy", "scikit-learn", "python"} <= set(first.packages)
    tmp_path.joinpath("my_method.py").write_text("a = 2\n")
    assert first.digest != take_fingerprint({"folds": 10}, modules=modules).digest
    assert Fingerprint.from_text(first.text) == first


def test_what_cannot_be_fingerprinted_is_refused():
    with pytest.raises(FingerprintError, match="plain JSON"):
        _ = Fingerprint({"f": object()}, "", {}).digest
    with pytest.raises(FingerprintError, match="importable"):
        source_digest(["no_such_module_here"])


# --- files that are not stores


def test_a_file_that_is_not_a_store_is_refused_and_left_as_it_is(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("my notes, long enough to be looked at " * 40)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    for path in (text, other):
        before = path.read_bytes()
        with pytest.raises(StoreError, match="left as it is"):
            TrialStore(path, MADE)
        assert path.read_bytes() == before
    with pytest.raises(StoreError, match="folder"):
        TrialStore(tmp_path / "nowhere" / "trials.sqlite", MADE)


# --- the lock of a run


def test_a_locked_store_names_its_holder_and_can_still_be_read(store):
    store.finish(KEY, {"f": 1.0}, None, 0.0)
    with store.locked(), TrialStore(store.path, MADE) as second:
        assert len(second.results()) == 1
        with pytest.raises(StoreError, match=f"in use by process {os.getpid()} on ") as said:
            second.locked().__enter__()
        assert "wait until that run has ended or stop it" in str(said.value)
    with store.locked():
        pass
    assert not store.path.with_name("trials.sqlite.lock").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"process": 1}', b"\xff" * 5000])
def test_a_lock_file_that_was_left_behind_is_nobodys_lock(store, content):
    lock = store.path.with_name("trials.sqlite.lock")
    lock.write_bytes(content)
    with store.locked():
        lock.write_bytes(content)
        with pytest.raises(StoreError, match="in use by another process; wait"):
            store.locked().__enter__()


def test_a_lock_is_given_back_after_an_error(store):
    with pytest.raises(ZeroDivisionError), store.locked():
        _ = 1 / 0
    with store.locked():
        pass


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
def test_a_link_in_place_of_the_lock_file_is_not_followed(store, tmp_path):
    target = tmp_path / "notes.txt"
    target.write_text("mine")
    store.path.with_name("trials.sqlite.lock").symlink_to(target)
    with pytest.raises(StoreError, match=r"cannot be locked.*plain file"):
        store.locked().__enter__()
    assert target.read_text() == "mine"
