"""Fit: the classifiers that the samplers take by default, and how any f is fitted.

f is trained once on the factual table and never changes during the search.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from counterbalance.arrays import Floats
from counterbalance.classifier.boosting import Boosting, is_compiled
from counterbalance.classifier.predict import (
    cannot_take,
    changes_its_input,
    has_missing,
    without_missing,
)
from counterbalance.errors import ClassifierError
from counterbalance.sklearn_private import fit_trees
from counterbalance.table import containers
from counterbalance.table.encoder import Rescaler, TableEncoder, too_fine
from counterbalance.table.table import Block, Table

Labels = NDArray[Any]

# Leaves of a tree of the default f: the kernels hold a set of them in 64 bits (``LeafSets``).
MOST_LEAVES = 64


def default_classifier(table: Table, encoder: TableEncoder) -> Any:
    """Return the classifier that ``estimator=None`` stands for, unfitted.

    Trees need no scaling and take missing values; leaves of three rows keep them from assigning the
    surroundings of every single minority row to its class. At most ``MOST_LEAVES`` leaves make the
    search in a large table several times faster. Levels are split by their codes. Classifiers
    learned better from the counterfactuals of extremely randomised trees than from those of a
    random forest, of boosting, or of linear models: see paper/docs/research-log.md.
    """
    f = ExtraTreesClassifier(n_estimators=30, min_samples_leaf=3, max_leaf_nodes=MOST_LEAVES)
    fine = np.array([too_fine(table.column(m)) for m in range(len(table.names))])
    return _behind_encoder(f, table, encoder, Rescaler(fine))


def interior_classifier(table: Table, encoder: TableEncoder) -> Any:
    """Return the default f of the interior sampler, unfitted.

    The interior sampler uses its scores. A few rounds of gradient boosting separate a class from
    its surroundings, take missing values, and are fitted in a fraction of a forest's time. They are
    not weighted, so a score is the share of the class among such rows.
    """
    return _behind_encoder(Boosting() if is_compiled() else _plain_boosting(), table, encoder)


def _plain_boosting() -> HistGradientBoostingClassifier:
    """Return the replacement of our boosting where its kernel is not compiled."""
    return HistGradientBoostingClassifier(max_iter=20, early_stopping=False)


def _behind_encoder(
    f: Any, table: Table, encoder: TableEncoder, rescaler: Rescaler | None = None
) -> Any:
    """Prepend the steps that encode the table as numbers.

    A sparse one is made dense: boosting does not take sparse tables, and randomised trees would
    grow differently on them.
    """
    steps: list[Any] = []
    if issparse(table.native):
        steps.append(FunctionTransformer(_dense, accept_sparse=True))
    if not isinstance(table, Block):
        steps.append(encoder)
    if rescaler is not None and rescaler.too_fine.any():
        steps.append(rescaler)
    return make_pipeline(*steps, f) if steps else f


def paper_classifier(penalty: float = 1.0, *, class_weight: Any = "balanced") -> Pipeline:
    """Return an unfitted classifier (f in the paper) with the paper's loss, an L2 penalised MSE.

    ``estimator="ridge"`` of :class:`CounterfactualOverSampler` is this with its defaults.
    Features are scaled first, so that the penalty is the same for all.

    Parameters
    ----------
    penalty : float, default=1.0
        Weight of the L2 norm against the *sum* of the squared errors, ``alpha`` of
        :class:`sklearn.linear_model.RidgeClassifier`. The paper states a mean of errors, so
        its rho is ``penalty`` divided by the number of rows; it gives no value.
    class_weight : dict, "balanced" or None, default="balanced"
        Weights of the classes. The paper has none (``None``); but a linear f that never predicts
        the minority inverts nothing, so all classes weigh the same by default.

    See Also
    --------
    counterbalance.CounterfactualOverSampler : ``estimator="ridge"`` is this one with its defaults.

    Examples
    --------
    >>> from counterbalance import CounterfactualOverSampler, paper_classifier
    >>> sampler = CounterfactualOverSampler(estimator=paper_classifier(penalty=10.0))
    """
    ridge = RidgeClassifier(alpha=penalty, class_weight=class_weight)
    return make_pipeline(StandardScaler(), ridge)


def fit_classifier(
    f: Any,
    table: Table,
    y: Labels,
    sample_weight: Floats | None,
    random_state: np.random.RandomState,
    *,
    own: bool = False,
) -> Any:
    """Fit a clone of ``f`` to the user's table; ``random_state`` seeds it.

    Our ``own`` f, a pipeline with an encoder, gets the encoded table directly.
    """
    check_classifier(f)
    if isinstance(f, FrozenEstimator):
        _check_fitted(f)
    f = clone(f)
    random = {
        name: random_state.randint(np.iinfo(np.int32).max)
        for name, value in sorted(f.get_params(deep=True).items())
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    }
    f.set_params(**random)
    last, rows = f, table.native
    if own and isinstance(f, Pipeline):
        last, rows = f[-1], _learn_steps(f, table)
    elif not own:
        rows, y = containers.copy(rows), y.copy()
    weights = weight_parameter(last, sample_weight)
    try:
        with np.errstate(all="ignore"):  # f itself raises for numbers that are too large
            if own and type(last) is ExtraTreesClassifier and isinstance(rows, np.ndarray):
                fit_trees(last, rows, y, sample_weight)
            else:
                last.fit(rows, y, **weights)
    except Warning:
        raise  # the user turned warnings into errors
    except Exception as error:
        raise ClassifierError(cannot_take(last, table, error, own=own)) from error
    if not own and not containers.same(rows, table.native):
        raise ClassifierError(changes_its_input(f, "fitted to"))
    return f


def _learn_steps(f: Pipeline, table: Table) -> Any:
    """Fit the steps before our own f; the encoder is fitted from the encoded table."""
    rows = table.native
    for _, step in f.steps[:-1]:
        if isinstance(step, TableEncoder):
            step.learn(table)
            rows = table.rows(slice(None))
        else:
            rows = step.fit_transform(rows)
    return rows


def check_classifier(f: Any) -> None:
    """Raise if ``f`` is not a classifier."""
    usable = not isinstance(f, type) and hasattr(f, "fit") and hasattr(f, "predict")
    if not (usable and hasattr(f, "get_params") and is_classifier(f)):
        raise ClassifierError(
            f"estimator must be a scikit-learn classifier, got {f!r}; "
            "pass for example LogisticRegression(class_weight='balanced')"
        )


def _check_fitted(f: FrozenEstimator) -> None:
    """Raise if a frozen classifier is not fitted."""
    try:
        check_is_fitted(f.estimator)
        check_is_fitted(f.estimator, "classes_")  # attributes beyond this one are up to f
    except NotFittedError:
        raise ClassifierError(
            f"estimator is a FrozenEstimator of a {type(f.estimator).__name__} that is not fitted; "
            "call its fit before it is frozen, or pass it as it is"
        ) from None


def check_takes(f: Any, table: Table) -> None:
    """Raise for missing values before anything is fitted, if f is known not to take them.

    Only scikit-learn's own simple estimators are checked: a pipeline may impute, and other
    libraries need not set the tag.
    """
    check_classifier(f)
    simple = type(f).__module__.startswith("sklearn.") and not hasattr(f, "_validate_steps")
    nested = any(hasattr(value, "fit") for value in f.get_params(deep=False).values())
    if simple and not nested and not get_tags(f).input_tags.allow_nan and has_missing(table):
        raise ClassifierError(without_missing(f, "Input X contains NaN."))


def _dense(X: Any) -> Floats:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def weight_parameter(f: Any, sample_weight: Floats | None) -> dict[str, Floats]:
    """Return the fit parameter for the weights, none if f takes no weights."""
    if sample_weight is None:
        return {}
    if isinstance(f, Pipeline) and not get_config()["enable_metadata_routing"]:
        name, last = f.steps[-1]
        return {
            f"{name}__{key}": value for key, value in weight_parameter(last, sample_weight).items()
        }
    return {"sample_weight": sample_weight} if takes_weights(f) else {}


def takes_weights(f: Any) -> bool:
    """Return whether f, or its last step, can be fitted to weighted rows."""
    return bool(has_fit_parameter(f[-1] if isinstance(f, Pipeline) else f, "sample_weight"))
