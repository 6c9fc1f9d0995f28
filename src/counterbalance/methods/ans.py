"""ANS: as many neighbours as the density of the class provides."""

import numpy as np
from scipy.spatial.distance import cdist

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.methods.base import PeerOverSampler
from counterbalance.methods.neighbours import nearer_than
from counterbalance.methods.parameters import POSITIVE_SHARE, parameter
from counterbalance.methods.synthesis import drawn_between, group_starts


def intruders(minority: Floats, majority: Floats) -> Integers:
    """Count the majority rows nearer to each minority row than its nearest minority row."""
    return nearer_than(minority, majority, distances_to_fellows(minority).min(axis=1))


def distances_to_fellows(rows: Floats) -> Floats:
    """Return the distances between the rows, infinite from a row to itself."""
    apart = cdist(rows, rows)
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart)


def outcasts(n_intruders: Integers, largest: int) -> Mask:
    """Return the rows with more intruders than the tolerance.

    The tolerance grows from 0 until one more step would admit no further row, or until
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
    within which all fellows are neighbours: dense regions have many, sparse ones few. A new row
    lies between a row and one of its neighbours.

    Departures: the paper's second half, a 1-NN classifier that answers for the outcasts, is not
    resampling and is left out; outcasts stay in the table but are not seeds. If fewer than two
    rows are left, all rows are seeds, with a warning.

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
            self._warn(
                f"{int(out.sum())} of {len(minority)} minority rows are outcasts",
                "all rows are used as seeds nonetheless",
            )
            rows = minority
        apart = distances_to_fellows(rows)
        neighbour = apart <= apart.min(axis=1).max()
        seeds = rng.integers(len(rows), size=n_samples)
        return drawn_between(rows[seeds], rows[self._drawn(neighbour, seeds, rng)], rng)

    @staticmethod
    def _drawn(neighbour: Mask, seeds: Integers, rng: np.random.Generator) -> Integers:
        """Draw one of the neighbours of each seed, all equally likely."""
        # The neighbours of a row stand side by side in ``columns``.
        _, columns = np.nonzero(neighbour)
        sizes = neighbour.sum(axis=1)
        drawn: Integers = columns[group_starts(sizes)[seeds] + rng.integers(sizes[seeds])]
        return drawn
