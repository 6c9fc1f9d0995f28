"""Search: for each factual the nearest inversion, if there is one.

    R, M, T      factuals, features, draws
    order        <F_1, ..., F_M>, the features that may change
    candidate    (round m, draw t): the first m features of ``order`` as draw t changed them
    distance     D[r, m, t], never falling in m
    wanted       wanted[r, i]: is an inversion of row r to class i looked for?

The paper draws anew in every round, which costs O(M^2 T) draws a row. Here a
draw perturbs each feature once and round m uses the first m of them: every
candidate has the paper's distribution, and along a draw the distance only
grows. Three things save work, and none changes the answer:

- *Best first.* Only the nearest inversion is kept, so candidates are shown to f
  in the order of their distance, a batch over all rows at a time, and a row
  leaves as soon as it has what is wanted.
- *Windows.* The first features are drawn first. A candidate beyond the window
  is at least as far as its own draw at the window's edge; so everything nearer
  than the nearest edge is known and can be judged before more is drawn:

      draw 1   .--.-----.---------|........     . judged: nearer than the
      draw 2   .-----.------------|---.....       nearest edge (draw 3)
      draw 3   .-.---.------.-----|             | edge of the window

- *Screen.* What a linear f cannot invert is not shown to it (see ``screen``).
- *Asked.* A feature that no tree of f looks at changes no answer: the round that adds it says
  what the nearer one before it said. In a wide table that is nearly every round.

Ties in distance go to the fewer changed features, then to the earlier draw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask, Small, blocks
from counterbalance.classifier.judge import Insight
from counterbalance.classifier.linear import Screen
from counterbalance.constraints.rules import Rules
from counterbalance.profile import share_of_distance
from counterbalance.search.draw_arrays import DrawArrays
from counterbalance.search.draws import stream
from counterbalance.search.inversions import Inversions
from counterbalance.search.perturbation import Perturbation

# Says of encoded rows, made from the factuals with these ids, which class f puts them into.
Judge = Callable[[Floats, Integers], Integers]

# The first window, in features, and how much wider each later one is. Draws are
# repeated in the wider window, so the factor bounds what repeating them costs.
FIRST_WINDOW = 16
WIDER = 4
# A batch adds half of what has been judged, so f sees at most 1.5 times the candidates
# that any exact search must look at, once there are more than a few; the first batch:
FIRST_BATCH = 2
# A cell's share of the memory holds the scores of so many classes.
SCORES_PER_CELL = 4
NOTHING_KNOWN = Insight()


@dataclass(frozen=True)
class Space:
    """Where one searches: what a cell may become, which features change, whose draws."""

    perturbation: Perturbation
    order: Integers
    seed: int
    first_row: int = 0  # id of the first row of the table, which may be a block of a larger one

    @cached_property
    def changes(self) -> Mask:
        """Which features may change."""
        return np.isin(np.arange(len(self.perturbation.profile.lower)), self.order)

    @cached_property
    def draw_arrays(self) -> DrawArrays:
        """What the kernel makes draws with."""
        return DrawArrays.of(self.perturbation, self.order)


@dataclass(frozen=True)
class Effort:
    """How one searches: how often, how far, in how much memory."""

    draws: range = range(1)
    epsilon: float = np.inf
    cells_at_once: int = 2**20  # bounds the memory: perturbed cells, and cells shown to f
    minimal: bool = False  # whether changes that f does not need are taken back: see ``minimal``

    def of_pass(self, number: int) -> Effort:
        """Return the same with the draws of a later pass."""
        n_draws = len(self.draws)
        return replace(self, draws=range(number * n_draws, (number + 1) * n_draws))

    def window_cells(self, width: int, screen: Screen | None) -> int:
        """Return the cells that a factual takes in a window, with the scores of a screen."""
        n_scores = 0 if screen is None else len(screen.intercept)
        return len(self.draws) * width * (1 + n_scores // SCORES_PER_CELL)


@dataclass
class _Best:
    """The nearest inversions so far, (R, C)."""

    distance: Floats
    draw: Integers
    round: Integers
    missing: Mask

    @classmethod
    def none_yet(cls, wanted: Mask) -> _Best:
        blank = np.full(wanted.shape, -1, dtype=np.intp)
        return cls(np.full(wanted.shape, np.inf), blank, blank.copy(), wanted.copy())


def search(
    space: Space,
    effort: Effort,
    judge: Judge,
    x: Floats,
    rows: Integers,
    wanted: Mask,
    insight: Insight = NOTHING_KNOWN,
    floor: Floats | None = None,
) -> tuple[Inversions, int]:
    """Find the nearest inversion of every row of ``x`` to every class it is wanted for.

    ``rows`` are their positions in the table, which the draws belong to (see
    ``Space.first_row``). ``judge`` maps encoded rows to class codes (see ``Judge``), and
    ``insight`` is what is known of it; ``floor`` says of each row that nothing nearer can win.
    The number of candidates that were shown to ``judge`` comes second.
    """
    best = _Best.none_yet(wanted)
    judged = 0
    # Everything nearer has been judged.
    floor = np.zeros(len(x)) if floor is None else floor.copy()
    active = np.flatnonzero(wanted.any(axis=1))
    for width in widths(len(space.order)):
        window = _Window.of(space.order[:width])
        cells = effort.window_cells(len(window.features), insight.screen)
        for block in blocks(len(active), cells, effort.cells_at_once):
            part = active[block]
            candidates = _Candidates.draw(space, effort.draws, x[part], rows[part], window)
            candidates = candidates.worth_asking(space, insight, wanted[part])
            ceiling = np.minimum(candidates.edge(space.order), effort.epsilon)
            band = candidates.between(floor[part], ceiling)
            judged += _judge_band(space, effort, candidates, band, judge, best, part)
            floor[part] = np.maximum(floor[part], ceiling)
        active = active[best.missing[active].any(axis=1) & (floor[active] < effort.epsilon)]
        if not active.size:
            break
    row, target = np.nonzero(best.draw >= 0)
    at = (row, target)
    found = Inversions(
        rows[row],
        target.astype(np.int32),
        best.draw[at].astype(np.int32),
        best.round[at].astype(np.int32),
        best.distance[at],
        best.distance[at],
    )
    return found, judged


def rebuild(space: Space, x: Floats, rows: Integers, draw: Small, round_: Small) -> Floats:
    """Return the candidates (round, draw) of the given factuals, one for each row of ``x``."""
    window = _Window.of(space.order)
    state = stream(space.seed, rows + space.first_row, draw)[:, None]
    new = window.put(x, space.perturbation.values(x, state, window.features)[:, 0], round_)
    return space.perturbation.rules.complete(new, x)


@dataclass(frozen=True)
class _Window:
    """The first K features of the order, kept in the order of the table's columns."""

    features: Integers  # ascending
    sequence: Integers  # features[sequence] is the order
    rank: Integers  # the place of each feature in the order

    @classmethod
    def of(cls, order: Integers) -> _Window:
        sequence = np.searchsorted(np.sort(order), order)
        return cls(np.sort(order), sequence, np.argsort(sequence))

    def in_order(self, cells: Floats) -> Floats:
        """Turn (R, T, K) by the table's columns into (R, K, T) by the order of the search."""
        return np.take(cells, self.sequence, axis=2).transpose(0, 2, 1)

    def put(self, x: Floats, values: Floats, rounds: Integers | Small) -> Floats:
        """Return ``x`` with the first ``rounds`` features of the order changed to ``values``."""
        changed = self.rank < rounds[:, None]
        if len(self.features) == x.shape[1]:
            return np.where(changed, values, x)
        result = x.copy()
        result[:, self.features] = np.where(changed, values, x[:, self.features])
        return result


def widths(n_features: int) -> list[int]:
    """Return the widths of the windows, growing, the last one whole.

    A window of more than half the features is left out: to draw it and then all of them
    again costs more than it can save.
    """
    found, width = [], FIRST_WINDOW
    while 2 * width <= n_features:
        found.append(width)
        width *= WIDER
    return [*found, n_features]


@dataclass(frozen=True)
class _Candidates:
    """The candidates of some rows within a window of K features."""

    x: Floats
    ids: Integers  # of the factuals
    window: _Window
    values: Floats  # (R, T, K), features in the order of the table
    distance: Floats  # (R, K, T), features in the order of the search
    worthy: Mask  # (R, K, T): not a repetition of the round before, and not hopeless
    first_draw: int

    @classmethod
    def draw(
        cls, space: Space, draws: range, x: Floats, rows: Integers, window: _Window
    ) -> _Candidates:
        ids = rows[:, None] + space.first_row
        state = stream(space.seed, ids, np.arange(draws.start, draws.stop))
        perturbation = space.perturbation
        values = perturbation.values(x, state, window.features)
        profile, factual = perturbation.profile, x[:, None, window.features]
        share = window.in_order(share_of_distance(profile, window.features, factual, values))
        worthy = share > 0
        if perturbation.rules.most_changed is not None:
            worthy &= np.cumsum(worthy, axis=1) <= perturbation.rules.most_changed
        return cls(x, rows, window, values, np.cumsum(share, axis=1), worthy, draws.start)

    def worth_asking(self, space: Space, insight: Insight, wanted: Mask) -> _Candidates:
        """Leave out what f is known not to invert.

        A round that adds a feature which f does not look at changes nothing for f (it might for
        a rule), and a linear f's scores are known (see ``classifier.linear``).
        """
        order, worthy = self.window.features[self.window.sequence], self.worthy
        if insight.asked is not None and not space.perturbation.rules.checked:
            worthy = worthy & insight.asked[order, None]
        if insight.screen is not None and not space.perturbation.rules.followers:
            step = self.window.in_order(self.values - self.x[:, None, self.window.features])
            worthy = worthy & insight.screen.hopeful(self.x, step, order, wanted)
        return replace(self, worthy=worthy)

    def edge(self, order: Integers) -> Floats:
        """Return how near a candidate beyond the window can be."""
        if len(self.window.features) == len(order):
            return np.full(len(self.x), np.inf)
        return np.asarray(self.distance[:, -1].min(axis=1))

    def between(self, floor: Floats, ceiling: Floats) -> Floats:
        """Return the distances (R, K * T), infinite outside ``floor <= distance < ceiling``."""
        inside = (self.distance >= floor[:, None, None]) & self.worthy
        inside &= self.distance < ceiling[:, None, None]
        return np.where(inside, self.distance, np.inf).reshape(len(self.x), -1)

    def rows(self, row: Integers, place: Integers) -> Floats:
        """Build the candidates at ``place`` in the flat (K, T) order, without followers."""
        _, n_draws, width = self.values.shape
        rounds, draws = np.divmod(place, n_draws)
        values = np.take(self.values.reshape(-1, width), row * n_draws + draws, axis=0)
        return self.window.put(np.take(self.x, row, axis=0), values, rounds + 1)


def _judge_band(
    space: Space,
    effort: Effort,
    candidates: _Candidates,
    band: Floats,
    judge: Judge,
    best: _Best,
    active: Integers,
) -> int:
    """Show the candidates of the band to f, nearest first, and keep what inverts."""
    count = np.count_nonzero(band < np.inf, axis=1)
    ranked = np.argsort(band, axis=1, kind="stable")[:, : count.max(initial=0)]
    going = np.flatnonzero(count > 0)
    start = judged = 0
    rules = space.perturbation.rules
    while going.size:
        place = ranked[going, start : start + max(FIRST_BATCH, start // 2)]
        real = np.arange(start, start + place.shape[1]) < count[going, None]
        row, column = np.nonzero(real)
        answer = np.full(place.shape, -1, dtype=np.intp)
        for block in blocks(len(row), candidates.x.shape[1], effort.cells_at_once):
            at = row[block], column[block]
            which = going[at[0]]
            shown = candidates.rows(which, place[at])
            old = np.take(candidates.x, which, axis=0)
            answer[at] = judge_allowed(judge, rules, shown, candidates.ids[which], old)
        _keep(candidates, answer, place, going, best, active)
        judged += len(row)
        start += place.shape[1]
        going = going[best.missing[active[going]].any(axis=1) & (count[going] > start)]
    return judged


def judge_allowed(judge: Judge, rules: Rules, x: Floats, ids: Integers, old: Floats) -> Integers:
    """Return what f says of each row, made from ``old``, -1 where the row breaks a rule.

    Followers move along before f sees a row.
    """
    if not rules.checked:
        return judge(x, ids)
    x = rules.complete(x, old)
    answer = np.full(len(x), -1, dtype=np.intp)
    good = rules.allow(x, old)
    if good.any():
        answer[good] = judge(x[good], ids[good])
    return answer


def _keep(
    candidates: _Candidates,
    answer: Integers,
    place: Integers,
    going: Integers,
    best: _Best,
    active: Integers,
) -> None:
    """Note for every row and class the first candidate of the batch that f puts there."""
    n_draws = candidates.values.shape[1]
    for target in np.flatnonzero(best.missing[active[going]].any(axis=0)):
        hit = answer == target
        row = np.flatnonzero(hit.any(axis=1) & best.missing[active[going], target])
        where = place[row, hit[row].argmax(axis=1)]
        rounds, draws = np.divmod(where, n_draws)
        at = (active[going[row]], target)
        best.distance[at] = candidates.distance[going[row], rounds, draws]
        best.round[at] = rounds + 1
        best.draw[at] = draws + candidates.first_draw
        best.missing[at] = False
