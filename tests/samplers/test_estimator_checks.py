"""The sampler as a citizen of imbalanced-learn and scikit-learn: their own suites."""

import warnings

import pytest
import sklearn
from imblearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    check_samplers_fit_resample,
    parametrize_with_checks,
)
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import (
    parametrize_with_checks as parametrize_with_scikit_learn_checks,
)

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.errors import ShortfallWarning

SAMPLERS = [
    CounterfactualOverSampler(random_state=0),
    CounterfactualOverSampler(
        estimator=LogisticRegression(class_weight="balanced"), search="perturb", random_state=0
    ),
    InteriorOverSampler(random_state=0),
]
OLD_CHECKS = sklearn.__version__.startswith("1.6.")
EVERY_INVERSION = CounterfactualOverSampler(sampling_strategy="all", n_draws=3, random_state=0)


# The suites bring tables of noise on which inversions run short: that warning is right.
@pytest.fixture(autouse=True)
def _let_shortfalls_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortfallWarning)
        yield


@parametrize_with_checks([*SAMPLERS, EVERY_INVERSION])
def test_imbalanced_learn(estimator, check):
    if estimator.sampling_strategy == "all" and check.func is check_samplers_fit_resample:
        pytest.skip("it asserts that the classes are balanced, which 'all' does not promise")
    check(estimator)


@parametrize_with_scikit_learn_checks(SAMPLERS)
def test_scikit_learn(estimator, check):
    if check.func.__name__ == "check_positive_only_tag_during_fit" and OLD_CHECKS:
        pytest.skip("the check of scikit-learn 1.6 subtracts floats from whole numbers in place")
    check(estimator)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_parameters_are_validated(sampler):
    check_param_validation(type(sampler).__name__, sampler)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_column_names_are_consistent(sampler):
    check_dataframe_column_names_consistency(type(sampler).__name__, sampler)
