"""A run computes every cell once, whatever happens to it on the way."""

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

from counterbalance.trials import CellStore, Status, StoreError, run
from counterbalance.trials.progress import LineProgress, RichProgress, default_progress
from experiment_cells import (
    FINGERPRINT,
    compute,
    compute_awkward,
    compute_once_broken,
    count_threads,
    make_cells,
)

SCRIPT = Path(__file__).parents[1].joinpath("experiment_cells.py")
posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


@pytest.fixture
def store(tmp_path):
    with CellStore(tmp_path / "cells.sqlite", FINGERPRINT) as store:
        yield store


def table(path, cells=None):
    """All that a table could be made from, floats with all their bits."""
    with CellStore(path, FINGERPRINT) as store:
        return [
            (r.cell, r.state, {k: v.hex() for k, v in r.figures.items()}, repr(r.payload), r.error)
            for r in store.results(cells)
        ]


def unbroken(tmp_path, cells):
    path = tmp_path / "unbroken.sqlite"
    with CellStore(path, FINGERPRINT) as store:
        summary = run(cells, compute, store, jobs=2)
    assert (summary.done, summary.failed, summary.computed) == (len(cells), 0, len(cells))
    return table(path)


def start(path, count, jobs, *, seconds, log=None):
    """Start a run in a session of its own and return it."""
    environment = {**os.environ, "CELL_SECONDS": str(seconds), "CELL_LOG": str(log or "")}
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
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "waited for a minute"
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


def test_a_run_computes_every_cell_and_a_second_run_none(store):
    cells = make_cells(12)
    first = run(cells, compute, store, jobs=2)
    assert (first.total, first.done, first.failed, first.computed) == (12, 12, 0, 12)
    again = run(cells, compute, store)
    assert (again.total, again.done, again.computed) == (12, 12, 0)
    more = run(make_cells(14), compute, store)
    assert (more.total, more.done, more.computed) == (14, 14, 2)
    assert all(record.seconds > 0 for record in store.results())


def test_results_do_not_depend_on_the_number_of_jobs(tmp_path):
    cells = make_cells(10)
    tables = []
    for jobs in (1, 3):
        path = tmp_path / f"{jobs}.sqlite"
        with CellStore(path, FINGERPRINT) as store:
            run(cells, compute, store, jobs=jobs)
        tables.append(table(path))
    assert tables[0] == tables[1]


def test_workers_use_one_thread_each(store):
    run([{"run": 0}], count_threads, store)
    (record,) = store.results()
    assert record.figures == {"threads": 1.0, "OMP": 1.0}


def test_cells_that_are_there_twice_and_jobs_below_one_are_refused(store):
    with pytest.raises(StoreError, match="twice"):
        run([{"run": 1}, {"run": 1}], compute, store)
    with pytest.raises(StoreError, match="jobs"):
        run(make_cells(1), compute, store, jobs=0)


# --- cells that fail


@posix_only
def test_a_failing_cell_is_recorded_with_its_error_and_the_run_goes_on(store):
    kinds = ["raises", "fine", "exits", "is killed", "returns text", "returns an object", "fine"]
    cells = [{"kind": kind, "run": place} for place, kind in enumerate(kinds)]
    summary = run(cells, compute_awkward, store, jobs=2)
    assert (summary.done, summary.failed) == (2, 5)
    errors = {record.cell["kind"]: record.error for record in store.results()}
    assert errors["fine"] == ""
    assert errors["raises"] == "ValueError: no such class"
    assert errors["exits"] == "SystemExit: 3"
    assert "SIGKILL" in errors["is killed"]
    assert errors["returns text"].startswith("ValueError: could not convert")
    assert "not JSON serializable" in errors["returns an object"]
    raised = next(record for record in store.results() if record.cell["kind"] == "raises")
    assert "compute_awkward" in raised.traceback
    assert store.frame()["state"].tolist().count("failed") == 5


def test_failed_cells_are_computed_again_only_when_asked_for(store, tmp_path):
    obstacle = tmp_path / "obstacle"
    obstacle.touch()
    cells = [{"file": str(obstacle)}]
    assert run(cells, compute_once_broken, store).failed == 1
    obstacle.unlink()
    kept = run(cells, compute_once_broken, store)
    assert (kept.failed, kept.computed) == (1, 0)
    mended = run(cells, compute_once_broken, store, retry_failed=True)
    assert (mended.done, mended.failed, mended.computed) == (1, 0, 1)


def test_a_function_that_no_process_can_import_is_an_error_and_not_a_failed_cell(store):
    with pytest.raises(Exception, match=r"(?i)pickle|local object"):
        run(make_cells(2), lambda _: {"f": 1.0}, store)
    assert store.counts() == {"done": 0, "failed": 0, "running": 0}


# --- runs that are killed, helped or stopped


@posix_only
def test_killed_at_20_random_moments_the_tables_are_those_of_an_unbroken_run(tmp_path):
    chance = random.Random(20)  # noqa: S311 - moments, not secrets
    cells = make_cells(800)
    path, log = tmp_path / "killed.sqlite", tmp_path / "log"
    log.touch()
    done = []
    for attempt in range(20):
        before = log.stat().st_size
        process = start(path, len(cells), 2, seconds=0.01, log=log)
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
    assert 0 < done[-1] < len(cells)
    last = start(path, len(cells), 2, seconds=0, log=log)
    _, errors = last.communicate(timeout=60)
    assert last.returncode == 0, errors
    assert table(path) == unbroken(tmp_path, cells)
    computed = Counter(log.read_text().split())
    assert set(computed) == {str(cell["run"]) for cell in cells}
    assert computed.total() <= len(cells) + 20 * 2  # only cells in flight are lost


@posix_only
@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs /proc")
def test_workers_of_a_killed_run_end_themselves(tmp_path):
    process = start(tmp_path / "cells.sqlite", 4, 2, seconds=30, log=tmp_path / "log")
    wait_until(tmp_path.joinpath("log").exists)
    assert len(processes_of(process.pid)) > 1
    process.kill()
    process.wait()
    wait_until(lambda: not processes_of(process.pid))
    process.communicate()


@posix_only
def test_two_processes_share_a_store_and_compute_each_cell_once(tmp_path):
    cells = make_cells(120)
    path, log = tmp_path / "shared.sqlite", tmp_path / "log"
    both = [start(path, len(cells), 2, seconds=0.05, log=log) for _ in range(2)]
    for process in both:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert sorted(map(int, log.read_text().split())) == list(range(len(cells)))
    assert table(path) == unbroken(tmp_path, cells)
    with sqlite3.connect(path) as connection:
        shares = connection.execute("SELECT count(*) FROM cell GROUP BY worker").fetchall()
    connection.close()
    assert len(shares) == 2


@posix_only
def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path):
    cells = make_cells(200)
    path = tmp_path / "stopped.sqlite"
    process = start(path, len(cells), 2, seconds=0.03)
    process.stdout.readline()
    wait_until(lambda: len(table(path)) >= 5)
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does: to every process
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "run the same again" in errors
    assert str(path) in errors
    with CellStore(path, FINGERPRINT) as store:
        counts = store.counts()
        assert counts["running"] == 0
        assert 5 <= counts["done"] < len(cells)
        run(cells, compute, store, jobs=2)
    assert table(path) == unbroken(tmp_path, cells)


@posix_only
def test_ctrl_c_while_the_workers_start_is_as_clean(tmp_path):
    path = tmp_path / "stopped.sqlite"
    for attempt in range(6):
        process = start(path, 200, 2, seconds=0.5)
        process.stdout.readline()
        time.sleep(0.05 * attempt + 0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130, errors
        assert "Traceback" not in errors
        with CellStore(path, FINGERPRINT) as store:
            assert store.counts()["running"] == 0


def test_a_script_that_starts_itself_again_is_told_what_to_do(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from counterbalance.trials import CellStore, Fingerprint, run\n"
        "def compute(cell):\n"
        "    return {'f': 1.0}\n"
        "store = CellStore('unguarded.sqlite', Fingerprint({}, '', {}))\n"
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
        timeout=60,
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


def test_progress_tells_what_runs_and_how_far_the_run_is(store):
    seen = Recorded()
    run(make_cells(6), compute, store, jobs=2, progress=seen)
    assert seen.closed
    assert seen.statuses[-1].done == seen.statuses[-1].total == 6
    assert any("set" in name for status in seen.statuses for name in status.running)


def test_a_status_gives_rate_and_time_left():
    status = Status(total=100, done=40, failed=2, computed=12, seconds=6.0, running=("a", "b"))
    assert status.rate == 2.0
    assert status.seconds_left == 29.0
    assert str(status) == "120 cells/min, 29 s left, 2 failed, running a; b"
    assert str(Status(5, 0, 0, 0, 0.0, ())) == ""
    assert str(Status(9, 0, 0, 0, 0.0, "abcde")) == "running a; b; c and 2 more"


def test_without_a_terminal_a_short_run_is_quiet(store, capfd):
    assert isinstance(default_progress(), LineProgress)
    run(make_cells(2), compute, store)
    run(make_cells(3), compute, store, progress=False)
    assert capfd.readouterr() == ("", "")


def test_without_a_terminal_a_long_run_writes_a_line_now_and_then():
    log = io.StringIO()
    lines = LineProgress(log)
    for second in range(3600):
        lines.update(Status(400, second // 15, 1, second // 15, float(second), ("glass",)))
    written = log.getvalue().splitlines()
    assert written[0] == "counterbalance: 5 of 400 cells after 60 s, about 99 min left, 1 failed"
    assert 10 < len(written) < 20


def test_the_bar_shows_counts_rate_and_running_cells():
    console = pytest.importorskip("rich.console", reason="rich draws the bar")
    screen = io.StringIO()
    bar = RichProgress(console.Console(file=screen, force_terminal=True, width=120))
    bar.update(Status(100, 40, 2, 12, 6.0, ("glass [SVM]",)))
    bar.close()
    assert "42/100" in screen.getvalue()
    assert "29 s left" in screen.getvalue()
    assert "glass [SVM]" in screen.getvalue()
