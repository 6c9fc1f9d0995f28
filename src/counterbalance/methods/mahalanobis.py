"""New rows at the Mahalanobis distance of an old one: MDO from its class, SWIM from the majority.

Glossary
    t          (n, d)  rows in the class's principal axes, its mean at zero
    variance   (d,)    of t along each axis
    alpha      (n,)    squared Mahalanobis distance of a row to the class mean
    mean, whiten   (d,), (d, d)  majority mean, and the root of its inverse covariance
    z              (n, d)  rows after whitening: their length is the Mahalanobis distance
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from counterbalance.arrays import Floats, Rng
from counterbalance.methods.base import OVER_CONSTRAINTS, OneVsRestOverSampler, shared_doc
from counterbalance.methods.neighbours import nearest_in_table, scale_of
from counterbalance.sklearn_private import Interval, StrOptions


@shared_doc
class MDO(OneVsRestOverSampler):
    """Mahalanobis distance based oversampling, for several classes.

    L. Abdi, S. Hashemi, "To Combat Multi-Class Imbalanced Problems by Means of Over-Sampling
    Techniques", IEEE Transactions on Knowledge and Data Engineering 2016.

    Rows with fewer than ``k1`` rows of their class among their ``k2`` nearest are not seeds;
    the others are drawn with weights proportional to that number. In the principal axes of the
    class a new row is drawn on the ellipse through its seed, so it has the seed's Mahalanobis
    distance to the class mean: the class keeps its covariance structure.

    Departures: public implementations draw the coordinates one by one, each uniformly within
    the whole ellipse, and the last one takes what is left. With more than a few features nothing
    is left: new rows lie outside the ellipse, and with ten features the variance is three times
    that of the class. Here the direction is drawn uniformly, which keeps both the distance and
    the covariance. If no row passes ``k1`` the paper makes nothing; here all rows are seeds, with
    a warning. If the seeds vary in one direction only, the ellipse is two points: new rows are
    copies of the seeds or their mirror images at the mean, and a warning says so.

    Parameters
    ----------
    {common_parameters}
    k1 : int, default=5
        Least number of rows of the class among the neighbours of a seed.
    k2 : int, default=10
        Neighbours considered.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "k1": [Interval(Integral, 1, None, closed="left")],
        "k2": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        k1: int = 5,
        k2: int = 10,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.k1 = k1
        self.k2 = k2

    def _make_samples(self, minority: Floats, majority: Floats, n_samples: int, rng: Rng) -> Floats:
        weights = self._seed_weights(minority, majority)
        chosen = np.flatnonzero(weights)
        # Class mean and axes are those of the rows that passed, as in the paper.
        mean = minority[chosen].mean(axis=0)
        centred = minority[chosen] - mean
        _, singular, axes = np.linalg.svd(centred, full_matrices=False)
        varies = singular > 1e-10 * max(singular.max(), 1e-300)
        axes = axes[varies]
        deviation = singular[varies] / np.sqrt(max(len(chosen) - 1, 1))
        if len(axes) == 1:
            self._warn(
                "the rows of the class vary in one direction only, and there the ellipse is "
                "two points",
                "the new rows are copies of rows of the class or their mirror images at its mean",
            )
        alpha = ((centred @ axes.T / deviation) ** 2).sum(axis=1)
        share = weights[chosen] / weights[chosen].sum()
        seeds = rng.choice(len(chosen), size=n_samples, p=share)
        # A direction that is uniform over the sphere gives every axis the same share of alpha on
        # average: the new rows have the covariance of the old ones.
        direction = rng.normal(size=(n_samples, len(axes)))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        unit = direction * np.sqrt(alpha[seeds])[:, None]
        return np.asarray(mean + (unit * deviation) @ axes)

    def _seed_weights(self, minority: Floats, majority: Floats) -> Floats:
        k2 = self._capped(self.k2, len(minority) + len(majority) - 1)
        indices = nearest_in_table(minority, majority, k2)
        same = (indices < len(minority)).sum(axis=1)
        passed = same >= self.k1
        weights: Floats = np.where(passed, same / k2, 0.0)
        if len(np.unique(minority[passed], axis=0)) < 2:  # noqa: PLR2004  # one row has no ellipse
            self._warn(
                f"fewer than two different rows have {self.k1} of their class among the "
                f"{k2} nearest",
                "all rows of the class are seeds; a smaller k1 avoids this",
            )
            return np.ones(len(minority))
        return weights


def whitening(majority: Floats) -> tuple[Floats, Floats]:
    """Return the root of the inverse covariance and the root of the covariance.

    Directions in which the majority does not vary are left out of both.
    """
    covariance = np.cov(majority, rowvar=False).reshape(majority.shape[1], -1)
    values, vectors = np.linalg.eigh(covariance)
    real = values > 1e-10 * max(values.max(), 1e-300)
    vectors, roots = vectors[:, real], np.sqrt(values[real])
    return (vectors / roots) @ vectors.T, (vectors * roots) @ vectors.T


def radial_density(rows: Floats, majority: Floats, width: float) -> Floats:
    """Return the Gaussian kernel density of the majority at each row, in blocks to save memory."""
    density = np.empty(len(rows))
    squares = (majority**2).sum(axis=1)
    for part in gen_batches(len(rows), 1024):
        apart = (rows[part] ** 2).sum(axis=1)[:, None] + squares - 2 * rows[part] @ majority.T
        density[part] = np.exp(-np.maximum(apart, 0) / (2 * width**2)).sum(axis=1)
    return density


@shared_doc
class SWIM(OneVsRestOverSampler):
    """Sampling with the majority class.

    S. Sharma, C. Bellinger, B. Krawczyk, O. Zaiane, N. Japkowicz, "Synthetic Oversampling with
    the Majority Class: A New Perspective on Handling Extreme Imbalance", ICDM 2018; C. Bellinger
    and others, "Framework for extreme imbalance classification: SWIM, sampling with the
    majority class", Knowledge and Information Systems 2020 (the radial variant).

    ``"mahalanobis"``: after whitening by the majority's covariance a seed's features are drawn
    near their values, and the result is rescaled to the seed's length, so that every
    new row has its seed's Mahalanobis distance from the majority. ``"rbf"``: normal steps from
    the seed that do not climb the radial density of the majority.

    Departures: directions in which the majority does not vary keep the seed's values, whereas
    the paper needs an invertible covariance; if the majority varies in one direction only, a
    contour is two points, and a warning says that the new rows are copies. In the radial variant
    a step is accepted if the density does not rise, as in the authors' published code. That code
    sums the absolute differences of the raw features, its bumps narrow as the distances in the
    majority grow, and a seed is tried up to five times before the next one is drawn, until there
    are enough rows. Here the distance is Euclidean in features scaled by the majority's standard
    deviations, the width of the bumps is half the majority's typical distance from its mean, each
    try draws its seed, and after 20 rounds the steps that rise least are taken, with a warning.
    Slow: every step is compared with every majority row.

    Parameters
    ----------
    {common_parameters}
    density : {{"mahalanobis", "rbf"}}, default="mahalanobis"
        Which density of the majority is followed.
    spread : float, default=0.25
        How far a seed moves, in the minority's standard deviations.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "density": [StrOptions({"mahalanobis", "rbf"})],
        "spread": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        density: str = "mahalanobis",
        spread: float = 0.25,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.density = density
        self.spread = spread

    def _make_samples(self, minority: Floats, majority: Floats, n_samples: int, rng: Rng) -> Floats:
        if (majority == majority[0]).all():
            self._warn(
                "all rows of the other classes are the same, so they have no density to follow",
                "the new rows are copies of minority rows",
            )
            return minority[rng.integers(len(minority), size=n_samples)]
        make = self._down_the_density if self.density == "rbf" else self._along_contours
        return make(minority, majority, n_samples, rng)

    def _along_contours(
        self, minority: Floats, majority: Floats, n_samples: int, rng: Rng
    ) -> Floats:
        """Draw rows at the same Mahalanobis distance from the majority as their seeds."""
        mean = majority.mean(axis=0)
        whiten, colour = whitening(majority)
        if np.linalg.matrix_rank(whiten) == 1:
            self._warn(
                "the rows of the other classes vary in one direction only, and there a contour is "
                "two points",
                "the new rows are copies of minority rows, or their mirror images where they lie "
                "near the middle of the other classes",
            )
        z = (minority - mean) @ whiten
        reach = self.spread * z.std(axis=0)
        seeds = rng.integers(len(minority), size=n_samples)
        drawn = z[seeds] + rng.uniform(-reach, reach, size=(n_samples, z.shape[1]))
        lengths = np.linalg.norm(drawn, axis=1)
        wanted = np.linalg.norm(z[seeds], axis=1)
        factor = np.divide(wanted, lengths, out=np.ones_like(wanted), where=lengths > 0)
        shift = (drawn * factor[:, None] - z[seeds]) @ colour
        # A shift leaves the part of the seed outside the majority's span as it is.
        return np.asarray(minority[seeds] + shift)

    def _down_the_density(
        self, minority: Floats, majority: Floats, n_samples: int, rng: Rng
    ) -> Floats:
        """Take normal steps from the seeds that do not climb the majority's radial density."""
        scale = scale_of(majority)
        ours, theirs = minority / scale, majority / scale
        # The root of the summed variances is the majority's typical distance from its mean.
        width = max(float(np.sqrt(theirs.var(axis=0).sum())), 1e-12) / 2
        at_seed = radial_density(ours, theirs, width)
        step = self.spread * ours.std(axis=0)

        def draw(n: int) -> Floats:
            seeds = rng.integers(len(ours), size=n)
            rows = ours[seeds] + rng.normal(size=(n, ours.shape[1])) * step
            # The seed's density travels with the row as a last column.
            return np.column_stack([rows, at_seed[seeds]])

        def climbed(rows: Floats) -> Floats:
            return radial_density(rows[:, :-1], theirs, width) - rows[:, -1]

        rows = self._drawn_until_accepted(n_samples, draw, climbed)
        return rows[:, :-1] * scale
