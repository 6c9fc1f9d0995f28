"""Answers: the smallest changes that have one row called another class.

The first answer is the nearest row that the search finds: the one that ``search="minimum"`` of the
sampler makes of this row. Each of the others was searched for without some of the changes of an
answer before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.classifier.predict import Classifier
from counterbalance.constraints.rules import differs
from counterbalance.errors import ClassifierError, TableError
from counterbalance.explain.explanation import Answer, Explanation, Room, Rooms
from counterbalance.prepare import Prepared
from counterbalance.profile import distance
from counterbalance.samplers.counterfactual import CounterfactualOverSampler, find_references
from counterbalance.search.algorithm_1 import which_invert
from counterbalance.search.minimum import Minimum
from counterbalance.search.structure import Structure, read_structure
from counterbalance.table import frames
from counterbalance.table.labels import plain

# Times as many draws as the sampler makes of a row.
MORE_DRAWS = 100
# How often a row is searched for without some changes, to find other answers.
MOST_SEARCHES = 30
# How often f is fitted again, each time without one of so many folds.
REFITS = 10


def explain(
    sampler: CounterfactualOverSampler,
    X: Any,
    y: Any,
    row: int,
    to: Any,
    *,
    n_answers: int = 3,
    robust: float | None = None,
) -> Explanation:
    """Find the smallest changes that have a row called the class ``to``.

    Parameters
    ----------
    sampler : CounterfactualOverSampler
        Its classifier, constraints, draws and seed are used. It is fitted to X and y.
    X, y : dataframe or array, array-like
        The table and its classes.
    row : int
        Position of the row in X.
    to : label
        The class that it would be called; it may be larger than the row's own.
    n_answers : int
        How many answers at most, the nearest first. Of all others that are found, those are
        taken that are near and unlike: one that shares a part p of its changes with an answer
        before counts as 1 / (1 - p) times as far.
    robust : float, default=None
        A share of refits of f, from 0 to 1. f is fitted again ten times, each time without a
        tenth of the rows, and only changes count that f and at least this share of the refits
        call ``to``; 0 asks them and only tells the share. ``None`` asks none.

    Returns
    -------
    explanation : Explanation
        What f says of the row, and the answers.

    See Also
    --------
    counterbalance.CounterfactualOverSampler : One counterfactual of each row.

    Examples
    --------
    >>> from counterbalance import CounterfactualOverSampler
    >>> X, y = np.arange(20).reshape(-1, 1), np.repeat(["low", "high"], [12, 8])
    >>> sampler = CounterfactualOverSampler(random_state=0)
    >>> answer = explain(sampler, X, y, 7, "high").answers[0]
    >>> answer.changes, answer.room["x0"].low, answer.room["x0"].high
    ({'x0': (7, 12)}, 12, None)
    """
    prepared = sampler.prepare(X, y)
    labels, answers = prepared.labels, prepared.predict()
    if not 0 <= row < len(labels.codes):
        raise TableError(
            f"row must be one of the {len(labels.codes)} rows, from 0 to {len(labels.codes) - 1}, "
            f"got {row}; count from 0"
        )
    classes = [plain(label) for label in labels.classes]
    if to not in classes:
        raise TableError(f"to must be a class of y, got {to!r}; the classes are {classes}")
    if n_answers < 1:
        raise TableError(f"n_answers must be at least 1, got {n_answers}; ask for one or more")
    if robust is not None and not 0 <= robust <= 1:
        raise TableError(f"robust must be a share from 0 to 1, got {robust}; for example 0.8")
    refits = () if robust is None else tuple(_refits(prepared, sampler))
    case = _Case(prepared, answers, row, classes.index(to), refits, robust or 0.0)
    called = int(answers[row])
    chosen, sampled = np.zeros((0, len(prepared.table.names))), False
    if called != case.target:
        chosen = _choose(case, n_answers)
        sampled = len(chosen) > 0 and case.is_sampled(sampler)
    before = _values(prepared.table.decode(case.x[None, :], np.array([row])), 0)
    return Explanation(
        row=row,
        own_class=classes[int(labels.codes[row])],
        called=classes[called],
        to=to,
        score=float(case.scores(case.x[None, :])[0]),
        cells=dict(zip(map(str, prepared.table.names), before, strict=True)),
        answers=tuple(_answers(case, chosen, before)),
        sampled=sampled,
        refits=len(refits),
    )


@dataclass(frozen=True, eq=False)
class _Case:
    """One row, the class that it is to be called, and the refits that have to agree."""

    prepared: Prepared
    answers: Integers  # the class code that f gives each row
    row: int
    target: int
    refits: tuple[Classifier, ...]
    share: float

    @property
    def f(self) -> Classifier:
        return self.prepared.f

    @property
    def x(self) -> Floats:
        """The row itself."""
        return np.asarray(self.prepared.table.rows(np.array([self.row]))[0])

    @property
    def structure(self) -> Structure:
        """What is known of f; of f and its refits together nothing is."""
        if self.share > 0:
            return _WithRefits(self.f, agreed=self.agreed, share=self.share, target=self.target)
        return read_structure(self.prepared.space, self.f, self.prepared.table)

    def is_sampled(self, sampler: CounterfactualOverSampler) -> bool:
        """Say whether the first answer is what the sampler makes of this row."""
        labels, ids = self.prepared.labels, np.array([self.row])
        own = int(labels.codes[self.row])
        if sampler.search != "minimum" or self.share > 0 or int(self.answers[self.row]) != own:
            return False
        wanted = np.zeros((1, len(labels.classes)), dtype=bool)
        wanted[0, self.target] = labels.counts[self.target] < labels.counts[own]
        x = self.x[None, :]
        return bool(which_invert(self.prepared.space, self.structure, x, ids, wanted).any())

    def ids(self, rows: Floats) -> Integers:
        return np.full(len(rows), self.row)

    def scores(self, rows: Floats) -> Floats:
        """Return f's score of the class."""
        scores = self.f.scores(rows, self.ids(rows)) if len(rows) else None
        return np.full(len(rows), np.nan) if scores is None else scores[:, self.target]

    def agreed(self, rows: Floats) -> Floats:
        """Return the share of refits that call the rows the class."""
        if not self.refits or not len(rows):
            return np.full(len(rows), np.nan)
        said = [refit.predict_codes(rows, self.ids(rows)) == self.target for refit in self.refits]
        return np.asarray(np.mean(said, axis=0))


@dataclass(frozen=True, eq=False)
class _WithRefits(Structure):
    """An f that calls a row the class only where enough refits do."""

    agreed: Any = None
    share: float = 0.0
    target: int = 0

    def predict(self, x: Floats, ids: Integers) -> Integers:
        """Return what f says of rows, or -1 where it says the class and too few refits do."""
        answer = self.f.predict_codes(x, ids)
        here = np.flatnonzero(answer == self.target)
        answer[here[self.agreed(x[here]) < self.share]] = -1
        return answer


def _refits(prepared: Prepared, sampler: CounterfactualOverSampler) -> Iterator[Classifier]:
    """Fit f again without each of some folds."""
    f, table, labels = prepared.f, prepared.table, prepared.labels
    if isinstance(f.f, FrozenEstimator):
        raise ClassifierError(
            "robust needs an estimator that can be fitted again, and this one was given fitted "
            "(FrozenEstimator); pass it unfitted, or leave robust out"
        )
    folds = min(REFITS, int(labels.counts.min()))
    if folds < 2:  # noqa: PLR2004 (a fold to leave out, and one to fit to)
        raise TableError(
            "robust fits f again without some rows of every class, and a class has only one row; "
            "leave robust out, or add rows"
        )
    own = sampler.estimator is None
    weights = labels.balanced_weight**sampler.default_balance if own else None
    split = StratifiedKFold(folds, shuffle=True, random_state=prepared.space.seed % 2**32)
    for train, _ in split.split(labels.codes, labels.codes):
        given = {} if weights is None else {"sample_weight": weights[train]}
        again = clone(f.f).fit(f.decode(table.rows(train), train), labels.values[train], **given)
        yield replace(f, f=again, screen=None)


def _choose(case: _Case, n_answers: int) -> Floats:
    """Return the nearest row, and other near ones that are unlike it and each other."""
    prepared = case.prepared
    references = find_references(prepared, case.answers, [case.target])
    # One row can be drawn often: where f is only asked, that is where a search may start.
    space = replace(prepared.space, n_draws=MORE_DRAWS * prepared.space.n_draws)
    minimum = Minimum(space, case.structure, references)
    x, target, ids = case.x[None, :], np.array([case.target]), np.array([case.row])
    first, far = minimum.nearest(x, target, ids)
    if not far[0] < prepared.space.epsilon:
        return first[:0]
    pool, least = [first[0]], far[0]
    known = minimum.by_trees is not None or minimum.by_weights is not None
    waiting = list(_left_out(minimum, x, first, np.zeros(x.shape, dtype=bool)))
    for _ in range(MOST_SEARCHES if n_answers > 1 else 0):
        if not waiting:
            break
        frozen = waiting.pop(0)
        other, far = minimum.solve(x, target, ids, frozen)
        if not far[0] < prepared.space.epsilon or any((other[0] == one).all() for one in pool):
            continue
        if known and far[0] < least:  # the row that the sampler makes stays the first answer
            continue
        pool.append(other[0])
        if len(pool) < n_answers:
            waiting += _left_out(minimum, x, other, frozen)
    return _diverse(case, np.array(pool), n_answers)


def _left_out(minimum: Minimum, x: Floats, row: Floats, frozen: Mask) -> Iterator[Mask]:
    """Give sets of cells that stay: those that stay already and some changes of a row."""
    for _, more in minimum.left_out(x, row):
        yield frozen | more


def _far(case: _Case, rows: Floats) -> Floats:
    space = case.prepared.space
    x = np.repeat(case.x[None, :], len(rows), axis=0)
    return distance(space.profile, space.order, x, rows)


def _diverse(case: _Case, pool: Floats, n_answers: int) -> Floats:
    """Return near rows that change other features, or in other directions, the nearest first."""
    changes = [_directions(new, case.x) for new in pool]
    far = _far(case, pool)
    ranked = np.argsort(far, kind="stable").tolist()
    chosen = [ranked[0]]
    while len(chosen) < n_answers:
        best, least = None, np.inf
        for place in ranked:
            here, before = changes[place], [changes[taken] for taken in chosen]
            shared = max(len(here & one) / len(here | one) for one in before)
            if shared < 1 and far[place] / (1 - shared) < least:
                best, least = place, far[place] / (1 - shared)
        if best is None:
            break
        chosen.append(best)
    return np.asarray(pool[sorted(chosen, key=lambda place: float(far[place]))])


def _directions(new: Floats, old: Floats) -> frozenset[tuple[int, bool]]:
    return frozenset((int(m), bool(new[m] > old[m])) for m in np.flatnonzero(differs(new, old)))


def _answers(case: _Case, rows: Floats, before: list[Any]) -> Iterator[Answer]:
    """Say the rows in the user's values, with the room of each change."""
    table = case.prepared.table
    names = [str(name) for name in table.names]
    after, scores, agreed = table.decode(rows, case.ids(rows)), case.scores(rows), case.agreed(rows)
    rooms = Rooms(case.prepared.space, case.structure)
    for place, far in enumerate(_far(case, rows)):
        cells = _values(after, place)
        changed = np.flatnonzero(differs(rows[place], case.x)).tolist()
        yield Answer(
            changes={names[m]: (before[m], cells[m]) for m in changed},
            distance=float(far),
            score=float(scores[place]),
            room={names[m]: _room(case, rooms, rows[place], m) for m in changed},
            robust=float(agreed[place]),
        )


def _room(case: _Case, rooms: Rooms, row: Floats, m: int) -> Room:
    """Return the room of a feature in the user's values."""
    span = rooms.find(row, case.x, m, case.target, case.row)
    ends = np.array([span.low, span.high]) if span.levels is None else span.levels
    rows = np.repeat(row[None, :], len(ends), axis=0)
    rows[:, m] = ends
    native = case.prepared.table.decode(rows, case.ids(rows))
    values = tuple(_values(native, place)[m] for place in range(len(ends)))
    if span.levels is not None:
        return Room(None, None, values, span.exact)
    if span.low == span.high:
        return Room(values[0], values[0], None, span.exact)
    profile = case.prepared.space.profile
    low = None if span.low <= profile.lower[m] else values[0]
    return Room(low, None if span.high >= profile.upper[m] else values[1], None, span.exact)


def _values(native: Any, place: int) -> list[Any]:
    """Return the cells of a row as plain values."""
    if hasattr(native, "toarray"):
        native = native.toarray()
    columns = range(native.shape[1])
    if frames.has_columns(native):
        return [plain(frames.column(native, m).to_list()[place]) for m in columns]
    return [plain(native[place, m]) for m in columns]
