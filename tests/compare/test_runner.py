"""A run computes each trial once, keeps what is done, and can be ended at any moment."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from comparison_tables import double, end_itself
from counterbalance.compare.runner import RunError, TrialFile, run
from counterbalance.errors import TableError

MADE_BY = {"table": "abc", "folds": 5}
SOURCE = Path(__file__).parents[2] / "src"
# Run as a program: trials that sleep, so that there is time to end it.
SCRIPT = """
import sys, time
from pathlib import Path
from counterbalance.compare.runner import RunInterruptedError, TrialFile, run

def compute(trial):
    time.sleep(0.1)
    return {"twice": 2.0 * trial["n"]}

if __name__ == "__main__":
    file = TrialFile(Path(sys.argv[1]), {"table": "abc", "folds": 5})
    try:
        run([{"n": n} for n in range(200)], compute, file, jobs=int(sys.argv[2]))
    except RunInterruptedError as error:
        print(error)
"""


def trials(count):
    return [{"n": n, "name": "a"} for n in range(count)]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_trial_is_computed_once_and_in_order(tmp_path, jobs):
    heard = []
    file = TrialFile(tmp_path / "t.jsonl", MADE_BY)
    found = run(trials(5), double, file, jobs=jobs, progress=lambda *said: heard.append(said))
    assert [record.figures["twice"] for record in found] == [0, 2, 4, 6, 8]
    assert heard == [("trials", n, 5) for n in range(1, 6)]
    assert run(trials(5), None, file, jobs=jobs) == found


def test_a_file_is_read_back_and_only_what_is_missing_is_computed(tmp_path):
    path = tmp_path / "t.jsonl"
    first = run(trials(3), double, TrialFile(path, MADE_BY))
    file = TrialFile(path, MADE_BY)
    assert not file.replaced
    computed = []

    def noted(trial):
        computed.append(trial["n"])
        return double(trial)

    found = run(trials(5), noted, file)
    assert computed == [3, 4]
    assert found[:3] == first
    assert json.loads(path.read_text().splitlines()[0]) == {"made_by": MADE_BY}


def test_a_file_that_something_else_made_is_begun_anew(tmp_path):
    path = tmp_path / "t.jsonl"
    run(trials(3), double, TrialFile(path, MADE_BY))
    other = TrialFile(path, {**MADE_BY, "folds": 4})
    assert other.replaced
    assert not other.done
    assert TrialFile(path, MADE_BY).replaced


@pytest.mark.parametrize("damage", [b'{"trial": {"n": 9', b"\xff\xfe", b"[1, 2]\n", b"\n\n"])
def test_half_a_line_at_the_end_costs_that_trial_only(tmp_path, damage):
    path = tmp_path / "t.jsonl"
    run(trials(3), double, TrialFile(path, MADE_BY))
    with path.open("ab") as file:
        file.write(damage)
    mended = TrialFile(path, MADE_BY)
    assert len(mended.done) == 3
    run(trials(4), double, mended)
    assert len(TrialFile(path, MADE_BY).done) == 4


def test_a_trial_that_fails_is_reported_and_tried_again(tmp_path):
    file = TrialFile(tmp_path / "t.jsonl", MADE_BY)
    failed = run([{"n": 13}, {"n": 1}], double, file)[0]
    assert failed.error == "ValueError: thirteen"
    assert len(TrialFile(tmp_path / "t.jsonl", MADE_BY).done) == 1
    assert not run([{"n": 13}], lambda _: {"twice": 1.0}, file)[0].error


def test_an_error_of_our_own_is_its_message():
    def refuse(_):
        raise TableError("X has no rows; give some")

    (record,) = run([{"n": 1}], refuse, TrialFile(None, {}))
    assert record.error == "X has no rows; give some"


def test_the_file_is_as_private_as_the_table(tmp_path):
    table, path = tmp_path / "table.csv", tmp_path / "t.jsonl"
    table.write_text("a")
    table.chmod(0o600)
    run(trials(2), double, TrialFile(path, MADE_BY, like=table))
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_and_kill_lose_nothing_that_is_done(tmp_path, jobs, end):
    script, path = tmp_path / "script.py", tmp_path / "t.jsonl"
    script.write_text(SCRIPT)
    process = subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, str(script), str(path), jobs],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    while process.poll() is None and lines(path) < 6:
        time.sleep(0.02)
    os.killpg(process.pid, end)  # the whole group, as a terminal does
    said = process.communicate()[0]
    kept = TrialFile(path, MADE_BY).done
    assert 5 <= len(kept) < 200
    if end == signal.SIGINT:
        expected = f"stopped by Ctrl-C; {len(kept)} of 200 trials are done and kept: run the same"
        assert said.strip().startswith(expected)
        assert "Traceback" not in said


def lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_process_that_is_killed_is_named_with_the_remedy(tmp_path):
    file = TrialFile(tmp_path / "t.jsonl", MADE_BY)
    with pytest.raises(RunError, match="run the same again, with fewer jobs"):
        run(trials(6), end_itself, file, jobs=2)
