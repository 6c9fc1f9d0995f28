"""The template of every peer: check, resample one class against the rest, put together.

Each class to be enlarged is resampled against all other rows together (one-vs-rest), so a
method published for two classes serves any number of them. One generator drives the draws of
all classes.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from imblearn.over_sampling.base import BaseOverSampler
from imblearn.under_sampling.base import BaseUnderSampler
from scipy import sparse

from counterbalance.arrays import Floats, Integers
from counterbalance.errors import TableError
from counterbalance.methods.fallback import warn_fallback
from counterbalance.methods.parameters import (
    OVER_STRATEGY,
    POSITIVE_INTEGER,
    SEED,
    UNDER_STRATEGY,
    DeclaredParameters,
    parameter,
)
from counterbalance.methods.whole_numbers import RoundsWholeColumns

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Change:
    """What resampling one class does to the table."""

    new: Floats
    """The new rows of the class."""
    moved: Floats | None = None
    """The whole table with rows moved, where the method moves rows."""
    dropped: Mask | None = None
    """The rows of the table that the method takes out as noise."""


def generator(random_state: Any) -> np.random.Generator:
    """Give the generator of one call; the global state of numpy is neither read nor changed."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)


def seed_from(rng: np.random.Generator) -> int:
    """Draw a seed for a scikit-learn estimator."""
    return int(rng.integers(2**31 - 1))


def is_sparse(X: Any) -> bool:
    """Tell a sparse table from a dense one."""
    return bool(sparse.issparse(X))


def dense(X: Any) -> Floats:
    """Give the table as a new float64 array."""
    return np.array(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def in_form_of(X: Any, rows: Floats) -> Any:
    """Give ``rows`` the floating type and the sparse format of ``X``.

    A table of whole numbers becomes float64: a new row is not cut down to whole numbers.
    """
    kept = X.dtype if np.issubdtype(X.dtype, np.floating) else np.dtype(np.float64)
    rows = rows.astype(kept, copy=False)
    return sparse.csr_array(rows).asformat(X.format) if is_sparse(X) else rows


def stacked(X: Any, rows: Any) -> Any:
    """Put the original rows first, untouched, and the new ones behind."""
    if is_sparse(X):
        return sparse.vstack([X, rows], format=X.format)
    return np.vstack([X, rows])


def check_size(method: str, label: Any, n_rows: int, least: int) -> None:
    """Refuse a class with fewer rows than the method can work from."""
    if n_rows < least:
        raise TableError(
            f"y must hold at least {least} rows of class {label} for {method}, it holds "
            f"{n_rows}; leave the class out through sampling_strategy, add rows of it, or use "
            "imblearn.over_sampling.RandomOverSampler, which needs one."
        )


class PeerOverSampler(RoundsWholeColumns, DeclaredParameters, BaseOverSampler):
    """An oversampler that resamples one class against the rest.

    A subclass implements ``_from_minority``, or ``_synthesise`` where it looks at the majority
    too, or ``_resample_class`` where it also moves or drops rows. Sparse tables are worked on
    as dense ones and come back in their own format.
    """

    sampling_strategy: Any = parameter(default="auto", rule=OVER_STRATEGY)
    random_state: Any = parameter(default=None, rule=SEED)

    _method: ClassVar[str | None] = None
    """Name in messages, where it is not that of the class."""
    _least_minority = 2
    """Rows of a class below which the method has nothing to work from."""
    _needs_spread = True
    """Whether the method works from differences among the minority rows."""

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        rng = generator(self.random_state)
        table = dense(X)
        kept = np.ones(len(y), dtype=bool)
        moved = False
        new_rows: list[Floats] = []
        new_labels: list[Any] = []
        for label, n_samples in self.sampling_strategy_.items():
            if n_samples == 0:
                continue
            change = self._checked_change(table[kept], y[kept], label, n_samples, rng)
            if change.moved is not None:
                table[kept], moved = change.moved, True
            if change.dropped is not None:
                kept[np.flatnonzero(kept)[change.dropped]] = False
            new_rows.append(change.new)
            new_labels.append(np.full(len(change.new), label, dtype=y.dtype))
        originals = in_form_of(X, table) if moved else X
        # ``np.vstack`` of whole numbers and floats is float64, so no row is truncated.
        rows = in_form_of(X, np.vstack([table[:0], *new_rows]))
        return stacked(originals[kept], rows), np.concatenate([y[kept], *new_labels])

    def _checked_change(
        self, table: Floats, y: Any, label: Any, n_samples: int, rng: np.random.Generator
    ) -> Change:
        method = self._method or type(self).__name__
        ours = y == label
        minority = table[ours]
        check_size(method, label, len(minority), self._least_minority)
        if self._needs_spread and (minority == minority[0]).all():
            warn_fallback(
                method,
                f"all {len(minority)} rows of class {label} are the same",
                "the new rows are copies of them",
            )
            return Change(np.repeat(minority[:1], n_samples, axis=0))
        return self._resample_class(table, ours, n_samples, rng)

    def _resample_class(
        self, table: Floats, ours: Mask, n_samples: int, rng: np.random.Generator
    ) -> Change:
        return Change(self._synthesise(table[ours], table[~ours], n_samples, rng))

    def _synthesise(
        self,
        minority: Floats,
        majority: Floats,  # noqa: ARG002  # for the methods that look at it
        n_samples: int,
        rng: np.random.Generator,
    ) -> Floats:
        """Give ``n_samples`` new rows of the class of ``minority``."""
        return self._from_minority(minority, n_samples, rng)

    def _from_minority(self, minority: Floats, n_samples: int, rng: np.random.Generator) -> Floats:
        """Give the new rows, where the method does not look at the majority."""
        raise NotImplementedError


class NeighbourOverSampler(PeerOverSampler):
    """An oversampler whose one parameter is a number of neighbours."""

    n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)


class PeerUnderSampler(DeclaredParameters, BaseUnderSampler):
    """An undersampler that picks rows of one class at a time and keeps the table's order.

    A subclass implements ``_pick``. ``sample_indices_`` holds the rows that were kept.
    """

    sampling_strategy: Any = parameter(default="auto", rule=UNDER_STRATEGY)
    random_state: Any = parameter(default=None, rule=SEED)

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        rng = generator(self.random_state)
        table = dense(X)
        kept = np.ones(len(y), dtype=bool)
        for label, n_samples in self.sampling_strategy_.items():
            ours = np.flatnonzero(y == label)
            if n_samples < len(ours):
                kept[ours] = False
                kept[ours[self._pick(table, y, ours, n_samples, rng)]] = True
        self.sample_indices_ = np.flatnonzero(kept)
        return X[self.sample_indices_], y[self.sample_indices_]

    @abstractmethod
    def _pick(
        self, table: Floats, y: Any, ours: Integers, n_samples: int, rng: np.random.Generator
    ) -> Integers:
        """Integers in ``ours`` of the ``n_samples`` rows to keep."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.sampler_tags.sample_indices = True
        return tags
