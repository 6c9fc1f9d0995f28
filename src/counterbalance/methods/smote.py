"""Four close variants of SMOTE: Lee, Gaussian-SMOTE, SMOTE-D and Weighted SMOTE."""

import numpy as np
from scipy.spatial.distance import cdist

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.base import NeighbourOverSampler, RejectionOverSampler
from counterbalance.methods.neighbours import minority_share, nearest_others
from counterbalance.methods.parameters import NOT_NEGATIVE_REAL, SHARE, parameter
from counterbalance.methods.synthesis import (
    allocate,
    between,
    drawn_neighbours,
    evenly_between,
    repeated,
    smote,
    towards_neighbours,
)


class Lee(RejectionOverSampler, NeighbourOverSampler):
    """Over-sampling with rejection.

    J. Lee, N. Kim, J.-H. Lee, "An Over-sampling Technique with Rejection for Imbalanced Class
    Learning", IMCOM 2015.

    A row made by SMOTE is kept only if at most ``rejection_level`` of its nearest neighbours
    in the original table belong to other classes; otherwise it is rejected and another one is
    drawn.

    Departures: after ``max_rounds`` rounds the least faulty of the rejected rows are taken,
    with a warning; the paper would go on drawing for ever.

    Cost: every candidate needs its neighbours in the whole table, so by definition this takes
    more than 20 times as long as SMOTE if many candidates are rejected.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours, both for SMOTE and for the rejection.
    rejection_level : float, default=0.5
        Largest share of other classes among a new row's neighbours.
    max_rounds : int, default=20
        Rounds of drawing before the least faulty rows are taken.
    """

    rejection_level: float = parameter(default=0.5, rule=SHARE)

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        k = self._neighbours_within(len(minority))
        return self._drawn_until_accepted(
            n_samples,
            draw=lambda n: smote(minority, n, k, rng),
            fault=lambda rows: 1 - minority_share(rows, minority, majority, self.n_neighbors),
            limit=self.rejection_level,
        )


class GaussianSMOTE(NeighbourOverSampler):
    """Gaussian-based SMOTE.

    H. Lee, J. Kim, S. Kim, "Gaussian-Based SMOTE Algorithm for Solving Skewed Class
    Distributions", International Journal of Fuzzy Logic and Intelligent Systems 2017.

    As in SMOTE, a seed and one of its nearest minority rows span a segment. The position on it
    is drawn from a normal distribution whose mean is a uniform draw between 0 and 1, so new
    rows spread more and may lie slightly beyond the two rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        Nearest minority rows from which the other end is drawn.
    sigma : float, default=0.05
        Standard deviation of the position, as a fraction of the segment's length.
    """

    sigma: float = parameter(default=0.05, rule=NOT_NEGATIVE_REAL)

    def _from_minority(self, minority: Floats, n_samples: int, rng: np.random.Generator) -> Floats:
        _, indices = nearest_others(minority, self._neighbours_within(len(minority)))
        seeds = rng.integers(len(minority), size=n_samples)
        ends = drawn_neighbours(seeds, indices, rng)
        fraction = rng.normal(rng.random(n_samples), self.sigma)
        return between(minority[seeds], minority[ends], fraction)


def rows_per_segment(distances: Floats, n_samples: int) -> Integers:
    """Return how many new rows lie on the segment from each row to each of its neighbours.

    A row's share follows the standard deviation of its distances, and it is divided among its
    segments by their length. Both are rounded at once, over all segments.
    """
    deviation = distances.std(axis=1)
    of_row = deviation if deviation.sum() > 0 else np.ones(len(distances))
    total = distances.sum(axis=1, keepdims=True)
    of_segment = np.divide(distances, total, out=np.zeros_like(distances), where=total > 0)
    return allocate((of_row[:, None] * of_segment).ravel(), n_samples)


class SMOTED(NeighbourOverSampler):
    """SMOTE-D, a deterministic version of SMOTE.

    F. R. Torres, J. A. Carrasco-Ochoa, J. F. Martinez-Trinidad, "SMOTE-D a Deterministic
    Version of SMOTE", MCPR 2016.

    A minority row gets new rows in proportion to the standard deviation of the distances to
    its nearest minority rows; each segment to such a neighbour gets its part by its length,
    and the new rows are evenly spaced on it. Nothing is drawn and the seed has no effect: the
    same table always gives the same rows.

    Departures: the numbers are rounded so that they add up to what was asked for.

    Parameters
    ----------
    n_neighbors : int, default=5
        Nearest minority rows to which segments are drawn.
    """

    def _from_minority(
        self,
        minority: Floats,
        n_samples: int,
        rng: np.random.Generator,  # noqa: ARG002  # nothing is drawn
    ) -> Floats:
        k = self._neighbours_within(len(minority))
        distances, indices = nearest_others(minority, k)
        counts = rows_per_segment(distances, n_samples)
        start = np.repeat(minority, k, axis=0)
        return evenly_between(start, minority[indices.ravel()], counts)


def closeness_weights(minority: Floats) -> Floats:
    """Return the weight of each row: 1 for the row nearest to all others, 0 for the farthest.

    It is one minus the sum of the row's Euclidean distances to the others, scaled to [0, 1].
    """
    total = cdist(minority, minority).sum(axis=1)
    width = total.max() - total.min()
    if width <= 1e-12 * total.max():
        return np.ones(len(minority))
    weights: Floats = 1 - (total - total.min()) / width
    return weights


class WeightedSMOTE(NeighbourOverSampler):
    """Weighted SMOTE.

    M. R. Prusty, T. Jayanthi, K. Velusamy, "Weighted-SMOTE: A modification to SMOTE for event
    classification in sodium cooled fast reactors", Progress in Nuclear Energy 2017.

    SMOTE with a different number of new rows per seed: it is proportional to one minus the
    scaled sum of the seed's distances to all minority rows, so rows in the thick of the class
    get more and the outermost row none.

    Departures: the numbers are rounded so that they add up to what was asked for.

    Parameters
    ----------
    n_neighbors : int, default=5
        Nearest minority rows from which the other end of the segment is drawn.
    """

    def _from_minority(self, minority: Floats, n_samples: int, rng: np.random.Generator) -> Floats:
        _, indices = nearest_others(minority, self._neighbours_within(len(minority)))
        seeds = repeated(allocate(closeness_weights(minority), n_samples))
        return towards_neighbours(minority, seeds, indices, rng)
