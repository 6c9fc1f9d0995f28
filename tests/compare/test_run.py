"""A comparison can be killed and gone on with, and gives the same bytes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from comparison_tables import SMALL, two_clouds
from counterbalance.compare import Settings, compare, write_files
from counterbalance.compare.data import read_compared
from counterbalance.compare.plan import Plan
from counterbalance.compare.run import fingerprint
from counterbalance.errors import ClassifierError

SCRIPT = Path(__file__).parents[1].joinpath("comparison_tables.py")
CHOSEN = Settings(("SMOTE", "weights"), ("LR", "RF"), **{**SMALL, "draws": 1})
X, Y = two_clouds(120, 40, apart=1.5)


def run(store, settings=CHOSEN, **more):
    return compare(X, Y, store=store, settings=settings, progress=False, **more)


def files(comparison, folder):
    """What is written, times left out."""
    for row in comparison.summary["comparison"]["rows"]:
        row["seconds"] = 0
    return {path.name: path.read_bytes() for path in write_files(comparison, folder)}


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_killed_run_goes_on_and_gives_the_same_bytes(tmp_path):
    whole = files(run(tmp_path / "whole.sqlite"), tmp_path / "whole")
    store = tmp_path / "killed.sqlite"
    source = str(SCRIPT.parents[1] / "src")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, str(SCRIPT.parent)])}
    process = subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, str(SCRIPT), str(store)], env=environment, start_new_session=True
    )
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and done_cells(store) < 3:
        time.sleep(0.02)
    process.kill()
    process.wait()
    before = done_cells(store)
    resumed = run(store)
    assert 3 <= before < resumed.run.total
    assert resumed.run.computed == resumed.run.total - before
    assert files(resumed, tmp_path / "killed") == whole
    assert set(whole) == {"comparison.csv", "trust.csv", "summary.json"}


def done_cells(store):
    import sqlite3  # noqa: PLC0415 - a reader of its own

    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
            query = "SELECT count(*) FROM cell WHERE state = 'done'"
            return connection.execute(query).fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def test_another_method_is_computed_and_the_others_are_kept(tmp_path):
    first = Settings(("SMOTE",), ("LR",), **SMALL)
    more = Settings(("SMOTE", "weights"), ("LR",), metric="f1", **SMALL)
    assert run(tmp_path / "s.sqlite", first).run.computed == 6
    again = run(tmp_path / "s.sqlite", more)
    assert (again.run.total, again.run.computed) == (9, 3)


def test_the_fingerprint_knows_the_table_and_the_users_code():
    plan = Plan(read_compared(X, Y), CHOSEN)
    changed = X.copy()
    changed.iloc[0, 0] += 1e-9
    other = Plan(read_compared(changed, Y), CHOSEN)
    mine = Plan(plan.table, Settings(classifiers=("comparison_tables:Deaf",), **SMALL))
    assert fingerprint(plan).digest == fingerprint(Plan(read_compared(X, Y), CHOSEN)).digest
    assert len({fingerprint(p).digest for p in (plan, other, mine)}) == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere:Classifier", "got 'nowhere:Classifier': No module"),
        ("comparison_tables:Nothing", "can be imported"),
        ("pathlib:Path", "must be scikit-learn classifiers.*a PosixPath"),
        (":", "can be imported"),
    ],
)
def test_a_classifier_that_is_none_is_said_before_the_run(tmp_path, name, message):
    with pytest.raises(ClassifierError, match=message):
        run(tmp_path / "s.sqlite", Settings(classifiers=(name,), **SMALL))
    assert not (tmp_path / "s.sqlite").exists()
