"""Structure: what is read off f says what f says."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from boosters import lightgbm, needed, xgboost
from counterbalance import CounterfactualOverSampler
from counterbalance.search import structure
from counterbalance.search.structure import kernel_status, read_structure

needs_kernel = pytest.mark.skipif(
    structure.kernel is None, reason="no kernel: install a C compiler, then make clean test"
)


def table(n_classes=2, n_rows=300, seed=0):
    return make_classification(
        n_rows,
        5,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        weights=[0.6, 0.25, 0.15][:n_classes],
        random_state=seed,
    )


def structure_of(f, X, y):
    prepared = CounterfactualOverSampler(estimator=f, random_state=0).prepare(X, y)
    return read_structure(prepared.space, prepared.f, prepared.table)


@needs_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "f",
    [
        RandomForestClassifier(1, random_state=0),
        RandomForestClassifier(7, max_depth=2, random_state=0),
        RandomForestClassifier(50, random_state=0),
        RandomForestClassifier(100, max_depth=1, random_state=0),
        GradientBoostingClassifier(n_estimators=5, random_state=0),
        HistGradientBoostingClassifier(max_iter=5),
        pytest.param(lightgbm(n_estimators=5), marks=needed),
        pytest.param(xgboost(n_estimators=5), marks=needed),
    ],
    ids=str,
)
def test_trees_say_what_f_predicts(f, n_classes):
    X, y = table(n_classes)
    f = f.fit(X, y)
    known = structure_of(FrozenEstimator(f), X, y)
    assert known.ensemble is not None
    rows = np.random.default_rng(0).normal(size=(2000, X.shape[1]))
    said = known.predict(rows, np.zeros(len(rows), dtype=np.intp))
    np.testing.assert_array_equal(said, f.predict(rows))


@needs_kernel
def test_f_itself_says_what_counts_in_a_tie():
    X = np.arange(40.0)[:, None]
    y = np.arange(40) % 2
    f = RandomForestClassifier(20, max_depth=1, bootstrap=False, random_state=0).fit(X, y)
    known = structure_of(FrozenEstimator(f), np.vstack([X, X[:1]]), np.append(y, 0))
    np.testing.assert_array_equal(known.predict(X, np.arange(40)), f.predict(X))


@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 3), n_leaves=st.integers(2, 100))
def test_trees_say_what_f_predicts_of_any_row(seed, n_classes, n_leaves):
    X, y = table(n_classes, 80, seed)
    f = RandomForestClassifier(4, max_leaf_nodes=n_leaves, random_state=seed).fit(X, y)
    known = structure_of(FrozenEstimator(f), X, y)
    rng = np.random.default_rng(seed)
    rows = np.where(rng.random((200, 5)) < 0.5, X[rng.integers(0, 80, 200)], rng.normal(size=5))
    said = known.predict(rows, np.zeros(200, dtype=np.intp))
    np.testing.assert_array_equal(said, f.predict(rows))


class Contrary(LogisticRegression):
    """A linear model that says the other class."""

    def predict(self, X):
        return 1 - super().predict(X)


class ContraryForest(RandomForestClassifier):
    """A forest that says the other class."""

    def predict(self, X):
        return 1 - super().predict(X)


@pytest.mark.parametrize(
    ("f", "has_trees", "is_linear"),
    [
        (None, True, False),
        (RandomForestClassifier(3), True, False),
        (LogisticRegression(), False, True),
        (make_pipeline(StandardScaler(), LogisticRegression()), False, True),
        ("ridge", False, True),
        (Contrary(), False, False),
        (ContraryForest(3), False, False),
        (GaussianNB(), False, False),
        (make_pipeline(StandardScaler(), RandomForestClassifier(3)), False, False),
        (MLPClassifier((3,), solver="lbfgs", max_iter=2000), False, False),
    ],
)
def test_it_is_known_what_can_be_read_and_nothing_else(f, has_trees, is_linear):
    known = structure_of(f, *table())
    assert (known.land is not None) == has_trees
    assert (known.screen is not None) == is_linear
    if structure.kernel is not None:
        assert (known.ensemble is not None) == has_trees


def test_categories_hide_the_numbers_from_a_users_f_and_not_from_ours():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcde"))
    coded = frame.assign(e=pd.Categorical(np.digitize(X[:, 4], [-1, 0, 1])))
    forest = RandomForestClassifier(3, random_state=0)
    assert structure_of(forest, frame, y).land is not None
    assert structure_of(forest, coded, y).land is None
    assert structure_of(LogisticRegression(), coded, y).screen is None
    assert structure_of(None, coded, y).land is not None


def test_classes_of_f_and_codes_of_the_labels_find_each_other():
    X, y = table(3)
    labels = np.array(["b", "c", "a"])[y]
    f = RandomForestClassifier(5, random_state=0).fit(X, labels)
    known = structure_of(FrozenEstimator(f), X[labels != "b"], labels[labels != "b"])
    assert known.codes.tolist() == [0, -1, 1]
    assert known.places.tolist() == [0, 2]


def test_it_is_said_whether_the_kernels_are_there(monkeypatch):
    monkeypatch.setattr(structure, "kernel", None)
    assert kernel_status() == "without the compiled kernels (slower)"
