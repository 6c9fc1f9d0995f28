"""Warnings that point at the user's own line, shown once for each such line.

    place     file and line of the nearest caller outside this package and the packages that call it
    subject   what a warning is about, such as a class: the part of it that does not vary

Python's default filter shows a warning once for each place, but two texts count as two warnings,
and the counts in our texts differ from fold to fold. It also forgets what was shown whenever
filters change, and scikit-learn changes them around every job. So this module records what was
shown. Every other filter ("always", "error", "ignore") does what it always does.
"""

from __future__ import annotations

import re
import sys
import warnings
from types import FrameType
from typing import Any

# Packages between the user's line and ours: a pipeline, a cross-validation or one of its jobs may
# call the sampler.
CALLERS = frozenset({"counterbalance", "sklearn", "imblearn", "joblib", "threadpoolctl"})
# Filter actions that show a warning only the first time.
FIRST_ONLY = frozenset({"default", "module", "once"})
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

_shown: set[tuple[str, int, type[Warning], str]] = set()


def renamed(owner: object, old: str, new: str) -> Any:
    """Return the attribute ``new`` for its former name ``old``, with a warning."""
    text = f"{type(owner).__name__}.{old} is called {new} from version 0.3 on; write .{new}"
    warn_user(FutureWarning(text), f"{type(owner).__name__}.{old}")
    return getattr(owner, new)


def warn_user(warning: Warning, subject: str | None = None) -> None:
    """Warn at the user's line; once for each ``subject`` there, where the filters say so.

    Without a subject, texts that differ only in their numbers count as one.
    """
    text, category = str(warning), type(warning)
    frame = _user_frame(sys._getframe(1))  # noqa: SLF001  (as the module warnings does)
    place = (frame.f_code.co_filename, frame.f_lineno)
    module = str(frame.f_globals.get("__name__", "<unknown>"))
    if _action(text, category, module, frame.f_lineno) in FIRST_ONLY:
        key = (*place, category, NUMBER.sub("#", text) if subject is None else subject)
        if key in _shown:
            return
        _shown.add(key)
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(warning, category, *place, module=module, registry=registry)


def _user_frame(frame: FrameType) -> FrameType:
    """Return the nearest frame of the user; in a worker process the nearest that is not ours."""
    nearest: FrameType | None = None
    at: FrameType | None = frame
    while at is not None:
        package = _package(at)
        if package not in CALLERS and package not in sys.stdlib_module_names:
            return at
        if nearest is None and package != "counterbalance":
            nearest = at
        at = at.f_back
    return nearest or frame


def _package(frame: FrameType) -> str:
    """Return the top-level package that a frame's code belongs to.

    A module that is run by ``python -m`` is called ``__main__``; its spec holds its real name.
    """
    spec = frame.f_globals.get("__spec__")
    name = getattr(spec, "name", None) or frame.f_globals.get("__name__") or ""
    return str(name).partition(".")[0]


def _action(text: str, category: type[Warning], module: str, line: int) -> str:
    """Return the action of the first filter that matches, as the module ``warnings`` does."""
    for action, message, kind, where, at in warnings.filters:
        if (
            _matches(message, text)
            and issubclass(category, kind)
            and _matches(where, module)
            and at in {0, line}
        ):
            return action
    return "default"


def _matches(pattern: object, text: str) -> bool:
    """Return whether part of a filter matches: an expression, a whole text, or None for any."""
    if pattern is None or isinstance(pattern, str):
        return pattern is None or pattern == text
    match = getattr(pattern, "match", None)
    return match is not None and match(text) is not None
