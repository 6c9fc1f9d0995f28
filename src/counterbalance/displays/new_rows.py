"""Displays of new rows: joined to their real rows, and with a decision boundary."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.displays.drawing import (
    NEW,
    REAL,
    TITLE,
    Display,
    as_written,
    axes_or_new,
    beside,
    colour_of,
    label_axes,
    provenance_of,
    some_of,
    spread,
)
from counterbalance.displays.projection import Projection
from counterbalance.errors import ClassifierError, TableError
from counterbalance.extras import require
from counterbalance.rows.provenance import Provenance
from counterbalance.table import containers, frames
from counterbalance.table.labels import read_labels

PlotKind = Literal["pairs", "changes"]
MOST_REAL = 4000


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
        For each feature, the share of the counterfactuals in which it changed, largest first.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from counterbalance import CounterfactualOverSampler
    >>> from counterbalance.displays import CounterfactualDisplay
    >>> X, y = make_classification(300, n_features=4, weights=[0.7], random_state=0)
    >>> sampler = CounterfactualOverSampler(random_state=0)
    >>> display = CounterfactualDisplay.from_sampler(sampler, *sampler.fit_resample(X, y))
    >>> display.ax_.get_xlabel()
    'x0'
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
        """Draw the counterfactuals of a fitted sampler.

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
        projection = Projection.from_table(
            X_resampled, features, getattr(sampler, "categorical_features", None)
        )
        points = spread(projection.place(np.arange(X_resampled.shape[0])), projection)
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
        inverted = np.flatnonzero(self.provenance["from_class"] != self.provenance["to_class"])
        shown = some_of(inverted, max_pairs)
        samples = self.provenance["sample"][shown]
        for code, label in enumerate(classes):
            own = self.classes == label
            here = self.points[some_of(np.flatnonzero(own & real), MOST_REAL // len(classes))]
            new = self.points[samples[own[samples]]]
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
        some = f" ({len(shown)} of {len(inverted)})" if len(shown) < len(inverted) else ""
        ax.set_title(f"Counterfactual pairs{some}", fontsize=TITLE)
        beside(ax)

    def _draw_changes(self, ax: Any) -> None:
        names, shares = list(map(as_written, self.changed)), list(self.changed.values())
        ax.barh(names[::-1], shares[::-1], color=colour_of(0))
        ax.set(xlabel="share of the counterfactuals", xlim=(0, 1))
        ax.set_title("How often each feature changed", fontsize=TITLE)
        ax.spines[["top", "right"]].set_visible(False)


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


# Colours are smoothed over nearby rows: bandwidth and reach are shares of the width of an axis.
NEIGHBOURS, BANDWIDTH, REACH = 40, 0.03, 0.13
# Share of rows beyond each end of an axis, so that outliers do not compress the plot.
FAR_OUT, MARGIN = 0.01, 0.08


@dataclass(eq=False, repr=False)
class BoundaryDisplay(Display):
    """The decision boundary of a classifier, with real and new rows.

    For a table with two columns, the colour of a point is the class that the classifier predicts
    there. For a table with more columns, a point of the plot stands for many rows: its colour is
    the class that is predicted for most of the rows nearby, and it has none without such rows. So
    a row can lie on the wrong side of the boundary here, and on the right one for the classifier.

    Make it with :meth:`from_sampler` or :meth:`from_estimator`.

    Parameters
    ----------
    grid : tuple of two ndarray
        Coordinates of the columns and rows of the grid.
    shares : ndarray of shape (len(grid[1]), len(grid[0]), n_classes)
        The share of each class among the predictions at each point of the grid; nan without rows.
    classes : ndarray
        The classes, by code.
    points : ndarray of shape (n_shown, 2)
        Where the rows that are drawn lie.
    labels : ndarray of shape (n_shown,)
        Their class codes.
    new : ndarray of bool of shape (n_shown,)
        Which of them are new.
    projection : Projection
        The two features, or principal components, that are shown.

    See Also
    --------
    counterbalance.displays.CounterfactualDisplay : New rows joined to the real ones.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from counterbalance import CounterfactualOverSampler
    >>> from counterbalance.displays import BoundaryDisplay
    >>> X, y = make_classification(300, n_features=4, weights=[0.7], random_state=0)
    >>> sampler = CounterfactualOverSampler(random_state=0)
    >>> display = BoundaryDisplay.from_sampler(sampler, *sampler.fit_resample(X, y))
    >>> display.ax_.get_xlabel()
    'first principal component (49% of variance)'
    """

    grid: tuple[Floats, Floats]
    shares: Floats
    classes: NDArray[Any]
    points: Floats
    labels: Integers
    new: Mask
    projection: Projection

    @classmethod
    def from_sampler(
        cls,
        sampler: Any,
        X_resampled: Any,
        y_resampled: Any,
        *,
        estimator: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the new rows, and the boundary of the sampler's classifier (f in the paper).

        Parameters
        ----------
        sampler, X_resampled, y_resampled
            See :meth:`CounterfactualDisplay.from_sampler`.
        estimator : fitted classifier, optional
            Another classifier; by default f, which is ``sampler.estimator_``.
        **options
            See :meth:`from_estimator`.
        """
        options = {
            "n_real": X_resampled.shape[0] - len(provenance_of(sampler)),
            "categorical_features": getattr(sampler, "categorical_features", None),
            **options,
        }
        f = sampler.estimator_ if estimator is None else estimator
        return cls.from_estimator(f, X_resampled, y_resampled, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_real: int | None = None,
        features: Sequence[Any] | None = None,
        categorical_features: Any = None,
        grid_resolution: int = 150,
        max_points: int = 2000,
        ax: Any = None,
    ) -> Self:
        """Draw the boundary of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
            It takes rows of X.
        X, y : table and classes
            The rows to show.
        n_real : int, optional
            How many rows are real; the others, below them, are new. By default all.
        features : sequence of two columns, optional
            Names or positions. By default the first two principal components, or the columns of
            a table of two.
        categorical_features : names, positions or a mask, optional
            As in :class:`~counterbalance.CounterfactualOverSampler`.
        grid_resolution : int, default=150
            Points along each side of the grid.
        max_points : int, default=2000
            At most so many rows are drawn, evenly spread over all.
        ax : matplotlib axes, optional
            See :meth:`CounterfactualDisplay.from_sampler`.
        """
        labels = read_labels(y)
        projection = Projection.from_table(X, features, categorical_features)
        is_new = np.arange(len(labels.codes)) >= (len(labels.codes) if n_real is None else n_real)
        most = max(1, max_points // (2 * len(labels.classes)))
        shown = np.concatenate(
            [
                some_of(np.flatnonzero((labels.codes == code) & (is_new == new)), most)
                for new in (False, True)
                for code in range(len(labels.classes))
            ]
        )
        points = spread(projection.place(shown), projection)
        low, high = np.quantile(points, [FAR_OUT, 1 - FAR_OUT], axis=0)
        margin = MARGIN * np.where(high > low, high - low, 1.0)
        grid = tuple(
            np.linspace(low[k] - margin[k], high[k] + margin[k], grid_resolution) for k in range(2)
        )
        places = np.column_stack([side.ravel() for side in np.meshgrid(*grid)])
        rows = projection.rows_at(places) if projection.is_whole else containers.take(X, shown)
        try:
            answers = np.asarray(estimator.predict(rows))
        except (ValueError, TypeError, AttributeError) as error:
            raise ClassifierError(
                f"estimator {type(estimator).__name__} cannot predict rows of X: {error}; "
                "pass a classifier that is fitted to a table with the columns of X"
            ) from error
        classes = np.unique(np.concatenate([labels.classes, answers]))
        hits = (answers[:, None] == classes).astype(np.float64)
        shares = hits if projection.is_whole else shares_nearby(points, hits, places)
        shares = shares.reshape(grid_resolution, grid_resolution, len(classes))
        codes = np.searchsorted(classes, labels.values[shown])
        display = cls((grid[0], grid[1]), shares, classes, points, codes, is_new[shown], projection)
        display.plot(ax=ax)
        return display

    @property
    def answers(self) -> Integers:
        """The class code at each point of the grid, -1 where there are no rows."""
        return np.where(
            np.isnan(self.shares[..., 0]), -1, np.nan_to_num(self.shares).argmax(axis=2)
        )

    def plot(self, *, ax: Any = None) -> Any:
        """Draw, and return the matplotlib axes (where scikit-learn returns the display)."""
        colors = require("matplotlib.colors", "a plot")

        ax, n = axes_or_new(ax), len(self.classes)
        ax.pcolormesh(
            *self.grid,
            np.ma.masked_less(self.answers, 0),
            cmap=colors.ListedColormap([colour_of(code) for code in range(n)]),
            vmin=-0.5,
            vmax=n - 0.5,
            alpha=0.18,
            shading="nearest",
            rasterized=True,
            zorder=0,
        )
        for code in range(n):
            rest = np.delete(self.shares, code, axis=2).max(axis=2, initial=0.0)
            lead = np.ma.masked_invalid(self.shares[..., code] - rest)
            if lead.min() < 0 < lead.max():
                style = {"colors": "0.25", "linewidths": 0.9, "zorder": 1}
                ax.contour(*self.grid, lead, levels=[0.0], **style)
        for code, label in enumerate(self.classes.tolist()):
            for is_new, name, style in ((False, "real", REAL), (True, "new", NEW)):
                own = self.points[(self.labels == code) & (self.new == is_new)]
                if len(own):
                    text = f"{as_written(label)}, {name}"
                    ax.scatter(*own.T, color=colour_of(code), label=text, **style)
        ax.set(xlim=self.grid[0][[0, -1]], ylim=self.grid[1][[0, -1]])
        label_axes(ax, self.projection)
        ax.set_title("Decision boundary", fontsize=TITLE)
        beside(ax)
        return self._drawn(ax)


def shares_nearby(points: Floats, hits: Floats, places: Floats) -> Floats:
    """Return, for each place, the share of each class among nearby predictions; nan without any.

    points  (n, 2) rows
    hits    (n, n_classes) 1 for the class that the classifier predicts, 0 for all others
    places  (n_places, 2)
    """
    unit = np.ptp(places, axis=0)
    k = min(NEIGHBOURS, len(points))
    found = KDTree(points / unit).query(places / unit, k=range(1, k + 1))
    away, nearest = np.asarray(found[0]), np.asarray(found[1])
    weight = np.exp(-(away**2 - away[:, :1] ** 2) / (2 * BANDWIDTH**2))
    shares = np.einsum("pk,pkc->pc", weight, hits[nearest]) / weight.sum(axis=1, keepdims=True)
    shares[away[:, 0] > REACH] = np.nan
    return np.asarray(shares)
