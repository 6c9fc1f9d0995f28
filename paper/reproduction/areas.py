"""Experiment I: in which area of the synthetic space each method puts its new samples.

    Table II    new samples by area, beside the paper's, for every shape of the synthetic table
    Figure 4    the areas of each shape, and where new samples fall
    Figure 1    the decision boundary of one classifier before and after each method

The areas come from the known densities (`synthetic_area`), for every shape of the synthetic
table: the paper does not say how its clouds lie, and the shares depend on it. Ours runs with an
unweighted f, logistic regression, and keeps what the paper's search finds:
`sampling_strategy="all"`, so every counted sample is a true inversion. A class-weighted f is the
last row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from imblearn.over_sampling import ADASYN
from matplotlib.patches import Patch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from counterbalance import CounterfactualOverSampler
from counterbalance.arrays import Floats
from counterbalance.methods import SSO
from paper.classifiers import as_call
from paper.datasets.synthetic import LONG, SHAPES, load_synthetic, synthetic_area
from paper.reproduction import Settings, failures, published, with_columns
from paper.reproduction.methods import resampled
from paper.tables import ABSENT, FAILED, Table, new_figure
from paper.trials import ERROR, Frame, Trial

EXPERIMENT = "areas"
OURS = "ours"
METHODS = ("SSO", "ADASYN", OURS, "ours, class-weighted f")
AREAS = ("majority", "boundary", "interior")
NEW_IN = [f"new {area}" for area in AREAS]
DRAWS = 50
# The paper's: green area and dots for the majority, red dots for the minority, blue
# triangles for new samples, blue area at the boundary, yellow area inside.
AREA_COLOURS = {"majority": "#c8e6c0", "boundary": "#bfd7f5", "interior": "#fff3b0"}
MAJORITY, MINORITY, NEW = "#2e8b3d", "#d62828", "#1f4fd8"
MARGIN = 1.0
AREA_PANELS, AREA_STEPS = ("original", "SSO", "ADASYN", OURS), 300
BOUNDARY_PANELS = (
    *("none", "SSO", "ADASYN", "SOMO", "k-SMOTE", "CUSBoost", "ours", "ours, class-weighted f"),
)
BOUNDARY_STEPS = 150

Groups = Mapping[tuple[str, str], Floats]  # of shape and method: shares of areas, (tables, areas)


def trials(settings: Settings) -> list[Trial]:
    """Return a trial for each shape, method and synthetic table."""
    return [
        {"experiment": EXPERIMENT, "shape": shape, "method": method, "seed": seed}
        for shape in SHAPES
        for method in METHODS
        for seed in range(settings.seeds)
    ]


def compute(trial: Trial) -> dict[str, float]:
    """Count the original minority rows and the new samples in each area."""
    seed, shape = int(trial["seed"]), str(trial["shape"])
    X, y = synthetic_arrays(seed, shape)
    new = new_samples(str(trial["method"]), X, y, seed)
    original = area_counts(X[y == "minority"], shape)
    found = {f"original {area}": count for area, count in original.items()}
    return found | {f"new {area}": count for area, count in area_counts(new, shape).items()}


def synthetic_arrays(seed: int, shape: str = LONG) -> tuple[Floats, NDArray[np.str_]]:
    """Return the synthetic table of a seed as arrays."""
    data = load_synthetic(seed, shape)
    return data.X.to_numpy(), data.y.to_numpy().astype(str)


def new_samples(method: str, X: Any, y: Any, seed: int) -> Floats:
    """Return the samples that a method adds to the minority."""
    table, _ = make_sampler(method, seed).fit_resample(X, y)
    return np.asarray(table[len(X) :])


def make_sampler(method: str, seed: int) -> Any:
    """Return the sampler of a row of the table."""
    if method == "SSO":
        return SSO(random_state=seed)
    if method == "ADASYN":
        return ADASYN(random_state=seed)
    weight = "balanced" if "weighted" in method else None
    return make_ours(LogisticRegression(class_weight=weight), seed)


def make_ours(f: Any, seed: int, n_draws: int = DRAWS, epsilon: float | None = None) -> Any:
    """Return Algorithm 1 as it is printed, which keeps all that inverts."""
    settings: Any = {"search": "perturb", "sampling_strategy": "all", "random_state": seed}
    return CounterfactualOverSampler(estimator=f, n_draws=n_draws, epsilon=epsilon, **settings)


def area_counts(points: Floats, shape: str = LONG) -> dict[str, float]:
    """Count points by area."""
    area = synthetic_area(points, shape)
    return {name: float(np.count_nonzero(area == name)) for name in AREAS}


# --- Table II -------------------------------------------------------------------------


def areas_table(ran: Frame) -> Table:
    """Return the counts on the first table of each shape, and the shares over all of them."""
    names = ["shape", "method", "seed"]
    originals = [f"original {area}" for area in AREAS]
    ours = with_columns(ran, [*names, *originals, *NEW_IN])
    groups = dict(list(ours.sort_values("seed", kind="stable").groupby(["shape", "method"])))
    counts = {
        group: members[NEW_IN].to_numpy(float)
        for group, members in groups.items()
        if members[ERROR].isna().all()
    }
    shares = {group: n / np.maximum(n.sum(axis=1, keepdims=True), 1) for group, n in counts.items()}
    rows = [("paper", m, *_counts(n), ABSENT, ABSENT) for m, n in published.AREAS.items()]
    for group in ((shape, method) for shape in SHAPES for method in METHODS):
        if group in counts:
            cells = _counts(counts[group][0])
            rows.append((*group, *cells, *(_range(shares[group][:, place]) for place in (0, 1))))
        else:
            rows.append((*group, *[FAILED if group in groups else ABSENT] * 6))
    original = ", ".join(map(str, published.ORIGINAL_AREAS))
    shapes = "; ".join(f"{name}, {shape.text}" for name, shape in SHAPES.items())
    return Table(
        "areas",
        "Table II: new samples by area (Experiment I)",
        (
            *("shape", "method", "new", *AREAS),
            *(f"{area} share, all tables" for area in AREAS[:2]),
        ),
        rows,
        (
            f"The paper does not say how its two clouds lie. Shapes: {shapes}.",
            (
                f"Counts are those of the first of {ours['seed'].nunique()} synthetic tables of a "
                "shape, shares the least and the most over all of them; the original minority "
                f"rows by area are {original} in every table, as in the paper."
            ),
            (
                f"Ours: `{as_call(make_sampler(OURS, 0))}`; every sample is a true inversion, "
                "and rows without one are left out, so the count is the yield."
            ),
            *_first_of_three(shares),
            *failures(ours, ["shape", "method"]),
        ),
        ours[ours[ERROR].isna()].drop(columns=ERROR),
        left=2,
    )


def _first_of_three(shares: Groups) -> list[str]:
    """Say on how many tables of each shape ours has the largest share at the boundary."""
    others = [method for method in published.AREAS if method != OURS]
    won = []
    for shape in SHAPES:
        found = [shares[shape, m][:, 1] for m in (OURS, *others) if (shape, m) in shares]
        if len(found) == len(others) + 1 and len({len(each) for each in found}) == 1:
            first = int((found[0] > np.max(found[1:], axis=0)).sum())
            won.append(f"{shape} {first} of {len(found[0])}")
    text = f"Tables on which ours has a larger share at the boundary than {' and '.join(others)}:"
    return [f"{text} {', '.join(won)}."] if won else []


def _range(shares: Floats) -> str:
    least, most = f"{shares.min():.1%}", f"{shares.max():.1%}"
    return least if least == most else f"{least} to {most}"


def _counts(counts: Sequence[float] | Floats) -> tuple[str, ...]:
    total = sum(counts)
    return f"{total:.0f}", *(f"{count:.0f} ({count / max(total, 1):.1%})" for count in counts)


# --- Figures 4 and 1 ------------------------------------------------------------------


def draw_areas() -> Any:
    """Draw the first synthetic table of each shape in a row: as it is, and after each method."""
    figure, panels = new_figure(len(AREA_PANELS), len(SHAPES), width=2.9, height=2.5)
    places = [(shape, method) for shape in SHAPES for method in AREA_PANELS]
    for axes, (shape, method) in zip(panels, places, strict=True):
        X, y = synthetic_arrays(0, shape)
        new = None if method == "original" else new_samples(method, X, y, 0)
        _paint_areas(axes, X, shape)
        _scatter(axes, X, y, new)
        title = f"{shape}: {method}"
        if new is not None:
            share = area_counts(new, shape)["boundary"] / max(len(new), 1)
            title += f", {share:.1%} boundary"
        axes.set_title(title, fontsize=8)
    handles, labels = panels[-1].get_legend_handles_labels()
    handles += [Patch(color=AREA_COLOURS[area]) for area in AREAS]
    labels += [f"{area} area" for area in AREAS]
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8)
    return figure


def _paint_areas(axes: Any, X: Any, shape: str) -> None:
    grid, points = _grid_around(X, AREA_STEPS)
    area = synthetic_area(points, shape)
    levels = np.select([area == name for name in AREAS], range(3)).reshape(AREA_STEPS, AREA_STEPS)
    colours = [AREA_COLOURS[name] for name in AREAS]
    axes.contourf(*grid, levels, levels=[-0.5, 0.5, 1.5, 2.5], colors=colours)
    axes.set(xlim=grid[0][0, [0, -1]], ylim=grid[1][[0, -1], 0])


def draw_boundaries() -> Any:
    """Draw the boundary of a support vector machine on the first synthetic table."""
    X, y = synthetic_arrays(0)
    figure, panels = new_figure(4, 2, width=2.9, height=2.7)
    for axes, method, letter in zip(panels, BOUNDARY_PANELS, "abcdefgh", strict=True):
        if method in METHODS:
            table, labels = make_sampler(method, 0).fit_resample(X, y)
        else:
            rows, labels, preparation = resampled(method, pd.DataFrame(X), y, 0)
            scaler = preparation.named_transformers_["pipeline-1"][-1]
            table = scaler.inverse_transform(rows)
        _paint_sides(axes, SVC().fit(table, labels), X)
        is_less = len(table) < len(X)
        _scatter(axes, *((table, labels) if is_less else (X, y, table[len(X) :])))
        title = "no resampling" if method == "none" else f"after {method}"
        axes.set_title(f"({letter}) {title}", fontsize=10)
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _paint_sides(axes: Any, f: Any, X: Any) -> None:
    grid, points = _grid_around(X, BOUNDARY_STEPS)
    score = f.decision_function(points).reshape(BOUNDARY_STEPS, BOUNDARY_STEPS)
    colours = [AREA_COLOURS["majority"], AREA_COLOURS["interior"]]
    axes.contourf(*grid, score, levels=[-np.inf, 0, np.inf], colors=colours)
    axes.contour(*grid, score, levels=[0], colors="black", linewidths=1.2)


def _grid_around(X: Any, steps: int) -> tuple[Any, Any]:
    """Return a square grid over the rows with a margin: its two axes, and its points as rows."""
    low, high = X.min(axis=0) - MARGIN, X.max(axis=0) + MARGIN
    grid = np.meshgrid(*(np.linspace(low[k], high[k], steps) for k in range(2)))
    return grid, np.column_stack([axis.ravel() for axis in grid])


def _scatter(axes: Any, X: Any, y: Any, new: Any = None) -> None:
    """Draw the rows of both classes, and new samples, in the paper's colours."""
    flat = {"linewidths": 0, "rasterized": True}
    axes.scatter(*X[y == "majority"].T, s=6, c=MAJORITY, label="majority", **flat)
    if new is not None:
        axes.scatter(*new.T, s=11, c=NEW, marker="^", alpha=0.6, label="new", **flat)
    axes.scatter(*X[y == "minority"].T, s=10, c=MINORITY, label="minority", **flat)
    axes.set(xlabel="x1", ylabel="x2")
