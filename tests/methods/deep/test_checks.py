"""scikit-learn's and imbalanced-learn's own checks for the deep systems, with few steps."""

import warnings

import pytest

pytest.importorskip("autograd")

from imblearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
)
from imblearn.utils.estimator_checks import parametrize_with_checks as with_imblearn_checks
from sklearn.utils.estimator_checks import parametrize_with_checks as with_sklearn_checks

from counterbalance.methods import PeerFallbackWarning
from counterbalance.methods.deep import GAMO, DOSClassifier, GAMOClassifier

SMALL = {"random_state": 0, "batch_size": 32, "hidden_sizes": (16,)}
CONVEX = {**SMALL, "generator_sizes": (8,), "n_noise": 4}
SAMPLERS = [GAMO(**CONVEX, max_iter=3)]
# enough to tell three clouds apart, which a check asks of every classifier
CLASSIFIERS = [
    GAMOClassifier(GAMO(**CONVEX, max_iter=60, learning_rate=0.02)),
    DOSClassifier(**SMALL, max_iter=60, learning_rate=0.02, n_rounds=2, n_components=6),
]


@pytest.fixture(autouse=True)
def _expected():
    with warnings.catch_warnings():
        # The checks' tables are small and random: falling back on them is right.
        warnings.simplefilter("ignore", PeerFallbackWarning)
        # imbalanced-learn's own check passes y as a column on purpose.
        warnings.filterwarnings("ignore", message="A column-vector y was passed")
        yield


@pytest.mark.slow
@with_imblearn_checks([*SAMPLERS, *CLASSIFIERS])
def test_passes_the_checks_of_imbalanced_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@with_sklearn_checks([*SAMPLERS, *CLASSIFIERS])
def test_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", SAMPLERS, ids=lambda e: type(e).__name__)
def test_refuses_bad_parameters_with_a_clear_message(estimator):
    check_param_validation(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", SAMPLERS, ids=lambda e: type(e).__name__)
def test_keeps_track_of_column_names(estimator):
    check_dataframe_column_names_consistency(type(estimator).__name__, estimator)
