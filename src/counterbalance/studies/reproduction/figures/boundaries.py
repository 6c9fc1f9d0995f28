"""Figure 1: the decision boundary of one classifier before and after each method."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC

from counterbalance.studies.reproduction.methods import resampled
from counterbalance.studies.reproduction.trials.areas import METHODS as AREA_METHODS
from counterbalance.studies.reproduction.trials.areas import make_sampler, synthetic_arrays
from counterbalance.trials.canvas import (
    AREA_COLOURS,
    grid_around,
    new_figure,
    scatter,
)

PANELS = ("none", "SSO", "ADASYN", "SOMO", "k-SMOTE", "CUSBoost", "ours", "ours, class-weighted f")
STEPS = 150


def draw() -> Any:
    """Draw the boundary of a support vector machine on the first synthetic table."""
    X, y = synthetic_arrays(0)
    figure, panels = new_figure(4, 2, width=2.9, height=2.7)
    for axes, method, letter in zip(panels, PANELS, "abcdefgh", strict=True):
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
    if method in AREA_METHODS:
        table, labels = make_sampler(method, 0).fit_resample(X, y)
        return table, labels
    from counterbalance.extras import require_pandas  # noqa: PLC0415 - an extra

    rows, labels, preparation = resampled(method, require_pandas().DataFrame(X), y, 0)
    scaler = preparation.named_transformers_["pipeline-1"][-1]
    return scaler.inverse_transform(rows), labels


def _paint_sides(axes: Any, f: Any, X: Any) -> None:
    grid, points = grid_around(X, STEPS)
    score = f.decision_function(points).reshape(STEPS, STEPS)
    colours = [AREA_COLOURS["majority"], AREA_COLOURS["interior"]]
    axes.contourf(*grid, score, levels=[-np.inf, 0, np.inf], colors=colours)
    axes.contour(*grid, score, levels=[0], colors="black", linewidths=1.2)
