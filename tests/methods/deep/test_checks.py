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
from counterbalance.methods.deep import GAMO, DOSClassifier, GAMOClassifier, TextGAN

SMALL = {"random_state": 0, "batch_size": 32, "hidden_sizes": (16,)}
CONVEX = {**SMALL, "generator_sizes": (8,), "n_noise": 4}
SAMPLERS = [GAMO(**CONVEX, max_iter=3)]
# enough to tell three clouds apart, which a check asks of every classifier
CLASSIFIERS = [
    GAMOClassifier(GAMO(**CONVEX, max_iter=60, learning_rate=0.02)),
    DOSClassifier(**SMALL, max_iter=60, learning_rate=0.02, n_rounds=2, n_components=6),
]


# What it is asked for on strings stands in test_text_gan.py.
TEXT = TextGAN(random_state=0, pretrain_iter=2, max_iter=1, n_channels=4, valid=None)
NO_STRINGS = dict.fromkeys(
    (
        *("check_samplers_one_label", "check_samplers_fit", "check_samplers_fit_resample"),
        *("check_samplers_sampling_strategy_fit_resample", "check_samplers_pandas"),
        *("check_samplers_pandas_sparse", "check_samplers_list", "check_samplers_multiclass_ova"),
        *("check_samplers_preserve_dtype", "check_samplers_sample_indices"),
        "check_samplers_2d_target",
    ),
    "the check passes a table of numbers",
) | {"check_samplers_string": "the check wants no string beside the three it passes"}


def not_for(estimator):
    return NO_STRINGS if isinstance(estimator, TextGAN) else {}


@pytest.fixture(autouse=True)
def _expected():
    with warnings.catch_warnings():
        # The checks' tables are small and random: falling back on them is right.
        warnings.simplefilter("ignore", PeerFallbackWarning)
        # imbalanced-learn's own check passes y as a column on purpose.
        warnings.filterwarnings("ignore", message="A column-vector y was passed")
        yield


@pytest.mark.slow
@with_imblearn_checks([*SAMPLERS, *CLASSIFIERS, TEXT], expected_failed_checks=not_for)
def test_passes_the_checks_of_imbalanced_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
# scikit-learn has no checks for estimators of strings.
@with_sklearn_checks([*SAMPLERS, *CLASSIFIERS])
def test_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", SAMPLERS, ids=lambda e: type(e).__name__)
def test_refuses_bad_parameters_with_a_clear_message(estimator):
    check_param_validation(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", SAMPLERS, ids=lambda e: type(e).__name__)
def test_keeps_track_of_column_names(estimator):
    check_dataframe_column_names_consistency(type(estimator).__name__, estimator)
