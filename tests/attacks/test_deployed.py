"""Classifiers to deploy, given what nobody should give them: they say what is wrong."""

import os
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.over_sampling import SMOTE, RandomOverSampler
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from counterbalance import ResampledClassifier, TablePreparation
from counterbalance.errors import ClassifierError, CounterbalanceError, TableError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore::counterbalance.errors.ShortfallWarning",
        "ignore::counterbalance.errors.UntunedWarning",
    ),
]
MANY = bool(os.environ.get("COUNTERBALANCE_ATTACK"))
RESAMPLED = ResampledClassifier(LogisticRegression(), RandomOverSampler(), random_state=0)


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [n * 3 // 4, n - n * 3 // 4])
    return rng.normal(size=(n, 3)) + y[:, None], y


class Sound(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.inner_ = LogisticRegression().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


class NanProbability(Sound):
    def predict_proba(self, X):
        return self.inner_.predict_proba(X) * np.nan


class FlatProbability(Sound):
    def predict_proba(self, X):
        return self.inner_.predict_proba(X)[:, 1]


class TextProbability(Sound):
    def predict_proba(self, X):
        return self.inner_.predict_proba(X).astype(str)


class FailsToGiveProbabilities(Sound):
    def predict_proba(self, _):
        raise ZeroDivisionError


@pytest.mark.parametrize("kind", [k for k in Sound.__subclasses__() if k.__module__ == __name__])
@pytest.mark.parametrize("threshold", [None, "f1"])
def test_a_classifier_that_misbehaves_is_named(kind, threshold):
    X, y = table()
    model = ResampledClassifier(kind(), RandomOverSampler(), threshold=threshold)
    with pytest.raises(ClassifierError, match=kind.__name__):
        model.fit(X, y).predict_proba(X)


BAD_RESULTS = {
    "nothing": lambda *_: None,
    "rows only": lambda X, _: X,
    "three things": lambda X, y: (X, y, y),
    "too few labels": lambda X, y: (X, y[:-1]),
    "a column less": lambda X, y: (X[:, :-1], y),
    "one class": lambda X, y: (X[y == 0], y[y == 0]),
    "other labels": lambda X, y: (X, y + 7),
    "no rows": lambda X, y: (X[:0], y[:0]),
}


@pytest.mark.parametrize("name", BAD_RESULTS)
def test_a_sampler_that_misbehaves_is_refused(name):
    class Bad(RandomOverSampler):
        def fit_resample(self, X, y):
            return BAD_RESULTS[name](X, y)

    with pytest.raises(CounterbalanceError):
        ResampledClassifier(LogisticRegression(), Bad()).fit(*table())


def test_a_sampler_that_fails_in_a_fold_is_named_with_the_remedy():
    X, y = table()
    y[:] = 0
    y[-6:] = 1  # enough for six neighbours at once, not for two thirds of them
    model = ResampledClassifier(LogisticRegression(), SMOTE(), threshold="f1", cv=3)
    with pytest.raises(TableError, match=r"SMOTE failed on 40 rows.*fewer neighbours"):
        model.fit(X, y)


BAD_TABLES = {
    "no rows": lambda X, y: (X[:0], y[:0]),
    "no columns": lambda X, y: (X[:, :0], y),
    "a vector": lambda X, y: (X[:, 0], y),
    "a cube": lambda X, y: (X[:, :, None], y),
    "one class": lambda X, y: (X, np.zeros(len(y))),
    "numbers for labels": lambda X, _: (X, X[:, 0]),
    "missing labels": lambda X, y: (X, np.where(y == 0, np.nan, 1.0)),
    "several labels": lambda X, y: (X, np.eye(2)[y]),
    "fewer labels": lambda X, y: (X, y[:-1]),
    "masked": lambda X, y: (np.ma.masked_invalid(X), y),
    "lazy": lambda X, y: (pl.DataFrame(X).lazy(), y),
    "columns of one name": lambda X, y: (pd.DataFrame(X, columns=["a", "a", "b"]), y),
    "no labels": lambda X, _: (X, None),
    "infinite": lambda X, y: (np.where(X.max() == X, np.inf, X), y),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_tables_that_cannot_be_used_are_refused(name):
    with pytest.raises((ValueError, TypeError)):
        RESAMPLED.fit(*BAD_TABLES[name](*table()))


BAD_WEIGHTS = {
    "negative": lambda n: np.full(n, -1.0),
    "nan": lambda n: np.full(n, np.nan),
    "zero": np.zeros,
    "too few": lambda n: np.ones(n - 1),
    "text": lambda n: np.full(n, "heavy"),
    "none of a class": lambda n: np.repeat([1.0, 0.0], [n * 3 // 4, n - n * 3 // 4]),
}


@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_weights_that_cannot_be_used_are_refused(name):
    X, y = table()
    with pytest.raises(ValueError, match=r"weight|weigh"):
        RESAMPLED.fit(X, y, sample_weight=BAD_WEIGHTS[name](len(y)))


def test_rows_asked_about_are_held_to_the_table():
    X, y = table()
    model = clone(RESAMPLED)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    for wrong in (
        pd.DataFrame(X, columns=["a", "c", "b"]),
        pd.DataFrame(X[:, :2], columns=["a", "b"]),
        pd.DataFrame(X[:0], columns=["a", "b", "c"]),
    ):
        with pytest.raises(ValueError, match=r"feature names|at least one"):
            model.predict(wrong)


@pytest.mark.parametrize("cv", [[], [(np.arange(45), np.arange(45, 60))], 1, 0, "five"])
def test_folds_that_cannot_be_used_are_refused_or_said(cv):
    X, y = table()
    model = ResampledClassifier(LogisticRegression(), RandomOverSampler(), threshold="f1", cv=cv)
    if isinstance(cv, list):
        assert model.fit(X, y).threshold_ == 0.5  # no training part with both classes
    else:
        with pytest.raises((ValueError, TypeError)):
            model.fit(X, y)


def test_groups_that_hold_a_whole_class_leave_nothing_to_learn_from():
    X, y = table()
    model = ResampledClassifier(LogisticRegression(), RandomOverSampler(), threshold="f1")
    assert model.fit(X, y, groups=y).threshold_ == 0.5
    with pytest.raises(TableError, match="groups must name one group for each of the 60 rows"):
        model.fit(X, y, groups=y[:-1])


@pytest.mark.parametrize("scale", [1e-300, 1e300, 1e12])
def test_numbers_at_the_ends_of_the_scale(scale):
    X, y = table()
    model = ResampledClassifier(DecisionTreeClassifier(), RandomOverSampler(), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            p = model.fit(X * scale, y).predict_proba(X * scale)
        except ValueError:
            assert scale == 1e300  # more than single precision holds: trees say so
        else:
            assert np.isfinite(p).all()


@pytest.mark.parametrize("seed", range(60 if MANY else 3))
def test_random_small_tables_work_or_are_refused_in_words(seed):
    """Few rows, ties, gaps, constant columns, up to four classes of any size."""
    rng = np.random.default_rng(seed)
    n, m, classes = rng.integers(6, 40), rng.integers(1, 5), rng.integers(2, 5)
    y = rng.integers(0, classes, n) * (rng.random(n) < 0.6)
    X = rng.integers(0, rng.integers(1, 6), (n, m)).astype(float)
    X[rng.random((n, m)) < 0.1] = np.nan
    threshold = rng.choice(["g_mean", "f1", "balanced_accuracy"])
    model = ResampledClassifier(
        DecisionTreeClassifier(), threshold=str(threshold), cv=3, random_state=seed
    )
    try:
        p = model.fit(X, y).predict_proba(X)
    except CounterbalanceError as error:
        assert len(str(error)) > 30  # noqa: PT017  (either is right)
    else:
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert set(model.predict(X)) <= set(y)


def test_texts_where_numbers_were_are_taken_as_missing_or_refused():
    X, y = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ResampledClassifier(TreesBehindPreparation(), random_state=0).fit(frame, y)
    with pytest.raises(ValueError, match=r"text"):
        model.predict(frame.assign(a="text"))


class TreesBehindPreparation(Sound):
    """A user's estimator that prepares by itself."""

    def fit(self, X, y):
        self.preparation_ = TablePreparation().fit(X)
        super().fit(self.preparation_.transform(X), y)
        return self

    def predict_proba(self, X):
        return super().predict_proba(self.preparation_.transform(X))
