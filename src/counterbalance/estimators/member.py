"""Member: an estimator that is fitted to resampled rows, and its corrected probabilities.

fit: rows of a part -> sampler -> estimator; predict: probabilities at ``prior`` -> at ``base``
"""

from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone

from counterbalance.arrays import Floats, Integers
from counterbalance.classifier.fit import weight_parameter
from counterbalance.classifier.predict import decisions, probabilities
from counterbalance.errors import CellError, ClassifierError, TableError
from counterbalance.estimators.decision import BINARY, class_shares, prior_corrected
from counterbalance.samplers.base import TableOverSampler
from counterbalance.table import containers, frames
from counterbalance.table.labels import Labels, read_labels


def corrected_scores(f: Any, prior: Floats, X: Any, classes: Any, base: Floats) -> Floats:
    """Return the probabilities of an estimator that was fitted at shares ``prior``, at ``base``.

    An estimator without probabilities gives the values of its decision function.
    """
    has_probability = hasattr(f, "predict_proba")
    found = (probabilities if has_probability else decisions)(f, X)
    if found is None:
        raise ClassifierError(
            f"the decision function of estimator {type(f).__name__} has no value for each "
            "class; pass a classifier with predict_proba"
        )
    scores = np.zeros((len(found), len(classes)))
    scores[:, np.searchsorted(classes, f.classes_)] = found
    return prior_corrected(scores, base, prior) if has_probability else scores


def fit_member(
    estimator: Any, sampler: Any, X: Any, labels: Labels, weights: Floats | None, base: Floats,
    train: Integers, test: Integers, *, seed: int, pass_weights: bool,
) -> tuple[Any, Floats, Floats]:  # fmt: skip
    """Resample some rows of a table and fit the estimator: a member.

    Returns it, the shares of the classes in its rows, and its scores of other rows.

    estimator, sampler   unfitted; both are cloned, and seeded where they have no seed
    weights              (N,) weights of the rows, or None
    base                 (C,) shares of the classes in the table
    train, test          positions of the rows to fit to and of those to score
    pass_weights         whether the estimator gets the weights, or only the sampler
    """
    is_part = len(train) < len(labels.codes)
    rows = containers.take(X, train) if is_part else X
    weights = None if weights is None else weights[train]
    sampler = seeded(clone(sampler), seed)
    X_new, y_new = _resampled(sampler, rows, labels.values[train], weights, is_part=is_part)
    new = read_labels(y_new)
    if not np.array_equal(new.classes, labels.classes):
        raise TableError(
            f"sampler {type(sampler).__name__} must keep rows of all classes "
            f"{labels.classes.tolist()}, but it returned {new.classes.tolist()}; ask it for "
            "some of each with sampling_strategy"
        )
    new_weights = None
    if weights is not None:
        new_weights = _weights_after(sampler, weights, labels.codes[train], new.codes)
    if not pass_weights:
        new_weights = None
    estimator = seeded(clone(estimator), seed)
    parameters = weight_parameter(estimator, new_weights)
    try:
        estimator.fit(X_new, new.values, **parameters)
    except ValueError as error:
        if not _is_mixed(rows):
            raise
        raise ClassifierError(
            f"estimator {type(estimator).__name__} cannot be fitted to this table: {error}; if it "
            "takes numbers only, put a preparation before it, as in make_pipeline("
            f"TablePreparation(), {type(estimator).__name__}())"
        ) from error
    prior = class_shares(new.codes, len(labels.classes), new_weights)
    if not len(test):
        return estimator, prior, np.zeros((0, len(labels.classes)))
    others = containers.take(X, test)
    return estimator, prior, corrected_scores(estimator, prior, others, labels.classes, base)


def seeded(part: Any, seed: int) -> Any:
    """Set every random_state of an estimator or sampler that is None."""
    unset = {
        name: seed
        for name, value in part.get_params(deep=True).items()
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    }
    return part.set_params(**unset)


def _resampled(
    sampler: Any, X: Any, y: Any, weights: Floats | None, *, is_part: bool
) -> tuple[Any, Any]:
    """Resample rows; raise a TableError that names a sampler that fails."""
    parameters = {}
    if weights is not None and "sample_weight" in signature(sampler.fit_resample).parameters:
        parameters["sample_weight"] = weights
    name, is_ours = type(sampler).__name__, isinstance(sampler, TableOverSampler)
    # imbalanced-learn takes no polars frames
    rows = X.to_numpy() if containers.kind(X) == "polars" and not is_ours else X
    try:
        found = sampler.fit_resample(rows, y, **parameters)
    except ValueError as error:
        if _is_mixed(X) and not is_ours:
            raise TableError(
                f"sampler {name} cannot take this table: {error}; put a preparation before both, "
                "as in make_pipeline(TablePreparation(), ResampledClassifier(estimator, sampler))"
            ) from error
        if not is_part or isinstance(error, CellError):
            raise
        raise TableError(
            f"sampler {name} failed on {len(y)} rows, the training part of a fold: {error}; let "
            "it ask for fewer neighbours, use more folds (cv), or set ensemble=False, "
            "threshold=None and calibration=None"
        ) from error
    is_pair = isinstance(found, tuple) and len(found) == BINARY
    shape = getattr(found[0], "shape", ()) if is_pair else ()
    if len(shape) != BINARY or shape != (len(found[1]), X.shape[1]):
        raise TableError(
            f"sampler {name} must return rows of {X.shape[1]} columns and a label for each, got "
            f"{type(found).__name__}{f' with rows of the shape {shape}' if shape else ''}; "
            "correct it, or use another"
        )
    X_new, y_new = found
    if rows is not X and containers.kind(X_new) != "polars":
        X_new = type(X)(np.asarray(X_new).tolist(), schema=X.schema, orient="row", strict=False)
    return X_new, y_new


def _weights_after(sampler: Any, weights: Floats, before: Integers, after: Integers) -> Floats:
    """Return the weight of every resampled row; a new row gets the mean weight of its class."""
    if hasattr(sampler, "sample_weight_"):
        return np.asarray(sampler.sample_weight_)
    if hasattr(sampler, "sample_indices_"):
        return np.asarray(weights[sampler.sample_indices_])
    if not np.array_equal(after[: len(before)], before):
        raise TableError(
            f"sample_weight cannot follow the rows: sampler {type(sampler).__name__} neither "
            "keeps the rows on top nor names the rows it kept in sample_indices_; leave the "
            "weights out or use another sampler"
        )
    mean = np.bincount(before, weights=weights) / np.bincount(before)
    return np.concatenate([weights, mean[after[len(before) :]]])


def _is_mixed(X: Any) -> bool:
    """Say whether a table may hold more than numbers."""
    return frames.has_columns(X) or getattr(X, "dtype", None) == np.dtype(object)
