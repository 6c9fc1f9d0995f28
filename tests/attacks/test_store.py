"""A store that was damaged, edited or left behind is noticed, named, and never waited for."""

import os
import random
import sqlite3
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterbalance.trials import CellStore, StoreError, run
from counterbalance.trials.liveness import LEASE, Life, is_alive
from counterbalance.trials.store import cell_key
from experiment_cells import FINGERPRINT, compute, make_cells

MANY = bool(os.environ.get("COUNTERBALANCE_ATTACK"))
CELLS = make_cells(40)
EDITS = {
    "a figure": "UPDATE cell SET figures = replace(figures, '\"f\": 3.0', '\"f\": 4.0')",
    "a payload": "UPDATE cell SET payload = '[9]' WHERE key LIKE '%3}'",
    "the seconds": "UPDATE cell SET seconds = 0.25 WHERE key LIKE '%3}'",
    "a failure into a success": "UPDATE cell SET state = 'done', figures = '{\"f\": 1.0}', "
    "error = NULL WHERE state = 'failed'",
    "the cell": "UPDATE cell SET key = replace(key, '\"run\": 3}', '\"run\": 99}')",
    "an unknown state": "UPDATE cell SET state = 'maybe' WHERE key LIKE '%3}'",
    "figures that are no JSON": "UPDATE cell SET figures = '{' WHERE key LIKE '%3}'",
    "figures that are no text": "UPDATE cell SET figures = x'ff00' WHERE key LIKE '%3}'",
    "no checksum": "UPDATE cell SET checksum = NULL",
}


@pytest.fixture
def path(tmp_path):
    """A store with results and a failure."""
    path = tmp_path / "cells.sqlite"
    with CellStore(path, FINGERPRINT) as store:
        store.enlist()
        for cell in CELLS:
            key = cell_key(cell)
            store.claim(key)
            if cell["run"] == 5:
                store.fail(key, "ValueError: no", "Traceback", 0.5)
            else:
                store.finish(key, {"f": float(cell["run"])}, [cell["run"]] * 50, 0.5)
    return path


def edit(path, statement):
    connection = sqlite3.connect(path)
    with connection:
        assert connection.execute(statement).rowcount > 0
    connection.close()


@pytest.mark.parametrize("what", EDITS)
def test_an_edited_record_is_noticed_before_and_after_a_run(path, what):
    edit(path, EDITS[what])
    with CellStore(path, FINGERPRINT) as store:
        with pytest.raises(StoreError, match=r"cells\.sqlite.*remove") as said:
            run(CELLS, compute, store, progress=False)
        assert "checksum" in str(said.value)
        with pytest.raises(StoreError, match=r"cells\.sqlite.*remove"):
            store.results()


def test_an_untouched_store_is_read_as_it_was_written(path):
    with CellStore(path, FINGERPRINT) as store:
        assert store.counts() == {"done": 39, "failed": 1, "running": 0}
        assert [record.figures.get("f", 5.0) for record in store.results(CELLS)] == [
            float(cell["run"]) for cell in CELLS
        ]


def use(path):
    """Do with a store all that a run does."""
    with CellStore(path, FINGERPRINT) as store:
        store.enlist()
        store.states()
        for number in range(100, 104):
            key = cell_key({"run": number})
            if store.claim(key) is None:
                store.finish(key, {"f": 1.0}, None, 0.0)
        store.beat()
        store.counts()
        store.others()
        store.release()
        return store.results(CELLS)


@pytest.mark.parametrize("seed", range(200 if MANY else 12))
def test_flipped_bytes_are_harmless_or_name_the_file_and_the_remedy(path, seed):
    chance = random.Random(seed)  # noqa: S311 - places, not secrets
    before = use(path)
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 5, 100])):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    try:
        after, said = use(path), "cells.sqlite: nothing to remove"
    except StoreError as error:
        after, said = [], str(error)
    assert "cells.sqlite" in said
    assert any(word in said for word in ("remove", "give another path"))
    assert {repr(record) for record in after} <= {repr(record) for record in before}


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_store_names_the_file_and_the_remedy(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(StoreError, match=r"cells\.sqlite.*remove"):
        use(path)


@pytest.mark.parametrize("table", ["cell", "worker", "section"])
def test_a_store_without_one_of_its_tables_names_the_file_and_the_remedy(path, table):
    connection = sqlite3.connect(path)
    connection.execute(f"DROP TABLE {table}")
    connection.close()
    with pytest.raises(StoreError, match=r"cells\.sqlite.*remove"):
        use(path)


def test_a_store_of_the_version_without_checksums_is_taken_over(path):
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE cell DROP COLUMN checksum")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()
    with CellStore(path, FINGERPRINT) as store:
        assert len(store.results(CELLS)) == 40
    edit(path, EDITS["a figure"])
    with CellStore(path, FINGERPRINT) as store, pytest.raises(StoreError, match="checksum"):
        store.results()


# --- hearts


def claim_elsewhere(path, beat):
    """Claim every cell from a machine that is not this one."""
    with CellStore(path, FINGERPRINT) as store:
        connection = store._connection
        worker = connection.execute(
            "INSERT INTO worker (host, pid, started, beat) VALUES ('elsewhere', 1, '5', ?)", (beat,)
        ).lastrowid
        connection.execute(
            "INSERT INTO cell (section, key, state, worker, attempt) "
            "VALUES (?, ?, 'running', ?, 1)",
            (store._section, cell_key(CELLS[0]), worker),
        )


@pytest.mark.parametrize("beat", [4e9, 1e300, float("inf"), "soon", -5.0])
def test_a_heartbeat_in_the_future_or_none_at_all_is_not_waited_for(tmp_path, beat):
    claim_elsewhere(tmp_path / "cells.sqlite", beat)
    with CellStore(tmp_path / "cells.sqlite", FINGERPRINT) as store:
        assert run(CELLS[:1], compute, store, progress=False).done == 1


@settings(max_examples=100)
@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_process_elsewhere_lives_only_while_its_heart_beats_near_our_time(ahead):
    alive = is_alive(Life("elsewhere", 1, "5"), beat=time.time() + ahead)
    if abs(ahead) < LEASE - 5:
        assert alive
    if not abs(ahead) < LEASE + 5:
        assert not alive
