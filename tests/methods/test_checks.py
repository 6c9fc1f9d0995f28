"""imbalanced-learn's and scikit-learn's own checks, for every method of this package."""

import warnings

import pytest
from imblearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
)
from imblearn.utils.estimator_checks import estimator_checks_generator as imblearn_checks
from sklearn.utils.estimator_checks import estimator_checks_generator as sklearn_checks

from counterbalance import methods
from counterbalance.methods import PeerFallbackWarning, all_samplers

# What a check cannot ask of a method, and why.
A_DRAW = "rows are drawn: a row of weight two is drawn once, two equal rows one by one"
EXCEPTIONS = {
    "CUSBoostClassifier": {
        "check_sample_weight_equivalence_on_dense_data": A_DRAW,
        "check_sample_weight_equivalence_on_sparse_data": A_DRAW,
    }
}


# The checks look at the interface: what repeats itself inside may do so less often.
LIGHTER = {
    "CUSBoostClassifier": {"n_estimators": 5},
    "CVSMOTE": {"n_neighbors": [1, 2], "cv": 2},
    "CounterfactualSMOTE": {"n_steps": 2},
    "MGSGRF": {"n_estimators": 3},
    "SMOTEIPF": {"n_partitions": 3, "n_quiet_rounds": 1},
    "SOMO": {"n_epochs": 3},
    "SSO": {"n_rounds": 1},
}


def instances():
    """One of each class and variant of ours; what imbalanced-learn wrote it checks itself."""
    records = all_samplers().values()
    made = [r.factory() for r in records]
    ours = [m for m in made if type(m).__module__.startswith(methods.__name__)]
    # The deep ones have checks of their own, with few steps: tests/methods/deep/test_checks.py.
    ours = [m for m in ours if not type(m).__module__.startswith(f"{methods.__name__}.deep")]
    extra = [methods.PolynomFitSMOTE(topology=t) for t in ("bus", "mesh", "polynomial")]
    chosen = [*ours, *extra]
    for sampler in chosen:
        sampler.set_params(**LIGHTER.get(type(sampler).__name__, {}))
        # The checks ask for the same result twice.
        sampler.set_params(random_state=0)
    return chosen


def named(value):
    """Name a parametrised estimator or check."""
    return getattr(getattr(value, "func", value), "__name__", str(value))


def parametrised(generator):
    """As ``parametrize_with_checks``, whose generator pytest is about to refuse."""
    pairs = [
        pair
        for estimator in instances()
        for pair in generator(
            estimator,
            expected_failed_checks=EXCEPTIONS.get(type(estimator).__name__, {}),
            mark="xfail",
        )
    ]
    return pytest.mark.parametrize(("estimator", "check"), pairs, ids=named)


@pytest.mark.slow
@parametrised(imblearn_checks)
def test_passes_the_checks_of_imbalanced_learn(estimator, check):
    with warnings.catch_warnings():
        # The checks' tables are small and random: falling back on them is right.
        warnings.simplefilter("ignore", PeerFallbackWarning)
        # imbalanced-learn's own check passes y as a column on purpose.
        warnings.filterwarnings("ignore", message="A column-vector y was passed")
        check(estimator)


@parametrised(sklearn_checks)
def test_passes_the_checks_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PeerFallbackWarning)
        check(estimator)


@pytest.mark.parametrize("estimator", instances(), ids=str)
def test_rejects_bad_parameters_with_a_clear_message(estimator):
    check_param_validation(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", instances(), ids=str)
def test_keeps_track_of_column_names(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PeerFallbackWarning)
        check_dataframe_column_names_consistency(type(estimator).__name__, estimator)
