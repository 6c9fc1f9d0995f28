"""DecisionDisplay: precision and recall against the threshold."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.displays.drawing import TITLE, Display, as_written, axes_or_new, colour_of
from counterbalance.errors import TableError
from counterbalance.estimators.decision import precision_recall
from counterbalance.table.labels import in_words


@dataclass(eq=False, repr=False)
class DecisionDisplay(Display):
    """Precision and recall of a class against the threshold, with the chosen threshold marked.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    curve : dict of ndarray
        ``thresholds``, ascending, with the ``precision`` and ``recall`` at each.
    pos_label : label
        The class that is predicted from the threshold on.
    threshold : float or None, default=None
        The chosen threshold.

    See Also
    --------
    counterbalance.ResampledClassifier : Its ``threshold_`` can be set to another number.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from counterbalance import ResampledClassifier
    >>> from counterbalance.displays import DecisionDisplay
    >>> X, y = make_classification(400, weights=[0.9], random_state=0)
    >>> model = ResampledClassifier(random_state=0).fit(X, y)
    >>> display = DecisionDisplay.from_estimator(model)
    >>> display.threshold == model.threshold_
    True
    """

    curve: Mapping[str, Floats]
    pos_label: Any
    threshold: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the out-of-fold curve of a fitted classifier of two classes.

        Parameters
        ----------
        estimator : ResampledClassifier
            After ``fit``, with a threshold or a calibration that was learned.
        ax : matplotlib axes, optional
            What to draw on; by default a new figure.
        """
        curve = getattr(estimator, "out_of_fold_curve_", None)
        if curve is None:
            raise TableError(
                f"estimator must be a fitted ResampledClassifier of two classes with out-of-fold "
                f"probabilities, got {type(estimator).__name__} without; fit one with a metric as "
                "threshold, or use from_predictions"
            )
        display = cls(curve, estimator.rarest_class_, estimator.threshold_)
        display.plot(ax=ax)
        return display

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        pos_label: Any,
        threshold: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curve of probabilities, for example of rows that were held out.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            The true classes.
        y_proba : array-like of shape (n_samples,)
            The probabilities of ``pos_label``.
        pos_label : label
            The class that is predicted from the threshold on.
        threshold : float, optional
            A threshold to mark.
        ax : matplotlib axes, optional
            What to draw on; by default a new figure.
        """
        is_positive = (np.asarray(y_true) == pos_label).astype(np.intp)
        p = np.asarray(y_proba, dtype=np.float64)
        if p.shape != is_positive.shape or p.ndim != 1 or not np.isfinite(p).all():
            raise TableError(
                f"y_proba must hold one finite probability of {pos_label!r} for each of the "
                f"{is_positive.size} rows of y_true, got an array of the shape {p.shape}; pass one "
                "column of predict_proba"
            )
        if not 0 < is_positive.sum() < len(p):
            raise TableError(
                f"y_true must hold rows of {pos_label!r} and of another class, got "
                f"{is_positive.sum()} of {len(p)}; check pos_label"
            )
        display = cls(precision_recall(p, is_positive), pos_label, threshold)
        display.plot(ax=ax)
        return display

    def plot(self, *, ax: Any = None) -> Any:
        """Draw, and return the matplotlib axes (where scikit-learn returns the display)."""
        ax, thresholds = axes_or_new(ax), self.curve["thresholds"]
        for code, name in enumerate(("precision", "recall")):
            values = self.curve[name]
            ax.plot(thresholds, values, drawstyle="steps-post", color=colour_of(code), label=name)
            if self.threshold is not None:
                at = int(np.searchsorted(thresholds, self.threshold, side="right")) - 1
                ax.plot(self.threshold, values[max(at, 0)], "o", color=colour_of(code))
        if self.threshold is not None:
            chosen = f"threshold {self.threshold:.3g}"
            ax.axvline(self.threshold, color="0.4", linestyle="--", linewidth=1, label=chosen)
        ax.set(ylim=(-0.02, 1.02), xlim=(0, 1), ylabel="share")
        ax.set_xlabel(
            f"least probability at which {as_written(in_words(self.pos_label))} is predicted"
        )
        ax.set_title("Precision and recall against the threshold", fontsize=TITLE)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="small")
        return self._drawn(ax)
