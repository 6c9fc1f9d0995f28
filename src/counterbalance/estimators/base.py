"""Base: what every classifier of this part does around its models.

table, labels, weights -> models (the classifier's own) -> scores of real rows, out of fold
-> calibration -> rule; asked: scores -> probabilities -> answers
"""

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.classifier.fit import takes_weights
from counterbalance.classifier.predict import decisions, probabilities
from counterbalance.errors import ClassifierError, TableError, UntunedWarning
from counterbalance.estimators.decision import (
    BINARY,
    METRICS,
    Calibration,
    Rule,
    logits,
    prior_corrected,
    rarest_of,
    tuned_rule,
)
from counterbalance.reference import LinksToReference
from counterbalance.samplers.base import check_table, check_weights
from counterbalance.sklearn_private import Interval, StrOptions, fit_context
from counterbalance.table import containers
from counterbalance.table.labels import Labels, plain, read_labels
from counterbalance.user_warnings import warn_user

Folds = list[tuple[Integers, Integers]]


class DecidingClassifier(LinksToReference, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier with corrected probabilities, a calibration and a tuned decision.

    A subclass fits its models, and returns the scores of real rows that they have not seen.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [
            StrOptions({*METRICS, "gmean"}),
            Interval(Real, 0, 1, closed="neither"),
            "array-like",
            None,
        ],
        "calibration": [StrOptions({"sigmoid", "isotonic"}), None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self, *, threshold: Any, calibration: str | None, cv: Any, n_jobs: int | None,
        random_state: Any,
    ) -> None:  # fmt: skip
        self.threshold = threshold
        self.calibration = calibration
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the classifier to a table.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The table: numpy, scipy sparse, pandas or polars.
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            What each row counts for: in the fit of a model that takes weights, in the shares of
            the classes, in the calibration and in the threshold. A row of weight 0 is left out.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are never in both parts of a fold.

        Returns
        -------
        self : classifier
            The classifier itself.
        """
        X = check_table(self, X)
        labels = read_labels(_as_column(y))
        if X.shape[0] != len(labels.codes):
            raise TableError(
                f"X has {X.shape[0]} rows but y has {len(labels.codes)} labels; "
                "give one label for each row"
            )
        weights = check_weights(sample_weight, len(labels.codes))
        groups = None if groups is None else _check_groups(groups, len(labels.codes))
        self._route(sample_weight, groups)
        self.classes_ = labels.classes
        weighs = np.bincount(labels.codes, weights=weights)
        if not weighs.all():
            raise TableError(
                f"sample_weight must leave rows of every class, but class "
                f"{plain(self.classes_[int(weighs.argmin())])!r} weighs nothing; give its rows a "
                "weight, or leave them out"
            )
        self.base_shares_ = weighs / weighs.sum()
        rarest = rarest_of(self.base_shares_)
        self.rarest_class_ = plain(self.classes_[rarest])
        cost = self._cost()
        random = check_random_state(self.random_state)
        self._seed = int(random.randint(np.iinfo(np.int32).max))
        scores = self._fit(X, labels, weights, groups)
        self._decide(scores, labels, weights, cost, rarest)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, at the shares of the table it was fitted to.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._probabilities(self._scores(self._asked(X)))

    def predict(self, X: Any) -> Any:
        """Return the class of each row, by the tuned threshold if there is one.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The classes.
        """
        p = self.predict_proba(X)
        return self.classes_[self.rule_.answer(p)]

    @abstractmethod
    def _fit(self, X: Any, labels: Labels, weights: Floats | None, groups: Any) -> Floats | None:
        """Fit the models; return scores of the rows out of fold if ``_learns`` them.

        A row that no model was fitted without has scores of nan.
        """

    @abstractmethod
    def _scores(self, X: Any) -> Floats:
        """Return what the models say of rows: corrected probabilities, or scores."""

    _gives_probabilities = True

    @property
    def _learns(self) -> bool:
        """Whether scores out of fold are needed."""
        is_tuned = self.threshold is not None and not isinstance(self.threshold, Real)
        return is_tuned or self.calibration is not None

    def _decide(
        self,
        scores: Floats | None,
        labels: Labels,
        weights: Floats | None,
        cost: Floats | None,
        rarest: int,
    ) -> None:
        """Learn the calibration and the rule from scores out of fold."""
        self.calibration_ = None
        self.__dict__.pop("out_of_fold_proba_", None)  # of an earlier fit
        n_classes = len(self.classes_)
        rule = Rule(np.ones(n_classes), None, rarest)  # the most probable class
        if isinstance(self.threshold, Real):
            if n_classes > BINARY:
                raise TableError(
                    f"threshold={self.threshold} needs two classes, but y has {n_classes}; name a "
                    "metric, pass a cost matrix, or leave it None"
                )
            rule = replace(rule, cut=float(self.threshold))
        if scores is not None and self._learns:
            known: Mask = np.asarray(np.isfinite(scores).all(axis=1))
            codes = labels.codes[known]
            scores = scores[known]
            weights = None if weights is None else weights[known]
            if self.calibration is not None:
                line = self._on_a_line(scores)
                self.calibration_ = Calibration.of(self.calibration, line, codes, weights)
            p = self._probabilities(scores)
            self.out_of_fold_proba_ = np.full((len(labels.codes), n_classes), np.nan)
            self.out_of_fold_proba_[known] = p
            if self.threshold is not None and not isinstance(self.threshold, Real):
                metric = "cost" if cost is not None else self.threshold.replace("gm", "g_m")
                rule = tuned_rule(p, codes, metric, weights, cost, self._seed)
        self.rule_ = rule
        is_plain = n_classes == BINARY and rule.cut is None
        self.threshold_ = 0.5 if is_plain else rule.cut
        self.class_factors_ = rule.factors

    def _probabilities(self, scores: Floats) -> Floats:
        if self.calibration_ is None:
            return scores
        return self.calibration_.probabilities(self._on_a_line(scores))

    def _on_a_line(self, scores: Floats) -> Floats:
        """Return scores that a sigmoid can be fitted to: of probabilities the logits."""
        return logits(scores) if self._gives_probabilities else scores

    def _asked(self, X: Any) -> Any:
        check_is_fitted(self)
        return check_table(self, X, reset=False)

    def _cost(self) -> Floats | None:
        """Return the cost matrix, if ``threshold`` is one."""
        if self.threshold is None or isinstance(self.threshold, (str, Real)):
            return None
        n = len(self.classes_)
        try:
            cost = np.asarray(self.threshold, dtype=np.float64)
        except (TypeError, ValueError):
            cost = np.empty(0)
        if cost.shape != (n, n) or not np.isfinite(cost).all():
            raise TableError(
                f"threshold as a cost matrix must hold {n} rows (the truth, in the order of the "
                f"sorted classes) of {n} finite numbers (the answer), got {self.threshold!r}"
            )
        if (np.diag(cost) >= cost.T).sum() > n:
            raise TableError(
                "threshold as a cost matrix must make every wrong answer dearer than the right "
                f"one of its row, got {cost.tolist()}; rows are the truth, columns the answer"
            )
        return cost

    def folds(self, labels: Labels, groups: Any) -> Folds:
        """Return both parts of each fold, every class in the training part; maybe there is none."""
        fewest, places = int(labels.counts.min()), np.zeros(len(labels.codes))
        usable: Folds = []
        if isinstance(self.cv, Integral) or self.cv is None:
            n_groups = len(places) if groups is None else len(np.unique(groups))
            asked = check_cv(self.cv).get_n_splits()  # refuses fewer than two
            most = min(asked, fewest, n_groups)
            kind = StratifiedKFold if groups is None else StratifiedGroupKFold
            splitter = kind(max(2, most), shuffle=True, random_state=self._seed)
        else:
            most, splitter = len(places), check_cv(self.cv, labels.values, classifier=True)
        if most > 1:
            usable = [
                (train, test)
                for train, test in splitter.split(places, labels.codes, groups)
                if len(np.unique(labels.codes[train])) == len(labels.classes)
            ]
        if not usable:
            rare = plain(labels.classes[int(labels.counts.argmin())])
            text = (
                f"class {rare!r} has {fewest} row{'s' * (fewest != 1)}, too few or in too few "
                "groups to leave some out, so neither threshold nor calibration is learned: the "
                "most probable class is the answer; collect more rows, or set threshold=None and "
                "calibration=None"
            )
            if self._learns:
                warn_user(UntunedWarning(text), f"class {rare!r}")
        return usable

    def _route(self, sample_weight: Any, groups: Any) -> None:
        """Heed what metadata routing says of the estimator's weights."""
        given = {"sample_weight": sample_weight, "groups": groups}
        if _routing_enabled():
            routed = process_routing(
                self, "fit", **{name: value for name, value in given.items() if value is not None}
            )
            self._weighs = "sample_weight" in routed.estimator.fit
        else:
            self._weighs = sample_weight is not None and takes_weights(self._base_estimator())

    @abstractmethod
    def _base_estimator(self) -> Any:
        """Return the estimator that is fitted to the rows, unfitted."""

    def get_metadata_routing(self) -> MetadataRouter:
        """Return who takes the weights: this classifier, and its estimator if it asks for them.

        Returns
        -------
        routing : MetadataRouter
            The routing of ``fit``.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._base_estimator(), method_mapping=mapping)


def _as_column(y: Any) -> Any:
    """Return the labels of a column as a plain row of them, as every classifier does."""
    if y is None or containers.kind(y) == "sparse":
        return y
    if getattr(y, "ndim", 1) == BINARY and y.shape[1] == 1:
        return column_or_1d(np.asarray(y), warn=True)
    if getattr(y, "ndim", 1) > 1:
        raise TableError(
            f"y must hold one label for each row, got an array of the shape {np.shape(y)}; "
            "several labels for a row, or one-hot codes, are not taken"
        )
    return y


def _check_groups(groups: Any, n_rows: int) -> Any:
    values = np.asarray(groups)
    if values.shape != (n_rows,):
        raise TableError(
            f"groups must name one group for each of the {n_rows} rows, got an array of the "
            f"shape {values.shape}"
        )
    return values


def class_scores(model: Any, X: Any, classes: Any, base: Floats, prior: Floats) -> Floats:
    """Return what a fitted model says of each class: probabilities at the shares ``base``.

    A model without probabilities gives the values of its decision function.
    """
    has_probability = hasattr(model, "predict_proba")
    said = (probabilities if has_probability else decisions)(model, X)
    if said is None:
        raise ClassifierError(
            f"the decision function of estimator {type(model).__name__} has no value for each "
            "class; pass a classifier with predict_proba"
        )
    scores = np.zeros((len(said), len(classes)))
    scores[:, np.searchsorted(classes, model.classes_)] = said
    return prior_corrected(scores, base, prior) if has_probability else scores


def seeded(part: Any, seed: int) -> Any:
    """Give a part a seed wherever it has none of its own."""
    free = {
        name: seed
        for name, value in part.get_params(deep=True).items()
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    }
    return part.set_params(**free)
