"""MDO: new rows on the Mahalanobis ellipse of the class through an old one.

Glossary
    t          (n, d)  rows in the class's principal axes, its mean at zero
    variance   (d,)    of t along each axis
    alpha      (n,)    squared Mahalanobis distance of a row to the class mean
"""

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.methods.base import PeerOverSampler
from counterbalance.methods.neighbours import nearest_in_table
from counterbalance.methods.parameters import POSITIVE_INTEGER, parameter


def on_ellipse(alpha: Floats, n_axes: int, rng: np.random.Generator) -> Floats:
    """Return coordinates, in standard deviations, whose squares add up to ``alpha``.

    The direction is drawn uniformly over the sphere, so every axis gets the same share of
    ``alpha`` on average: the new rows have the covariance of the old ones.
    """
    direction = rng.normal(size=(len(alpha), n_axes))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    unit: Floats = direction * np.sqrt(alpha)[:, None]
    return unit


class MDO(PeerOverSampler):
    """Mahalanobis distance based oversampling, for several classes.

    L. Abdi, S. Hashemi, "To Combat Multi-Class Imbalanced Problems by Means of Over-Sampling
    Techniques", IEEE Transactions on Knowledge and Data Engineering 2016.

    Rows with fewer than ``k1`` rows of their class among their ``k2`` nearest are not seeds;
    the others are drawn with weights proportional to that number. In the principal axes of the
    class a new row is drawn on the ellipse through its seed, so it has the seed's Mahalanobis
    distance to the class mean: the class keeps its covariance structure.

    Departures: public implementations of the paper's steps draw the coordinates one by one,
    each uniformly within the whole ellipse, and the last one takes what is left. With more than
    a few features nothing is left: new rows lie outside the ellipse, and with ten features the
    variance is three times that of the class. Here the direction is drawn uniformly, which
    keeps both the distance and the covariance. If no row passes ``k1`` the paper makes nothing;
    here all rows are seeds, with a warning. If the seeds vary in one direction only, the
    ellipse is two points: new rows are copies of the seeds or their mirror images at the mean,
    and a warning says so.

    Parameters
    ----------
    k1 : int, default=5
        Least number of rows of the class among the neighbours of a seed.
    k2 : int, default=10
        Neighbours considered.
    """

    k1: int = parameter(default=5, rule=POSITIVE_INTEGER)
    k2: int = parameter(default=10, rule=POSITIVE_INTEGER)

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
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
        unit = on_ellipse(alpha[seeds], len(axes), rng)
        made: Floats = mean + (unit * deviation) @ axes
        return made

    def _seed_weights(self, minority: Floats, majority: Floats) -> Floats:
        k2 = self._capped(self.k2, len(minority) + len(majority) - 1)
        _, indices = nearest_in_table(minority, majority, k2)
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
