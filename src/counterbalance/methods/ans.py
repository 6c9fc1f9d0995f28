"""ANS: as many neighbours as the density of the class gives."""

import numpy as np
from scipy.spatial.distance import cdist

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.methods.base import PeerOverSampler
from counterbalance.methods.fallback import warn_fallback
from counterbalance.methods.interpolation import drawn_between
from counterbalance.methods.neighbours import nearer_than
from counterbalance.methods.parameters import POSITIVE_SHARE, parameter


def intruders(minority: Floats, majority: Floats) -> Integers:
    """Majority rows nearer to each minority row than its nearest minority row."""
    return nearer_than(minority, majority, distances_to_fellows(minority).min(axis=1))


def distances_to_fellows(rows: Floats) -> Floats:
    """Distances between the rows, infinite from a row to itself."""
    apart = cdist(rows, rows)
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart)


def outcasts(n_intruders: Integers, largest: int) -> Mask:
    """Rows with more intruders than the first tolerance at which no further row is won.

    The tolerance grows from 0; it stops where one more step would take in no row more, or at
    ``largest``.
    """
    for tolerance in range(largest + 1):
        out = n_intruders > tolerance
        if out.sum() == (n_intruders > tolerance + 1).sum():
            break
    return out


class ANS(PeerOverSampler):
    """Adaptive neighbour synthetic minority oversampling under 1-NN outcast handling.

    W. Siriseriwan, K. Sinapiromsaran, "Adaptive neighbor synthetic minority oversampling
    technique under 1NN outcast handling", Songklanakarin Journal of Science and Technology
    2017.

    Minority rows with too many majority rows nearer than their nearest fellow are outcasts.
    The largest distance from one of the other rows to its nearest fellow becomes the radius
    within which all fellows are neighbours: dense places have many, sparse ones few. A new row
    lies between a row and one of its neighbours.

    Departures: the paper's second half, a 1-NN classifier that answers for the outcasts, is no
    resampling and is left out; outcasts stay in the table but are no seeds. Where fewer than
    two rows are left, all rows are seeds, with a warning.

    Parameters
    ----------
    outcast_share : float, default=0.25
        Largest tolerance for majority rows nearby, as a share of the class's rows.
    """

    outcast_share: float = parameter(default=0.25, rule=POSITIVE_SHARE)

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        largest = int(np.ceil(self.outcast_share * len(minority)))
        out = outcasts(intruders(minority, majority), largest)
        rows = minority[~out]
        if len(rows) < 2:  # noqa: PLR2004  # a segment has two ends
            warn_fallback(
                "ANS",
                f"{int(out.sum())} of {len(minority)} minority rows are outcasts",
                "all of them are seeds all the same",
            )
            rows = minority
        apart = distances_to_fellows(rows)
        neighbour = apart <= apart.min(axis=1).max()
        seeds = rng.integers(len(rows), size=n_samples)
        return drawn_between(rows[seeds], rows[self._drawn(neighbour, seeds, rng)], rng)

    @staticmethod
    def _drawn(neighbour: Mask, seeds: Integers, rng: np.random.Generator) -> Integers:
        """One of the neighbours of each seed; the neighbours of a row stand side by side."""
        _, columns = np.nonzero(neighbour)
        sizes = neighbour.sum(axis=1)
        first = np.cumsum(sizes) - sizes
        drawn: Integers = columns[first[seeds] + rng.integers(sizes[seeds])]
        return drawn
