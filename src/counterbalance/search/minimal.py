"""Minimal: changes that f does not need are taken back.

    rows        counterfactuals, made from the factuals ``x``
    take back   give a changed cell its old value, if f still says the wanted class
    minimal     no single change can be taken back any more

A drawn counterfactual changes every feature of its rounds, whether f looks at it or not. Each row
tries its changes one by one, the farthest first and of equal ones the least important; what was
refused is tried again after a later one was taken back, so that in the end every change is needed.
f is asked about all rows at once, a batch for each step, and each row's result is its own.
"""

from __future__ import annotations

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask, Small
from counterbalance.constraints.rules import Rules, differs
from counterbalance.profile import share_of_distance
from counterbalance.search.nearest import Judge, Space, judge_allowed


def take_back(
    space: Space,
    judge: Judge,
    x: Floats,
    rows: Floats,
    target: Integers | Small,
    ids: Integers,
    asked: Mask | None = None,
) -> Floats:
    """Return minimal rows: no change of a single feature can be taken back.

    ``ids`` are the positions of the factuals, as ``judge`` knows them. ``asked`` says which
    features f looks at, if that is known: a change of any other is taken back unasked.
    """
    rows, rules = rows.copy(), space.perturbation.rules
    if asked is not None and not rules.checked:
        rows[:, ~asked] = x[:, ~asked]
    order = space.order[::-1]
    share = share_of_distance(space.perturbation.profile, order, x[:, order], rows[:, order])
    ranked = order[np.argsort(-share, axis=1, kind="stable")]
    _sweep(judge, rules, x, rows, target, ids, ranked)
    return rows


def _sweep(
    judge: Judge,
    rules: Rules,
    x: Floats,
    rows: Floats,
    target: Integers | Small,
    ids: Integers,
    order: Integers,
) -> None:
    """Take back until nothing can be, in place."""
    going = np.arange(len(rows))
    while going.size:
        refused, again = np.zeros((2, len(rows)), dtype=bool)
        queues = _changed_in_order(rows[going], x[going], order[going])
        for step in range(queues.shape[1]):
            some = queues[:, step] >= 0
            at, feature = going[some], queues[some, step]
            tried = rows[at]
            tried[np.arange(len(at)), feature] = x[at, feature]
            tried = rules.complete(tried, x[at])
            good = judge_allowed(judge, rules, tried, ids[at], x[at]) == target[at]
            rows[at[good]] = tried[good]
            again[at[good]] |= refused[at[good]]
            refused[at[~good]] = True
        going = np.flatnonzero(again)


def _changed_in_order(rows: Floats, x: Floats, order: Integers) -> Integers:
    """Return the changed features of each row, in the order given, with -1 behind them."""
    changed = np.take_along_axis(differs(rows, x), order, axis=1)
    place = np.argsort(~changed, axis=1, kind="stable")[:, : changed.sum(axis=1).max(initial=0)]
    features = np.take_along_axis(order, place, axis=1)
    return np.where(np.take_along_axis(changed, place, axis=1), features, -1)
