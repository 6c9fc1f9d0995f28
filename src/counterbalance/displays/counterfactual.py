"""CounterfactualDisplay: every new row beside the real row that it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.displays.drawing import (
    NEW,
    REAL,
    TITLE,
    Display,
    as_written,
    axes_or_new,
    colour_of,
    label_axes,
    provenance_of,
    some_of,
    spread,
)
from counterbalance.errors import TableError
from counterbalance.projection import Projection
from counterbalance.rows.provenance import Provenance
from counterbalance.table import frames
from counterbalance.table.labels import read_labels

PlotKind = Literal["pairs", "changes"]


@dataclass(eq=False, repr=False)
class CounterfactualDisplay(Display):
    """Counterfactuals: where they lie, or which features they change.

    Make it with :meth:`from_sampler`.

    Parameters
    ----------
    points : ndarray of shape (n_rows, 2)
        Where the rows of the balanced table lie.
    classes : ndarray of shape (n_rows,)
        Their classes.
    provenance : Provenance
        Which rows are new, and what they came from.
    projection : Projection
        The two features, or principal components, that are shown.
    changed : dict
        For each feature in which share of the counterfactuals it changed, most first.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from counterbalance import CounterfactualOverSampler
    >>> from counterbalance.displays import CounterfactualDisplay
    >>> X, y = make_classification(300, n_features=4, weights=[0.7], random_state=0)
    >>> sampler = CounterfactualOverSampler(random_state=0)
    >>> display = CounterfactualDisplay.from_sampler(sampler, *sampler.fit_resample(X, y))
    >>> display.ax_.get_xlabel()
    'x2'
    """

    points: Floats
    classes: NDArray[Any]
    provenance: Provenance
    projection: Projection
    changed: dict[str, float]

    @classmethod
    def from_sampler(
        cls,
        sampler: Any,
        X_resampled: Any,
        y_resampled: Any,
        *,
        features: Sequence[Any] | None = None,
        kind: PlotKind = "pairs",
        max_pairs: int = 200,
        ax: Any = None,
    ) -> Self:
        """Draw what a fitted sampler made.

        Parameters
        ----------
        sampler : CounterfactualOverSampler
            After ``fit_resample``.
        X_resampled, y_resampled : table and classes
            What ``fit_resample`` returned.
        features : sequence of two columns, optional
            Names or positions; by default the two that change most often.
        kind : {"pairs", "changes"}, default="pairs"
            Factual and counterfactual joined by an arrow, or a bar for each feature with the
            share of the counterfactuals in which it changed.
        max_pairs : int, default=200
            At most so many pairs are drawn, evenly spread over all.
        ax : matplotlib axes, optional
            What to draw on; by default a new figure.
        """
        provenance = provenance_of(sampler)
        changed = _changed(provenance, X_resampled)
        if features is None:
            features = _two_most_changed(changed, X_resampled)
        projection = Projection.of(X_resampled, features)
        points = spread(projection.points, projection)
        display = cls(points, read_labels(y_resampled).values, provenance, projection, changed)
        display.plot(kind, max_pairs=max_pairs, ax=ax)
        return display

    def plot(self, kind: PlotKind = "pairs", *, max_pairs: int = 200, ax: Any = None) -> Any:
        """Draw, and return the matplotlib axes (where scikit-learn returns the display)."""
        if kind not in {"pairs", "changes"}:
            raise TableError(f"kind must be 'pairs' or 'changes', got {kind!r}")
        ax = axes_or_new(ax)
        self._draw_pairs(ax, max_pairs) if kind == "pairs" else self._draw_changes(ax)
        return self._drawn(ax)

    def _draw_pairs(self, ax: Any, max_pairs: int) -> None:
        classes = np.unique(self.classes).tolist()
        real = np.ones(len(self.points), dtype=bool)
        real[self.provenance["sample"]] = False
        shown = self._shown(max_pairs)
        samples = self.provenance["sample"][shown]
        for code, label in enumerate(classes):
            own = self.classes == label
            here, new = self.points[own & real], self.points[samples[own[samples]]]
            ax.scatter(*here.T, color=colour_of(code), label=f"{as_written(label)}, real", **REAL)
            if len(new):
                ax.scatter(*new.T, color=colour_of(code), label=f"{as_written(label)}, new", **NEW)
        start, end = self.points[self.provenance["factual"][shown]], self.points[samples]
        ax.quiver(
            *start.T,
            *(end - start).T,
            angles="xy",
            scale_units="xy",
            scale=1,
            width=0.002,
            headwidth=5,
            color="0.35",
            alpha=0.6,
            zorder=3,
        )
        label_axes(ax, self.projection)
        n, most = int(self._inverted().sum()), len(shown)
        ax.set_title("Counterfactual pairs" + _of(most, n), fontsize=TITLE)
        ax.legend(frameon=False, fontsize="small")

    def _draw_changes(self, ax: Any) -> None:
        names, shares = list(map(as_written, self.changed)), list(self.changed.values())
        ax.barh(names[::-1], shares[::-1], color=colour_of(0))
        ax.set(xlabel="share of the counterfactuals", xlim=(0, 1))
        ax.set_title("How often each feature changed", fontsize=TITLE)
        ax.spines[["top", "right"]].set_visible(False)

    def _inverted(self) -> Mask:
        return np.asarray(self.provenance["from_class"] != self.provenance["to_class"])

    def _shown(self, most: int) -> Integers:
        return some_of(np.flatnonzero(self._inverted()), most)


def _changed(provenance: Provenance, X: Any) -> dict[str, float]:
    inverted = provenance["from_class"] != provenance["to_class"]
    if not np.any(inverted):
        raise TableError(
            "there is no counterfactual to draw: the sampler added none; ask for more rows with "
            "sampling_strategy"
        )
    share = provenance[inverted].changed_mask().mean(axis=0)
    names = frames.column_names(X)
    order = np.argsort(-share, kind="stable")
    return {str(names[m]): float(share[m]) for m in order if share[m] > 0}


def _two_most_changed(changed: dict[str, float], X: Any) -> list[int]:
    """Return the two features that change most; the first other ones if fewer change."""
    names = [str(name) for name in frames.column_names(X)]
    places = [names.index(name) for name in changed]
    places += [m for m in range(len(names)) if m not in places]
    return places[:2]


def _of(shown: int, n: int) -> str:
    return f" ({shown} of {n})" if shown < n else ""
