"""A classifier that misbehaves is named in an error, and X and y stay as they were."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.errors import ClassifierError
from counterbalance.table.encoder import Rescaler, too_fine

SAMPLERS = [CounterfactualOverSampler, InteriorOverSampler]
CONTAINERS = [np.asarray, pd.DataFrame]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning"),
]


def table(n=60):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [n * 3 // 4, n - n * 3 // 4])
    return rng.normal(size=(n, 3)) + y[:, None], y


class Sound(ClassifierMixin, BaseEstimator):
    """Does what it should; the others do one thing differently."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.inner_ = LogisticRegression(class_weight="balanced").fit(X, y)
        return self

    def predict(self, X):
        return self.inner_.predict(X)

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


class ColumnOfPredictions(Sound):
    def predict(self, X):
        return self.inner_.predict(X)[:, None]


class OneHotPredictions(Sound):
    def predict(self, X):
        return np.eye(2)[self.inner_.predict(X)]


class TooFewPredictions(Sound):
    def predict(self, X):
        return self.inner_.predict(X)[:-1]


class TooManyPredictions(Sound):
    def predict(self, X):
        return np.append(self.inner_.predict(X), 0)


class OnePrediction(Sound):
    def predict(self, _):
        return 0


class NoPrediction(Sound):
    def predict(self, _):
        return None


class FailsToPredict(Sound):
    def predict(self, _):
        raise KeyError("weights")


class FailsToFit(Sound):
    def fit(self, *_):
        raise RuntimeError("out of luck")


class NanProbability(Sound):
    def predict_proba(self, X):
        return self.inner_.predict_proba(X) * np.nan


class NegativeProbability(Sound):
    def predict_proba(self, X):
        return self.inner_.predict_proba(X) - 2


class ExtraProbability(Sound):
    def predict_proba(self, X):
        return np.column_stack([self.inner_.predict_proba(X), np.zeros(len(X))])


class FlatProbability(Sound):
    def predict_proba(self, X):
        return self.inner_.predict_proba(X)[:, 1]


class TooFewProbabilities(Sound):
    def predict_proba(self, X):
        return self.inner_.predict_proba(X)[1:]


class TextProbability(Sound):
    def predict_proba(self, X):
        return self.inner_.predict_proba(X).astype(str)


class FailsToGiveProbabilities(Sound):
    def predict_proba(self, _):
        raise ZeroDivisionError


class WritesIntoRowsAsked(Sound):
    def predict(self, X):
        labels = self.inner_.predict(X)
        X *= 0
        return labels


class WritesIntoRowsFitted(Sound):
    def fit(self, X, y):
        super().fit(X, y)
        X *= 0
        return self


MISBEHAVING = [kind for kind in Sound.__subclasses__() if kind.__module__ == __name__]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("kind", MISBEHAVING, ids=lambda kind: kind.__name__)
def test_a_classifier_that_misbehaves_is_named(kind, sampler, container):
    X, y = table()
    given, labels = container(X.copy()), y.copy()
    with pytest.raises(ClassifierError, match=kind.__name__) as caught:
        sampler(estimator=kind(), random_state=0).fit_resample(given, labels)
    assert "; " in str(caught.value) or "(" in str(caught.value)
    np.testing.assert_array_equal(np.asarray(given), X)
    np.testing.assert_array_equal(labels, y)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_classifier_that_writes_into_y_changes_a_copy(sampler):
    class WritesIntoLabels(Sound):
        def fit(self, X, y):
            super().fit(X, y)
            y[:] = 0
            return self

    X, y = table()
    labels = y.copy()
    _, y_new = sampler(estimator=WritesIntoLabels(), random_state=0).fit_resample(X, labels)
    np.testing.assert_array_equal(labels, y)
    assert np.bincount(y_new).tolist() == [45, 45]


def test_a_sparse_table_that_f_writes_into_stays_as_it_was():
    class DoublesWhatIsThere(Sound):
        def fit(self, X, y):
            super().fit(X, y)
            X.data *= 2
            return self

    X, y = table()
    given = sparse.csr_array(np.where(X > 0, X, 0))
    before = given.copy()
    with pytest.raises(ClassifierError, match="DoublesWhatIsThere changes the rows"):
        CounterfactualOverSampler(estimator=DoublesWhatIsThere()).fit_resample(given, y)
    np.testing.assert_array_equal(given.toarray(), before.toarray())


def test_a_pipeline_step_that_works_in_place_is_refused_with_the_remedy():
    X, y = table()
    before = X.copy()
    f = make_pipeline(StandardScaler(copy=False), LogisticRegression())
    with pytest.raises(ClassifierError, match=r"copy=False.*work on a copy"):
        CounterfactualOverSampler(estimator=f).fit_resample(X, y)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("said", [["zero", "one"], [0.25, 0.75], [np.nan, np.nan]])
def test_a_classifier_of_other_labels_is_refused(said, sampler):
    class OtherLabels(Sound):
        def predict(self, X):
            return np.array(said)[self.inner_.predict(X)]

    with pytest.raises(ClassifierError, match=r"none of the classes \[0, 1\]"):
        sampler(estimator=OtherLabels()).fit_resample(*table())


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_an_unfitted_model_is_reported_as_unfitted_for_any_table(sampler):
    class ReadyAtOnce(Sound):
        def __init__(self):
            self.setting_ = None

    X, y = table()
    holed = np.where(X.max() == X, np.nan, X)
    for f in (LogisticRegression(), KNeighborsClassifier(), ReadyAtOnce()):
        for given in (X, holed):
            for model in (f, make_pipeline(f)):
                with pytest.raises(ClassifierError, match="not fitted"):
                    sampler(estimator=FrozenEstimator(model)).fit_resample(given, y)


FINE = {
    "far from zero": lambda z: 1.7e18 + z * 1e9,
    "huge": lambda z: z * 1e300,
    "tiny": lambda z: z * 1e-300,
    "seconds since 1970": lambda z: 1.7e9 + np.rint(z * 1000),
    "far beside near": lambda z: np.column_stack([z[:, :1], 1.7e18 + z[:, 1:] * 1e9]),
}


@pytest.mark.parametrize("container", [*CONTAINERS, sparse.csr_array])
@pytest.mark.parametrize("name", FINE)
def test_our_own_trees_tell_apart_values_that_single_precision_cannot(name, container):
    z, y = table(200)
    sampler = CounterfactualOverSampler(use=[0, 1, 2], random_state=0)
    X_new, y_new = sampler.fit_resample(container(FINE[name](z)), y)
    assert (sampler.provenance_["origin"] == "inversion").mean() > 0.2
    new = range(200, len(y_new))
    rows = X_new.iloc[new] if hasattr(X_new, "iloc") else X_new[new]
    found = sampler.provenance_["origin"] != "interior"
    assert (sampler.estimator_.predict(rows)[found] == 1).all()


def test_ordinary_columns_are_not_moved():
    rng = np.random.default_rng(0)
    z = rng.normal(size=20_000)
    for column in (z, np.exp(9 * z), np.rint(1000 * z), 2000 + 20 * z, 1.7e9 + 1e7 * z, z > 0):
        assert not too_fine(column.astype(float))
    assert not too_fine(np.full(10, np.nan))
    assert not too_fine(np.full(10, 1.7e18))
    for make in list(FINE.values())[:4]:
        assert too_fine(make(z))
    X, y = table()
    f = CounterfactualOverSampler(random_state=0)
    f.fit_resample(X, y)
    assert not any(isinstance(step, Rescaler) for step in getattr(f.estimator_, "named_steps", ()))


@pytest.mark.parametrize(
    "columns", [{"a": [1.0] * 19 + [2.0]}, {"a": ["x"] * 19 + ["y"], "b": [None] * 20}]
)
def test_no_error_of_our_own_f_advises_our_own_f(columns):
    y = np.repeat([0, 1], [15, 5])
    with pytest.raises(ClassifierError, match=r"the default f.*another classifier") as caught:
        CounterfactualOverSampler(random_state=0).fit_resample(pd.DataFrame(columns), y)
    assert "estimator=None" not in str(caught.value)
    InteriorOverSampler(random_state=0).fit_resample(pd.DataFrame(columns), y)


STRANGE_BOOSTINGS = {
    "one stump": GradientBoostingClassifier(n_estimators=1, max_depth=1, learning_rate=5.0),
    "huge steps": GradientBoostingClassifier(n_estimators=3, learning_rate=1e9, random_state=0),
    "trees of one leaf": HistGradientBoostingClassifier(max_iter=30, min_samples_leaf=12),
    "deep": GradientBoostingClassifier(n_estimators=5, max_depth=None, random_state=0),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", STRANGE_BOOSTINGS)
def test_new_rows_of_a_strange_boosting_are_what_it_calls_them(name, container):
    X, y = table(80)
    X[:, 2] = 7.0  # never varies
    X[0, 1] = 1e300 if name == "trees of one leaf" else X[0, 1]  # beyond float32
    sampler = CounterfactualOverSampler(
        estimator=STRANGE_BOOSTINGS[name], search="minimum", sampling_strategy="all", random_state=0
    )
    given = container(X)
    X_new, y_new = sampler.fit_resample(given, y)
    assert len(y_new) > len(y)
    said = sampler.estimator_.predict(X_new[len(y) :])
    np.testing.assert_array_equal(said, y_new[len(y) :])


def test_a_boosting_that_learned_nothing_is_named():
    X, y = table(30)
    f = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=20)  # every tree is one leaf
    with pytest.raises(ClassifierError, match="for every row"):
        CounterfactualOverSampler(estimator=f, search="minimum").fit_resample(X, y)
