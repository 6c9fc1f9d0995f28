"""Variants of SMOTE: Lee, Gaussian-SMOTE, SMOTE-D, Weighted, NRSBoundary- and polynom-fit-SMOTE.

Glossary of NRSBoundary-SMOTE, which oversamples a rough set's boundary
    delta           (n,)  radius of a row's neighbourhood
    boundary        minority rows with both classes in their neighbourhood
    lower region    majority rows with only majority rows in their neighbourhood
"""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances_chunked
from sklearn.utils._param_validation import StrOptions

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.methods.base import (
    NOT_NEGATIVE_REAL,
    POSITIVE_INTEGER,
    SHARE,
    NeighbourOverSampler,
    PeerOverSampler,
    RejectionOverSampler,
    parameter,
)
from counterbalance.methods.neighbours import (
    allocate,
    balls_holding,
    between,
    drawn_neighbours,
    evenly_between,
    minority_share,
    nearest_others,
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


def neighbourhoods(table: Floats, n_minority: int, w: float) -> tuple[Floats, Mask, Mask]:
    """Return each row's radius and whether its neighbourhood holds minority and majority rows.

    The radius is the distance to the nearest other row plus ``w`` times the difference to the
    farthest one. A row is in its own neighbourhood. The minority comes first in the table.
    """

    def reduced(block: Floats, start: int) -> Floats:
        rows = np.arange(len(block))
        block[rows, start + rows] = np.inf
        near = block.min(axis=1)
        block[rows, start + rows] = 0.0
        delta = near + w * (block.max(axis=1) - near)
        inside = block <= delta[:, None]
        return np.column_stack(
            [delta, inside[:, :n_minority].any(axis=1), inside[:, n_minority:].any(axis=1)]
        )

    found = np.vstack(list(pairwise_distances_chunked(table, reduce_func=reduced)))
    return found[:, 0], found[:, 1] > 0, found[:, 2] > 0


class NRSBoundarySMOTE(RejectionOverSampler, NeighbourOverSampler):
    """Boundary oversampling by neighbourhood rough sets.

    F. Hu, H. Li, "A Novel Boundary Oversampling Algorithm Based on Neighborhood Rough Set
    Model: NRSBoundary-SMOTE", Mathematical Problems in Engineering 2013.

    Each row has a neighbourhood whose radius depends on its distances to all others. Minority
    rows with majority rows in it form the boundary, and only they are seeds of SMOTE. A new row
    is rejected if it falls into the neighbourhood of a majority row that holds majority rows
    only, so that the majority's lower approximation is not damaged.

    Departures: if the boundary is empty all minority rows are seeds, with a warning; after
    ``max_rounds`` rounds the least faulty of the rejected rows are taken, with a warning.

    Cost: the distances between all pairs of rows, by definition more than 20 times the work of
    SMOTE.

    Parameters
    ----------
    n_neighbors : int, default=5
        Nearest minority rows from which the other end of the segment is drawn.
    w : float, default=0.005
        Size of the neighbourhoods: 0 reaches the nearest row, 1 the farthest.
    max_rounds : int, default=20
        Rounds of drawing before the least faulty rows are taken.
    """

    w: float = parameter(default=0.005, rule=SHARE)

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        table = np.vstack([minority, majority])
        ours = np.arange(len(table)) < len(minority)
        delta, has_minority, has_majority = neighbourhoods(table, len(minority), self.w)
        boundary = np.flatnonzero(ours & has_majority)
        lower = ~ours & ~has_minority
        if not len(boundary):
            self._warn(
                "no minority row has a majority row in its neighbourhood",
                "all minority rows are seeds; a larger w avoids this",
            )
            boundary = np.flatnonzero(ours)
        _, indices = nearest_others(minority, self._neighbours_within(len(minority)))

        def draw(n: int) -> Floats:
            seeds = boundary[rng.integers(len(boundary), size=n)]
            return towards_neighbours(minority, seeds, indices, rng)

        def damaged(rows: Floats) -> Floats:
            """Count the neighbourhoods of the majority's lower region that each row falls into."""
            if not lower.any():
                return np.zeros(len(rows))
            return balls_holding(rows, table[lower], delta[lower]).astype(np.float64)

        return self._drawn_until_accepted(n_samples, draw, damaged)


def shared_out(n_samples: int, n_segments: int, rng: np.random.Generator) -> Integers:
    """Divide the rows equally among the segments; drawn ones get one more if need be."""
    n_each, n_more = divmod(n_samples, n_segments)
    counts = np.full(n_segments, n_each)
    counts[rng.choice(n_segments, size=n_more, replace=False)] += 1
    return counts


def fitted_curve(minority: Floats, degree: int, n_samples: int) -> Floats:
    """Return rows on the polynomials fitted to each feature over the row's place in the table."""
    # The place is scaled to [-1, 1]: the same curve, better conditioned.
    place = np.linspace(-1.0, 1.0, len(minority))
    degree = min(degree, len(minority) - 1)
    coefficients = np.polynomial.polynomial.polyfit(place, minority, degree)
    where = np.linspace(-1.0, 1.0, n_samples + 2)[1:-1]
    return np.asarray(np.polynomial.polynomial.polyval(where, coefficients).T, dtype=np.float64)


def all_pairs(n_rows: int, n_samples: int, rng: np.random.Generator) -> Any:
    """Return both ends of all pairs of rows; if there are more than samples, of drawn ones."""
    n_pairs = n_rows * (n_rows - 1) // 2
    numbers = (
        np.arange(n_pairs)
        if n_pairs <= n_samples
        else np.sort(rng.choice(n_pairs, size=n_samples, replace=False))
    )
    # Pair number p joins row j to an earlier row i with p = j (j - 1) / 2 + i.
    j = ((1 + np.sqrt(1 + 8 * numbers)) / 2).astype(np.intp)
    return numbers - j * (j - 1) // 2, j


class PolynomFitSMOTE(PeerOverSampler):
    """Oversampling by polynomial fitting, in four topologies.

    S. Gazzah, N. Essoukri Ben Amara, "New Oversampling Approaches Based on Polynomial Fitting
    for Imbalanced Data Sets", DAS 2008.

    New rows are evenly spaced on the segments from each minority row to their mean
    (``"star"``), between each row and the next one in the table (``"bus"``), or between every
    two rows (``"mesh"``); or they lie on a polynomial fitted to each feature over the table's
    order (``"polynomial"``).

    Departures: the paper multiplies the class by whole numbers; here the number is exact, and
    the segments that carry one more row are drawn.

    Parameters
    ----------
    topology : {"star", "bus", "mesh", "polynomial"}, default="star"
        Curves through the minority on which the new rows lie.
    degree : int, default=3
        Degree of the polynomial; only used by ``"polynomial"``.
    """

    topology: str = parameter(
        default="star", rule=[StrOptions({"star", "bus", "mesh", "polynomial"})]
    )
    degree: int = parameter(default=3, rule=POSITIVE_INTEGER)

    def _from_minority(self, minority: Floats, n_samples: int, rng: np.random.Generator) -> Floats:
        if self.topology == "polynomial":
            return fitted_curve(minority, self.degree, n_samples)
        if self.topology == "star":
            start, end = minority, np.broadcast_to(minority.mean(axis=0), minority.shape)
        elif self.topology == "bus":
            start, end = minority[:-1], minority[1:]
        else:
            i, j = all_pairs(len(minority), n_samples, rng)
            start, end = minority[i], minority[j]
        return evenly_between(start, end, shared_out(n_samples, len(start), rng))
