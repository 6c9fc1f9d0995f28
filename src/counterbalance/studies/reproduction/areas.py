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
from typing import TYPE_CHECKING, Any

import numpy as np
from imblearn.over_sampling import ADASYN
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from counterbalance import CounterfactualOverSampler
from counterbalance.datasets import SHAPES, load_synthetic, synthetic_area
from counterbalance.methods import SSO
from counterbalance.result_table import ABSENT, FAILED, ResultTable, Value
from counterbalance.search.selection import EVERY
from counterbalance.studies.canvas import AREA_COLOURS, grid_around, new_figure, scatter
from counterbalance.studies.reproduction import published
from counterbalance.studies.reproduction.groups import Group, failures, gather, has_failed
from counterbalance.studies.reproduction.methods import resampled
from counterbalance.trials.classifiers import as_call
from counterbalance.trials.trial import TrialResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counterbalance.studies.reproduction.settings import ReproductionSettings
    from counterbalance.trials.trial import Trial, TrialRecord

EXPERIMENT = "areas"
OURS = "ours"
METHODS = ("SSO", "ADASYN", OURS, "ours, class-weighted f")
AREAS = ("majority", "boundary", "interior")
# the shape of the table that Figure 1 and the sensitivity study are drawn from
SHAPE = next(iter(SHAPES))
DRAWS = 50

PAPER = "paper"
WEIGHTED = (
    "A class-weighted f moves the decision boundary into the majority area, and the nearest "
    "inversions with it. With an unweighted f the boundary stays on the minority's side, as long "
    "as f can follow it: a straight line cannot go around a compact minority."
)

AREA_PANELS, AREA_STEPS = ("original", "SSO", "ADASYN", OURS), 300
BOUNDARY_PANELS = (
    *("none", "SSO", "ADASYN", "SOMO", "k-SMOTE", "CUSBoost", "ours", "ours, class-weighted f"),
)
BOUNDARY_STEPS = 150


# --- the trial ------------------------------------------------------------------------


def trials(settings: ReproductionSettings) -> list[Trial]:
    """Return a trial for each shape, method and synthetic table."""
    return [
        {"experiment": EXPERIMENT, "shape": shape, "method": method, "seed": seed}
        for shape in SHAPES
        for method in METHODS
        for seed in range(settings.seeds)
    ]


def compute(settings: ReproductionSettings, trial: Trial) -> TrialResult:  # noqa: ARG001 - every experiment takes both
    """Count the original minority rows and the new samples in each area."""
    seed, shape = int(trial["seed"]), str(trial["shape"])
    X, y = synthetic_arrays(seed, shape)
    new = new_samples(str(trial["method"]), X, y, seed)
    original = area_counts(X[y == "minority"], shape)
    figures = {f"original {area}": n for area, n in original.items()}
    figures |= {f"new {area}": n for area, n in area_counts(new, shape).items()}
    return TrialResult(figures)


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
        sampling_strategy=EVERY,
        minimal=False,  # Algorithm 1 as it is printed
        random_state=seed,
    )


def area_counts(points: NDArray[np.float64], shape: str = SHAPE) -> dict[str, int]:
    """Count points by area."""
    area = synthetic_area(points, shape)
    return {name: int(np.count_nonzero(area == name)) for name in AREAS}


# --- Table II -------------------------------------------------------------------------


def areas_table(records: Sequence[TrialRecord]) -> ResultTable:
    """Return the counts on the first table of each shape, and the shares over all of them."""
    ours = [record for record in records if record.trial["experiment"] == EXPERIMENT]
    groups = gather(ours, ["shape", "method"])
    rows: list[Sequence[str]] = [
        (PAPER, method, *_counts(counts), ABSENT, ABSENT)
        for method, counts in published.AREAS.items()
    ]
    rows += [
        (shape, method, *_row(groups.get((shape, method), [])))
        for shape in SHAPES
        for method in METHODS
    ]
    of_shape = len({record.trial["seed"] for record in ours})
    original = ", ".join(map(str, published.ORIGINAL_AREAS))
    return ResultTable(
        "areas",
        "Table II: new samples by area (Experiment I)",
        (
            "shape",
            "method",
            "new",
            *AREAS,
            f"{AREAS[0]} share, all tables",
            f"{AREAS[1]} share, all tables",
        ),
        rows,
        (
            f"The paper does not say how its two clouds lie. Shapes: {_shapes()}.",
            (
                f"Counts are those of the first of {of_shape} synthetic tables of a shape, shares "
                f"the least and the most over all of them; the original minority rows by area are "
                f"{original} in every table, as in the paper."
            ),
            (
                f"Ours: `{as_call(make_sampler(OURS, 0))}`; every sample is a true inversion, "
                "and rows without one are left out, so the count is the yield."
            ),
            WEIGHTED,
            *_verdict(groups),
            *failures(groups),
        ),
        [_record(record) for record in ours if record.state == "done"],
        left=2,
    )


def _shapes() -> str:
    return "; ".join(f"{name}, {shape.text}" for name, shape in SHAPES.items())


def _verdict(groups: Mapping[Group, Sequence[TrialRecord]]) -> list[str]:
    """Say where ours puts its samples over all shapes, and where it beats the other two."""
    known = {
        shape: members
        for shape in SHAPES
        if (members := groups.get((shape, OURS), [])) and not has_failed(members)
    }
    if not known:
        return []
    at_boundary = {shape: _shares(members, 1) for shape, members in known.items()}
    everywhere = [share for shares in at_boundary.values() for share in shares]
    in_majority = {shape: _shares(members, 0) for shape, members in known.items()}
    clean = [shape for shape, shares in in_majority.items() if max(shares) == 0]
    stray = [
        f"{_range(shares)} on {shape}"
        for shape, shares in in_majority.items()
        if shape not in clean
    ]
    (paper_majority, paper_boundary, _) = published.AREAS[OURS]
    total = sum(published.AREAS[OURS])
    by_shape = ", ".join(f"{shape} {_range(shares)}" for shape, shares in at_boundary.items())
    return [
        (
            f"Share of ours at the boundary over all shapes and tables: {_range(everywhere)} "
            f"(paper {paper_boundary / total:.1%}). By shape: {by_shape}."
        ),
        (
            f"Share of ours in the majority area (paper {paper_majority / total:.1%}): none on "
            f"{', '.join(clean) or 'no shape'}{'; ' if stray else ''}{', '.join(stray)}."
        ),
        *_first_of_three(groups, at_boundary),
    ]


def _first_of_three(
    groups: Mapping[Group, Sequence[TrialRecord]], ours: Mapping[str, Sequence[float]]
) -> list[str]:
    """Say on how many tables of each shape ours has the largest share at the boundary."""
    others = [method for method in published.AREAS if method != OURS]
    won = []
    for shape, shares in ours.items():
        peers = [groups.get((shape, method), []) for method in others]
        if any(has_failed(members) or len(members) != len(shares) for members in peers):
            continue
        best = [max(pair) for pair in zip(*(_shares(members, 1) for members in peers), strict=True)]
        first = sum(mine > other for mine, other in zip(shares, best, strict=True))
        won.append(f"{shape} {first} of {len(shares)}")
    if not won:
        return []
    named = " and ".join(others)
    return [
        f"Tables on which ours has a larger share at the boundary than {named}: {', '.join(won)}."
    ]


def _row(members: Sequence[TrialRecord]) -> tuple[str, ...]:
    if not members:
        return (ABSENT,) * 6
    if has_failed(members):
        return (FAILED,) * 6
    first = min(members, key=lambda record: record.trial["seed"])
    return *_counts(_new(first)), _range(_shares(members, 0)), _range(_shares(members, 1))


def _shares(members: Sequence[TrialRecord], area: int) -> list[float]:
    """Return the share of an area on every table, in the order of the seeds."""
    ordered = sorted(members, key=lambda record: record.trial["seed"])
    return [_new(record)[area] / max(sum(_new(record)), 1) for record in ordered]


def _range(shares: Sequence[float]) -> str:
    least, most = f"{min(shares):.1%}", f"{max(shares):.1%}"
    return least if least == most else f"{least} to {most}"


def _counts(counts: tuple[int, ...]) -> tuple[str, ...]:
    total = sum(counts)
    return str(total), *(f"{count} ({count / max(total, 1):.1%})" for count in counts)


def _new(record: TrialRecord) -> tuple[int, ...]:
    return tuple(int(record.figures[f"new {area}"]) for area in AREAS)


def _record(record: TrialRecord) -> dict[str, Value]:
    trial = {name: record.trial[name] for name in ("shape", "method", "seed")}
    return {**trial, **record.figures}


# --- Figures 4 and 1 ------------------------------------------------------------------


def draw_areas() -> Any:
    """Draw the first synthetic table of each shape in a row: as it is, and after each method."""
    figure, panels = new_figure(len(AREA_PANELS), len(SHAPES), width=2.9, height=2.5)
    places = [(shape, method) for shape in SHAPES for method in AREA_PANELS]
    for axes, (shape, method) in zip(panels, places, strict=True):
        X, y = synthetic_arrays(0, shape)
        new = None if method == "original" else new_samples(method, X, y, 0)
        _paint_areas(axes, X, shape)
        scatter(axes, X, y, new)
        share = "" if new is None else f", {_boundary_share(new, shape):.1%} boundary"
        axes.set_title(f"{shape}: {method}{share}", fontsize=8)
    handles, labels = panels[-1].get_legend_handles_labels()
    from matplotlib.patches import Patch  # noqa: PLC0415 - an extra

    handles += [Patch(color=AREA_COLOURS[area]) for area in AREAS]
    labels += [f"{area} area" for area in AREAS]
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8)
    return figure


def _boundary_share(new: Any, shape: str) -> float:
    return area_counts(new, shape)["boundary"] / max(len(new), 1)


def _paint_areas(axes: Any, X: Any, shape: str) -> None:
    grid, points = grid_around(X, AREA_STEPS)
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
        table, labels = _resampled(method, X, y)
        _paint_sides(axes, SVC().fit(table, labels), X)
        if len(table) < len(X):
            scatter(axes, table, labels)
        else:
            scatter(axes, X, y, table[len(X) :])
        axes.set_title(f"({letter}) {_title(method)}", fontsize=10)
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _title(method: str) -> str:
    return "no resampling" if method == "none" else f"after {method}"


def _resampled(method: str, X: Any, y: Any) -> tuple[Any, Any]:
    if method in METHODS:
        table, labels = make_sampler(method, 0).fit_resample(X, y)
        return table, labels
    from counterbalance.extras import require_pandas  # noqa: PLC0415 - an extra

    rows, labels, preparation = resampled(method, require_pandas().DataFrame(X), y, 0)
    scaler = preparation.named_transformers_["pipeline-1"][-1]
    return scaler.inverse_transform(rows), labels


def _paint_sides(axes: Any, f: Any, X: Any) -> None:
    grid, points = grid_around(X, BOUNDARY_STEPS)
    score = f.decision_function(points).reshape(BOUNDARY_STEPS, BOUNDARY_STEPS)
    colours = [AREA_COLOURS["majority"], AREA_COLOURS["interior"]]
    axes.contourf(*grid, score, levels=[-np.inf, 0, np.inf], colors=colours)
    axes.contour(*grid, score, levels=[0], colors="black", linewidths=1.2)
