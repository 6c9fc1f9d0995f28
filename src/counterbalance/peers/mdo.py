"""MDO: new rows on the Mahalanobis ellipse of the class through an old one.

Glossary
    t          (n, d)  rows in the class's principal axes, its mean at zero
    variance   (d,)    of t along each axis
    alpha      (n,)    squared Mahalanobis distance of a row to the class mean
"""

from typing import Any, ClassVar

import numpy as np

from counterbalance.peers.allocation import Floats
from counterbalance.peers.base import PeerOverSampler
from counterbalance.peers.fallback import warn_fallback
from counterbalance.peers.neighbours import capped, nearest_in_table
from counterbalance.peers.rules import OVER_RULES, POSITIVE_INTEGER, Rules


def on_ellipse(alpha: Floats, n_axes: int, rng: np.random.Generator) -> Floats:
    """Squared shares of ``alpha`` with random signs: coordinates in standard deviations.

    Each axis but the last takes a uniform draw within what the earlier ones left; the last
    takes the rest, so that the squares add up to ``alpha``.
    """
    left = alpha.copy()
    unit = np.empty((len(alpha), n_axes))
    for axis in range(n_axes - 1):
        unit[:, axis] = rng.uniform(-1, 1, size=len(alpha)) * np.sqrt(left)
        left = np.maximum(left - unit[:, axis] ** 2, 0)
    unit[:, -1] = rng.choice([-1.0, 1.0], size=len(alpha)) * np.sqrt(left)
    return unit


class MDO(PeerOverSampler):
    """Mahalanobis distance based oversampling, for several classes.

    L. Abdi, S. Hashemi, "To Combat Multi-Class Imbalanced Problems by Means of Over-Sampling
    Techniques", IEEE Transactions on Knowledge and Data Engineering 2016.

    Rows with fewer than ``k1`` rows of their class among their ``k2`` nearest are left out as
    seeds; the others are drawn with a weight by that number. In the principal axes of the
    class a new row is drawn on the ellipse through its seed, so it has the seed's Mahalanobis
    distance to the class mean: the class keeps its covariance structure.

    Departures: where no row passes ``k1`` the paper makes nothing; here all rows are seeds,
    with a warning. The axes take their draws from the largest variance to the smallest.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows each class gets, in imbalanced-learn's terms.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    k1 : int, default=5
        Least number of rows of the class among the neighbours of a seed.
    k2 : int, default=10
        Neighbours looked at.
    """

    _parameter_constraints: ClassVar[Rules] = {
        **OVER_RULES,
        "k1": POSITIVE_INTEGER,
        "k2": POSITIVE_INTEGER,
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
        alpha = ((centred @ axes.T / deviation) ** 2).sum(axis=1)
        share = weights[chosen] / weights[chosen].sum()
        seeds = rng.choice(len(chosen), size=n_samples, p=share)
        unit = on_ellipse(alpha[seeds], len(axes), rng)
        made: Floats = mean + (unit * deviation) @ axes
        return made

    def _seed_weights(self, minority: Floats, majority: Floats) -> Floats:
        k2 = capped(self.k2, len(minority) + len(majority) - 1, "MDO")
        _, indices = nearest_in_table(minority, majority, k2)
        same = (indices < len(minority)).sum(axis=1)
        passed = same >= self.k1
        weights: Floats = np.where(passed, same / k2, 0.0)
        if len(np.unique(minority[passed], axis=0)) < 2:  # noqa: PLR2004  # one row has no ellipse
            warn_fallback(
                "MDO",
                f"fewer than two different rows have {self.k1} of their class among the "
                f"{k2} nearest",
                "all rows of the class are seeds; a smaller k1 avoids this",
            )
            return np.ones(len(minority))
        return weights
