"""The template of every method: validate, resample one class against the rest, reassemble.

Each class to be enlarged is resampled against all other rows together (one-vs-rest), so a
method published for two classes serves any number of them. One generator drives the draws of
all classes. A parameter of a sampler is declared once, with its type, its default and its rule:

    class Lee(PeerOverSampler):
        n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)

gives the class a constructor that takes ``n_neighbors`` by keyword, as scikit-learn's tools
expect, and the rule by which ``fit_resample`` rejects a wrong value. An undeclared name is
rejected as in any Python call. A class with several parents has the parameters of all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter as Argument
from inspect import Signature
from numbers import Integral, Real
from typing import Any, ClassVar, dataclass_transform

import numpy as np
from imblearn.over_sampling.base import BaseOverSampler
from imblearn.under_sampling.base import BaseUnderSampler
from imblearn.utils import check_target_type
from scipy import sparse
from sklearn.utils._param_validation import Interval

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.errors import TableError
from counterbalance.user_warnings import warn_user

Rule = list[Any]

POSITIVE_INTEGER: Rule = [Interval(Integral, 1, None, closed="left")]
AT_LEAST_TWO: Rule = [Interval(Integral, 2, None, closed="left")]
POSITIVE_REAL: Rule = [Interval(Real, 0, None, closed="neither")]
NOT_NEGATIVE_REAL: Rule = [Interval(Real, 0, None, closed="left")]
SHARE: Rule = [Interval(Real, 0, 1, closed="both")]
POSITIVE_SHARE: Rule = [Interval(Real, 0, 1, closed="right")]
SEED: Rule = ["random_state"]
OVER_STRATEGY: Rule = BaseOverSampler._parameter_constraints["sampling_strategy"]  # noqa: SLF001  # this is how imbalanced-learn's samplers reuse each other's rules
UNDER_STRATEGY: Rule = BaseUnderSampler._parameter_constraints["sampling_strategy"]  # noqa: SLF001  # as above

# What the docstrings of all samplers say is written here once.
_HEADING = """    Parameters
    ----------
"""
_SHARED = """    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows each class gets, in imbalanced-learn's terms.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
"""


@dataclass(frozen=True)
class Declaration:
    """Default and rule of one parameter."""

    default: Any
    rule: Rule


def parameter(*, default: Any, rule: Rule) -> Any:
    """Declare a parameter in the body of a class."""
    return Declaration(default, rule)


def _constructor(declared: dict[str, Declaration]) -> Callable[..., None]:
    arguments = [
        Argument(name, Argument.KEYWORD_ONLY, default=declaration.default)
        for name, declaration in declared.items()
    ]
    own = Argument("self", Argument.POSITIONAL_OR_KEYWORD)

    def __init__(self: Any, **values: Any) -> None:  # noqa: N807  # it becomes that very method
        bound = signature.bind(self, **values)
        bound.apply_defaults()
        for name in declared:
            setattr(self, name, bound.arguments[name])

    signature = Signature([own, *arguments])
    __init__.__signature__ = signature  # type: ignore[attr-defined]  # what inspect looks for
    return __init__


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
class DeclaredParameters:
    """Gives a class the constructor and the rules of the parameters it declares."""

    _declared: ClassVar[dict[str, Declaration]] = {}
    _parameter_constraints: ClassVar[dict[str, Rule]] = {}

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        own = {name: d for name, d in vars(cls).items() if isinstance(d, Declaration)}
        for name in own:
            delattr(cls, name)
        cls._declared = {}
        for parent in reversed(cls.__mro__[1:]):
            cls._declared |= vars(parent).get("_declared", {})
        cls._declared |= own
        if cls.__doc__ and {"sampling_strategy", "random_state"} <= cls._declared.keys():
            cls.__doc__ = cls.__doc__.replace(_HEADING, _HEADING + _SHARED)
        cls._parameter_constraints = {name: d.rule for name, d in cls._declared.items()}
        cls.__init__ = _constructor(cls._declared)  # type: ignore[method-assign]


class PeerFallbackWarning(UserWarning):
    """A method could not follow its paper on this table; the message says what it did instead."""


def warn_fallback(method: str, reason: str, instead: str) -> None:
    """Warn that ``method`` departs from its paper, why, and what it did instead."""
    warn_user(PeerFallbackWarning(f"{method}: {reason}; {instead}."))


def check_size(method: str, label: Any, n_rows: int, least: int) -> None:
    """Refuse a class with fewer rows than the method can work from."""
    if n_rows < least:
        raise TableError(
            f"y must hold at least {least} rows of class {label} for {method}, it holds "
            f"{n_rows}; leave the class out through sampling_strategy, add rows of it, or use "
            "imblearn.over_sampling.RandomOverSampler, which needs one."
        )


def capped(k: int, available: int, method: str) -> int:
    """Return ``k``, or ``available`` with a warning if that is less."""
    if k <= available:
        return k
    warn_fallback(
        method,
        f"{k} neighbours were asked for and the most available is {available}",
        "that number is used; a smaller number of neighbours avoids this",
    )
    return available


def generator(random_state: Any) -> np.random.Generator:
    """Return the generator of one call, without reading or changing numpy's global state."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)


def seed_from(rng: np.random.Generator) -> int:
    """Draw a seed for a scikit-learn estimator."""
    return int(rng.integers(2**31 - 1))


def check_labels(y: Any) -> None:
    """Refuse several labels to a row: imbalanced-learn has the words for it."""
    if getattr(y, "ndim", 1) > 1:
        check_target_type(y)


def dense(X: Any) -> Floats:
    """Return the table as a new float64 array."""
    return np.array(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def in_form_of(X: Any, rows: Floats) -> Any:
    """Return ``rows`` in the floating-point type and sparse format of ``X``.

    A table of integers becomes float64, so that new rows are not truncated.
    """
    kept = X.dtype if np.issubdtype(X.dtype, np.floating) else np.dtype(np.float64)
    rows = rows.astype(kept, copy=False)
    return sparse.csr_array(rows).asformat(X.format) if hasattr(X, "toarray") else rows


def stacked(X: Any, rows: Any) -> Any:
    """Append the new rows to the untouched original ones."""
    if hasattr(X, "toarray"):
        return sparse.vstack([X, rows], format=X.format)
    return np.vstack([X, rows])


def integer_columns(X: Any) -> dict[Any, Any]:
    """Return name and type of each integer or boolean column of a pandas frame, else nothing."""
    if not hasattr(X, "iloc") or not hasattr(X, "columns") or not X.columns.is_unique:
        return {}
    return {name: kind for name, kind in X.dtypes.items() if getattr(kind, "kind", "") in "iub"}


class RoundsIntegerColumns:
    """Returns integer and boolean columns of a data frame as such, with new values rounded.

    imbalanced-learn casts a frame's columns back to their types, which turns 2.9 into 2.
    """

    def fit_resample(self, X: Any, y: Any, **parameters: Any) -> Any:
        """Resample the table.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their classes.
        **parameters : dict
            Passed on.

        Returns
        -------
        tuple
            The rows and the classes of the resampled table.
        """
        resample = super().fit_resample  # type: ignore[misc]  # that of the sampler, next in line
        columns = integer_columns(X)
        if not columns:
            return resample(X, y, **parameters)
        X_new, y_new = resample(X.astype(dict.fromkeys(columns, float)), y, **parameters)
        for name, kind in columns.items():
            X_new[name] = X_new[name].round().astype(kind)
        return X_new, y_new


@dataclass(frozen=True)
class Change:
    """What resampling one class does to the table."""

    new: Floats  # the new rows of the class
    moved: Floats | None = None  # the whole table with rows moved, if the method moves rows
    dropped: Mask | None = None  # the rows of the table that the method removes as noise


class PeerOverSampler(RoundsIntegerColumns, DeclaredParameters, BaseOverSampler):
    """An oversampler that resamples one class against the rest.

    A subclass implements ``_from_minority``, or ``_synthesise`` if it looks at the majority
    too, or ``_resample_class`` if it also moves or drops rows. Sparse tables are processed as
    dense ones and returned in their own format.
    """

    sampling_strategy: Any = parameter(default="auto", rule=OVER_STRATEGY)
    random_state: Any = parameter(default=None, rule=SEED)

    _least_minority = 2  # fewest rows of a class that the method can work with
    _needs_spread = True  # whether the method works from differences among the minority rows

    @property
    def _method_name(self) -> str:
        """Name of the method in messages."""
        return type(self).__name__

    def _warn(self, reason: str, instead: str) -> None:
        warn_fallback(self._method_name, reason, instead)

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
        # ``np.vstack`` of integers and floats is float64, so no row is truncated.
        rows = in_form_of(X, np.vstack([table[:0], *new_rows]))
        return stacked(originals[kept], rows), np.concatenate([y[kept], *new_labels])

    def _checked_change(
        self, table: Floats, y: Any, label: Any, n_samples: int, rng: np.random.Generator
    ) -> Change:
        ours = y == label
        minority = table[ours]
        check_size(self._method_name, label, len(minority), self._least_minority)
        if self._needs_spread and (minority == minority[0]).all():
            self._warn(
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
        """Return ``n_samples`` new rows of the class of ``minority``."""
        return self._from_minority(minority, n_samples, rng)

    def _from_minority(self, minority: Floats, n_samples: int, rng: np.random.Generator) -> Floats:
        """Return the new rows, if the method does not look at the majority."""
        raise NotImplementedError


class NeighbourOverSampler(PeerOverSampler):
    """An oversampler that has a number of neighbours among its parameters."""

    n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)

    def _neighbours_within(self, n_rows: int) -> int:
        """Return how many neighbours a row has in a group of ``n_rows``, at most n_neighbors."""
        return capped(self.n_neighbors, n_rows - 1, self._method_name)


class RejectionOverSampler(PeerOverSampler):
    """An oversampler that rejects new rows and draws others, for a limited number of rounds."""

    max_rounds: int = parameter(default=20, rule=POSITIVE_INTEGER)

    def _drawn_until_accepted(
        self,
        n_samples: int,
        draw: Callable[[int], Floats],
        fault: Callable[[Floats], Floats],
        *,
        limit: float = 0.0,
    ) -> Floats:
        """Return rows from ``draw`` whose ``fault`` is at most ``limit``.

        Each round draws as many rows as are missing. Whatever is missing after ``max_rounds``
        is filled with the least faulty of the rejected rows, and a warning says how many.
        """
        accepted: list[Floats] = []
        rejected: list[Floats] = []
        faults: list[Floats] = []
        missing = n_samples
        for _ in range(self.max_rounds):
            candidates = draw(missing)
            judged = fault(candidates)
            good = judged <= limit
            accepted.append(candidates[good])
            rejected.append(candidates[~good])
            faults.append(judged[~good])
            missing -= int(good.sum())
            if missing == 0:
                break
        if missing:
            self._warn(
                f"after {self.max_rounds} rounds {missing} of {n_samples} rows were still rejected",
                "the least faulty of the rejected rows were taken",
            )
            best = np.argsort(np.concatenate(faults), kind="stable")[:missing]
            accepted.append(np.vstack(rejected)[best])
        return np.vstack(accepted)


class PeerUnderSampler(DeclaredParameters, BaseUnderSampler):
    """An undersampler that picks rows of one class at a time and keeps the table's order.

    A subclass implements ``_pick_from``, or ``_pick`` if it looks at the other classes too.
    ``sample_indices_`` holds the rows that were kept.
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

    def _pick(
        self,
        table: Floats,
        y: Any,  # noqa: ARG002  # for the methods that look at the other classes
        ours: Integers,
        n_samples: int,
        rng: np.random.Generator,
    ) -> Integers:
        """Return the positions in ``ours`` of the ``n_samples`` rows to keep."""
        return self._pick_from(table[ours], n_samples, rng)

    def _pick_from(self, rows: Floats, n_samples: int, rng: np.random.Generator) -> Integers:
        """Return which rows of the class to keep, if the method looks at no other class."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.sampler_tags.sample_indices = True
        return tags
