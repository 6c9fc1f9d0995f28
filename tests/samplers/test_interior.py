"""The interior sampler: rows around a class, drawn as f agrees."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from counterbalance import InteriorOverSampler
from counterbalance.constraints import Immutable, Increasing
from counterbalance.errors import ClassifierError, ShortfallWarning


@pytest.fixture(name="table")
def make_table():
    return make_classification(
        400, n_features=6, n_informative=4, weights=[0.85], flip_y=0.02, random_state=1
    )


def new_rows(sampler, X, y):
    X_resampled, y_resampled = sampler.fit_resample(X, y)
    return np.asarray(X_resampled)[len(y) :], np.asarray(y_resampled)[len(y) :]


def test_the_table_is_balanced_and_its_rows_are_untouched(table):
    X, y = table
    X_resampled, y_resampled = InteriorOverSampler(random_state=0).fit_resample(X, y)
    assert len(set(Counter(y_resampled.tolist()).values())) == 1
    np.testing.assert_array_equal(X_resampled[: len(X)], X)


def test_the_same_seed_gives_the_same_bytes_for_any_memory(table):
    first, _ = InteriorOverSampler(random_state=3).fit_resample(*table)
    with config_context(working_memory=0.5):
        second, _ = InteriorOverSampler(random_state=3).fit_resample(*table)
    other, _ = InteriorOverSampler(random_state=4).fit_resample(*table)
    assert first.tobytes() == second.tobytes()
    assert first.tobytes() != other.tobytes()


def test_new_rows_stay_inside_the_range_of_the_table(table):
    X, y = table
    new, _ = new_rows(InteriorOverSampler(spread=3, random_state=0), X, y)
    assert (new >= X.min(axis=0)).all()
    assert (new <= X.max(axis=0)).all()


def test_f_scores_the_drawn_rows_higher_the_more_its_agreement_counts(table):
    X, y = table
    means = []
    for agreement in (0, 1, 2, 8):
        sampler = InteriorOverSampler(agreement=agreement, random_state=0)
        new, _ = new_rows(sampler, X, y)
        means.append(sampler.estimator_.predict_proba(new)[:, 1].mean())
    assert means == sorted(means)
    assert means[-1] > means[0] + 0.05


def test_without_agreement_new_rows_have_the_spread_of_a_smoothed_bootstrap():
    rng = np.random.default_rng(0)
    shape = np.array([[2.0, 1.2], [1.2, 1.0]])
    minority = rng.multivariate_normal([0, 0], shape, 200)
    X = np.vstack([rng.uniform(-30, 30, (4000, 2)), minority])
    y = np.repeat([0, 1], [4000, 200])
    new, _ = new_rows(InteriorOverSampler(agreement=0, between=0, random_state=0), X, y)
    h = (4 / (4 * 200)) ** (1 / 6)
    expected = np.cov(minority.T) * (1 + h**2)
    np.testing.assert_allclose(np.cov(new.T), expected, rtol=0.15)


def test_with_between_1_all_rows_lie_between_rows_of_the_class(table):
    X, y = table
    new, _ = new_rows(InteriorOverSampler(between=1, random_state=0), X, y)
    minority = X[y == 1]
    assert (new >= minority.min(axis=0)).all()
    assert (new <= minority.max(axis=0)).all()


def test_rows_of_several_classes_are_made(table):
    X, y = table
    y = np.where((y == 0) & (X[:, 0] > 1), 2, y)
    _, made = new_rows(InteriorOverSampler(random_state=0), X, y)
    assert set(made.tolist()) == set(range(3)) - {int(np.bincount(y).argmax())}


def test_a_mixed_frame_comes_back_as_it_came():
    rng = np.random.default_rng(0)
    n = 300
    y = (rng.random(n) < 0.2).astype(int)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n) + 5 * y,
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.normal(30, 5, n) + 4 * y),
            "town": pd.Categorical(rng.choice(["a", "b", "c"], n)),
        }
    )
    X, labels = InteriorOverSampler(random_state=0).fit_resample(frame, y)
    assert X.dtypes.equals(frame.dtypes)
    assert set(X["town"].cat.categories) == {"a", "b", "c"}
    assert len(set(Counter(np.asarray(labels).tolist()).values())) == 1
    assert (X["age"] % 1 == 0).all()


def test_constraints_hold_towards_the_row_it_started_from(table):
    X, y = table
    sampler = InteriorOverSampler(constraints=[Immutable(0), Increasing(1)], random_state=0)
    new, _ = new_rows(sampler, X, y)
    start = X[sampler.provenance_["factual"]]
    np.testing.assert_array_equal(new[:, 0], start[:, 0])
    assert (new[:, 1] >= start[:, 1]).all()
    assert (y[sampler.provenance_["factual"]] == 1).all()


def test_a_class_of_equal_rows_is_copied_with_a_warning():
    X = np.vstack([np.random.default_rng(0).normal(size=(30, 2)), np.full((4, 2), 0.5)])
    y = np.repeat([0, 1], [30, 4])
    with pytest.warns(ShortfallWarning, match="26 new samples requested, 0 found; 26 more by cop"):
        new, _ = new_rows(InteriorOverSampler(random_state=0), X, y)
    assert (new == 0.5).all()


def test_any_classifier_with_probabilities_works(table):
    X, y = table
    new, _ = new_rows(InteriorOverSampler(estimator=LogisticRegression(), random_state=0), X, y)
    assert len(new)


def test_scores_that_are_not_probabilities_are_refused(table):
    with pytest.raises(ClassifierError, match="predict_proba"):
        InteriorOverSampler(estimator=SVC(), random_state=0).fit_resample(*table)


@pytest.mark.parametrize("n_classes", [4, 16])
def test_f_is_asked_as_often_for_many_classes_as_for_few(n_classes):
    class Counting(GaussianNB):
        asked = 0

        def predict_proba(self, X):
            Counting.asked += 1
            return super().predict_proba(X)

    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), np.arange(5, 5 + n_classes))
    X = rng.normal(size=(len(y), 3)) + 3 * y[:, None]
    InteriorOverSampler(estimator=Counting(), random_state=0).fit_resample(X, y)
    assert Counting.asked <= 5  # the candidates, two for each new row at a time; and the bases


def test_candidates_that_cannot_be_drawn_any_more_are_never_shown_to_f(table):
    class Sure(DummyClassifier):
        shown = 0

        def predict_proba(self, X):
            Sure.shown += len(X)
            return np.tile([0.0, 1.0], (len(X), 1))

    X, y = table
    sampler = InteriorOverSampler(estimator=Sure(), random_state=0)
    new, _ = new_rows(sampler, X, y)
    assert Sure.shown <= 2 * len(new) + np.count_nonzero(y == 1)  # of eight for each new row
    assert sampler.provenance_["score_after"].tolist() == [1.0] * len(new)
