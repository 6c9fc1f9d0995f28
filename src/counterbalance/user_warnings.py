"""Warnings that point at the user's own line, and are said once for each such line.

    place     file and line of the nearest caller outside of our own and the borrowed code
    subject   what a warning is about, such as a class: the part of it that does not vary

Python's default filter shows a warning once for each place, but it takes two texts for two
warnings: the counts in ours differ from fold to fold. It also forgets what it has shown
whenever filters change, and scikit-learn changes them around every job. So what was shown is
remembered here. Every other filter ("always", "error", "ignore") does what it always does.
"""

from __future__ import annotations

import re
import sys
import warnings
from types import FrameType

# Code between the user's line and ours: a sampler is called by a pipeline, by a cross-validation,
# by a job of it.
BORROWED = frozenset({"counterbalance", "sklearn", "imblearn", "joblib", "threadpoolctl"})
# Actions of a filter that show a warning for its first time only.
FIRST_ONLY = frozenset({"default", "module", "once"})
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

_shown: set[tuple[str, int, type[Warning], str]] = set()


def warn_user(warning: Warning, subject: str | None = None) -> None:
    """Warn at the user's line; once for each ``subject`` there, where the filters say so.

    Without a subject, texts that differ in their numbers only are taken for one.
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
    """Return the nearest frame of the user, or the nearest that is not ours in a bare worker."""
    nearest: FrameType | None = None
    at: FrameType | None = frame
    while at is not None:
        package = _package(at)
        if package not in BORROWED and package not in sys.stdlib_module_names:
            return at
        if nearest is None and package != "counterbalance":
            nearest = at
        at = at.f_back
    return nearest or frame


def _package(frame: FrameType) -> str:
    """Return the top-level package that a frame's code belongs to.

    A module that is run by ``python -m`` is called ``__main__`` and knows its name all the same.
    """
    spec = frame.f_globals.get("__spec__")
    name = getattr(spec, "name", None) or frame.f_globals.get("__name__") or ""
    return str(name).partition(".")[0]


def _action(text: str, category: type[Warning], module: str, line: int) -> str:
    """Return what the filters say of a warning, as the module ``warnings`` reads them."""
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
    """Return whether part of a filter fits: an expression, a whole text, or None for any."""
    if pattern is None or isinstance(pattern, str):
        return pattern is None or pattern == text
    match = getattr(pattern, "match", None)
    return match is not None and match(text) is not None
