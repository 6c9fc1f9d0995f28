"""polynom-fit-SMOTE: new rows on curves laid through the minority."""

from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.base import PeerOverSampler
from counterbalance.methods.interpolation import evenly_between
from counterbalance.methods.parameters import POSITIVE_INTEGER, parameter


def shared_out(n_samples: int, n_segments: int, rng: np.random.Generator) -> Integers:
    """Equal numbers for all segments; a drawn part of them gets one more where need be."""
    n_each, n_more = divmod(n_samples, n_segments)
    counts = np.full(n_segments, n_each)
    counts[rng.choice(n_segments, size=n_more, replace=False)] += 1
    return counts


def fitted_curve(minority: Floats, degree: int, n_samples: int) -> Floats:
    """Rows on the polynomials that fit each feature to the row's place in the table."""
    # The place runs from -1 to 1: the same curve, better conditioned.
    place = np.linspace(-1.0, 1.0, len(minority))
    degree = min(degree, len(minority) - 1)
    coefficients = np.polynomial.polynomial.polyfit(place, minority, degree)
    where = np.linspace(-1.0, 1.0, n_samples + 2)[1:-1]
    return np.asarray(np.polynomial.polynomial.polyval(where, coefficients).T, dtype=np.float64)


def all_pairs(n_rows: int, n_samples: int, rng: np.random.Generator) -> Any:
    """Both ends of the pairs of rows; of more pairs than samples a drawn part."""
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

    New rows stand at equal steps on the segments from each minority row to their mean
    (``"star"``), between each row and the next one of the table (``"bus"``), or between every
    two rows (``"mesh"``); or on a polynomial fitted to each feature over the table's order
    (``"polynomial"``).

    Departures: the paper multiplies the class by whole numbers; here the number is exact, and
    which segments carry one row more is drawn.

    Parameters
    ----------
    topology : {"star", "bus", "mesh", "polynomial"}, default="star"
        Which curves are laid through the minority.
    degree : int, default=3
        Degree of the polynomial; used by ``"polynomial"`` only.
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
