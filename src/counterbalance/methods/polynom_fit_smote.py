"""polynom-fit-SMOTE: new rows on curves through the minority."""

from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.base import PeerOverSampler
from counterbalance.methods.parameters import POSITIVE_INTEGER, parameter
from counterbalance.methods.synthesis import evenly_between


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
