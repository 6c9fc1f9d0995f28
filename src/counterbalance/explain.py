"""Explanation: what would have to change for one row to be called another class.

    row            the position of the factual in X
    to             the class that it would be called
    way            a counterfactual of the row; ways differ in which features they change

The search of the sampler gives each row one counterfactual, from T draws. Here one row is
searched many times with draws of their own, and each find is *trimmed*: a change that f does
not need is taken back. What is left is sparser and nearer than anything the search saw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.classifier.judge import Classifier
from counterbalance.constraints.rules import differs
from counterbalance.errors import TableError
from counterbalance.profile import distance
from counterbalance.samplers.counterfactual import CounterfactualOverSampler
from counterbalance.search.nearest import rebuild, search
from counterbalance.search.problem import Problem
from counterbalance.table import frames
from counterbalance.table.labels import plain

# How many searches of T draws one row gets.
SEARCHES = 100


@dataclass(frozen=True)
class Way:
    """One counterfactual: for each feature that changes, its value before and after."""

    changes: dict[str, tuple[Any, Any]]
    distance: float
    score: float


@dataclass(frozen=True)
class Explanation:
    """What f says of a row, and the ways to make it say another class, nearest first."""

    row: int
    own_class: Any
    called: Any
    """What f calls the row as it is."""
    to: Any
    score: float
    """f's score of the class ``to`` for the row as it is, nan where f has none."""
    cells: dict[str, Any]
    ways: tuple[Way, ...]


def explain(
    sampler: CounterfactualOverSampler, X: Any, y: Any, row: int, to: Any, *, n_ways: int = 3
) -> Explanation:
    """Find the nearest ways, each different, to have a row called the class ``to``.

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
    n_ways : int
        How many ways at most.

    Examples
    --------
    >>> X, y = np.arange(20).reshape(-1, 1), np.repeat(["low", "high"], [12, 8])
    >>> sampler = CounterfactualOverSampler(random_state=0)
    >>> explain(sampler, X, y, 7, "high").ways[0].changes
    {'x0': (7, 12)}
    """
    prepared = sampler.prepare(X, y)
    problem, f = prepared.problem, prepared.f
    table, labels, space = problem.table, problem.labels, problem.space
    if not 0 <= row < len(labels.codes):
        raise TableError(
            f"row must be one of the {len(labels.codes)} rows, from 0 to {len(labels.codes) - 1}, "
            f"got {row}; count from 0"
        )
    classes = [plain(label) for label in labels.classes]
    if to not in classes:
        raise TableError(f"to must be a class of y, got {to!r}; the classes are {classes}")
    judged = prepared.judged()
    target, at = classes.index(to), np.array([row])
    found = np.zeros((0, len(table.names)))
    called = int(judged.answers[row])
    if called != target:
        found = _trim(_search(problem, f, row, target), problem, f, row, target)
    old = table.rows(at)
    names = [str(name) for name in table.names]
    score = _scores(f, old, at, target)[0]
    before = _values(table.decode(old, at), 0)
    chosen = _choose(found, problem, row, n_ways)
    origin = np.repeat(at, len(chosen))
    after = table.decode(chosen, origin)
    scores, changed = _scores(f, chosen, origin, target), differs(chosen, old)
    distances = distance(prepared.profile, space.order, old, chosen)
    ways = []
    for place in range(len(chosen)):
        cells = _values(after, place)
        changes = {names[m]: (before[m], cells[m]) for m in np.flatnonzero(changed[place])}
        ways.append(Way(changes, float(distances[place]), float(scores[place])))
    return Explanation(
        row=row,
        own_class=classes[int(labels.codes[row])],
        called=classes[called],
        to=to,
        score=float(score),
        cells=dict(zip(names, before, strict=True)),
        ways=tuple(ways),
    )


def _search(problem: Problem, f: Classifier, row: int, target: int) -> Floats:
    """Return the nearest inversion of each of many searches of one row.

    A search's draws belong to an id, which is the row's own in the first one: it finds what
    the sampler finds.
    """
    n_rows = len(problem.labels.codes)
    ids = row + n_rows * np.arange(SEARCHES)
    x = np.repeat(problem.table.rows(np.array([row])), SEARCHES, axis=0)
    wanted = np.zeros((SEARCHES, len(problem.labels.classes)), dtype=bool)
    wanted[:, target] = True
    space, effort = problem.space, problem.effort

    def ask(candidates: Floats, who: Integers) -> Integers:
        return f.on_candidates(candidates, who % n_rows)

    found, _ = search(space, effort, ask, x, ids, wanted, f.insight)
    return rebuild(space, x[: len(found)], found.factual, found.draw, found.round)


def _trim(found: Floats, problem: Problem, f: Classifier, row: int, target: int) -> Floats:
    """Take back every change that f does not need, the least important feature first."""
    old, result = problem.table.rows(np.array([row]))[0], found.copy()
    rules = problem.space.perturbation.rules
    origin = np.full(len(found), row)
    for feature in problem.space.order[::-1]:
        trial = result.copy()
        trial[:, feature] = old[feature]
        fewer: Mask = differs(trial, result).any(axis=1) & rules.allow(trial)
        fewer &= differs(trial, old).any(axis=1)
        if fewer.any():
            fewer[fewer] = f(trial[fewer], origin[fewer]) == target
            result[fewer] = trial[fewer]
    return result


def _choose(found: Floats, problem: Problem, row: int, n_ways: int) -> Floats:
    """Return the nearest way for each set of changed features, plain ones before wider ones."""
    old, space = problem.table.rows(np.array([row])), problem.space
    if not len(found):
        return found
    far = distance(space.perturbation.profile, space.order, old, found)
    order = np.argsort(far, kind="stable")
    sets = [frozenset(np.flatnonzero(changed).tolist()) for changed in differs(found, old)]
    plainest: list[int] = []
    wider: list[int] = []
    for place in order.tolist():
        if any(sets[place] == sets[taken] for taken in (*plainest, *wider)):
            continue
        more = any(sets[place] > sets[taken] for taken in plainest)
        (wider if more else plainest).append(place)
    taken = (*plainest, *wider)[:n_ways]
    return np.asarray(found[sorted(taken, key=lambda place: far[place])])


def _scores(f: Classifier, x: Floats, rows: Integers, target: int) -> Floats:
    scores = f.scores(x, rows) if len(x) else None
    return np.full(len(x), np.nan) if scores is None else scores[:, target]


def _values(native: Any, place: int) -> list[Any]:
    """Return the cells of a row as plain values."""
    if hasattr(native, "toarray"):
        native = native.toarray()
    columns = range(native.shape[1])
    if frames.has_columns(native):
        return [plain(frames.column(native, m).to_list()[place]) for m in columns]
    return [plain(native[place, m]) for m in columns]
