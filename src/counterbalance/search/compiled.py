"""Compiled: the search with the compiled kernel, where it is there and knows f.

The kernel (``search.kernel``) is built when the package is installed, where there is a C
compiler. It gives the very winners of ``search.nearest.search``; without it, or for what it
does not know, that one is used:

    f            scikit-learn's plain forests and decision trees, on numbers or codes; linear
                 models, whose candidates are screened and then shown to f itself
    draws        "exact"
    constraints  all but relations between columns, followers and allowed levels; what must have
                 been seen together is checked of the winners, and where one fails the row is
                 searched once more without the kernel, from there on
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask, Small
from counterbalance.classifier import boosting
from counterbalance.classifier.judge import Classifier
from counterbalance.classifier.linear import Screen
from counterbalance.classifier.tree_readers import has_trees
from counterbalance.search.inversions import Inversions
from counterbalance.search.minimal import take_back
from counterbalance.search.nearest import (
    Effort,
    Judge,
    Space,
    judge_allowed,
    rebuild,
    search,
)
from counterbalance.table.table import Block, Table

try:
    from counterbalance.search import kernel
except (ImportError, TypeError):  # not built, or built for another version of scipy
    kernel = None  # type: ignore[assignment]

# The kernel's forests of the classifiers that are in use: a search asks for one pass by pass.
_forests: WeakKeyDictionary[Classifier, Any] = WeakKeyDictionary()


class Search(Protocol):
    """Finds the nearest inversions of some rows: see ``search.nearest.search``."""

    def __call__(self, x: Floats, rows: Integers, wanted: Mask) -> tuple[Inversions, int]:
        """Search the encoded rows ``x``, which are the ``rows`` of the table."""


class TakeBack(Protocol):
    """Takes back every change of counterfactuals that f does not need: see ``minimal``."""

    def __call__(self, x: Floats, rows: Floats, target: Integers | Small, ids: Integers) -> Floats:
        """Return minimal rows, made from the factuals ``x``."""


def is_compiled() -> bool:
    """Say whether the kernels are there."""
    return kernel is not None and boosting.is_compiled()


def tell_compiled() -> str:
    """Say in words whether the kernels are there; without them the results are the same."""
    return "with the compiled kernel" if is_compiled() else "without the compiled kernel (slower)"


def make_search(space: Space, effort: Effort, f: Classifier, table: Table) -> Search:
    """Return the fastest search that gives the same winners."""
    by_numpy = partial(search, space, effort, f.on_candidates, insight=f.insight)
    if kernel is None or not space.draw_arrays.taken:
        return by_numpy
    if f.screen is not None:
        return partial(_search_linear, space, effort, f.screen, f.on_candidates)
    forest = _as_forest(f, table)
    if forest is None:
        return by_numpy
    by_kernel = partial(_search_forest, space, effort, forest)
    if not space.perturbation.rules.of_the_table:
        return by_kernel
    return partial(_search_twice, space, by_kernel, by_numpy)


def make_take_back(space: Space, f: Classifier, table: Table) -> TakeBack:
    """Return the fastest way to take back what f does not need: see ``minimal``."""
    forest, rules = _as_forest(f, table), space.perturbation.rules
    by_numpy = partial(take_back, space, make_judge(f, table), asked=f.insight.asked)
    if kernel is None or rules.checked:
        return by_numpy
    if f.screen is not None:
        return partial(_take_back_linear, space, f.screen, f.on_candidates)
    return by_numpy if forest is None else partial(_take_back, space, forest)


def make_judge(f: Classifier, table: Table) -> Judge:
    """Return the fastest way to ask f about candidates."""
    forest = _as_forest(f, table)
    return f.on_candidates if forest is None else partial(_judge, forest)


def _as_forest(f: Classifier, table: Table) -> Any:
    """Return f as the kernel knows it, None where it does not."""
    if kernel is None or not _is_plain(f, table):
        return None
    forest = _forests.get(f)
    if forest is None:
        code = f.codes_of_f()
        forest = kernel.Forest(f.trees, code, None if f.prior is None else f.prior[code])
        _forests[f] = forest
    return forest


def _judge(forest: Any, x: Floats, rows: Integers) -> Integers:
    """Answer as ``Classifier.on_candidates`` does."""
    answer = np.empty(len(rows), dtype=np.intp)
    kernel.judge_forest(forest, np.ascontiguousarray(x), answer)
    return answer


def _take_back(
    space: Space, forest: Any, x: Floats, rows: Floats, target: Integers | Small, ids: Integers
) -> Floats:
    del ids
    rows = rows.copy()
    kernel.take_back_forest(forest, *_tried(space, x, rows, target))
    return rows


def _take_back_linear(
    space: Space,
    screen: Screen,
    judge: Judge,
    x: Floats,
    rows: Floats,
    target: Integers | Small,
    ids: Integers,
) -> Floats:
    """Take back by the scores of the screen, and ask f about each try where they do not tell.

    All rows that wait for f ask it together. With one answer more each of them is begun anew: the
    kernel is quick, and has nothing to remember.
    """
    new, weight = rows.copy(), np.ascontiguousarray(screen.weight)
    left, said = np.arange(len(rows)), np.zeros((len(rows), 0), dtype=np.uint8)
    while left.size:
        tried, sure = rows[left], np.zeros(len(left), dtype=np.uint8)
        back = _tried(space, x[left], tried, target[left])
        kernel.take_back_linear(weight, screen.intercept, screen.slack, said, sure, *back)
        new[left] = tried
        waits = np.flatnonzero(sure == 0)
        left = left[waits]
        if left.size:
            good = judge(tried[waits], ids[left]) == target[left]
            said = np.column_stack([said[waits], good.astype(np.uint8)])
    return new


def _tried(space: Space, x: Floats, rows: Floats, target: Integers | Small) -> tuple[Any, ...]:
    profile = space.perturbation.profile
    nominal = profile.nominal.astype(np.uint8)
    x, target = np.ascontiguousarray(x), target.astype(np.intp)
    return x, rows, target, np.ascontiguousarray(space.order), profile.scale, nominal


def _is_plain(f: Classifier, table: Table) -> bool:
    """Say whether f is made of trees, and its cells are the encoded ones, as float32."""
    numbers = isinstance(table, Block) and isinstance(table.native, np.ndarray)
    return has_trees(f.f) and (f.takes_codes or (numbers and f.decode == table.decode))


def _search_forest(
    space: Space, effort: Effort, forest: Any, x: Floats, rows: Integers, wanted: Mask
) -> tuple[Inversions, int]:
    distance = np.full(wanted.shape, np.inf)
    draw, round_ = np.full((2, *wanted.shape), -1, dtype=np.intp)
    draws = _draws(space, effort, np.ascontiguousarray(x), rows)
    judged = kernel.search_forest(
        draws, forest, np.ascontiguousarray(wanted, dtype=np.uint8), distance, draw, round_
    )
    return _found(rows, distance, draw, round_), judged


def _search_twice(
    space: Space, first: Search, second: Any, x: Floats, rows: Integers, wanted: Mask
) -> tuple[Inversions, int]:
    """Search as if nothing had to be seen together, and again where the winner was not.

    Nothing nearer than such a winner inverts, so the second search goes on from there.
    """
    found, judged = first(x, rows, wanted)
    place = np.searchsorted(rows, found.factual)
    built = rebuild(space, x[place], found.factual, found.draw, found.round)
    good = space.perturbation.rules.allow(built, x[place])
    if good.all():
        return found, judged
    again, floor = np.zeros(wanted.shape, dtype=bool), np.full(len(x), np.inf)
    again[place[~good], found.target[~good]] = True
    np.minimum.at(floor, place[~good], found.distance[~good])
    some = np.flatnonzero(again.any(axis=1))
    more, judged_more = second(x[some], rows[some], again[some], floor=floor[some])
    both = Inversions.join([found.take(good), more])
    return both.take(np.lexsort((both.target, both.factual))), judged + judged_more


def _search_linear(
    space: Space,
    effort: Effort,
    screen: Screen,
    judge: Judge,
    x: Floats,
    rows: Integers,
    wanted: Mask,
) -> tuple[Inversions, int]:
    """Find the nearest candidate of each row that f may put into a wanted class.

    Where rounding or a rule may decide f is asked, and where it says otherwise the next one is
    looked for: its answer is never replaced by ours.
    """
    best = np.full(wanted.shape, np.inf)
    draw, round_ = np.full((2, *wanted.shape), -1, dtype=np.intp)
    missing, judged = wanted.copy(), 0
    rules, start = space.perturbation.rules, screen.scores(x)
    at = np.flatnonzero(missing.any(axis=1))
    last = (np.full(len(at), -1.0), np.full(len(at), -1, np.intp), np.zeros(len(at), np.intp))
    while at.size:
        said = np.full(len(at), -1, dtype=np.intp)
        kernel.next_hopeful(
            _draws(space, effort, x if len(at) == len(x) else x[at], rows[at]),
            np.ascontiguousarray(screen.weight),
            np.ascontiguousarray(start[at]),
            screen.slack,
            np.ascontiguousarray(missing[at], dtype=np.uint8),
            *last,
            said,
        )
        some = last[1] >= 0
        at, last = at[some], (last[0][some], last[1][some], last[2][some])
        answer = said[some]
        asked = np.flatnonzero((answer < 0) | rules.checked)
        if asked.size:
            number, until = (last[k][asked].astype(np.int32) for k in (1, 2))
            ids, old = rows[at[asked]], x[at[asked]]
            shown = rebuild(space, old, ids, number, until)
            answer[asked] = judge_allowed(judge, rules, shown, ids, old)
            judged += len(asked)
        hit = np.flatnonzero((answer >= 0) & missing[at, answer])
        cell = (at[hit], answer[hit])
        best[cell], draw[cell], round_[cell] = last[0][hit], last[1][hit], last[2][hit]
        missing[cell] = False
        going = missing[at].any(axis=1)
        at, last = at[going], (last[0][going], last[1][going], last[2][going])
    return _found(rows, best, draw, round_), judged


def rebuild_found(space: Space, effort: Effort, x: Floats, found: Inversions) -> Floats:
    """Return the rows of drawn inversions, made from the factuals ``x``."""
    if kernel is None or not space.draw_arrays.taken:
        drawn = rebuild(space, x, found.factual, found.draw, found.round)
        drawn[np.isnan(drawn)] = np.nan  # arithmetic sets the sign of some
        return space.perturbation.rules.complete(found.put_back(x, drawn), x)
    taken = found.taken_back
    if taken is None:
        taken = np.zeros((len(x), -(-x.shape[1] // 8)), dtype=np.uint8)
    rows = x.copy()
    draws = _draws(space, effort, x, found.factual)
    kernel.rebuild(draws, found.draw, found.round, np.ascontiguousarray(taken), rows)
    return rows


def _found(rows: Integers, distance: Floats, draw: Integers, round_: Integers) -> Inversions:
    row, target = np.nonzero(draw >= 0)
    return Inversions(
        rows[row],
        target.astype(np.int32),
        draw[row, target].astype(np.int32),
        round_[row, target].astype(np.int32),
        distance[row, target],
        distance[row, target],
    )


def _draws(space: Space, effort: Effort, x: Floats, rows: Integers) -> Any:
    """Give the kernel what the draws of some rows are made with."""
    x = np.ascontiguousarray(x)
    return kernel.Draws(
        x=x,
        ids=(rows + space.first_row).astype(np.int64),
        seed=space.seed,
        first_draw=effort.draws.start,
        n_draws=len(effort.draws),
        epsilon=effort.epsilon,
        **space.draw_arrays.bounds(x),
        **space.draw_arrays.fixed,
    )
