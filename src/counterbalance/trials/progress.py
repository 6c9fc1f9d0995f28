"""Progress of a run: what is running, the rate, the time left."""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

MINUTE = 60.0
HOUR = 3600.0
LONG = 120.0  # from here on minutes read better than seconds
SHOWN = 3
OFTEN, SELDOM = 60.0, 600.0  # seconds between two lines, at first and later

# Shows that the work goes on, in the words given, where no trials can be counted.
Stage = Callable[[str], AbstractContextManager[object]]


def quietly(_: str) -> AbstractContextManager[None]:
    """Show nothing."""
    return nullcontext()


@dataclass(frozen=True)
class Status:
    """A moment of a run.

    Parameters
    ----------
    total : int
        Trials asked for.
    done, failed : int
        Trials settled so far, in this run or an earlier one.
    computed : int
        Trials that this run computed.
    seconds : float
        Time since this run began.
    running : sequence of str
        Names of the trials that are being computed.
    work_left : float or None
        Work that is left, as a multiple of the work that this run has done; None where all
        trials count alike.
    """

    total: int
    done: int
    failed: int
    computed: int
    seconds: float
    running: Sequence[str]
    work_left: float | None = None

    @property
    def rate(self) -> float:
        """Trials per second."""
        return self.computed / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Time left at this rate, None if nothing can be said yet."""
        if self.work_left is not None:
            return self.seconds * self.work_left
        return (self.total - self.done - self.failed) / self.rate if self.rate else None

    def __str__(self) -> str:
        parts = []
        if self.rate:
            parts.append(f"{self.rate * MINUTE:.3g} trials/min")
        if self.seconds_left is not None:
            parts.append(f"{duration(self.seconds_left)} left")
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.running:
            more = len(self.running) - SHOWN
            names = "; ".join(self.running[:SHOWN]) + (f" and {more} more" if more > 0 else "")
            parts.append(f"running {names}")
        return ", ".join(parts)


class Progress(Protocol):
    """Whatever shows the state of a run."""

    def update(self, status: Status) -> None:
        """Show a moment of the run."""

    def close(self) -> None:
        """Show nothing more."""


class QuietProgress:
    """Show nothing."""

    def update(self, status: Status) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Show nothing more."""


class LineProgress(QuietProgress):
    """Write a line now and then, for a log or a pipe; the first after a minute."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._next = OFTEN

    def update(self, status: Status) -> None:
        """Write a line if it is time for one."""
        if status.seconds < self._next:
            return
        self._next = status.seconds + (OFTEN if status.seconds < SELDOM else SELDOM)
        settled = status.done + status.failed
        left = (
            "" if status.seconds_left is None else f", about {duration(status.seconds_left)} left"
        )
        failed = f", {status.failed} failed" if status.failed else ""
        self._stream.write(
            f"counterbalance: {settled:,} of {status.total:,} trials after "
            f"{duration(status.seconds)}{left}{failed}\n"
        )
        self._stream.flush()


class RichProgress:
    """Show a bar in the terminal, with rich. It is redrawn on update, by no thread."""

    def __init__(self, console: Any = None) -> None:
        from rich.console import Console  # noqa: PLC0415 - an extra
        from rich.progress import (  # noqa: PLC0415 - an extra
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
        )
        from rich.progress import Progress as Bar  # noqa: PLC0415 - an extra

        self._bar = Bar(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console or Console(stderr=True),
            auto_refresh=False,
        )
        self._task = self._bar.add_task("trials", total=None, note="")
        self._bar.start()

    def update(self, status: Status) -> None:
        """Redraw the bar."""
        settled = status.done + status.failed
        self._bar.update(self._task, total=status.total, completed=settled, note=str(status))
        self._bar.refresh()

    def close(self) -> None:
        """Leave the bar as it is and give the terminal back."""
        self._bar.stop()


def default_progress() -> Progress:
    """Return a bar if stderr is a terminal and rich is installed, else a line now and then."""
    if not sys.stderr.isatty():
        return LineProgress()
    try:
        return RichProgress()
    except ImportError:
        return LineProgress()


def duration(seconds: float) -> str:
    """Write a time in its natural unit.

    >>> duration(45.2), duration(600), duration(9000)
    ('45 s', '10 min', '2.5 h')
    """
    if seconds < LONG:
        return f"{seconds:.0f} s"
    if seconds < LONG * MINUTE:
        return f"{seconds / MINUTE:.0f} min"
    return f"{seconds / HOUR:.1f} h"
