"""A file is written whole or not at all, even after a kill, and never over its source."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from counterbalance.io.atomic import (
    OutputError,
    check_output,
    scratch_folder,
    write_files,
    written_whole,
)

SOURCE = Path(__file__).parents[2] / "src"
# Writes one of two contents of some megabytes, over and over, until it is killed.
ENDLESS = """
import sys
from pathlib import Path
from counterbalance.io.atomic import written_whole
turn = 0
while True:
    with written_whole(Path(sys.argv[1])) as part:
        with part.open("wb") as file:
            for _ in range(64):
                file.write(bytes([65 + turn]) * 65536)
    turn = 1 - turn
"""


def test_the_old_file_stays_if_writing_fails(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def write_half():
        with written_whole(path) as part:
            part.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_kill_never_leaves_half_a_file(tmp_path):
    path = tmp_path / "a.csv"
    for wait in (0.0, 0.003, 0.007, 0.011, 0.019, 0.023):
        process = subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-c", ENDLESS, str(path)], env={"PYTHONPATH": str(SOURCE)}
        )
        deadline = time.monotonic() + 600
        path.unlink(missing_ok=True)
        while not path.exists():
            assert time.monotonic() < deadline
            time.sleep(0.001)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.wait()
        content = path.read_bytes()
        assert len(content) == 64 * 65536
        assert len(set(content)) == 1


def test_the_files_of_a_run_come_together_or_not_at_all(tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("old")
    with pytest.raises(TypeError):
        write_files({first: b"new", second: "no bytes"})
    assert (first.read_text(), second.exists()) == ("old", False)
    write_files({first: b"new", second: b"new"})
    assert (first.read_text(), second.read_text()) == ("new", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv"]


# Begins to write into a folder, makes a temporary one, says so, and waits to be killed.
WAITING = """
import sys, time
from pathlib import Path
from counterbalance.io.atomic import scratch_folder, written_whole
with written_whole(Path(sys.argv[1])) as part, scratch_folder(sys.argv[2]):
    part.write_text("half")
    print("ready", flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and locks")
def test_what_a_killed_process_left_is_removed_and_what_a_live_one_writes_is_not(tmp_path):
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    out.mkdir()
    scratch.mkdir()

    def begin(name):
        process = subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-c", WAITING, str(out / name), str(scratch)],
            env={"PYTHONPATH": str(SOURCE)},
            stdout=subprocess.PIPE,
        )
        assert process.stdout.readline() == b"ready\n"
        return process

    killed, alive = begin("dead.csv"), begin("alive.csv")
    try:
        killed.kill()
        killed.wait()
        assert len(list(out.iterdir())) == len(list(scratch.iterdir())) == 2
        (out / ".other.part").write_text("not ours")
        with scratch_folder(scratch):
            write_files({out / "new.csv": b"a,b"})
            assert len(list(scratch.iterdir())) == 2
        left = sorted(path.name for path in out.iterdir())
        assert len(left) == 3
        assert left[0].startswith(".alive.csv.counterbalance-")
        assert left[1:] == [".other.part", "new.csv"]
    finally:
        alive.kill()
        alive.wait()
        for process in (killed, alive):
            process.stdout.close()


def test_the_permissions_of_the_old_file_are_kept(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    path.chmod(0o640)
    with written_whole(path) as part:
        part.write_text("new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_never_written_through(tmp_path, there):
    path, link = tmp_path / "elsewhere", tmp_path / "link.csv"
    if there:
        path.write_text("old")
    link.symlink_to(path)
    with pytest.raises(OutputError, match=r"is a link to .*elsewhere"), written_whole(link):
        pass
    assert link.is_symlink()
    assert path.exists() == there
    assert not there or path.read_text() == "old"


def test_a_link_planted_during_the_write_is_replaced_and_not_followed(tmp_path):
    path, other = tmp_path / "a.csv", tmp_path / "other"
    other.write_text("untouched")
    with written_whole(path) as part:
        part.write_text("new")
        path.symlink_to(other)
    assert not path.is_symlink()
    assert (path.read_text(), other.read_text()) == ("new", "untouched")


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
@pytest.mark.parametrize(
    ("source", "before", "after"),
    [(0o600, None, 0o600), (0o640, None, 0o640), (0o600, 0o644, 0o600), (0o444, None, 0o644)],
)
def test_the_result_is_as_private_as_its_source(tmp_path, source, before, after):
    private, path = tmp_path / "in.csv", tmp_path / "out.csv"
    private.touch()
    private.chmod(source)
    if before is not None:
        path.touch()
        path.chmod(before)
    old = os.umask(0o022)
    try:
        with written_whole(path, like=private) as part:
            assert part.stat().st_mode & 0o777 == after  # never open, not even for a moment
            part.write_text("new")
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == after


def test_the_source_is_recognised_by_any_name(tmp_path, monkeypatch):
    source = tmp_path / "a.csv"
    source.write_text("x")
    (tmp_path / "soft.csv").symlink_to(source)
    (tmp_path / "hard.csv").hardlink_to(source)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "soft.csv", "hard.csv", "sub/../a.csv", "./a.csv"):
        with pytest.raises(OutputError, match="must not be the file that is read"):
            check_output(Path(name), source, option="--out")
    check_output(Path("b.csv"), source)


@pytest.mark.parametrize(
    ("place", "message"),
    [(".", "is a folder"), ("none/b.csv", "folder that exists"), ("/dev/null", "is not one")],
)
def test_a_path_that_cannot_be_a_file_is_refused(tmp_path, monkeypatch, place, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match=message):
        check_output(Path(place))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="can be written"):
        check_output(tmp_path / "b.csv")
