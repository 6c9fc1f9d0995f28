"""The synthetic table of Experiment I: two normal clouds, four noise points, three areas.

The paper says no more of its table than that: 917 rows of the majority, 83 of the minority of
which 4, 19 and 60 lie in three areas, two normal features. How the clouds lie is left open, and
much depends on it, so the recipe has several shapes:

    majority   p0 = N((0, 0), C)
    minority   p1 = N(mean, spread C)

    long          C is 4 long by 1 wide, the clouds side by side across the gap
    round         C is round, the clouds overlap
    one feature   C is round, and the first feature alone tells the clouds apart
    end to end    C is 4 long by 1 wide, one cloud behind the other
    compact       C is round, and the minority is a small cloud in the tail of the majority

The areas are sets of the log-density ratio g(x) = log p1(x) - log p0(x):

    majority    g(x) < 0          the majority is the denser class
    boundary    0 <= g(x) < band  the minority is the denser class, near the edge
    interior    band <= g(x)      the minority is the denser class, far from the edge

The best classifier with equal weight for both classes decides at g = 0. The best one
without weights decides at g = log(917 / 83) = 2.4, because the majority is larger: in the
boundary area of every shape, near its edge for the long one and near its other end for the
round one. The band is such that the boundary area holds 19 of 79 parts of p1's mass on the
minority side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from counterbalance.arrays import Floats
from counterbalance.datasets import Dataset

ROWS_MAJORITY = 917
ROWS_MINORITY = {"majority": 4, "boundary": 19, "interior": 60}
SURROUNDED = 2.0


@dataclass(frozen=True, eq=False)
class Shape:
    """How the two clouds of a synthetic table lie."""

    text: str  # the shape in words
    mean: tuple[float, float]  # centre of the minority; the majority's is zero
    covariance: tuple[tuple[float, float], ...]  # C, the covariance of the majority
    spread: float  # the minority's covariance is ``spread * C``
    band: float  # log-density ratio at which the boundary area ends

    def log_ratio(self, points: Floats) -> Floats:
        """Return g(x) = log p1(x) - log p0(x) of each row."""
        near = self.deviations(points - self.mean) ** 2 / (2 * self.spread)
        return np.asarray(self.deviations(points) ** 2 / 2 - near - np.log(self.spread))

    def deviations(self, points: Floats) -> Floats:
        """Return the distance from zero in standard deviations of the majority."""
        squares = np.sum((points @ np.linalg.inv(self.covariance)) * points, axis=1)
        return np.asarray(np.sqrt(squares))

    def draw(self, rng: np.random.Generator, rows: int) -> Floats:
        """Draw rows of the majority."""
        return rng.standard_normal((rows, 2)) @ np.linalg.cholesky(self.covariance).T


LONG = "long"
SIDE_BY_SIDE, END_TO_END = ((8.5, -7.5), (-7.5, 8.5)), ((8.5, 7.5), (7.5, 8.5))
ROUND = ((1.0, 0.0), (0.0, 1.0))
SLANT = 1 / np.sqrt(2)
SHAPES = {
    LONG: Shape(
        "clouds four times as long as wide, side by side", (5.0, 5.0), SIDE_BY_SIDE, 2.25, 17.7
    ),
    "round": Shape("round clouds that overlap", (3 * SLANT, 3 * SLANT), ROUND, 2.25, 2.56),
    "one feature": Shape(
        "round clouds that the first feature alone tells apart", (4.0, 0.0), ROUND, 2.25, 4.63
    ),
    "end to end": Shape(
        "clouds four times as long as wide, one behind the other",
        (16 * SLANT, 16 * SLANT),
        END_TO_END,
        2.25,
        4.63,
    ),
    "compact": Shape(
        "a minority cloud half as wide as the majority's, in its tail",
        (3 * SLANT, 3 * SLANT),
        ROUND,
        0.25,
        4.25,
    ),
}


def synthetic_area(X: ArrayLike, shape: str = LONG) -> NDArray[np.str_]:
    """Return the area of each row: ``"majority"``, ``"boundary"`` or ``"interior"``.

    >>> synthetic_area([[0, 0], [2.5, 2.5], [5, 5]]).tolist()
    ['majority', 'boundary', 'interior']
    """
    ratio = SHAPES[shape].log_ratio(np.asarray(X, dtype=float))
    minority = np.where(ratio < SHAPES[shape].band, "boundary", "interior")
    return np.where(ratio < 0, "majority", minority)


def load_synthetic(random_state: int = 0, shape: str = LONG) -> Dataset:
    """Make the synthetic table: 1,000 rows, 2 features, 917 majority : 83 minority.

    Of the minority rows 4 are noise points, labelled minority but drawn from the
    majority's density within two of its standard deviations and inside the majority area;
    19 lie in the boundary area and 60 in the interior, drawn from p1 given the area. The counts
    hold for every seed.
    """
    form = SHAPES[shape]
    rng = np.random.default_rng(random_state)
    majority = form.draw(rng, ROWS_MAJORITY)
    inside = form.draw(rng, 50 * ROWS_MINORITY["majority"])
    surrounded = (form.deviations(inside) < SURROUNDED) & (form.log_ratio(inside) < 0)
    noise = inside[surrounded][: ROWS_MINORITY["majority"]]
    cloud = form.mean + np.sqrt(form.spread) * form.draw(rng, 50 * ROWS_MINORITY["interior"])
    area = synthetic_area(cloud, shape)
    minority = [cloud[area == name][: ROWS_MINORITY[name]] for name in ("boundary", "interior")]
    points = np.concatenate([majority, noise, *minority])
    labels = np.array(["majority"] * len(majority) + ["minority"] * sum(ROWS_MINORITY.values()))
    order = rng.permutation(len(points))
    return Dataset(
        "synthetic",
        pd.DataFrame(points[order], columns=["x1", "x2"]),
        pd.Series(labels[order].astype(object), name="class", dtype=object),
        f"drawn with random_state={random_state} and shape={shape!r}",
        f"Two normal clouds ({form.text}) and four minority points among the majority.",
    )
