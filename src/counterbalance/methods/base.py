"""Base classes of the samplers, which are written as imbalanced-learn's are.

``fit_resample`` validates parameters and table and restores the container; ``_fit_resample`` goes
from class to class; a method implements ``_make_samples``. Each class to be enlarged is resampled
against all other rows together (one-vs-rest), so a method published for two classes works for any
number of them. One generator makes the draws of all classes.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from imblearn.over_sampling.base import BaseOverSampler
from imblearn.under_sampling.base import BaseUnderSampler
from imblearn.utils import Substitution, check_target_type
from scipy import sparse

from counterbalance.arrays import Floats, Integers, Rng
from counterbalance.errors import TableError
from counterbalance.reference import LinksToReference
from counterbalance.user_warnings import warn_user

MAX_ROUNDS = 20  # rounds of draws before rejected rows are accepted

# Parameter constraints of the base classes, which each sampler extends.
OVER_CONSTRAINTS: dict[str, list[Any]] = BaseOverSampler._parameter_constraints  # noqa: SLF001  # as imbalanced-learn's samplers do
UNDER_CONSTRAINTS: dict[str, list[Any]] = BaseUnderSampler._parameter_constraints | {  # noqa: SLF001  # as above
    "random_state": ["random_state"]
}

# Python 3.13 removes the indentation of a docstring before this text is inserted.
_INDENT = "" if sys.version_info >= (3, 13) else "    "
shared_doc = Substitution(
    common_parameters=f"""sampling_strategy : float, str, dict or callable, default="auto"
{_INDENT}    How many rows each class gets, in imbalanced-learn's terms.
{_INDENT}random_state : int, RandomState or None, default=None
{_INDENT}    Seed of all draws."""
)


class PeerFallbackWarning(UserWarning):
    """A method could not follow its paper on this table; the message says what it did instead."""


def warn_fallback(method: str, reason: str, instead: str) -> None:
    """Warn that ``method`` departs from its paper, why, and what it did instead."""
    warn_user(PeerFallbackWarning(f"{method}: {reason}; {instead}."))


def check_size(method: str, label: Any, n_rows: int, least: int) -> None:
    """Raise for a class with fewer rows than the method needs."""
    if n_rows < least:
        raise TableError(
            f"y must hold at least {least} rows of class {label} for {method}, it holds "
            f"{n_rows}; leave the class out through sampling_strategy, add rows of it, or use "
            "imblearn.over_sampling.RandomOverSampler, which needs one."
        )


def check_labels(y: Any) -> None:
    """Raise for several labels in a row, with imbalanced-learn's message."""
    if getattr(y, "ndim", 1) > 1:
        check_target_type(y)


def generator(random_state: Any) -> Rng:
    """Return the generator of one call, without reading or changing numpy's global state."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)


def dense(X: Any) -> Floats:
    """Return the table as a new float64 array."""
    return np.array(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


class RoundsIntegerColumns:
    """Rounds new values of the integer and boolean columns of a data frame.

    imbalanced-learn casts a frame's columns back to their types, which turns 2.9 into 2.
    """

    _is_integer: list[bool]

    def _check_X_y(self, X: Any, y: Any) -> Any:  # noqa: N802  # imbalanced-learn's name
        kinds = X.dtypes if hasattr(X, "iloc") and hasattr(X, "columns") else ()
        self._is_integer = [kind.kind in "iub" for kind in kinds]
        return super()._check_X_y(X, y)  # type: ignore[misc]  # of the sampler, next in line

    def _in_form_of(self, X: Any, rows: Floats) -> Any:
        """Return ``rows`` in the floating-point type and sparse format of ``X``.

        A table of integers becomes float64, so that new rows are not truncated.
        """
        if any(self._is_integer):
            rows = np.where(self._is_integer, rows.round(), rows)
        if np.issubdtype(X.dtype, np.floating):
            rows = rows.astype(X.dtype, copy=False)
        return sparse.csr_array(rows).asformat(X.format) if hasattr(X, "toarray") else rows


class OneVsRestMixin(LinksToReference, RoundsIntegerColumns):
    """Resamples one class against the rest, class after class.

    A method implements ``_make_samples``, or ``_resample_class`` if it also moves or removes rows.
    Sparse tables are processed as dense ones and returned in their own format.
    """

    random_state: Any
    sampling_strategy_: dict[Any, int]
    _least_minority = 2  # fewest rows of a class that the method can work with
    _needs_spread = True  # whether the method works from differences among the minority rows

    def _warn(self, reason: str, instead: str) -> None:
        warn_fallback(type(self).__name__, reason, instead)

    def _all_the_same(self, minority: Floats, label: Any) -> bool:
        """Return whether all rows of a class are the same; if so, warn."""
        same = bool((minority == minority[0]).all())
        if same:
            self._warn(
                f"all {len(minority)} rows of class {label} are the same",
                "the new rows are copies of them",
            )
        return same

    def _capped(self, k: int, available: int) -> int:
        """Return ``k``, or ``available`` with a warning if that is less."""
        if k > available:
            self._warn(
                f"{k} neighbours were requested and the most available is {available}",
                "that number is used; a smaller number of neighbours avoids this",
            )
        return min(k, available)

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        table, y = self._resample_classes(dense(X), y, generator(self.random_state))
        return self._in_form_of(X, table), y

    def _resample_classes(self, table: Floats, y: Any, rng: Rng) -> tuple[Floats, Any]:
        new_rows, new_labels = [], []
        for label, n_samples in self.sampling_strategy_.items():
            if n_samples == 0:
                continue
            minority = table[y == label]
            check_size(type(self).__name__, label, len(minority), self._least_minority)
            if self._needs_spread and self._all_the_same(minority, label):
                new = np.repeat(minority[:1], n_samples, axis=0)
            else:
                table, y, new = self._resample_class(table, y, label, n_samples, rng)
            new_rows.append(new)
            new_labels.append(np.full(len(new), label, dtype=y.dtype))
        return np.vstack([table, *new_rows]), np.concatenate([y, *new_labels])

    def _resample_class(
        self, table: Floats, y: Any, label: Any, n_samples: int, rng: Rng
    ) -> tuple[Floats, Any, Floats]:
        """Return the table and its labels, as the method leaves them, and the new rows."""
        ours = y == label
        return table, y, self._make_samples(table[ours], table[~ours], n_samples, rng)

    def _make_samples(self, minority: Floats, majority: Floats, n_samples: int, rng: Rng) -> Floats:
        """Return ``n_samples`` new rows of the class of ``minority``."""
        raise NotImplementedError

    def _drawn_until_accepted(
        self,
        n_samples: int,
        draw: Callable[[int], Floats],
        fault: Callable[[Floats], Floats],
        limit: float = 0.0,
    ) -> Floats:
        """Return rows from ``draw`` whose ``fault`` is at most ``limit``.

        Each round draws as many rows as are missing. Whatever is missing after 20 rounds is
        filled with the least faulty of the rejected rows, and a warning says how many.
        """
        rows, faults, missing = [], [], n_samples
        for _ in range(MAX_ROUNDS):
            rows.append(draw(missing))
            faults.append(fault(rows[-1]))
            missing -= int((faults[-1] <= limit).sum())
            if missing == 0:
                break
        if missing:
            self._warn(
                f"after {MAX_ROUNDS} rounds {missing} of {n_samples} rows were still rejected",
                "the least faulty of the rejected rows were taken",
            )
        # Accepted rows are alike and come first, in the order of their draws.
        best = np.argsort(np.maximum(np.concatenate(faults), limit), kind="stable")
        return np.vstack(rows)[best[:n_samples]]


class OneVsRestOverSampler(OneVsRestMixin, BaseOverSampler):
    """An oversampler that resamples one class against the rest."""

    def __init__(self, *, sampling_strategy: Any = "auto", random_state: Any = None) -> None:
        super().__init__(sampling_strategy=sampling_strategy)
        self.random_state = random_state


class PerClassUnderSampler(LinksToReference, BaseUnderSampler):
    """An undersampler that selects rows of one class at a time and keeps the table's order.

    ``sample_indices_`` holds the rows that were kept.
    """

    _parameter_constraints = UNDER_CONSTRAINTS

    def __init__(self, *, sampling_strategy: Any = "auto", random_state: Any = None) -> None:
        super().__init__(sampling_strategy=sampling_strategy)
        self.random_state = random_state

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        rng, table = generator(self.random_state), dense(X)
        kept = np.ones(len(y), dtype=bool)
        classes, counts = np.unique(y, return_counts=True)
        for label, n_samples in self.sampling_strategy_.items():
            ours = np.flatnonzero(y == label)
            if n_samples < len(ours):
                smaller = table[np.isin(y, classes[counts < len(ours)])]
                kept[ours] = False
                kept[ours[self._select(table[ours], smaller, n_samples, rng)]] = True
        self.sample_indices_ = np.flatnonzero(kept)
        return X[self.sample_indices_], y[self.sample_indices_]

    def _select(self, rows: Floats, smaller: Floats, n_samples: int, rng: Rng) -> Integers:
        """Return which rows of a class to keep; ``smaller`` holds those of all smaller classes."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.sampler_tags.sample_indices = True
        return tags
