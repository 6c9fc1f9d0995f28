"""Answers: near and diverse changes that have one row called another class.

The first answer is the row that the sampler makes, if it makes one. For others the row is
searched many times with draws of its own, also without features that the first answer changes,
and changes that f does not need are taken back. Of what is found the nearest is chosen, and
answers that are near and unlike each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold

from counterbalance.arrays import Floats, Integers
from counterbalance.classifier.judge import Classifier, Insight
from counterbalance.constraints.rules import differs
from counterbalance.errors import ClassifierError, TableError
from counterbalance.explain.explanation import Answer, Explanation, Room, Rooms
from counterbalance.prepare import Prepared
from counterbalance.profile import distance
from counterbalance.samplers.counterfactual import CounterfactualOverSampler
from counterbalance.search.minimal import take_back
from counterbalance.search.minimum_any import AnyMinimum
from counterbalance.search.nearest import Judge, Space, rebuild, search
from counterbalance.search.problem import Judged, Problem
from counterbalance.table import frames
from counterbalance.table.labels import plain

# How many searches of T draws one row gets, and without how many features of the first answer.
SEARCHES = 100
MOST_LEFT_OUT = 8
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
    """Find near and diverse changes that have a row called the class ``to``.

    Parameters
    ----------
    sampler : CounterfactualOverSampler
        Its classifier, search, constraints, draws and seed are used. It is fitted to X and y.
    X, y : dataframe or array, array-like
        The table and its classes.
    row : int
        Position of the row in X.
    to : label
        The class that it would be called; it may be larger than the row's own.
    n_answers : int
        How many answers at most. The first is the row that the sampler makes of this one, or
        the nearest found where it makes none (``sampled`` says which). The second is the nearest
        found, if that is nearer. Each further one is the nearest where one that shares a part p
        of its changes with an answer before counts as 1 / (1 - p) times as far.
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
    problem = prepared.problem
    problem = replace(problem, effort=replace(problem.effort, minimal=True))
    labels = problem.labels
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
    case = _Case(problem, prepared.judged(), row, classes.index(to), ())
    if robust is not None:
        case = replace(case, refits=tuple(_refits(prepared, sampler)), share=robust)
    called = int(case.judged.answers[row])
    chosen, sampled = np.zeros((0, len(problem.table.names))), False
    if called != case.target:
        chosen, sampled = _choose(case, sampler, n_answers)
    before = _values(problem.table.decode(case.x[None, :], np.array([row])), 0)
    return Explanation(
        row=row,
        own_class=classes[int(labels.codes[row])],
        called=classes[called],
        to=to,
        score=float(case.scores(case.x[None, :])[0]),
        cells=dict(zip(map(str, problem.table.names), before, strict=True)),
        answers=tuple(_answers(case, chosen, before)),
        sampled=sampled,
        refits=len(case.refits),
    )


@dataclass(frozen=True, eq=False)
class _Case:
    """One row, the class that it is to be called, and who has to call it so."""

    problem: Problem
    judged: Judged
    row: int
    target: int
    refits: tuple[Classifier, ...]
    share: float = 0.0

    @property
    def f(self) -> Classifier:
        return self.judged.f

    @property
    def is_sampled(self) -> bool:
        """Whether the sampler searches this row for this class."""
        own, labels = int(self.problem.labels.codes[self.row]), self.problem.labels
        right = int(self.judged.answers[self.row]) == own
        return bool(right and labels.counts[self.target] < labels.counts[own])

    @property
    def x(self) -> Floats:
        """The row itself."""
        return np.asarray(self.problem.table.rows(np.array([self.row]))[0])

    @cached_property
    def starts(self) -> list[Floats]:
        """Rows that f puts into the class, where a search may start."""
        return self.problem.starts(self.problem.references(self.judged, [self.target]))

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
        said = [refit(rows, self.ids(rows)) == self.target for refit in self.refits]
        return np.asarray(np.mean(said, axis=0))

    def ask(self, rows: Floats, who: Integers) -> Integers:
        """Return what f says of rows, or -1 where it says the class and too few refits do."""
        answer = self.f.on_candidates(rows, np.full(len(rows), self.row))
        if self.share > 0:
            here = np.flatnonzero(answer == self.target)
            answer[here[self.agreed(rows[here]) < self.share]] = -1
        del who  # of many searches of one row
        return answer


def _refits(prepared: Prepared, sampler: CounterfactualOverSampler) -> Iterator[Classifier]:
    """Fit f again without each of some folds."""
    f, table, labels = prepared.f, prepared.problem.table, prepared.problem.labels
    choices = sampler.choices()
    if choices.prefit or isinstance(f.f, FrozenEstimator):
        raise ClassifierError(
            "robust needs an estimator that can be fitted again, and this one was given fitted "
            "(prefit=True or FrozenEstimator); pass it unfitted, or leave robust out"
        )
    folds = min(REFITS, int(labels.counts.min()))
    if folds < 2:  # noqa: PLR2004 (a fold to leave out, and one to fit to)
        raise TableError(
            "robust fits f again without some rows of every class, and a class has only one row; "
            "leave robust out, or add rows"
        )
    weights = labels.balanced_weight**choices.default.balance if choices.own else None
    split = StratifiedKFold(folds, shuffle=True, random_state=prepared.problem.space.seed % 2**32)
    for train, _ in split.split(labels.codes, labels.codes):
        given = {} if weights is None else {"sample_weight": weights[train]}
        again = clone(f.f).fit(f.decode(table.rows(train), train), labels.values[train], **given)
        yield replace(f, f=again, screen=None)


def _choose(case: _Case, sampler: CounterfactualOverSampler, n_answers: int) -> tuple[Floats, bool]:
    """Return near rows that are unlike each other, and whether the first is the sampler's own."""
    own = _own(case, sampler) if case.is_sampled else np.zeros((0, len(case.x)))
    own = own[~(case.agreed(own) < case.share)]
    pool = np.concatenate([own, *_pool(case, case.problem.space)])
    if not len(pool):
        return pool, False
    if n_answers > 1:
        first = pool[0] if len(own) else pool[np.argmin(_far(case, pool))]
        pool = np.concatenate([pool, *_without(case, first)])
    return pool[_diverse(case, pool, n_answers, own=len(own) > 0)], len(own) > 0


def _own(case: _Case, sampler: CounterfactualOverSampler) -> Floats:
    """Return the row that the sampler makes of this one, if it makes one."""
    problem, f = case.problem, case.f
    rows, wanted = np.array([case.row]), np.zeros((len(problem.labels.codes), len(f.classes)), bool)
    wanted[case.row, case.target] = True
    if sampler.search == "perturb":
        found = problem.find_in(rows, wanted, f)
        if len(found) or "minimum" not in {*sampler.pooling(), *sampler.policies()}:
            return problem.rebuild(found)
    return problem.rebuild(problem.solve_in(rows, wanted, f, case.starts))


def _without(case: _Case, first: Floats) -> Iterator[Floats]:
    """Search without each feature that an answer changes, and without all of them."""
    space = case.problem.space
    changed = np.flatnonzero(differs(first, case.x))
    for left_out in [*changed[:MOST_LEFT_OUT, None], changed]:
        order = space.order[~np.isin(space.order, left_out)]
        if order.size:
            yield from _pool(case, replace(space, order=order))


def _pool(case: _Case, space: Space) -> Iterator[Floats]:
    """Search the row many times by draws, and once from rows of the class."""
    n_rows = len(case.problem.labels.codes)
    ids = case.row + n_rows * np.arange(SEARCHES)
    x = np.repeat(case.x[None, :], SEARCHES, axis=0)
    wanted = np.zeros((SEARCHES, len(case.f.classes)), dtype=bool)
    wanted[:, case.target] = True
    # What is known of f is not known of its refits.
    insight = case.f.insight if case.share == 0 else Insight()
    judge: Judge = case.ask
    effort, target = case.problem.effort, np.array([case.target])
    found, _ = search(space, effort, judge, x, ids, wanted, insight)
    drawn = rebuild(space, x[: len(found)], found.factual, found.draw, found.round)
    solved, reached = AnyMinimum(space, effort, judge, case.starts).nearest(x[:1], target, ids[:1])
    rows = np.concatenate([drawn, solved[reached]])
    if len(rows):
        targets = np.repeat(target, len(rows))
        yield take_back(
            space, judge, np.repeat(x[:1], len(rows), axis=0), rows, targets, case.ids(rows)
        )


def _far(case: _Case, rows: Floats) -> Floats:
    space = case.problem.space
    x = np.repeat(case.x[None, :], len(rows), axis=0)
    return distance(space.perturbation.profile, space.order, x, rows)


def _diverse(case: _Case, pool: Floats, n_answers: int, *, own: bool) -> list[int]:
    """Return the places of near rows that change different features, or in other directions."""
    changes = [_directions(new, case.x) for new in pool]
    far = _far(case, pool)
    ranked = np.argsort(far, kind="stable").tolist()
    chosen = [0 if own else ranked[0]]
    if far[ranked[0]] < far[chosen[0]] and n_answers > 1:
        chosen.append(ranked[0])
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
    return [chosen[0], *sorted(chosen[1:], key=lambda place: far[place])]


def _directions(new: Floats, old: Floats) -> frozenset[tuple[int, bool]]:
    return frozenset((int(m), bool(new[m] > old[m])) for m in np.flatnonzero(differs(new, old)))


def _answers(case: _Case, rows: Floats, before: list[Any]) -> Iterator[Answer]:
    """Say the rows in the user's values, with the room of each change."""
    table = case.problem.table
    names = [str(name) for name in table.names]
    after, scores, agreed = table.decode(rows, case.ids(rows)), case.scores(rows), case.agreed(rows)
    rooms = Rooms(case.problem.space, case.f, table, case.ask if case.share > 0 else None)
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
    native = case.problem.table.decode(rows, case.ids(rows))
    values = tuple(_values(native, place)[m] for place in range(len(ends)))
    if span.levels is not None:
        return Room(None, None, values, span.exact)
    if span.low == span.high:
        return Room(values[0], values[0], None, span.exact)
    profile = case.problem.space.perturbation.profile
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
