"""A run computes every trial once, whatever happens to it on the way."""

import io
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from counterbalance.trials import Status, StoreError, TrialStore, run
from counterbalance.trials.progress import LineProgress, RichProgress, default_progress
from experiment_trials import (
    FINGERPRINT,
    compute,
    compute_awkward,
    compute_once_broken,
    count_threads,
    make_trials,
)

SCRIPT = Path(__file__).parents[1].joinpath("experiment_trials.py")
posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


@pytest.fixture
def store(tmp_path):
    with TrialStore(tmp_path / "trials.sqlite", FINGERPRINT) as store:
        yield store


def table(path, trials=None):
    """All that a table could be made from, floats with all their bits."""
    with TrialStore(path, FINGERPRINT) as store:
        return [
            (r.trial, r.state, {k: v.hex() for k, v in r.figures.items()}, repr(r.payload), r.error)
            for r in store.results(trials)
        ]


def unbroken(tmp_path, trials):
    path = tmp_path / "unbroken.sqlite"
    with TrialStore(path, FINGERPRINT) as store:
        summary = run(trials, compute, store, jobs=2)
    assert (summary.done, summary.failed, summary.computed) == (len(trials), 0, len(trials))
    return table(path)


def start(path, count, jobs, *, seconds, log=None):
    """Start a run in a session of its own and return it."""
    environment = {**os.environ, "TRIAL_SECONDS": str(seconds), "TRIAL_LOG": str(log or "")}
    source = str(SCRIPT.parents[1] / "src")
    environment["PYTHONPATH"] = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, str(SCRIPT), str(path), str(count), str(jobs)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(holds):
    """Wait for a condition, however slow the machine is, but not for ever."""
    deadline = time.monotonic() + 600
    while not holds():
        assert time.monotonic() < deadline, "waited for ten minutes"
        time.sleep(0.005)


def processes_of(session):
    """Return the living processes of a session."""
    living = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            living.append(int(stat.parent.name))
    return living


# --- plain runs


def test_a_run_computes_every_trial_and_a_second_run_none(store):
    trials = make_trials(12)
    first = run(trials, compute, store, jobs=2)
    assert (first.total, first.done, first.failed, first.computed) == (12, 12, 0, 12)
    again = run(trials, compute, store)
    assert (again.total, again.done, again.computed) == (12, 12, 0)
    more = run(make_trials(14), compute, store)
    assert (more.total, more.done, more.computed) == (14, 14, 2)
    assert all(record.seconds > 0 for record in store.results())


def test_results_do_not_depend_on_the_number_of_jobs(tmp_path):
    trials = make_trials(10)
    tables = []
    for jobs in (1, 3):
        path = tmp_path / f"{jobs}.sqlite"
        with TrialStore(path, FINGERPRINT) as store:
            run(trials, compute, store, jobs=jobs)
        tables.append(table(path))
    assert tables[0] == tables[1]


def test_workers_use_one_thread_each(store):
    run([{"run": 0}], count_threads, store)
    (record,) = store.results()
    assert record.figures == {"threads": 1.0, "OMP": 1.0}


def test_duplicate_trials_and_fewer_than_one_job_are_refused(store):
    with pytest.raises(StoreError, match="twice"):
        run([{"run": 1}, {"run": 1}], compute, store)
    with pytest.raises(StoreError, match="jobs"):
        run(make_trials(1), compute, store, jobs=0)


# --- trials that fail


@posix_only
def test_a_failing_trial_is_recorded_with_its_error_and_the_run_goes_on(store):
    kinds = ["raises", "fine", "exits", "is killed", "returns text", "returns an object", "fine"]
    trials = [{"kind": kind, "run": place} for place, kind in enumerate(kinds)]
    summary = run(trials, compute_awkward, store, jobs=2)
    assert (summary.done, summary.failed) == (2, 5)
    errors = {record.trial["kind"]: record.error for record in store.results()}
    assert errors["fine"] == ""
    assert errors["raises"] == "ValueError: no such class"
    assert errors["exits"] == "SystemExit: 3"
    assert "SIGKILL" in errors["is killed"]
    assert errors["returns text"].startswith("ValueError: could not convert")
    assert "not JSON serializable" in errors["returns an object"]
    raised = next(record for record in store.results() if record.trial["kind"] == "raises")
    assert "compute_awkward" in raised.traceback
    assert store.frame()["state"].tolist().count("failed") == 5


def test_failed_trials_are_computed_again_only_when_asked_for(store, tmp_path):
    obstacle = tmp_path / "obstacle"
    obstacle.touch()
    trials = [{"file": str(obstacle)}]
    assert run(trials, compute_once_broken, store).failed == 1
    obstacle.unlink()
    kept = run(trials, compute_once_broken, store)
    assert (kept.failed, kept.computed) == (1, 0)
    mended = run(trials, compute_once_broken, store, retry_failed=True)
    assert (mended.done, mended.failed, mended.computed) == (1, 0, 1)


def test_a_function_that_cannot_be_imported_is_an_error_and_not_a_failed_trial(store):
    with pytest.raises(Exception, match=r"(?i)pickle|local object"):
        run(make_trials(2), lambda _: {"f": 1.0}, store)
    assert store.counts() == {"done": 0, "failed": 0}


# --- runs that are killed, stopped or started twice


@pytest.mark.slow
@posix_only
def test_killed_at_20_random_moments_the_tables_are_those_of_an_unbroken_run(tmp_path):
    chance = random.Random(20)  # noqa: S311 - moments, not secrets
    trials = make_trials(800)
    path, log = tmp_path / "killed.sqlite", tmp_path / "log"
    log.touch()
    done = []
    for attempt in range(20):
        before = log.stat().st_size
        process = start(path, len(trials), 2, seconds=0.01, log=log)
        if attempt % 4:  # a moment while it computes, else one while it starts
            wait_until(lambda: log.stat().st_size > before)  # noqa: B023 - called at once
        time.sleep(chance.uniform(0, 0.25))
        process.kill()
        process.communicate()
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
        done.append(len(table(path)))
    assert done == sorted(done)
    assert 0 < done[-1] < len(trials)
    last = start(path, len(trials), 2, seconds=0, log=log)
    _, errors = last.communicate(timeout=600)
    assert last.returncode == 0, errors
    assert table(path) == unbroken(tmp_path, trials)
    computed = Counter(log.read_text().split())
    assert set(computed) == {str(trial["run"]) for trial in trials}
    assert computed.total() <= len(trials) + 20 * 2  # only trials in flight are lost


@posix_only
@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs /proc")
def test_workers_of_a_killed_run_end_themselves(tmp_path):
    process = start(tmp_path / "trials.sqlite", 4, 2, seconds=30, log=tmp_path / "log")
    wait_until(tmp_path.joinpath("log").exists)
    assert len(processes_of(process.pid)) > 1
    process.kill()
    process.wait()
    wait_until(lambda: not processes_of(process.pid))
    process.communicate()


@posix_only
def test_a_second_process_is_told_at_once_who_holds_the_store(tmp_path):
    trials = make_trials(4)
    path, log = tmp_path / "shared.sqlite", tmp_path / "log"
    first = start(path, len(trials), 2, seconds=30, log=log)
    wait_until(log.exists)
    second = start(path, len(trials), 2, seconds=0)
    _, errors = second.communicate(timeout=600)
    assert second.returncode == 1
    assert f"in use by process {first.pid} on " in errors
    first.kill()
    first.communicate()
    with TrialStore(path, FINGERPRINT) as store:  # the lock of a killed process is free at once
        assert run(trials, compute, store).done == len(trials)


@posix_only
def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path):
    trials = make_trials(200)
    path = tmp_path / "stopped.sqlite"
    process = start(path, len(trials), 2, seconds=0.03)
    process.stdout.readline()
    wait_until(lambda: len(table(path)) >= 5)
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does: to every process
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "run the same again" in errors
    assert str(path) in errors
    with TrialStore(path, FINGERPRINT) as store:
        counts = store.counts()
        assert 5 <= counts["done"] < len(trials)
        run(trials, compute, store, jobs=2)
    assert table(path) == unbroken(tmp_path, trials)


@pytest.mark.slow
@posix_only
def test_ctrl_c_also_stops_cleanly_while_the_workers_start(tmp_path):
    path = tmp_path / "stopped.sqlite"
    for attempt in range(6):
        process = start(path, 200, 2, seconds=0.5)
        process.stdout.readline()
        time.sleep(0.05 * attempt + 0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 130, errors
        assert "Traceback" not in errors


def test_a_script_that_starts_itself_again_is_told_what_to_do(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from counterbalance.trials import TrialStore, Fingerprint, run\n"
        "def compute(trial):\n"
        "    return {'f': 1.0}\n"
        "store = TrialStore('unguarded.sqlite', Fingerprint({}, '', {}))\n"
        "run([{'run': 0}], compute, store)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[1] / "src")}
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode != 0
    assert "under if __name__ == '__main__'" in done.stderr


# --- progress


class Recorded:
    def __init__(self):
        self.statuses, self.closed = [], False

    def update(self, status):
        self.statuses.append(status)

    def close(self):
        self.closed = True


def test_progress_shows_what_is_running_and_how_far_the_run_is(store):
    seen = Recorded()
    run(make_trials(6), compute, store, jobs=2, progress=seen)
    assert seen.closed
    assert seen.statuses[-1].done == seen.statuses[-1].total == 6
    assert any("set" in name for status in seen.statuses for name in status.running)


def test_a_status_gives_rate_and_time_left():
    status = Status(total=100, done=40, failed=2, computed=12, seconds=6.0, running=("a", "b"))
    assert status.rate == 2.0
    assert status.seconds_left == 29.0
    assert str(status) == "120 trials/min, 29 s left, 2 failed, running a; b"
    assert str(Status(5, 0, 0, 0, 0.0, ())) == ""
    # the trials that are left cost three times what was done
    assert Status(100, 50, 0, 50, 6.0, (), work_left=3.0).seconds_left == 18.0
    assert str(Status(9, 0, 0, 0, 0.0, "abcde")) == "running a; b; c and 2 more"


def test_without_a_terminal_a_short_run_is_quiet(store, capfd):
    assert isinstance(default_progress(), LineProgress)
    run(make_trials(2), compute, store)
    run(make_trials(3), compute, store, progress=False)
    assert capfd.readouterr() == ("", "")


def test_without_a_terminal_a_long_run_writes_a_line_now_and_then():
    log = io.StringIO()
    lines = LineProgress(log)
    for second in range(3600):
        lines.update(Status(400, second // 15, 1, second // 15, float(second), ("glass",)))
    written = log.getvalue().splitlines()
    assert written[0] == "counterbalance: 5 of 400 trials after 60 s, about 99 min left, 1 failed"
    assert 10 < len(written) < 20


def test_the_bar_shows_counts_rate_and_running_trials():
    console = pytest.importorskip("rich.console", reason="rich draws the bar")
    screen = io.StringIO()
    bar = RichProgress(console.Console(file=screen, force_terminal=True, width=120))
    bar.update(Status(100, 40, 2, 12, 6.0, ("glass [SVM]",)))
    bar.close()
    assert "42/100" in screen.getvalue()
    assert "29 s left" in screen.getvalue()
    assert "glass [SVM]" in screen.getvalue()
