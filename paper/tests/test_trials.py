"""The store keeps results exactly, and a run that was stopped or killed goes on where it was."""

import math
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.errors import CounterbalanceError
from paper.trials import CLOCK, ERROR, Store, attempt, key_of, run

ROOT = Path(__file__).parents[2]
TRIALS = [{"method": method, "fold": fold} for method in ("SMOTE", "ours") for fold in range(3)]


def compute(trial):
    """Refuse the last fold of ours; note that a trial was computed."""
    if trial == TRIALS[-1]:
        raise ValueError("too few rows\nin this fold")
    return {"f": float(trial["fold"]), "counts": [[1, 2], [3, 4]]}


def never(trial):
    raise AssertionError(trial)


def bits(value):
    return "nan" if math.isnan(value) else value.hex()


@pytest.fixture(name="path")
def make_path(tmp_path):
    return tmp_path / "folder" / "trials.sqlite"


@given(st.lists(st.floats(), max_size=8))
def test_every_float_comes_back_with_the_same_bits(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("floats") / "trials.sqlite"
    frame = run([{"fold": 0}], lambda _: {"values": values}, path)
    assert [bits(value) for value in frame["values"][0]] == [bits(value) for value in values]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_frame_has_the_trials_in_their_order_with_results_errors_and_times(path, jobs):
    frame = run(TRIALS, compute, path, jobs=jobs)
    assert frame[["method", "fold"]].to_dict("records") == TRIALS
    assert frame["f"].tolist()[:5] == [0.0, 1.0, 2.0, 0.0, 1.0]
    assert frame["counts"][0] == [[1, 2], [3, 4]]
    assert frame[ERROR].isna().tolist() == [True] * 5 + [False]
    assert frame[ERROR].iloc[-1] == "ValueError: too few rows\nin this fold"
    assert (frame[CLOCK] >= 0).all()


def test_what_is_there_is_not_computed_again_and_a_failure_only_where_that_is_asked_for(path):
    run(TRIALS, compute, path)
    assert len(run(TRIALS, never, path)) == 6
    again = run(TRIALS, lambda _: {"f": 9.0}, path, retry_failed=True)
    assert again["f"].tolist() == [0.0, 1.0, 2.0, 0.0, 1.0, 9.0]
    assert again[ERROR].isna().all()


def test_nothing_is_computed_where_only_the_tables_are_wanted(path):
    run(TRIALS[:2], compute, path)
    assert run(TRIALS, never, path, computing=False)["fold"].tolist() == [0, 1]
    assert len(run([{"fold": 7}], never, path, computing=False)) == 0


def test_after_a_method_has_changed_its_trials_are_forgotten_and_no_others(path):
    run(TRIALS, compute, path)
    with closing(Store(path)) as store:
        assert store.forget(["SMOTE"]) == 3
        assert store.forget(["SMOTE"]) == 0
        assert store.known() == {key_of(trial) for trial in TRIALS[3:]}


def test_a_key_does_not_depend_on_the_order_of_names():
    assert key_of({"a": 1, "b": "ä"}) == key_of({"b": "ä", "a": 1}) == '{"a": 1, "b": "ä"}'
    assert key_of({"a": 1}) != key_of({"a": "1"})


def test_a_result_that_is_no_json_is_an_error_of_its_trial():
    _, result, error, _ = attempt(lambda _: {"f": object()}, {"fold": 0})
    assert result is None
    assert error.startswith("TypeError")


def test_a_file_that_is_not_a_store_is_refused_and_left_alone(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("not a store" * 100)
    with pytest.raises(CounterbalanceError, match=r"store must be a file of trials.*notes\.txt"):
        run(TRIALS, compute, notes)
    assert notes.read_text().startswith("not a store")


def test_progress_is_told_on_the_error_stream_alone(path, capsys):
    run(TRIALS, compute, path)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "6 of 6 trials, 1 failed, about 0 s left\n"


SLOW = """
import sys, time
from pathlib import Path
from paper.trials import run

def compute(trial):
    time.sleep(0.05)
    return {"f": trial["fold"] / 3}

if __name__ == "__main__":
    run([{"fold": k} for k in range(60)], compute, Path(sys.argv[1]), jobs=2)
"""


def done_in(path):
    if not path.exists():
        return 0
    with closing(Store(path)) as store:
        return len(store.known())


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_run_that_was_killed_goes_on_with_what_it_has(tmp_path):
    script, path = tmp_path / "slow.py", tmp_path / "trials.sqlite"
    script.write_text(SLOW)
    where = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(script), str(path)]
    for _ in range(2):
        before = done_in(path)
        process = subprocess.Popen(  # noqa: S603 - our own script
            command, env={**os.environ, "PYTHONPATH": where}, start_new_session=True
        )
        while done_in(path) < before + 3:
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert 6 <= done_in(path) < 60
    done = subprocess.run(  # noqa: S603 - our own script
        command, env={**os.environ, "PYTHONPATH": where}, check=False
    )
    assert done.returncode == 0
    frame = run([{"fold": k} for k in range(60)], never, path)
    assert frame["f"].tolist() == [k / 3 for k in range(60)]
