"""Response: what f answers when it is asked about rows, checked before it is believed.

    predictions      the label of each row, (n,)
    probabilities    of each class for each row, (n, C) in the order of ``f.classes_``
    decisions        the same without a scale, None where they are not one for each class

A classifier that follows scikit-learn's conventions passes unchanged. One that does not is
named in an error: its answers would be taken for something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats
from counterbalance.classifier.boosting import Boosting
from counterbalance.classifier.forest import forest_probability, is_forest
from counterbalance.errors import ClassifierError
from counterbalance.table import containers

Labels = NDArray[Any]

# A probability may be off by so much.
ROUNDING = 1e-6


def predictions(f: Any, X: Any) -> Labels:
    """Return the label that f gives each row."""
    if is_forest(f) and isinstance(X, np.ndarray):
        return np.asarray(f.classes_.take(np.argmax(forest_probability(f, X), axis=1)))
    labels = _ask(f, f.predict, X)
    if labels.shape != (X.shape[0],):
        raise _misbehaves(
            f, f"predict returns {_shape(labels)} for {X.shape[0]} rows; one label for each row"
        )
    return labels


def probabilities(f: Any, X: Any) -> Floats:
    """Return f's probability of each of its classes for each row."""
    if is_forest(f) and isinstance(X, np.ndarray):  # without dispatching every tree
        return forest_probability(f, X)
    if type(f) is Boosting and isinstance(X, np.ndarray) and X.dtype == np.float64:
        return f.probabilities(X)
    found = _ask(f, f.predict_proba, X)
    wanted = (X.shape[0], len(f.classes_))
    if found.shape != wanted or found.dtype.kind not in "fiub":
        raise _misbehaves(
            f,
            f"predict_proba returns {_shape(found)} for {wanted[0]} rows and {wanted[1]} classes; "
            "one number for each row and class",
        )
    if not ((found >= -ROUNDING) & (found <= 1 + ROUNDING)).all():
        strange = found[~((found >= -ROUNDING) & (found <= 1 + ROUNDING))][0]
        raise _misbehaves(
            f, f"predict_proba returns {strange:g}; a probability, which is between 0 and 1,"
        )
    return found


def decisions(f: Any, X: Any) -> Floats | None:
    """Return f's decision function for each class; with two classes f gives the second's."""
    found = np.array(_ask(f, f.decision_function, X), dtype=np.float64)  # our own, to write into
    if found.ndim == 1:
        found = np.column_stack([-found, found])
    if found.shape[0] != X.shape[0] or not np.isfinite(found).all():
        raise _misbehaves(
            f, f"decision_function returns {_shape(found)} or nan; a finite number for each row"
        )
    of_classes = found.shape[1:] == (len(f.classes_),) and not _decides_by_pairs(f)
    return found if of_classes else None


def _decides_by_pairs(f: Any) -> bool:
    """Say whether f is known to decide between pairs of classes: three have as many pairs."""
    params = f.get_params(deep=True) if hasattr(f, "get_params") else {}
    shapes = [value for name, value in params.items() if name.endswith("decision_function_shape")]
    return len(f.classes_) > 2 and "ovo" in shapes  # noqa: PLR2004


def check_leaves_input(f: Any, X: Any) -> None:
    """Refuse an f that changes the rows that it is asked about."""
    before = containers.copy(X)
    predictions(f, X)
    if not containers.same(X, before):
        raise ClassifierError(changes_its_input(f, "asked about"))


def changes_its_input(f: Any, when: str) -> str:
    """Say that f wrote into a table that is not its own."""
    return (
        f"estimator {type(f).__name__} changes the rows that it is {when}, as steps with "
        "copy=False do; let it work on a copy (X and y are as they were)"
    )


def _ask(f: Any, method: Callable[[Any], Any], X: Any) -> NDArray[Any]:
    try:
        with np.errstate(all="ignore"):  # as in its fit: what comes out is checked by the caller
            return np.asarray(method(X))
    except Warning:
        raise  # somebody asked for warnings to be errors
    except Exception as error:
        name = getattr(method, "__name__", "it")
        raise ClassifierError(
            f"estimator {type(f).__name__} failed in {name}: {type(error).__name__}: {error}; "
            "mend it, or pass another classifier"
        ) from error


def _shape(found: NDArray[Any]) -> str:
    return f"an array of shape {found.shape}" if found.ndim else f"{found.item()!r}"


def _misbehaves(f: Any, what: str) -> ClassifierError:
    return ClassifierError(
        f"estimator {type(f).__name__} does not follow scikit-learn's conventions: its {what} "
        "is needed; mend it, or pass another classifier"
    )
