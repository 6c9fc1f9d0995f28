"""The self-paced ensemble: each member sees the smallest class and a part of the others.

hardness   of a row: one minus the mean probability that the members so far give its class
bin        rows of a class whose hardness lies in the same of k equal intervals
alpha      tan(pi / 2 * i / n) for member i of the n that follow the first: it grows without bound
weight     of a bin: 1 / (its mean hardness + alpha), so that at first every bin contributes
           the same hardness, and at last the same number of rows
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from counterbalance.arrays import Floats, Integers
from counterbalance.errors import TableError
from counterbalance.methods.neighbours import allocate

LARGEST_SEED = 2**31 - 1
FEWEST_CLASSES = 2


class SelfPacedEnsembleClassifier(ClassifierMixin, BaseEstimator):
    """An ensemble that undersamples by hardness.

    Z. Liu, W. Cao, Z. Gao, J. Bian, H. Chen, Y. Chang, T.-Y. Liu, "Self-paced Ensemble for Highly
    Imbalanced Massive Data Classification", ICDE 2020.

    Departures: the first member, which sees a random part, votes like the others. With more
    than two classes every class but the smallest is drawn from.

    Parameters
    ----------
    estimator : classifier or None, default=None
        A member, with ``predict_proba``; ``None`` is a decision tree.
    n_estimators : int, default=10
        Members.
    n_bins : int, default=20
        Intervals of hardness.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        n_bins: int = 20,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_bins = n_bins
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train the members one after another."""
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < FEWEST_CLASSES:
            raise TableError(
                f"y must have at least two classes, got one class, {self.classes_[0]!r}; add rows "
                "of another"
            )
        seeds = check_random_state(self.random_state).randint(LARGEST_SEED, size=self.n_estimators)
        self.estimators_: list[Any] = []
        votes = np.zeros((len(codes), len(self.classes_)))
        for i, seed in enumerate(seeds.tolist()):
            rng = np.random.default_rng(seed)
            hardness = 1 - votes[np.arange(len(codes)), codes] / max(i, 1)
            alpha = np.tan(np.pi / 2 * i / (self.n_estimators - 1)) if i else None
            part = self._part(codes, hardness, alpha, rng)
            member = clone(DecisionTreeClassifier() if self.estimator is None else self.estimator)
            if "random_state" in member.get_params():
                member.set_params(random_state=seed)
            self.estimators_.append(member.fit(X[part], codes[part]))
            votes += member.predict_proba(X)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the mean of the members' probabilities."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return np.asarray(np.mean([f.predict_proba(X) for f in self.estimators_], axis=0))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest mean probability."""
        answer = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[answer])

    def _part(
        self, codes: Integers, hardness: Floats, alpha: float | None, rng: np.random.Generator
    ) -> Integers:
        """Return the rows of one member: as many of every class as the smallest has, or fewer."""
        counts = np.bincount(codes)
        parts = []
        for code, count in enumerate(counts):
            rows = np.flatnonzero(codes == code)
            if count == counts.min():
                parts.append(rows)
            elif alpha is None:
                parts.append(rng.choice(rows, counts.min(), replace=False))
            else:
                places = drawn_by_hardness(hardness[rows], counts.min(), self.n_bins, alpha, rng)
                parts.append(rows[places])
        return np.sort(np.concatenate(parts))


def drawn_by_hardness(
    hardness: Floats, n_samples: int, n_bins: int, alpha: float, rng: np.random.Generator
) -> Integers:
    """Draw rows from bins of hardness; a bin with too few rows gives all that it has.

    Examples
    --------
    >>> hardness = np.repeat([0.1, 0.9], [90, 10])
    >>> easy = drawn_by_hardness(hardness, 20, 2, 0.0, np.random.default_rng(0)) < 90
    >>> int(easy.sum()), int((~easy).sum())  # 1 / 0.1 against 1 / 0.9
    (18, 2)
    >>> late = drawn_by_hardness(hardness, 20, 2, 1e9, np.random.default_rng(0)) < 90
    >>> int(late.sum()), int((~late).sum())
    (10, 10)
    """
    low, width = hardness.min(), np.ptp(hardness) / n_bins
    place = np.zeros(len(hardness), dtype=np.intp)
    if width > 0:
        place = np.minimum((hardness - low) / width, n_bins - 1).astype(np.intp)
    sizes = np.bincount(place, minlength=n_bins)
    mean = np.bincount(place, weights=hardness, minlength=n_bins) / np.maximum(sizes, 1)
    weights = np.where(sizes > 0, 1 / np.maximum(mean + alpha, np.finfo(float).tiny), 0.0)
    wanted = np.minimum(allocate(weights / weights.max(), n_samples), sizes)
    drawn = [
        rng.choice(np.flatnonzero(place == b), size, replace=False)
        for b, size in enumerate(wanted)
        if size
    ]
    return np.sort(np.concatenate(drawn))
