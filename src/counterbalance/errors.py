"""What can go wrong, as a tree.

    Exception
    └── ValueError
        └── CounterbalanceError
            ├── TableError        X, y or sample_weight cannot be used
            │   ├── CellError     a cell is neither number nor text (a TypeError, too)
            │   └── DataNotFoundError   a file or a data set is not on this machine
            ├── ClassifierError   f cannot be used
            ├── ConstraintError   the constraints cannot be read or met
            ├── ShortfallError    fewer samples than asked for, and no policy left
            └── EngineError       the distributed engine cannot start or go on
    Warning
    └── UserWarning
        ├── ShortfallWarning      samples that are no inversions were returned
        │   └── InflatedClassWarning  a class got far more rows than its real ones bear out
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
    """Data are not on this machine; the message names every way to get them."""


class ClassifierError(CounterbalanceError):
    """The classifier f cannot be used: not a classifier, not fitted, or blind to a class."""


class ConstraintError(CounterbalanceError):
    """A constraint cannot be read, or contradicts the data or another constraint."""


class ShortfallError(CounterbalanceError):
    """A class got fewer samples than asked for and no policy is left to mend it."""


class EngineError(CounterbalanceError):
    """The distributed engine cannot start or go on: workers too small, scheduler lost."""


class ShortfallWarning(UserWarning):
    """A class got fewer inversions than asked for; the message says what was done."""


class InflatedClassWarning(ShortfallWarning):
    """A class got far more new rows than its real ones bear out; the message says what to ask for.

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
    """Return a hint at the names that look alike, for an error.

    >>> near_names("RISK", [" risk", "age"])
    " (near: ' risk')"
    """
    folded = {other.strip().casefold(): other for other in names}
    matches = difflib.get_close_matches(name.strip().casefold(), folded, n=3)
    within = [other for other in folded if name.strip().casefold() in other and name.strip()]
    near = [folded[match] for match in dict.fromkeys([*matches, *within][:3])]
    return f" (near: {', '.join(map(repr, near))})" if near else ""
