"""NRAS: take noise out of the minority first, then SMOTE."""

import numpy as np

from counterbalance.arrays import Floats, Mask
from counterbalance.methods.base import Change, PeerOverSampler
from counterbalance.methods.fallback import warn_fallback
from counterbalance.methods.interpolation import drawn_between, drawn_neighbours
from counterbalance.methods.neighbours import capped, nearest_in_table, nearest_others
from counterbalance.methods.parameters import POSITIVE_INTEGER, SHARE, parameter
from counterbalance.methods.propensity import propensity_scores, standardised


def with_propensity(minority: Floats, majority: Floats) -> tuple[Floats, Floats]:
    """Both standardised tables with the standardised propensity score as one more feature."""
    ours, theirs = propensity_scores(minority, majority)
    return standardised(np.column_stack([minority, ours]), np.column_stack([majority, theirs]))


class NRAS(PeerOverSampler):
    """Noise reduction a priori synthetic over-sampling.

    W. A. Rivera, "Noise Reduction A Priori Synthetic Over-Sampling for class imbalanced data
    sets", Information Sciences 2017.

    The propensity score, the probability of being minority by a logistic regression, joins the
    standardised features. A minority row is noise if less than ``threshold`` of its nearest
    rows there are minority. Noise is removed, and SMOTE makes rows between what is left and
    its neighbours in that space.

    By definition noise rows of the enlarged class leave the table; the others keep their
    order and come first, and as many more new rows are made, so the number of rows of each
    class is exact.

    Departures: where fewer than two rows would be left, none is removed, with a warning.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours, both for the noise test and for SMOTE.
    threshold : float, default=0.4
        Least share of minority rows among the neighbours of a row that is kept.
    """

    n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)
    threshold: float = parameter(default=0.4, rule=SHARE)

    def _resample_class(
        self, table: Floats, ours: Mask, n_samples: int, rng: np.random.Generator
    ) -> Change:
        minority, majority = table[ours], table[~ours]
        near, far = with_propensity(minority, majority)
        _, indices = nearest_in_table(near, far, self.n_neighbors)
        noise = (indices < len(minority)).mean(axis=1) < self.threshold
        if len(minority) - noise.sum() < 2:  # noqa: PLR2004  # a segment has two ends
            warn_fallback(
                "NRAS",
                f"{int(noise.sum())} of {len(minority)} minority rows are noise",
                "none of them was removed; a smaller threshold avoids this",
            )
            noise[:] = False
        k = capped(self.n_neighbors, int((~noise).sum()) - 1, "NRAS")
        _, indices = nearest_others(near[~noise], k)
        kept = minority[~noise]
        seeds = rng.integers(len(kept), size=n_samples + int(noise.sum()))
        new = drawn_between(kept[seeds], kept[drawn_neighbours(seeds, indices, rng)], rng)
        dropped = np.zeros(len(table), dtype=bool)
        dropped[np.flatnonzero(ours)[noise]] = True
        return Change(new, dropped=dropped)
