"""Resampled: any classifier behind any sampler, with probabilities that mean something."""

from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from imblearn import FunctionSampler
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from counterbalance.arrays import Floats, Integers
from counterbalance.classifier.fit import check_classifier, weight_parameter
from counterbalance.errors import ClassifierError, TableError
from counterbalance.estimators.base import DecidingClassifier, class_scores, seeded
from counterbalance.estimators.decision import BINARY, class_shares
from counterbalance.samplers.base import TableOverSampler
from counterbalance.samplers.interior import InteriorOverSampler
from counterbalance.sklearn_private import HasMethods, StrOptions
from counterbalance.table import containers, frames
from counterbalance.table.labels import Labels, read_labels


class ResampledClassifier(DecidingClassifier):
    """A classifier that is fitted to resampled rows and answers for the real ones.

    ``fit`` resamples the table and fits the estimator to the result. That shifts the shares of
    the classes, and with them every probability: ``predict_proba`` multiplies each by the share
    of its class before resampling over the share after it, which undoes the shift [1]_ [2]_, for
    over- and undersampling alike. ``calibration`` mends what is left, and ``threshold`` chooses
    the answers for the metric that counts. Both are learned from real rows that were held out of
    resampling and fit: for each fold the rest is resampled anew and a model fitted to it.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier or pipeline. It is fitted to the rows in the container they
        came in. One without ``predict_proba`` needs a ``calibration``.

    sampler : sampler, "passthrough" or None, default=None
        Anything with ``fit_resample``: imbalanced-learn's, ours, or a pipeline of them. ``None``
        is :class:`InteriorOverSampler`. ``"passthrough"`` leaves the rows as they are, for the
        threshold and the calibration alone.

    threshold : {"g_mean", "f1", "balanced_accuracy", "compromise"}, cost matrix, float or None, \
            default=None
        How ``predict`` chooses. A metric, or a matrix of costs (a row for each true class, a
        column for each answer, in the order of ``classes_``): the threshold that is best for it
        out of fold. A number: the rarest class is answered where its probability is at least
        that. ``None``: the most probable class. F1 is that of the rarest class; with more than
        two classes it is the mean over all, and factors of the classes are tuned in place of a
        threshold. ``"compromise"`` is the mean of G-mean and F1: nearly as many rows of the
        rarest class are found as with the first, with fewer false alarms.

    calibration : {"sigmoid", "isotonic"} or None, default=None
        A curve from corrected probabilities to the shares that are seen out of fold. A sigmoid
        keeps the order of the rows and needs few of them; an isotonic one needs some hundreds.

    cv : int, splitter or iterable, default=5
        Folds that threshold and calibration are learned in; at most as many as the smallest
        class has rows.

    n_jobs : int, default=None
        Number of jobs that fit the folds. It never changes the result.

    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of estimator and sampler where they have none of their own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    estimator_ : classifier
        Fitted to the whole table, resampled.
    sampler_ : sampler
        The one that made that table, with what it tells about its rows.
    base_shares_, resampled_shares_ : ndarray of shape (n_classes,)
        Shares of the classes before and after resampling.
    rarest_class_ : label
        The class with the fewest rows, which ``threshold_`` is about.
    threshold_ : float or None
        The probability of the rarest class from which on it is answered; None with more than
        two classes.
    class_factors_ : ndarray of shape (n_classes,)
        With more than two classes, what each probability is multiplied by before the largest
        wins.
    out_of_fold_proba_ : ndarray of shape (n_samples, n_classes)
        Where a threshold or a calibration was learned: the probabilities it was learned from,
        each by models that have not seen the row; nan for a row that was never left out.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if they are texts.

    Notes
    -----
    The correction is exact where the new rows of a class are distributed as its real ones. Rows
    at the boundary, such as counterfactuals, are not: there a ``calibration`` is worth its folds.
    Class weights of the estimator shift its probabilities once more, which only a calibration
    undoes.

    References
    ----------
    .. [1] M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the Outputs of a Classifier to New
       a Priori Probabilities: A Simple Procedure", Neural Computation 14, 2002.
    .. [2] C. Elkan, "The Foundations of Cost-Sensitive Learning", IJCAI 2001.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterbalance import InteriorOverSampler, ResampledClassifier
    >>> X, y = make_classification(400, weights=[0.9], random_state=0)
    >>> sampler = InteriorOverSampler(random_state=0)
    >>> model = ResampledClassifier(
    ...     LogisticRegression(), sampler, threshold="f1", calibration="sigmoid", random_state=0
    ... ).fit(X, y)
    >>> model.base_shares_.round(2).tolist(), model.resampled_shares_.round(2).tolist()
    ([0.9, 0.1], [0.5, 0.5])
    >>> float(model.predict_proba(X)[:, 1].mean().round(2))
    0.1
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "sampler": [HasMethods(["fit_resample"]), StrOptions({"passthrough"}), None],
        **DecidingClassifier._parameter_constraints,  # noqa: SLF001  (scikit-learn's own way)
    }

    def __init__(
        self,
        estimator: Any,
        sampler: Any = None,
        *,
        threshold: Any = None,
        calibration: str | None = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.sampler = sampler
        decision = {"threshold": threshold, "calibration": calibration, "cv": cv}
        super().__init__(**decision, n_jobs=n_jobs, random_state=random_state)

    def _fit(self, X: Any, labels: Labels, weights: Floats | None, groups: Any) -> Floats | None:
        sampler = InteriorOverSampler() if self.sampler is None else self.sampler
        if isinstance(sampler, str):
            sampler = FunctionSampler(validate=False)  # the rows as they are
        recipe = Recipe(self.estimator, sampler, self._weighs, self._seed)
        check_classifier(self.estimator)
        folds = self.folds(labels, groups) if self._learns else []
        whole = np.arange(len(labels.codes))
        models = Parallel(n_jobs=self.n_jobs)(
            delayed(recipe.fit)(X, labels, weights, train)
            for train in (whole, *(train for train, _ in folds))
        )
        self._model = models[0]
        self._gives_probabilities = hasattr(self._model.estimator, "predict_proba")
        if not self._gives_probabilities and self.calibration is None:
            raise ClassifierError(
                f"estimator {type(self.estimator).__name__} has no predict_proba; set "
                "calibration='sigmoid', which makes probabilities of its decision function"
            )
        self.estimator_, self.sampler_ = self._model.estimator, self._model.sampler
        self.resampled_shares_ = self._model.prior
        if not folds:
            return None
        scores = np.full((len(whole), len(self.classes_)), np.nan)
        for (_, test), model in zip(folds, models[1:], strict=True):
            scores[test] = model.scores(containers.take(X, test), self.classes_)
        return scores

    def _scores(self, X: Any) -> Floats:
        return np.asarray(self._model.scores(X, self.classes_))

    def _base_estimator(self) -> Any:
        return self.estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        is_sampler = hasattr(self.sampler, "fit_resample")
        parts = [self.estimator, *([self.sampler] if is_sampler else [])]
        for name in ("sparse", "allow_nan", "categorical", "string"):
            holds = all(getattr(get_tags(part).input_tags, name) for part in parts)
            setattr(tags.input_tags, name, holds)
        tags.classifier_tags = get_tags(self.estimator).classifier_tags
        return tags


@dataclass(frozen=True, eq=False)
class Model:
    """An estimator that was fitted to resampled rows."""

    estimator: Any
    sampler: Any
    base: Floats
    prior: Floats

    def scores(self, X: Any, classes: Any) -> Floats:
        """Return its scores at the shares that the table had before."""
        return class_scores(self.estimator, X, classes, self.base, self.prior)


@dataclass(frozen=True, eq=False)
class Recipe:
    """How part of a table becomes a model: the same for the whole and for every fold."""

    estimator: Any
    sampler: Any
    weighs: bool
    seed: int

    def fit(self, X: Any, labels: Labels, weights: Floats | None, rows: Integers) -> Model:
        """Resample these rows and fit the estimator to them."""
        if weights is not None:  # a row that weighs nothing is as good as absent
            rows = rows[weights[rows] > 0]
        whole = len(rows) == len(labels.codes)
        X = X if whole else containers.take(X, rows)
        y = labels.values[rows]
        weights = None if weights is None else weights[rows]
        sampler = seeded(clone(self.sampler), self.seed)
        X_new, y_new = _resampled(sampler, X, y, weights, is_part=not whole)
        codes = read_labels(y_new)
        if not np.array_equal(codes.classes, labels.classes):
            raise TableError(
                f"sampler {type(sampler).__name__} must keep rows of all classes "
                f"{labels.classes.tolist()}, but it returned {codes.classes.tolist()}; ask it for "
                "some of each with sampling_strategy"
            )
        n_classes = len(labels.classes)
        new_weights = None
        if weights is not None:
            new_weights = _weights_after(sampler, weights, labels.codes[rows], codes.codes)
        estimator = seeded(clone(self.estimator), self.seed)
        given = weight_parameter(estimator, new_weights if self.weighs else None)
        _fit(estimator, _like(X_new, X), codes.values, given)
        # Where the estimator takes no weights it is fitted to the shares of the bare rows.
        prior = class_shares(codes.codes, n_classes, new_weights if self.weighs else None)
        base = class_shares(labels.codes[rows], n_classes, weights)
        return Model(estimator, sampler, base, prior)


def _fit(estimator: Any, X: Any, y: Any, given: dict[str, Any]) -> None:
    """Fit the estimator; say what to put before one that takes numbers only."""
    try:
        estimator.fit(X, y, **given)
    except ValueError as error:
        if not _is_mixed(X):
            raise
        raise ClassifierError(
            f"estimator {type(estimator).__name__} cannot be fitted to this table: {error}; if it "
            "takes numbers only, put a preparation before it, as in make_pipeline("
            f"TablePreparation(), {type(estimator).__name__}())"
        ) from error


def _is_mixed(X: Any) -> bool:
    """Say whether a table may hold more than numbers."""
    return frames.has_columns(X) or getattr(X, "dtype", None) == np.dtype(object)


def _resampled(
    sampler: Any, X: Any, y: Any, weights: Floats | None, *, is_part: bool
) -> tuple[Any, Any]:
    """Resample rows; name a sampler that fails on a training part, or returns something else."""
    given = {}
    if weights is not None and "sample_weight" in signature(sampler.fit_resample).parameters:
        given["sample_weight"] = weights
    name = type(sampler).__name__
    try:
        found = sampler.fit_resample(_for_sampler(sampler, X), y, **given)
    except ValueError as error:
        if _is_mixed(X) and not isinstance(sampler, TableOverSampler):
            raise TableError(
                f"sampler {name} cannot take this table: {error}; put a preparation before both, "
                "as in make_pipeline(TablePreparation(), ResampledClassifier(estimator, sampler))"
            ) from error
        if not is_part:
            raise
        raise TableError(
            f"sampler {name} failed on {len(y)} rows, a training part that threshold and "
            f"calibration are learned from: {error}; let it ask for fewer neighbours, use more "
            "folds (cv), or set threshold=None and calibration=None"
        ) from error
    is_pair = isinstance(found, tuple) and len(found) == BINARY
    shape = getattr(found[0], "shape", ()) if is_pair else ()
    if len(shape) != BINARY or shape != (len(found[1]), X.shape[1]):
        raise TableError(
            f"sampler {name} must return rows of {X.shape[1]} columns and a label for each, got "
            f"{type(found).__name__}{f' with rows of the shape {shape}' if shape else ''}; mend "
            "it, or use another"
        )
    X_new, y_new = found
    return X_new, y_new


def _weights_after(sampler: Any, weights: Floats, before: Integers, after: Integers) -> Floats:
    """Return the weight of every resampled row; a new row weighs as its class does on average."""
    if hasattr(sampler, "sample_weight_"):
        return np.asarray(sampler.sample_weight_)
    if hasattr(sampler, "sample_indices_"):
        return np.asarray(weights[sampler.sample_indices_])
    if not np.array_equal(after[: len(before)], before):
        raise TableError(
            f"sample_weight cannot follow the rows: sampler {type(sampler).__name__} neither "
            "keeps the rows on top nor tells by sample_indices_ which it kept; leave the weights "
            "out or use another sampler"
        )
    mean = np.bincount(before, weights=weights) / np.bincount(before)
    return np.concatenate([weights, mean[after[len(before) :]]])


def _for_sampler(sampler: Any, X: Any) -> Any:
    """Return the table as a sampler takes it: imbalanced-learn knows no polars frames."""
    is_ours = isinstance(sampler, TableOverSampler)
    return X if is_ours or containers.kind(X) != "polars" else X.to_numpy()


def _like(X_new: Any, X: Any) -> Any:
    """Return resampled rows in the container of the table."""
    if containers.kind(X) != "polars" or containers.kind(X_new) == "polars":
        return X_new
    return type(X)(np.asarray(X_new).tolist(), schema=X.schema, orient="row", strict=False)
