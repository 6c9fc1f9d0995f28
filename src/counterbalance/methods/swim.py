"""SWIM: sampling with the majority, along the contours of its density.

Glossary
    mean, whiten   (d,), (d, d)  majority mean, and the root of its inverse covariance
    z              (n, d)  rows after whitening: their length is the Mahalanobis distance
"""

import numpy as np
from sklearn.utils._param_validation import StrOptions

from counterbalance.arrays import Floats
from counterbalance.methods.base import PeerOverSampler
from counterbalance.methods.fallback import warn_fallback
from counterbalance.methods.parameters import POSITIVE_INTEGER, POSITIVE_REAL, parameter
from counterbalance.methods.rejection import drawn_until_accepted


def whitening(majority: Floats) -> tuple[Floats, Floats]:
    """Root of the inverse covariance and root of the covariance.

    Directions in which the majority does not vary are left out of both.
    """
    covariance = np.cov(majority, rowvar=False).reshape(majority.shape[1], -1)
    values, vectors = np.linalg.eigh(covariance)
    real = values > 1e-10 * max(values.max(), 1e-300)
    vectors, roots = vectors[:, real], np.sqrt(values[real])
    return (vectors / roots) @ vectors.T, (vectors * roots) @ vectors.T


def along_contours(
    minority: Floats, majority: Floats, n_samples: int, spread: float, rng: np.random.Generator
) -> Floats:
    """Rows at the same Mahalanobis distance from the majority as the seed of each."""
    mean = majority.mean(axis=0)
    whiten, colour = whitening(majority)
    if np.linalg.matrix_rank(whiten) == 1:
        warn_fallback(
            "SWIM",
            "the rows of the other classes vary in one direction only, and there a contour is "
            "two points",
            "the new rows are copies of minority rows, or their mirror images where they lie "
            "near the middle of the other classes",
        )
    z = (minority - mean) @ whiten
    reach = spread * z.std(axis=0)
    seeds = rng.integers(len(minority), size=n_samples)
    drawn = z[seeds] + rng.uniform(-reach, reach, size=(n_samples, z.shape[1]))
    lengths = np.linalg.norm(drawn, axis=1)
    wanted = np.linalg.norm(z[seeds], axis=1)
    factor = np.divide(wanted, lengths, out=np.ones_like(wanted), where=lengths > 0)
    shift = (drawn * factor[:, None] - z[seeds]) @ colour
    # A shift leaves what lies outside the majority's span as it is in the seed.
    moved: Floats = minority[seeds] + shift
    return moved


def radial_density(rows: Floats, majority: Floats, width: float) -> Floats:
    """Sum of Gaussian bumps of the majority at each row, in blocks to bound the memory."""
    density = np.empty(len(rows))
    squares = (majority**2).sum(axis=1)
    for start in range(0, len(rows), 1024):
        block = rows[start : start + 1024]
        apart = (block**2).sum(axis=1)[:, None] + squares - 2 * block @ majority.T
        density[start : start + 1024] = np.exp(-np.maximum(apart, 0) / (2 * width**2)).sum(axis=1)
    return density


def down_the_density(
    minority: Floats,
    majority: Floats,
    n_samples: int,
    spread: float,
    rng: np.random.Generator,
    *,
    max_rounds: int,
) -> Floats:
    """Take normal steps from the seeds that do not climb the majority's radial density."""
    scale = majority.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    ours, theirs = minority / scale, majority / scale
    # The root of the summed variances is the majority's typical distance from its mean.
    width = max(float(np.sqrt(theirs.var(axis=0).sum())), 1e-12) / 2
    at_seed = radial_density(ours, theirs, width)
    step = spread * ours.std(axis=0)

    def draw(n: int) -> Floats:
        seeds = rng.integers(len(ours), size=n)
        rows = ours[seeds] + rng.normal(size=(n, ours.shape[1])) * step
        # The seed's density travels with the row as a last column.
        return np.column_stack([rows, at_seed[seeds]])

    def climbed(rows: Floats) -> Floats:
        rise: Floats = radial_density(rows[:, :-1], theirs, width) - rows[:, -1]
        return rise

    accepted = drawn_until_accepted(
        n_samples, draw, climbed, limit=0.0, max_rounds=max_rounds, method="SWIM"
    )
    return accepted[:, :-1] * scale


class SWIM(PeerOverSampler):
    """Sampling with the majority class.

    S. Sharma, C. Bellinger, B. Krawczyk, O. Zaiane, N. Japkowicz, "Synthetic Oversampling with
    the Majority Class: A New Perspective on Handling Extreme Imbalance", ICDM 2018; C. Bellinger
    and others, "Framework for extreme imbalance classification: SWIM, sampling with the
    majority class", Knowledge and Information Systems 2020 (the radial variant).

    ``"mahalanobis"``: after whitening by the majority's covariance a seed's features are drawn
    anew near their values, and the result is scaled back to the seed's length, so that every
    new row has its seed's Mahalanobis distance from the majority. ``"rbf"``: normal steps from
    the seed that do not climb the radial density of the majority.

    Departures: directions in which the majority does not vary keep the seed's values, where
    the paper needs a covariance that can be inverted; where it varies in one direction only, a
    contour is two points, and a warning says that the new rows are copies. In the radial variant
    a step is accepted when the density does not rise, as in the authors' published code; that
    code sums the absolute differences of the features as they are, where here the distance is
    Euclidean in features scaled by the majority's standard deviations. Its bumps narrow as half
    the product of the mean and the standard deviation of the distances in the majority grows;
    here their width is half the majority's typical distance from its mean, which grows with
    the majority. It tries a seed up to five times before it draws the next one and goes on until
    it has enough; here each try draws its seed, and after ``max_rounds`` the steps that rise
    least are taken, with a warning.

    Cost: ``"mahalanobis"`` is as fast as SMOTE; ``"rbf"`` weighs every step against every
    majority row, by definition more than 20 times the work of SMOTE.

    Parameters
    ----------
    density : {"mahalanobis", "rbf"}, default="mahalanobis"
        Which density of the majority is followed.
    spread : float, default=0.25
        How far a seed moves, in the minority's standard deviations.
    max_rounds : int, default=20
        Rounds of drawing in ``"rbf"`` before the least faulty steps are taken.
    """

    density: str = parameter(default="mahalanobis", rule=[StrOptions({"mahalanobis", "rbf"})])
    spread: float = parameter(default=0.25, rule=POSITIVE_REAL)
    max_rounds: int = parameter(default=20, rule=POSITIVE_INTEGER)

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        if (majority == majority[0]).all():
            warn_fallback(
                "SWIM",
                "all rows of the other classes are the same, so they have no density to follow",
                "the new rows are copies of minority rows",
            )
            return minority[rng.integers(len(minority), size=n_samples)]
        if self.density == "rbf":
            return down_the_density(
                minority, majority, n_samples, self.spread, rng, max_rounds=self.max_rounds
            )
        return along_contours(minority, majority, n_samples, self.spread, rng)
