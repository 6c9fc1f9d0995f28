"""f as the search asks it: class codes, and a threshold moved to the class prior."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from counterbalance.classifier.judge import Classifier
from counterbalance.classifier.linear import answers_by_score, largest_score


def fitted(n_classes):
    rng = np.random.default_rng(n_classes)
    y = np.arange(60 * n_classes) % n_classes
    return GaussianNB().fit(rng.normal(size=(len(y), 2)) + y[:, None], y)


def as_it_is(x, rows):
    del rows
    return x


def judge(f):
    return Classifier(f, f.classes_, as_it_is)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("f", [LogisticRegression(), Perceptron()])
def test_a_linear_f_says_without_its_checks_what_it_says_with_them(f, n_classes, dtype):
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[np.arange(300) % n_classes]
    x = np.round(rng.normal(size=(300, 4)), 1).astype(dtype)
    f = clone(f).fit(x, y)
    f.intercept_ *= 0  # rows with a score of zero
    x[::7] = 0
    assert answers_by_score(f, x)
    np.testing.assert_array_equal(largest_score(f, x), f.predict(x))
    np.testing.assert_array_equal(f.classes_[judge(f).on_candidates(x, y)], f.predict(x))


def test_an_f_with_answers_of_its_own_is_asked_for_them():
    class Contrary(LogisticRegression):
        def decision_function(self, X):
            return -super().decision_function(X)

    x, y = np.arange(20.0)[:, None], np.arange(20) >= 10
    for f in (Contrary(), RidgeClassifier(), make_pipeline(LogisticRegression())):
        assert not answers_by_score(f.fit(x, y), x)
        np.testing.assert_array_equal(f.classes_[judge(f).on_candidates(x, y)], f.predict(x))
    assert not answers_by_score(LogisticRegression().fit(pd.DataFrame({"x": x[:, 0]}), y), x)


@given(share=st.floats(0.01, 0.99), seed=st.integers(0, 1000))
def test_the_moved_threshold_of_two_classes_is_the_share_of_the_class(share, seed):
    f = fitted(2)
    x = np.random.default_rng(seed).uniform(-3, 4, (200, 2))
    moved = judge(f).at_prior(np.array([1 - share, share]))
    p = f.predict_proba(x)[:, 1]
    clear = np.abs(p - share) > 1e-9
    answers = moved(x, np.arange(len(x)))
    np.testing.assert_array_equal(answers[clear], (p > share)[clear])


@given(counts=st.lists(st.integers(1, 1000), min_size=3, max_size=3), seed=st.integers(0, 1000))
def test_the_moved_f_says_the_class_that_gains_most_over_its_prior(counts, seed):
    f = fitted(3)
    prior = np.array(counts) / sum(counts)
    x = np.random.default_rng(seed).uniform(-3, 5, (100, 2))
    answers = judge(f).at_prior(prior)(x, np.arange(len(x)))
    for row, answer in zip(x, answers, strict=True):
        lift = [p / share for p, share in zip(f.predict_proba([row])[0], prior, strict=True)]
        assert lift[answer] >= (1 - 1e-9) * max(lift)


def test_an_equal_prior_moves_nothing():
    f = fitted(3)
    x = np.random.default_rng(0).uniform(-3, 5, (100, 2))
    moved = judge(f).at_prior(np.full(3, 1 / 3))
    np.testing.assert_array_equal(moved(x, np.arange(100)), f.predict(x))


def test_the_prior_belongs_to_the_class_and_not_to_its_place_in_f():
    x = np.linspace(-4, 4, 41)[:, None]
    f = LogisticRegression().fit(x, np.where(x[:, 0] > 0, "b", "c"))
    known = Classifier(f, np.array(["a", "b", "c"]), as_it_is)
    prior = np.array([0.2, 0.7, 0.1])
    p = f.predict_proba(x)
    expected = np.where(p[:, 0] / 0.7 > p[:, 1] / 0.1, 1, 2)
    np.testing.assert_array_equal(known.at_prior(prior)(x, np.arange(41)), expected)


def test_an_f_without_probabilities_has_no_threshold_to_move():
    class Mute(GaussianNB):
        predict_proba = property()

    f = fitted(2)
    mute = Mute().fit(f.theta_, f.classes_)
    assert judge(mute).at_prior(np.array([0.5, 0.5])) is None


def test_the_score_of_a_row_does_not_depend_on_the_rows_that_f_is_asked_about_with():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 2)), np.arange(120) % 4
    f = SVC(gamma=5.0).fit(x, y)
    x = rng.normal(size=(300, 2))
    contrary = f.decision_function(x).argmax(axis=1) != f.predict(x)
    assert 0 < contrary.sum() < 100, "ties of votes make some rows' scores useless"
    known = judge(f)
    together = known.scores(x, np.arange(300))
    alone = np.concatenate([known.scores(x[[r]], np.array([r])) for r in range(300)])
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    np.testing.assert_array_equal(np.isnan(together).all(axis=1), contrary)


def test_scores_of_pairs_are_none_even_where_three_classes_have_three_pairs():
    x, y = np.random.default_rng(0).normal(size=(90, 2)), np.arange(90) % 3
    f = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")).fit(x, y)
    agrees = f.decision_function(x).argmax(axis=1) == f.predict(x)
    assert judge(f).scores(x[agrees], np.flatnonzero(agrees)) is None
