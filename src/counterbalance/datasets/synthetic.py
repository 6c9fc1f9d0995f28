"""The synthetic table of Experiment I: two normal clouds, four noise points, three areas.

Both clouds are long in the direction (1, -1) and lie side by side, so that a row of the
majority reaches the minority by a change of the size of a feature's standard deviation:

    majority   p0 = N((0, 0), C),         C = [[8.5, -7.5], [-7.5, 8.5]]
    minority   p1 = N((5, 5), 2.25 C)

C has the standard deviation 1 across the gap, in the direction (1, 1), and 4 along it.
The areas are sets of the log-density ratio g(x) = log p1(x) - log p0(x):

    majority    g(x) < 0          the majority is the denser class
    boundary    0 <= g(x) < BAND  the minority is the denser class, near the edge
    interior    BAND <= g(x)      the minority is the denser class, far from the edge

The best classifier with equal weight for both classes decides at g = 0. The best one
without weights decides at g = log(917 / 83) = 2.4, because the majority is larger: it is
in the boundary area, near its edge. So an unweighted classifier leaves the majority area
whole, and a class-weighted one that errs towards the minority cuts into it. BAND is such
that the boundary area holds 19 of 79 parts of p1's mass on the minority side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterbalance.datasets.record import Dataset, require_pandas

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MEAN_MINORITY = np.array([5.0, 5.0])
COVARIANCE = np.array([[8.5, -7.5], [-7.5, 8.5]])
SPREAD = 2.25
BAND = 17.7
ROWS_MAJORITY = 917
ROWS_MINORITY = {"majority": 4, "boundary": 19, "interior": 60}
SURROUNDED = 2.0


def synthetic_log_ratio(X: ArrayLike) -> NDArray[np.float64]:
    """Return g(x) = log p1(x) - log p0(x) of each row, from the known densities.

    Examples
    --------
    >>> synthetic_log_ratio([[0, 0], [5, 5]]).round(2).tolist()
    [-11.92, 24.19]
    """
    points = np.asarray(X, dtype=float)
    ratio: NDArray[np.float64] = (
        _mahalanobis(points) ** 2 / 2
        - _mahalanobis(points - MEAN_MINORITY) ** 2 / (2 * SPREAD)
        - np.log(SPREAD)
    )
    return ratio


def synthetic_area(X: ArrayLike) -> NDArray[np.str_]:
    """Return the area of each row: ``"majority"``, ``"boundary"`` or ``"interior"``.

    Parameters
    ----------
    X : array-like of shape (n, 2)
        Points in the space of `load_synthetic`, original or generated.

    Examples
    --------
    >>> synthetic_area([[0, 0], [2.5, 2.5], [5, 5]]).tolist()
    ['majority', 'boundary', 'interior']
    """
    ratio = synthetic_log_ratio(X)
    return np.where(ratio < 0, "majority", np.where(ratio < BAND, "boundary", "interior"))


def load_synthetic(random_state: int = 0) -> Dataset:
    """Make the synthetic table: 1,000 rows, 2 features, 917 majority : 83 minority.

    Of the minority rows 4 are noise points, labelled minority but drawn from the
    majority's density within two of its standard deviations; 19 lie in the boundary
    area and 60 in the interior, drawn from p1 given the area. See `synthetic_area`.

    Parameters
    ----------
    random_state : int, default=0
        Seed of the draw; the counts per area hold for every seed.
    """
    pandas = require_pandas()
    rng = np.random.default_rng(random_state)
    majority = _draw(rng, ROWS_MAJORITY)
    inside = _draw(rng, 50 * ROWS_MINORITY["majority"])
    noise = inside[_mahalanobis(inside) < SURROUNDED][: ROWS_MINORITY["majority"]]
    cloud = MEAN_MINORITY + np.sqrt(SPREAD) * _draw(rng, 50 * ROWS_MINORITY["interior"])
    area = synthetic_area(cloud)
    minority = [cloud[area == name][: ROWS_MINORITY[name]] for name in ("boundary", "interior")]
    points = np.concatenate([majority, noise, *minority])
    labels = np.array(["majority"] * len(majority) + ["minority"] * sum(ROWS_MINORITY.values()))
    order = rng.permutation(len(points))
    return Dataset(
        "synthetic",
        pandas.DataFrame(points[order], columns=["x1", "x2"]),
        pandas.Series(labels[order].astype(object), name="class", dtype=object),
        f"drawn by counterbalance with random_state={random_state}",
        "Two normal clouds side by side and four minority points among the majority.",
    )


def _draw(rng: np.random.Generator, rows: int) -> NDArray[np.float64]:
    return rng.standard_normal((rows, 2)) @ np.linalg.cholesky(COVARIANCE).T


def _mahalanobis(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance from zero in standard deviations of the majority."""
    squares: NDArray[np.float64] = np.sum((points @ np.linalg.inv(COVARIANCE)) * points, axis=1)
    return np.sqrt(squares)
