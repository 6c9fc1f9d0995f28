"""The store keeps results exactly, apart from each other, and whose they are."""

import math
import os
import sqlite3
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterbalance.trials import CellStore, Fingerprint, StoreError, take_fingerprint
from counterbalance.trials import liveness as liveness_module
from counterbalance.trials.fingerprint import FingerprintError, source_digest
from counterbalance.trials.liveness import LEASE, Life, is_alive, this_life
from counterbalance.trials.store import cell_key

MADE = Fingerprint({"folds": 10, "runs": 3}, "code a", {"numpy": "2.4"})
KEY = cell_key({"data": "glass", "run": 1})


def bits(value):
    return "nan" if math.isnan(value) else value.hex()


@pytest.fixture
def store(tmp_path):
    with CellStore(tmp_path / "cells.sqlite", MADE) as store:
        store.enlist()
        yield store


def test_a_cell_passes_from_claimed_to_done_and_is_not_claimed_again(store):
    assert store.results() == []
    assert store.claim(KEY) is None
    assert store.counts() == {"done": 0, "failed": 0, "running": 1}
    assert store.results() == []
    store.finish(KEY, {"gmean": 0.1}, {"note": [1, "x"]}, 2.5)
    assert store.claim(KEY) == "done"
    (record,) = store.results()
    assert record.cell == {"data": "glass", "run": 1}
    assert record.figures == {"gmean": 0.1}
    assert record.payload == {"note": [1, "x"]}
    assert record.seconds == 2.5


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(), max_size=8))
def test_every_float_comes_back_with_the_same_bits(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("floats") / "cells.sqlite"
    figures = {f"f{place}": value for place, value in enumerate(values)}
    with CellStore(path, MADE) as store:
        store.enlist()
        store.claim(KEY)
        store.finish(KEY, figures, None, 0.0)
    with CellStore(path, MADE) as store:
        (record,) = store.results()
    assert {k: bits(v) for k, v in record.figures.items()} == {
        k: bits(v) for k, v in figures.items()
    }


def test_results_are_given_for_the_cells_asked_for_in_their_order(store):
    for run in range(4):
        key = cell_key({"run": run})
        store.claim(key)
        store.finish(key, {"f": float(run)}, None, 0.0)
    asked = [{"run": 3}, {"run": 9}, {"run": 0}]
    assert [record.cell["run"] for record in store.results(asked)] == [3, 0]
    assert store.frame(asked)["f"].tolist() == [3.0, 0.0]


def test_a_failed_cell_keeps_its_error_and_is_claimed_again_only_for_that_attempt(store):
    store.claim(KEY)
    store.fail(KEY, "ValueError: no", "Traceback ...", 0.1)
    assert store.claim(KEY) == "failed"
    (record,) = store.results()
    assert (record.state, record.error) == ("failed", "ValueError: no")
    assert store.claim(KEY, retry=7) == "failed"
    assert store.claim(KEY, retry=1) is None
    assert store.states()[KEY] == ("running", 2)


def test_a_released_cell_is_free(store):
    store.claim(KEY)
    assert store.release() == 1
    assert store.claim(KEY) is None


def test_a_key_does_not_depend_on_the_order_of_names():
    assert cell_key({"a": 1, "b": "x"}) == cell_key({"b": "x", "a": 1})
    assert cell_key({"a": 1}) != cell_key({"a": "1"})


@pytest.mark.parametrize("cell", [{"a": 1.5}, {"a": None}, {1: "a"}, {"a": True}, {"a": [1]}])
def test_a_cell_of_other_values_is_refused(cell):
    with pytest.raises(StoreError, match="text or whole numbers"):
        cell_key(cell)


# --- fingerprints


def finished(path, fingerprint, value):
    with CellStore(path, fingerprint) as store:
        store.enlist()
        assert store.claim(KEY) is None
        store.finish(KEY, {"f": value}, None, 0.0)


def test_results_of_other_settings_code_or_versions_are_kept_apart_and_never_lost(tmp_path):
    path = tmp_path / "cells.sqlite"
    others = [
        Fingerprint({"folds": 5, "runs": 3}, "code a", {"numpy": "2.4"}),
        Fingerprint({"folds": 10, "runs": 3}, "code b", {"numpy": "2.4"}),
        Fingerprint({"folds": 10, "runs": 3}, "code a", {"numpy": "2.5"}),
    ]
    for value, fingerprint in enumerate([MADE, *others]):
        finished(path, fingerprint, float(value))
    for value, fingerprint in enumerate([MADE, *others]):
        with CellStore(path, fingerprint) as store:
            assert [record.figures for record in store.results()] == [{"f": float(value)}]
    with CellStore(path, MADE) as store:
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


# --- files that are no stores


def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("my notes, long enough to be looked at " * 40)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    for path in (text, other):
        before = path.read_bytes()
        with pytest.raises(StoreError, match="left as it is"):
            CellStore(path, MADE)
        assert path.read_bytes() == before
    with pytest.raises(StoreError, match="folder"):
        CellStore(tmp_path / "nowhere" / "cells.sqlite", MADE)


# --- claims of others


def claim_as(store, life, beat, key=KEY):
    """Let another process claim a cell: rows as it would write them."""
    connection = store._connection
    worker = connection.execute(
        "INSERT INTO worker (host, pid, started, beat) VALUES (?, ?, ?, ?)",
        (life.host, life.pid, life.started, beat),
    ).lastrowid
    connection.execute(
        "INSERT INTO cell (section, key, state, worker, attempt) VALUES (?, ?, 'running', ?, 1)",
        (store._section, key, worker),
    )


def test_a_claim_holds_while_its_process_lives_and_is_taken_over_after(store):
    me = this_life()
    claim_as(store, me, beat=0.0)
    assert store.claim(KEY) == "running"
    other = cell_key({"run": 2})
    claim_as(store, Life(me.host, me.pid, "an earlier process of this number"), time.time(), other)
    if me.started:  # the system tells when a process started
        assert store.claim(other) is None


def test_a_claim_from_another_machine_holds_as_long_as_its_heart_beats(store):
    claim_as(store, Life("elsewhere", 1, "5"), beat=time.time())
    assert store.claim(KEY) == "running"
    other = cell_key({"run": 2})
    claim_as(store, Life("elsewhere", 1, "5"), beat=time.time() - LEASE - 1, key=other)
    assert store.claim(other) is None


def test_a_result_of_a_worker_whose_cell_was_taken_over_is_not_written(store):
    claim_as(store, Life("elsewhere", 1, "5"), beat=time.time())
    store.finish(KEY, {"f": 1.0}, None, 0.0)
    assert store.results() == []


def test_where_the_system_does_not_tell_the_heartbeat_decides(tmp_path, monkeypatch):
    monkeypatch.setattr(liveness_module, "PROC", tmp_path)
    life = this_life()
    assert life.started == ""
    assert is_alive(life, beat=time.time())
    assert not is_alive(life, beat=time.time() - LEASE - 1)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")  # noqa: PTH112
def test_a_process_that_ended_is_dead_even_before_it_is_waited_for():
    child = os.posix_spawn("/bin/sleep", ["sleep", "30"], {})
    life = Life(this_life().host, child, liveness_module._started(child))
    assert is_alive(life, beat=0.0)
    os.kill(child, 9)
    deadline = time.monotonic() + 5
    while is_alive(life, beat=0.0) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(life, beat=0.0)
    os.waitpid(child, 0)
