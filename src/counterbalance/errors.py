"""Errors and warnings, as a tree.

    Exception
    └── ValueError
        └── CounterbalanceError
            ├── TableError        X, y or sample_weight cannot be used
            │   ├── CellError     a cell is neither number nor text (a TypeError, too)
            │   └── DataNotFoundError   a file or a data set is not on this machine
            ├── ClassifierError   the classifier (f in the paper) cannot be used
            ├── ConstraintError   the constraints cannot be read or met
            ├── ShortfallError    fewer new rows than requested
            └── EngineError       the distributed engine cannot start or continue
    Warning
    └── UserWarning
        ├── ShortfallWarning      fewer counterfactuals than requested
        │   └── InflatedClassWarning  a class got very many new rows for its real ones
        ├── IdentifierWarning     a column identifies rows, or cannot be checked
        └── UntunedWarning        too few rows to learn a threshold or a calibration from

Every message states the parameter, the rule, the value and the remedy.
"""

import difflib
from collections.abc import Sequence
from typing import Any


class CounterbalanceError(ValueError):
    """Base of every error that counterbalance raises on purpose."""


class TableError(CounterbalanceError):
    """The table, the labels or the weights cannot be used as they are."""


class CellError(TableError, TypeError):
    """A column holds objects that are neither numbers nor text."""


class DataNotFoundError(TableError):
    """Data are not on this machine; the message says how to get them."""


class ClassifierError(CounterbalanceError):
    """The classifier cannot be used: not a classifier, not fitted, or it never predicts a class."""


class ConstraintError(CounterbalanceError):
    """A constraint cannot be read, or contradicts the data or another constraint."""


class ShortfallError(CounterbalanceError):
    """A class got fewer new rows than requested, and ``on_shortfall="raise"``."""


class EngineError(CounterbalanceError):
    """The distributed engine cannot start or continue: workers too small, scheduler lost."""


class ShortfallWarning(UserWarning):
    """A class got fewer counterfactuals than requested; the message says what was done."""


class InflatedClassWarning(ShortfallWarning):
    """A class got very many new rows for its real ones; the message names a number to request.

    ``classes`` holds an :class:`~counterbalance.rows.origins.Inflated` for each such class.
    """

    def __init__(self, message: str, classes: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.classes = classes


class IdentifierWarning(UserWarning):
    """A column identifies rows or cannot be checked, so it does not change."""


class UntunedWarning(UserWarning):
    """Threshold and calibration could not be learned; the message says what is used instead."""


def near_names(name: str, names: Sequence[str]) -> str:
    """Return the similar names, as a hint for an error message.

    >>> near_names("RISK", [" risk", "age"])
    " (near: ' risk')"
    """
    folded = {other.strip().casefold(): other for other in names}
    matches = difflib.get_close_matches(name.strip().casefold(), folded, n=3)
    within = [other for other in folded if name.strip().casefold() in other and name.strip()]
    near = [folded[match] for match in dict.fromkeys([*matches, *within][:3])]
    return f" (near: {', '.join(map(repr, near))})" if near else ""
