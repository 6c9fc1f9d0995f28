"""Experiment I: in which area of the synthetic space each method puts its new samples.

The areas come from the known densities (`synthetic_area`), for every shape of the synthetic
table: the paper does not say how its clouds lie, and the shares depend on it. Ours runs with an
unweighted f, logistic regression, and keeps what the paper's search finds:
`on_shortfall="accept"`, so every counted sample is a true inversion. A class-weighted f is the
last row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from imblearn.over_sampling import ADASYN
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler
from counterbalance.datasets import SHAPES, load_synthetic, synthetic_area
from counterbalance.methods import SSO
from counterbalance.trials.workers import CellResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counterbalance.studies.reproduction.settings import Settings
    from counterbalance.trials.store import Cell

EXPERIMENT = "areas"
OURS = "ours"
METHODS = ("SSO", "ADASYN", OURS, "ours, class-weighted f")
AREAS = ("majority", "boundary", "interior")
# the shape of the table that Figure 1 and the sensitivity study are drawn from
SHAPE = next(iter(SHAPES))
DRAWS = 50
# asks for an inversion of every majority row: whatever is found is kept
EVERY_ROW = {"minority": 1000}


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each shape, method and synthetic table."""
    return [
        {"experiment": EXPERIMENT, "shape": shape, "method": method, "seed": seed}
        for shape in SHAPES
        for method in METHODS
        for seed in range(settings.seeds)
    ]


def compute(settings: Settings, cell: Cell) -> CellResult:  # noqa: ARG001 - every experiment takes both
    """Count the original minority rows and the new samples in each area."""
    seed, shape = int(cell["seed"]), str(cell["shape"])
    X, y = synthetic_arrays(seed, shape)
    new = new_samples(str(cell["method"]), X, y, seed)
    original = area_counts(X[y == "minority"], shape)
    figures = {f"original {area}": n for area, n in original.items()}
    figures |= {f"new {area}": n for area, n in area_counts(new, shape).items()}
    return CellResult(figures)


def synthetic_arrays(seed: int, shape: str = SHAPE) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return the synthetic table of a seed as arrays."""
    data = load_synthetic(seed, shape)
    return data.X.to_numpy(), data.y.to_numpy().astype(str)


def new_samples(method: str, X: Any, y: Any, seed: int) -> NDArray[np.float64]:
    """Return the samples that a method adds to the minority."""
    resampled, _ = make_sampler(method, seed).fit_resample(X, y)
    return np.asarray(resampled[len(X) :])


def make_sampler(method: str, seed: int) -> Any:
    """Return the sampler of a row of the table."""
    if method == "SSO":
        return SSO(random_state=seed)
    if method == "ADASYN":
        return ADASYN(random_state=seed)
    weight = "balanced" if "weighted" in method else None
    return CounterfactualOverSampler(
        estimator=LogisticRegression(class_weight=weight),
        n_draws=DRAWS,
        sampling_strategy=EVERY_ROW,
        on_shortfall="accept",
        random_state=seed,
    )


def area_counts(points: NDArray[np.float64], shape: str = SHAPE) -> dict[str, int]:
    """Count points by area."""
    area = synthetic_area(points, shape)
    return {name: int(np.count_nonzero(area == name)) for name in AREAS}
