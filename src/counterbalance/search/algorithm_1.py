"""Algorithm 1 of the paper: perturb the factuals and find the draws that invert.

    R, T, C      factuals, draws, classes
    order        <F_1, ..., F_M>, the features that may change
    candidate    (round m, draw t): the first m features of ``order`` as draw t changed them
    wanted       wanted[r, i]: is an inversion of row r to class i looked for?

The paper draws anew in every round, which costs O(M^2 T) draws a row. Here a draw perturbs each
feature once and round m uses the first m of them: every candidate has the paper's distribution,
and along a draw the distance only grows, so the first inversion along a draw is its nearest.

Ranges, allowed levels and directions limit each cell on its own. Rules about a whole row are
checked only for inversions that are returned, not when the search only has to know which factuals
invert.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.constraints.rules import Rules, differs
from counterbalance.profile import distance, share_of_distance
from counterbalance.search.draws import Space, stream
from counterbalance.search.inversions import Inversions
from counterbalance.search.structure import Structure

try:
    from counterbalance.search import draw_kernel as kernel
except (ImportError, TypeError):  # not built, or built for another version of scipy
    kernel = None  # type: ignore[assignment]

# Returns the class that f predicts for encoded rows; the ids are those of their factuals.
Predict = Callable[[Floats, Integers], Integers]
Rounds = NDArray[np.int32]


def which_invert(
    space: Space, structure: Structure, x: Floats, ids: Integers, wanted: Mask
) -> Mask:
    """Return whether any draw inverts each row to each class, (R, C)."""
    rounds = first_inversions(space, structure, x, ids, wanted, any_draw=True)
    return np.asarray((rounds > 0).any(axis=1))


def nearest_of_each_draw(
    space: Space, structure: Structure, x: Floats, ids: Integers, wanted: Mask
) -> Inversions:
    """Return the nearest inversion of every draw that has one, needless changes pruned.

    Two draws of a factual that come to the same row count once.
    """
    rules = space.rules
    rounds = first_inversions(space, structure, x, ids, wanted, checked=rules.checked)
    row, draw, target = np.nonzero(rounds)
    reached = rounds[row, draw, target].astype(np.intp)
    old = x[row]
    new = rules.complete(build(space, x, ids, row, draw, reached), old)
    new = prune(space, structure, old, new, target, ids[row])
    good = structure.f.predict_codes(new, ids[row]) == target if len(new) else reached > 0
    far = distance(space.profile, space.order, old, new)
    at = np.flatnonzero(good & (far < space.epsilon))
    at = at[_first_of_equals(row[at], target[at], new[at])]
    return Inversions.from_rows(
        ids[row[at]], target[at], far[at], old[at], new[at], draw[at], reached[at]
    )


def _first_of_equals(row: Integers, target: Integers, new: Floats) -> Integers:
    """Return the first of all entries that are equal in row, class and cells, in their order."""
    if not len(row):
        return np.zeros(0, dtype=np.intp)
    cells = np.ascontiguousarray(np.column_stack([row, target, new + 0.0]))
    _, first = np.unique(cells.view(f"V{cells.itemsize * cells.shape[1]}"), return_index=True)
    return np.sort(first)


def first_inversions(
    space: Space,
    structure: Structure,
    x: Floats,
    ids: Integers,
    wanted: Mask,
    *,
    any_draw: bool = False,
    checked: bool = False,
) -> Rounds:
    """Return the round of the first inversion of each (row, draw, class), 0 for none.

    With ``any_draw`` the search of a row stops once it has an inversion to each wanted class. With
    ``checked`` inversions must also keep the rules about whole rows.
    """
    rules = space.rules
    by_cells = not checked and rules.most_changed is None
    if not (structure.is_known and by_cells and space.draw_arrays is not None):
        return _by_asking(
            space, structure.predict, x, ids, wanted, any_draw, rules if checked else None
        )
    draws = _draws(space, x, ids)
    codes = structure.codes
    of_f = np.ascontiguousarray(wanted[:, codes] & (codes >= 0), dtype=np.uint8)
    rounds = np.zeros((len(x), space.n_draws, len(codes)), dtype=np.int32)
    if structure.ensemble is not None:
        tied = np.zeros(len(x), dtype=np.uint8)
        kernel.first_inversions(draws, structure.ensemble, of_f, any_draw, rounds, tied)
        found = np.asarray(rounds[:, :, structure.places])
        some = np.flatnonzero(tied)
        if some.size:
            found[some] = _by_asking(
                space, structure.predict, x[some], ids[some], wanted[some], any_draw, None
            )
        return found
    screen = structure.screen
    assert screen is not None  # noqa: S101  (one of the two is known)
    weight, start = np.ascontiguousarray(screen.weight), screen.scores(x)
    kernel.first_inversions_linear(
        draws, weight, np.ascontiguousarray(start), screen.slack, of_f, any_draw, rounds
    )
    return np.asarray(rounds[:, :, structure.places])


def _draws(space: Space, x: Floats, ids: Integers) -> kernel.Draws:
    """Return the kernel object that makes the draws of some rows."""
    x, rules, order = np.ascontiguousarray(x), space.rules, space.order
    # Without a rule of direction every factual has the same bounds: compute them from one.
    some = x if (rules.rising | rules.falling)[order].any() else x[:1]
    bounds = space.bounds(some[:, order], order)
    lower, upper = (np.ascontiguousarray(np.atleast_2d(array), np.float64) for array in bounds)
    return kernel.Draws(x, (ids + space.first_row).astype(np.int64), lower, upper, space)


def build(
    space: Space, x: Floats, ids: Integers, row: Integers, draw: Integers, rounds: Integers
) -> Floats:
    """Return candidates of the factuals ``x``; ``row`` is sorted in ascending order."""
    if kernel is None or space.draw_arrays is None:
        return space.drawn(x[row], ids[row], draw, rounds)
    new = x[row]
    if len(new):
        row, draw, rounds = map(np.ascontiguousarray, (row, draw, rounds))
        kernel.build_rows(_draws(space, x, ids), row, draw, rounds, new)
    return new


def _by_asking(
    space: Space,
    predict: Predict,
    x: Floats,
    ids: Integers,
    wanted: Mask,
    any_draw: bool,  # noqa: FBT001 - same as in the caller
    rules: Rules | None,
) -> Rounds:
    """Call f once per round, on all candidates of that round."""
    n_draws, most = space.n_draws, space.rules.most_changed
    rounds = np.zeros((len(x), n_draws, wanted.shape[1]), dtype=np.int32)
    missing = np.repeat(wanted, n_draws, axis=0)  # (R T, C)
    state = stream(space.seed, (ids + space.first_row)[:, None], np.arange(n_draws))
    new = np.repeat(x, n_draws, axis=0)
    far, n_changed = np.zeros(len(new)), np.zeros(len(new), dtype=np.intp)
    going = np.flatnonzero(missing.any(axis=1))
    for k, m in enumerate(space.order):
        if not going.size:
            break
        feature = np.array([m])
        rows = np.unique(going // n_draws)
        values = np.full((len(x), n_draws), np.nan)
        values[rows] = space.values(x[rows], state[rows], feature)[..., 0]
        new[:, m] = values.ravel()
        factual = going // n_draws
        share = share_of_distance(space.profile, feature, x[factual][:, [m]], new[going][:, [m]])[
            :, 0
        ]
        far[going] += share
        n_changed[going] += share > 0
        near = far[going] < space.epsilon
        if most is not None:
            near &= n_changed[going] <= most
        queried = going[near & (share > 0)]
        predicted = _allowed(
            predict, rules, new[queried], ids[queried // n_draws], x[queried // n_draws]
        )
        hit = np.flatnonzero(predicted >= 0)
        hit = hit[missing[queried[hit], predicted[hit]]]
        at, target = queried[hit], predicted[hit]
        rounds[at // n_draws, at % n_draws, target] = k + 1
        missing[at, target] = False
        if any_draw:
            done = np.zeros(wanted.shape, dtype=bool)
            done[at // n_draws, target] = True
            missing &= ~np.repeat(done, n_draws, axis=0)
        going = going[near & missing[going].any(axis=1)]
    return rounds


def _allowed(
    predict: Predict, rules: Rules | None, new: Floats, ids: Integers, old: Floats
) -> Integers:
    """Return the class that f predicts for each row, -1 where the row breaks a rule."""
    answer = np.full(len(new), -1, dtype=np.intp)
    if rules is None:
        return predict(new, ids) if len(new) else answer
    new = rules.complete(new, old)
    good = np.flatnonzero(rules.allow(new, old))
    if good.size:
        answer[good] = predict(new[good], ids[good])
    return answer


def prune(
    space: Space, structure: Structure, x: Floats, rows: Floats, target: Integers, ids: Integers
) -> Floats:
    """Undo the changes that f does not need, the farthest first, until each one is needed."""
    profile, rules = space.profile, space.rules
    drawn, rows, going = rows, rows.copy(), np.arange(len(rows))
    if structure.ensemble is not None and not rules.checked:
        nominal, tied = profile.nominal.astype(np.uint8), np.zeros(len(rows), dtype=np.uint8)
        x, of_f = np.ascontiguousarray(x), np.ascontiguousarray(structure.places[target])
        kernel.prune(structure.ensemble, x, rows, of_f, space.order, profile.scale, nominal, tied)
        going = np.flatnonzero(tied)
        rows[going] = drawn[going]
    ranked = farthest_first(space, x, rows)
    while going.size:
        refused, again = np.zeros((2, len(rows)), dtype=bool)
        for m in ranked.T:
            at = going[differs(rows[going, m[going]], x[going, m[going]])]
            if not at.size:
                continue
            old = x[at, m[at]]
            good = put(structure.predict, rules, x, rows, at, m[at], old, target, ids)
            again[at[good]] |= refused[at[good]]
            refused[at[~good]] = True
        going = np.flatnonzero(again)
    return rows


def farthest_first(space: Space, x: Floats, rows: Floats) -> Integers:
    """Return the changed features of each row, the farthest first, (R, most of any row).

    Of equally far ones the least important comes first. Rows with fewer changes have features
    without a change behind them.
    """
    order = space.order[::-1]
    share = share_of_distance(space.profile, order, x[:, order], rows[:, order])
    most = int((share > 0).sum(axis=1).max(initial=0))
    return np.asarray(order[np.argsort(-share, axis=1, kind="stable")][:, :most])


def put(
    predict: Predict,
    rules: Rules,
    x: Floats,
    rows: Floats,
    at: Integers,
    m: Integers,
    value: Floats,
    target: Integers,
    ids: Integers,
) -> Mask:
    """Put values into rows, in place, where f and the rules accept them; return where they do."""
    tried = rows[at]
    tried[np.arange(len(at)), m] = value
    tried = rules.complete(tried, x[at])
    good = agrees(predict, rules, x[at], tried, target[at], ids[at])
    rows[at[good]] = tried[good]
    return good


def agrees(
    predict: Predict, rules: Rules, x: Floats, rows: Floats, target: Integers, ids: Integers
) -> Mask:
    """Return which rows f puts into the wanted class and keep every rule."""
    if not len(x):
        return np.zeros(0, dtype=bool)
    good = _allowed(predict, rules if rules.checked else None, rows, ids, x) == target
    if rules.most_changed is not None:
        good &= differs(rows, x).sum(axis=1) <= rules.most_changed
    return np.asarray(good)
