"""A store that was damaged or edited is noticed and named; an old one is brought up to date."""

import os
import random
import sqlite3

import pytest

from counterbalance.trials import StoreError, TrialStore, run
from counterbalance.trials.trial import trial_key
from experiment_trials import FINGERPRINT, compute, make_trials

pytestmark = pytest.mark.slow

MANY = bool(os.environ.get("COUNTERBALANCE_ATTACK"))
TRIALS = make_trials(40)
EDITS = {
    "a figure": "UPDATE trial SET figures = replace(figures, '\"f\": 3.0', '\"f\": 4.0')",
    "a payload": "UPDATE trial SET payload = '[9]' WHERE key LIKE '%3}'",
    "the seconds": "UPDATE trial SET seconds = 0.25 WHERE key LIKE '%3}'",
    "a failure into a success": "UPDATE trial SET state = 'done', figures = '{\"f\": 1.0}', "
    "error = NULL WHERE state = 'failed'",
    "the trial": "UPDATE trial SET key = replace(key, '\"run\": 3}', '\"run\": 99}')",
    "an unknown state": "UPDATE trial SET state = 'maybe' WHERE key LIKE '%3}'",
    "figures that are no JSON": "UPDATE trial SET figures = '{' WHERE key LIKE '%3}'",
    "figures that are no text": "UPDATE trial SET figures = x'ff00' WHERE key LIKE '%3}'",
    "no checksum": "UPDATE trial SET checksum = NULL",
}


@pytest.fixture
def path(tmp_path):
    """A store with results and a failure."""
    path = tmp_path / "trials.sqlite"
    with TrialStore(path, FINGERPRINT) as store:
        for trial in TRIALS:
            key = trial_key(trial)
            if trial["run"] == 5:
                store.fail(key, "ValueError: no", "Traceback", 0.5)
            else:
                store.finish(key, {"f": float(trial["run"])}, [trial["run"]] * 50, 0.5)
    return path


def edit(path, statement):
    connection = sqlite3.connect(path)
    with connection:
        assert connection.execute(statement).rowcount > 0
    connection.close()


@pytest.mark.parametrize("what", EDITS)
def test_an_edited_record_is_noticed_before_and_after_a_run(path, what):
    edit(path, EDITS[what])
    with TrialStore(path, FINGERPRINT) as store:
        with pytest.raises(StoreError, match=r"trials\.sqlite.*remove") as said:
            run(TRIALS, compute, store, progress=False)
        assert "checksum" in str(said.value)
        with pytest.raises(StoreError, match=r"trials\.sqlite.*remove"):
            store.results()


def test_an_untouched_store_is_read_as_it_was_written(path):
    with TrialStore(path, FINGERPRINT) as store:
        assert store.counts() == {"done": 39, "failed": 1}
        assert [record.figures.get("f", 5.0) for record in store.results(TRIALS)] == [
            float(trial["run"]) for trial in TRIALS
        ]


def use(path):
    """Do with a store all that a run does."""
    with TrialStore(path, FINGERPRINT) as store, store.locked():
        store.states()
        for number in range(100, 104):
            store.finish(trial_key({"run": number}), {"f": 1.0}, None, 0.0)
        store.counts()
        store.others()
        return store.results(TRIALS)


@pytest.mark.parametrize("seed", range(200 if MANY else 12))
def test_flipped_bytes_are_harmless_or_name_the_file_and_the_remedy(path, seed):
    chance = random.Random(seed)  # noqa: S311 - places, not secrets
    before = use(path)
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 5, 100])):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    try:
        after, said = use(path), "trials.sqlite: nothing to remove"
    except StoreError as error:
        after, said = [], str(error)
    assert "trials.sqlite" in said
    assert any(word in said for word in ("remove", "give another path"))
    assert {repr(record) for record in after} <= {repr(record) for record in before}


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_store_names_the_file_and_the_remedy(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(StoreError, match=r"trials\.sqlite.*remove"):
        use(path)


@pytest.mark.parametrize("table", ["trial", "section"])
def test_a_store_without_one_of_its_tables_names_the_file_and_the_remedy(path, table):
    connection = sqlite3.connect(path)
    connection.execute(f"DROP TABLE {table}")
    connection.close()
    with pytest.raises(StoreError, match=r"trials\.sqlite.*remove"):
        use(path)


OLD_TABLES = """
CREATE TABLE worker (id INTEGER PRIMARY KEY, host TEXT NOT NULL);
CREATE TABLE cell (
    section INTEGER NOT NULL REFERENCES section, key TEXT NOT NULL, state TEXT NOT NULL,
    worker INTEGER NOT NULL REFERENCES worker, attempt INTEGER NOT NULL, figures TEXT,
    payload TEXT, error TEXT, traceback TEXT, seconds REAL, checksum TEXT,
    PRIMARY KEY (section, key)) WITHOUT ROWID;
INSERT INTO cell SELECT section, key, state, 1, 1, figures, payload, error, traceback, seconds,
    checksum FROM trial;
INSERT INTO cell (section, key, state, worker, attempt) VALUES (1, '{"run": 500}', 'running', 1, 1);
DROP TABLE trial;
"""


def make_old(path, version):
    """Turn a store into one of an earlier version, with a trial that was being computed."""
    connection = sqlite3.connect(path)
    connection.executescript(OLD_TABLES)
    if version == 1:
        connection.execute("ALTER TABLE cell DROP COLUMN checksum")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("version", [1, 2])
def test_a_store_of_an_earlier_version_is_taken_over(path, version):
    with TrialStore(path, FINGERPRINT) as store:
        before = store.results()
    make_old(path, version)
    with TrialStore(path, FINGERPRINT) as store:
        assert store.results() == before
    edit(path, EDITS["a figure"])
    with TrialStore(path, FINGERPRINT) as store, pytest.raises(StoreError, match="checksum"):
        store.results()


def test_a_record_that_was_edited_before_its_store_was_taken_over_is_noticed(path):
    make_old(path, 2)
    edit(path, EDITS["a figure"].replace("UPDATE trial", "UPDATE cell"))
    with TrialStore(path, FINGERPRINT) as store, pytest.raises(StoreError, match="checksum"):
        store.results()
