"""Whether a process that claimed something still lives.

A process identifier is used again after a while; together with the time the process
started it is unique as long as the machine runs.
"""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LEASE = 120.0  # seconds without a heartbeat after which a process elsewhere counts as dead
PROC = Path("/proc")
# fields of /proc/<pid>/stat after the name: state first, start time in clock ticks later
STATE, STARTED = 0, 19
DEAD = "ZX"


@dataclass(frozen=True)
class Life:
    """A process: the machine, the identifier there, and when it started."""

    host: str
    pid: int
    started: str


def this_life() -> Life:
    """Return the life of this process."""
    return Life(_host(), os.getpid(), _started(os.getpid()))


def is_alive(life: Life, *, beat: float) -> bool:
    """Say whether a process lives.

    On the same machine the operating system knows. Elsewhere, or where it does not tell
    when a process started, a heartbeat within `LEASE` seconds of our time has to do. One
    further ahead comes from a clock that is wrong or a file that is damaged: to wait for it
    could be to wait for ever, and a cell that is computed twice has the same result.
    """
    if life.host == _host() and life.started:
        return _started(life.pid) == life.started
    return isinstance(beat, (int, float)) and abs(time.time() - beat) < LEASE


@cache
def _host() -> str:
    """Return the machine, its boot and the process namespace, so that containers differ."""
    parts = [platform.node()]
    boot, namespace = PROC / "sys/kernel/random/boot_id", PROC / "self/ns/pid"
    if boot.exists():
        parts.append(boot.read_text(encoding="ascii").strip())
    if namespace.is_symlink():
        parts.append(str(namespace.readlink()))
    return " ".join(parts)


def _started(pid: int) -> str:
    """Return when a process started; empty if it is dead or the system does not tell."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # the name is in parentheses and may hold blanks and parentheses itself
    fields = text.rpartition(")")[2].split()
    return "" if fields[STATE] in DEAD else fields[STARTED]
