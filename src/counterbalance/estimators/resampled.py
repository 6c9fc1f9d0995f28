"""Resampled: cross-fitted members behind a sampler, with one calibration and one threshold.

fit: table -> folds -> a member for each (`member`) -> out-of-fold scores -> calibration -> rule
(`decision`); predict: scores of each member -> probabilities -> class
"""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from imblearn import FunctionSampler
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state, column_or_1d, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.classifier.fit import check_classifier, takes_weights
from counterbalance.errors import ClassifierError, TableError, UntunedWarning
from counterbalance.estimators.decision import (
    BINARY,
    METRICS,
    Calibration,
    Rule,
    logits,
    precision_recall,
    rarest_of,
    tuned_rule,
)
from counterbalance.estimators.member import corrected_scores, fit_member
from counterbalance.reference import LinksToReference
from counterbalance.samplers.base import check_table, check_weights
from counterbalance.samplers.interior import InteriorOverSampler
from counterbalance.sklearn_private import (
    HasMethods,
    Interval,
    StrOptions,
    VisualBlock,
    fit_context,
)
from counterbalance.table import containers
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.labels import Labels, plain, read_labels
from counterbalance.user_warnings import warn_user

Folds = list[tuple[Integers, Integers]]
HALF = 0.5
# The default estimator: small trees in small steps, chosen on the development suite.
SMALL_STEPS: Any = {"learning_rate": 0.05, "max_leaf_nodes": 6, "l2_regularization": 1.0}
NO_ROWS: Integers = np.zeros(0, dtype=np.intp)


class ResampledClassifier(LinksToReference, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A cross-fitted ensemble behind a sampler, with calibrated probabilities and a threshold.

    For each of five folds, ``fit`` resamples the other four and fits the estimator to the result:
    a member. Resampling shifts the shares of the classes, and with them every probability, so the
    probabilities of a member are multiplied by the share of each class in the table over its share
    after resampling [1]_ [2]_. Each member predicts its own fold. From these out-of-fold
    probabilities ``fit`` learns a calibration and the threshold. ``predict_proba`` is the mean
    of the members' calibrated probabilities; ``predict`` compares it with the threshold.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any scikit-learn classifier or pipeline. It is fitted to rows in the container of X.
        ``None`` is gradient boosting that takes any table: categories, texts and missing cells.

    sampler : sampler, "passthrough" or None, default=None
        Any object with ``fit_resample``, of imbalanced-learn or of this library. ``None`` is
        :class:`InteriorOverSampler`. ``"passthrough"`` does not resample.

    threshold : {"compromise", "f1", "g_mean", "balanced_accuracy"}, cost matrix, float or None, \
            default="compromise"
        How ``predict`` chooses the class. A metric, or a cost matrix (a row for each true class, a
        column for each predicted one, in the order of ``classes_``): the threshold that is best
        for it out of fold. ``"compromise"`` is the mean of G-mean and F1. A number: the rarest
        class is predicted if its probability is at least that. ``None``: the most probable
        class. F1 is that of the rarest class. With more than two classes it is the mean over all
        classes, and a factor for each class takes the place of the threshold.

    calibration : {"sigmoid", "isotonic"} or None, default="sigmoid"
        A curve from corrected probabilities to the shares that are seen out of fold. A sigmoid
        keeps the order of the rows and needs few of them; an isotonic curve needs some hundreds.

    ensemble : bool, default=True
        ``True`` keeps the members of the folds. ``False`` fits one more model to all rows and
        keeps that alone.

    cv : int, splitter or iterable, default=5
        The folds; at most as many as the smallest class has rows.

    n_jobs : int, default=None
        Number of jobs that fit the folds. It never changes the result.

    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of estimator and sampler if their ``random_state`` is None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    estimators_ : list of classifiers
        The fitted members; one with ``ensemble=False``, which is also ``estimator_``.
    base_shares_, resampled_shares_ : ndarray of shape (n_classes,)
        Shares of the classes in the table, and after resampling (the mean of the members).
    rarest_class_ : label
        The class with the fewest rows, which ``threshold_`` is about.
    threshold_ : float or None
        The least probability of the rarest class at which it is predicted; None with more than
        two classes. Set it to another number to move the threshold of a fitted classifier.
    class_factors_ : ndarray of shape (n_classes,)
        With more than two classes: each probability is multiplied by the factor of its class, and
        the class with the largest product is predicted.
    calibration_ : list of dict or None
        The calibration curves: one for two classes, else one for each class.
    out_of_fold_proba_ : ndarray of shape (n_samples, n_classes)
        Calibrated out-of-fold probabilities, if a threshold or a calibration was learned; nan
        for a row that is in no test part. It is not pickled.
    out_of_fold_curve_ : dict of ndarray or None
        With two classes: precision and recall of the rarest class at some thresholds, from
        ``out_of_fold_proba_``. :class:`~counterbalance.displays.DecisionDisplay` draws it.
    decision_ : dict
        The decision as plain values: threshold, shares of the classes, calibration.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if they are texts.

    See Also
    --------
    counterbalance.displays.DecisionDisplay : Draw precision and recall against the threshold.

    Notes
    -----
    The correction is exact if the new rows of a class are distributed as its real rows. If they
    are not, as counterfactuals, or if the estimator weights the classes, keep the calibration. If
    a class has one row, or one group, one model is fitted to all rows and the threshold is 0.5.

    References
    ----------
    .. [1] M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the Outputs of a Classifier to New
       a Priori Probabilities: A Simple Procedure", Neural Computation 14, 2002.
    .. [2] C. Elkan, "The Foundations of Cost-Sensitive Learning", IJCAI 2001.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from counterbalance import ResampledClassifier
    >>> X, y = make_classification(400, weights=[0.9], random_state=0)
    >>> model = ResampledClassifier(random_state=0).fit(X, y)
    >>> len(model.estimators_), model.threshold_ < 0.5
    (5, True)
    >>> float(model.predict_proba(X)[:, 1].mean().round(1))
    0.1
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "sampler": [HasMethods(["fit_resample"]), StrOptions({"passthrough"}), None],
        "threshold": [
            StrOptions({*METRICS, "gmean"}),
            Interval(Real, 0, 1, closed="neither"),
            "array-like",
            None,
        ],
        "calibration": [StrOptions({"sigmoid", "isotonic"}), None],
        "ensemble": ["boolean"],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        sampler: Any = None,
        *,
        threshold: Any = "compromise",
        calibration: str | None = "sigmoid",
        ensemble: bool = True,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.sampler = sampler
        self.threshold = threshold
        self.calibration = calibration
        self.ensemble = ensemble
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
            The weight of each row: in the fit of an estimator that takes weights, in the shares
            of the classes, in the calibration and in the threshold. A row of weight 0 is left out.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are never in both parts of a fold.

        Returns
        -------
        self : classifier
            The classifier itself.
        """
        X = check_table(self, X)
        labels = read_labels(_as_column(y))
        n_rows = len(labels.codes)
        if X.shape[0] != n_rows:
            raise TableError(
                f"X has {X.shape[0]} rows but y has {n_rows} labels; give one label for each row"
            )
        weights = check_weights(sample_weight, n_rows)
        groups = None if groups is None else np.asarray(groups)
        if groups is not None and groups.shape != (n_rows,):
            raise TableError(
                f"groups must name one group for each of the {n_rows} rows, got {groups.shape}"
            )
        estimator = self._estimator()
        check_classifier(estimator)
        pass_weights = self._route(sample_weight, groups)
        self.classes_ = labels.classes
        totals = np.bincount(labels.codes, weights=weights)
        if not totals.all():
            raise TableError(
                f"sample_weight must leave rows of every class, but those of class "
                f"{plain(labels.classes[int(totals.argmin())])!r} have no weight; give them some"
            )
        self.base_shares_ = totals / totals.sum()
        self._rarest = rarest_of(self.base_shares_)
        self.rarest_class_ = plain(self.classes_[self._rarest])
        self._costs = self._cost_matrix()
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        rows = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
        folds = self._folds(labels, rows, groups, seed) if self.ensemble or self._learns else []
        parts = [(train, test if self._learns else NO_ROWS) for train, test in folds]
        if not (self.ensemble and folds):
            parts.insert(0, (rows, NO_ROWS))
        given = (estimator, self._sampler(), X, labels, weights, self.base_shares_)
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_member)(*given, *part, seed=seed, pass_weights=pass_weights)
            for part in parts
        )
        members = fitted if self.ensemble and folds else fitted[:1]
        self.estimators_ = [estimator for estimator, *_ in members]
        self._has_probabilities = hasattr(self.estimators_[0], "predict_proba")
        self._priors = np.array([prior for _, prior, _ in members])
        self.resampled_shares_ = self._priors.mean(axis=0)
        scores = np.full((n_rows, len(self.classes_)), np.nan)
        for (_, test), (*_, found) in zip(parts, fitted, strict=True):
            scores[test] = found
        self._decide(scores, labels, weights)
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
        check_is_fitted(self)
        X = check_table(self, X, reset=False)
        votes = [
            self._calibrated(corrected_scores(f, prior, X, self.classes_, self.base_shares_))
            for f, prior in zip(self.estimators_, self._priors, strict=True)
        ]
        return np.asarray(np.mean(votes, axis=0))

    def predict(self, X: Any) -> Any:
        """Return the class of each row, by the threshold.

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
        rule = Rule(self.class_factors_, self._costs, self._rarest, self.threshold_)
        return self.classes_[rule.answer(p)]

    @property
    def estimator_(self) -> Any:
        """The fitted model, if there is one only."""
        if len(self.estimators_) > 1:
            raise AttributeError("there are several estimators_; set ensemble=False for one model")
        return self.estimators_[0]

    @property
    def decision_(self) -> dict[str, Any]:
        """The decision as plain values."""
        curves = {"kind": self.calibration, "curves": self.calibration_}
        return {
            "metric": self.threshold if isinstance(self.threshold, str) else None,
            "costs": None if self._costs is None else self._costs.tolist(),
            "classes": self.classes_.tolist(),
            "rarest_class": self.rarest_class_,
            "threshold": self.threshold_,
            "class_factors": self.class_factors_.tolist(),
            "base_shares": self.base_shares_.tolist(),
            "resampled_shares": self.resampled_shares_.tolist(),
            "calibration": None if self.calibration_ is None else curves,
        }

    @property
    def _tunes(self) -> bool:
        """Whether a threshold is learned."""
        return self.threshold is not None and not isinstance(self.threshold, Real)

    @property
    def _learns(self) -> bool:
        """Whether out-of-fold scores are needed."""
        return self._tunes or self.calibration is not None

    def _estimator(self) -> Any:
        """Return the estimator that is fitted to the rows, unfitted."""
        if self.estimator is not None:
            return self.estimator
        f = HistGradientBoostingClassifier(**SMALL_STEPS, early_stopping=False)
        if _routing_enabled():
            f.set_fit_request(sample_weight=True)
        return make_pipeline(TableEncoder(), f)

    def _sampler(self) -> Any:
        """Return the sampler, not yet run."""
        if self.sampler is None:
            return InteriorOverSampler()
        return FunctionSampler(validate=False) if isinstance(self.sampler, str) else self.sampler

    def _decide(self, scores: Floats, labels: Labels, weights: Floats | None) -> None:
        """Learn the calibration and the threshold from out-of-fold scores.

        scores   (N, C), nan in the rows that no member predicted
        """
        n_classes = len(self.classes_)
        known: Mask = np.asarray(np.isfinite(scores).all(axis=1))
        scores, codes = scores[known], labels.codes[known]
        weights = None if weights is None else weights[known]
        self.calibration_ = None
        if self.calibration is not None and known.any():
            fitted = Calibration.from_scores(
                self.calibration, self._calibration_inputs(scores), codes, weights
            )
            self.calibration_ = fitted.curves
        if self.calibration_ is None and not self._has_probabilities:
            raise ClassifierError(
                f"estimator {type(self.estimators_[0]).__name__} has no predict_proba and no "
                "calibration was learned, so there are no probabilities; set "
                "calibration='sigmoid', which needs two rows of every class, or use another"
            )
        self.threshold_ = HALF if n_classes == BINARY else None
        self.class_factors_ = np.ones(n_classes)
        if isinstance(self.threshold, Real):
            self.threshold_ = float(self.threshold)
        self.out_of_fold_curve_ = None
        self.__dict__.pop("out_of_fold_proba_", None)  # of an earlier fit
        if not known.any():
            return
        p = self._calibrated(scores)
        self.out_of_fold_proba_ = np.full((len(known), n_classes), np.nan)
        self.out_of_fold_proba_[known] = p
        if self._tunes:
            metric = "cost" if self._costs is not None else self.threshold.replace("gm", "g_m")
            rule = tuned_rule(p, codes, metric, weights, self._costs)
            self.threshold_, self.class_factors_ = rule.cut, rule.factors
        if n_classes == BINARY:
            is_rarest = (codes == self._rarest).astype(np.intp)
            self.out_of_fold_curve_ = precision_recall(p[:, self._rarest], is_rarest, weights)

    def _calibration_inputs(self, scores: Floats) -> Floats:
        """Return the scores that a curve is fitted to: the logits of probabilities."""
        return logits(scores) if self._has_probabilities else scores

    def _calibrated(self, scores: Floats) -> Floats:
        if self.calibration_ is None:
            return scores
        return Calibration(self.calibration_).probabilities(self._calibration_inputs(scores))

    def _cost_matrix(self) -> Floats | None:
        """Return ``threshold`` as a cost matrix, if it is one."""
        n = len(self.classes_)
        if isinstance(self.threshold, Real) and n > BINARY:
            raise TableError(
                f"threshold={self.threshold} needs two classes, but y has {n}; name a metric, "
                "pass a cost matrix, or set it to None"
            )
        if isinstance(self.threshold, str) or not self._tunes:
            return None
        try:
            cost = np.asarray(self.threshold, dtype=np.float64)
        except (TypeError, ValueError):
            cost = np.empty(0)
        if cost.shape != (n, n) or not np.isfinite(cost).all():
            raise TableError(
                f"threshold as a cost matrix must hold {n} rows (the true class, in the order of "
                f"the sorted classes) of {n} finite numbers (the predicted class), got "
                f"{self.threshold!r}"
            )
        if (np.diag(cost) >= cost.T).sum() > n:
            raise TableError(
                "threshold as a cost matrix must make every wrong prediction cost more than the "
                f"right one of its row, got {cost.tolist()}; rows are true classes, columns "
                "predicted ones"
            )
        return cost

    def _folds(self, labels: Labels, rows: Integers, groups: Any, seed: int) -> Folds:
        """Return the folds of some rows whose training part has every class.

        There are none if a class has one row, or is in one group.
        """
        codes = labels.codes[rows]
        fewest, usable = int(np.bincount(codes).min()), []
        groups = None if groups is None else groups[rows]
        if isinstance(self.cv, Integral) or self.cv is None:
            wanted = check_cv(self.cv).get_n_splits()  # refuses fewer than two
            most = min(wanted, fewest, len(rows) if groups is None else len(np.unique(groups)))
            kind = StratifiedKFold if groups is None else StratifiedGroupKFold
            splitter = kind(max(2, most), shuffle=True, random_state=seed)
        else:
            most, splitter = len(rows), check_cv(self.cv, codes, classifier=True)
        if most > 1:
            folds = list(splitter.split(codes, codes, groups))
            if isinstance(self.cv, Integral) or hasattr(self.cv, "split") or self.cv is None:
                folds = [(rows[train], rows[test]) for train, test in folds]
            else:  # a list of positions in the whole table
                folds = [tuple(np.intersect1d(part, rows) for part in fold) for fold in folds]
            n_classes = len(labels.classes)
            usable = [fold for fold in folds if len(np.unique(labels.codes[fold[0]])) == n_classes]
        if not usable and self._learns:
            rare = plain(labels.classes[int(np.bincount(codes).argmin())])
            text = (
                f"class {rare!r} has {fewest} row{'s' * (fewest != 1)}, too few or in too few "
                "groups for folds, so neither threshold nor calibration is learned: the most "
                "probable class is predicted; collect more rows, or set threshold=None and "
                "calibration=None"
            )
            warn_user(UntunedWarning(text), f"class {rare!r}")
        return usable

    def _route(self, sample_weight: Any, groups: Any) -> bool:
        """Check the metadata routing; return whether the estimator gets the weights."""
        given = {"sample_weight": sample_weight, "groups": groups}
        if _routing_enabled():
            given = {name: value for name, value in given.items() if value is not None}
            return "sample_weight" in process_routing(self, "fit", **given).estimator.fit
        return sample_weight is not None and takes_weights(self._estimator())

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing: weights go to this classifier, and to its estimator.

        Returns
        -------
        routing : MetadataRouter
            The routing of ``fit``.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._estimator(), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # the default estimator and sampler take any table
        parts = [part for part in (self.estimator, self.sampler) if hasattr(part, "get_params")]
        for name in ("sparse", "allow_nan", "categorical", "string"):
            holds = all(getattr(get_tags(part).input_tags, name) for part in parts)
            setattr(tags.input_tags, name, holds)
        tags.classifier_tags = get_tags(self._estimator()).classifier_tags
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without arrays of one value for each row."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "out_of_fold_proba_"}

    def _sk_visual_block_(self) -> Any:
        """Return the parts that the HTML representation shows: the sampler, then the members."""
        fitted = getattr(self, "estimators_", [self._estimator()])
        names = (
            ["estimator"] if len(fitted) == 1 else [f"member {k + 1}" for k in range(len(fitted))]
        )
        members = VisualBlock("parallel", fitted, names=names, dash_wrapped=False)
        return VisualBlock("serial", [self._sampler(), members], dash_wrapped=True)


def _as_column(y: Any) -> Any:
    """Return the labels of a column with one dimension, as every classifier does."""
    is_column = getattr(y, "ndim", 1) == BINARY and y.shape[1] == 1
    if is_column and containers.kind(y) != "sparse":
        return column_or_1d(np.asarray(y), warn=True)
    if getattr(y, "ndim", 1) > 1 and not is_column:
        raise TableError(
            f"y must hold one label for each row, got the shape {np.shape(y)}; several labels for "
            "a row, or one-hot codes, are not supported"
        )
    return y
