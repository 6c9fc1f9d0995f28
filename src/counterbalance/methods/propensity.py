"""OUPS and NRAS: oversampling by propensity score, the probability of being minority."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.methods.base import Change, NeighbourOverSampler, PeerOverSampler
from counterbalance.methods.neighbours import nearest_in_table, nearest_others, standardised
from counterbalance.methods.parameters import POSITIVE_INTEGER, SHARE, parameter
from counterbalance.methods.synthesis import drawn_between, drawn_neighbours, towards_neighbours


def propensity_scores(minority: Floats, majority: Floats) -> tuple[Floats, Floats]:
    """Return the scores, from 0 to 1, of minority and majority rows by logistic regression."""
    ours, theirs = standardised(minority, majority)
    target = np.repeat([1, 0], [len(ours), len(theirs)])
    table = np.vstack([ours, theirs])
    scores = LogisticRegression(max_iter=1000).fit(table, target).predict_proba(table)[:, 1]
    return scores[: len(ours)], scores[len(ours) :]


def next_in_propensity(scores: Floats, n_minority: int, k: int) -> Integers:
    """Return for each minority row, which come first, the ``k`` rows of next lower score.

    At the end of the order, where fewer follow, the rows before it make up the number.
    """
    order = np.argsort(-scores, kind="stable")
    rank = np.empty(len(scores), dtype=np.intp)
    rank[order] = np.arange(len(scores))
    own = rank[:n_minority, None]
    place = own + np.arange(1, k + 1)
    beyond = place - len(scores) + 1
    return order[np.where(beyond <= 0, place, own - beyond)]


class OUPS(PeerOverSampler):
    """Over-sampling using propensity scores.

    W. A. Rivera, P. Xanthopoulos, "A priori synthetic over-sampling methods for increasing
    classification sensitivity in imbalanced data sets", Expert Systems with Applications 2016.

    A logistic regression gives every row its propensity, the probability of being minority,
    and all rows are sorted by it. Each minority row is matched with the rows that follow it in
    that order, of whatever class, and a new row lies between the two in feature space.

    Departures: seeds are drawn with equal probability, whereas the paper walks down the order,
    so that any number of new rows can be asked for.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        Rows that follow in the order from which the other end is drawn; ``None`` takes the
        ratio of the other rows to those of the class, rounded up.
    """

    _least_minority = 1
    _needs_spread = False

    n_neighbors: int | None = parameter(default=None, rule=[*POSITIVE_INTEGER, None])

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        wanted = self.n_neighbors or -(-len(majority) // len(minority))
        k = self._capped(wanted, len(minority) + len(majority) - 1)
        scores = np.concatenate(propensity_scores(minority, majority))
        indices = next_in_propensity(scores, len(minority), k)
        seeds = rng.integers(len(minority), size=n_samples)
        table = np.vstack([minority, majority])
        ends = drawn_neighbours(seeds, indices, rng)
        return drawn_between(minority[seeds], table[ends], rng)


def with_propensity(minority: Floats, majority: Floats) -> tuple[Floats, Floats]:
    """Return both tables with the propensity score as one more feature, standardised."""
    ours, theirs = propensity_scores(minority, majority)
    return standardised(np.column_stack([minority, ours]), np.column_stack([majority, theirs]))


class NRAS(NeighbourOverSampler):
    """Noise reduction a priori synthetic over-sampling.

    W. A. Rivera, "Noise Reduction A Priori Synthetic Over-Sampling for class imbalanced data
    sets", Information Sciences 2017.

    The propensity score, the probability of being minority by a logistic regression, joins the
    standardised features. A minority row is noise if less than ``threshold`` of its nearest
    rows in that space are minority. Noise is removed, and SMOTE makes rows between the
    remaining rows and their neighbours in that space.

    By definition noise rows of the enlarged class leave the table; the others keep their order
    and come first, and the removed rows are replaced by as many new ones, so the number of rows
    of each class is exact.

    Departures: if fewer than two rows would remain, none is removed, with a warning.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours, both for the noise test and for SMOTE.
    threshold : float, default=0.4
        Least share of minority rows among the neighbours of a row that is kept.
    """

    threshold: float = parameter(default=0.4, rule=SHARE)

    def _resample_class(
        self, table: Floats, ours: Mask, n_samples: int, rng: np.random.Generator
    ) -> Change:
        minority, majority = table[ours], table[~ours]
        near, far = with_propensity(minority, majority)
        _, indices = nearest_in_table(near, far, self.n_neighbors)
        noise = (indices < len(minority)).mean(axis=1) < self.threshold
        if len(minority) - noise.sum() < 2:  # noqa: PLR2004  # a segment has two ends
            self._warn(
                f"{int(noise.sum())} of {len(minority)} minority rows are noise",
                "none of them was removed; a smaller threshold avoids this",
            )
            noise[:] = False
        kept = minority[~noise]
        _, indices = nearest_others(near[~noise], self._neighbours_within(len(kept)))
        seeds = rng.integers(len(kept), size=n_samples + int(noise.sum()))
        new = towards_neighbours(kept, seeds, indices, rng)
        dropped = np.zeros(len(table), dtype=bool)
        dropped[np.flatnonzero(ours)[noise]] = True
        return Change(new, dropped=dropped)
