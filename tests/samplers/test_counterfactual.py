"""The sampler as a whole: what must always hold of what it returns."""

import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from imblearn.pipeline import make_pipeline
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.errors import ClassifierError, ShortfallError, ShortfallWarning
from counterbalance.profile import distance
from counterbalance.table.encoder import TableEncoder

# Small tables of noise run short of inversions now and then: that warning is right there.
pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


class Weighed(ClassifierMixin, BaseEstimator):
    """A classifier without scores that remembers the weights it was fitted with."""

    def fit(self, X, y, sample_weight=None):
        self.model_ = DecisionTreeClassifier(max_depth=2, class_weight="balanced")
        self.model_.fit(X, y, sample_weight)
        self.classes_ = self.model_.classes_
        self.weight_ = sample_weight
        return self

    def predict(self, X):
        return self.model_.predict(X)


CLASSIFIERS = {
    "tree": DecisionTreeClassifier(max_depth=3),
    "linear": make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced")),
    "bayes": GaussianNB(),
    "k-NN": KNeighborsClassifier(1),
    "no score": Weighed(),
}


@st.composite
def tables(draw):
    """Tables of two or three classes, with ties, constant columns and duplicates."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_features = draw(st.integers(1, 5))
    counts = draw(st.sampled_from([(12, 3), (9, 8), (20, 1), (14, 6, 3), (10, 10, 4)]))
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.normal(size=(len(y), n_features)) + 1.5 * y[:, None]
    if draw(st.booleans()):
        X = np.round(X, 1)
    X *= 10.0 ** draw(st.integers(-3, 4))
    if n_features > 1 and draw(st.booleans()):
        X[:, 0] = draw(st.sampled_from([0.0, -7.0]))
    if draw(st.booleans()):
        X[1] = X[0]
    X = X.astype(draw(st.sampled_from([np.float64, np.float32])))
    shuffled = rng.permutation(len(y))
    return X[shuffled], y[shuffled]


def resample(f, X, y, **more):
    """Resample a random table; one on which f says the same of every row is passed over."""
    sampler = CounterfactualOverSampler(estimator=f, n_draws=5, random_state=3, **more)
    try:
        return sampler, *sampler.fit_resample(X, y)
    except ClassifierError:
        reject()


@given(
    table=tables(),
    name=st.sampled_from(sorted(CLASSIFIERS)),
    search=st.sampled_from(["minimum", "perturb"]),
)
def test_every_counterfactual_is_what_its_provenance_says(table, name, search):
    X, y = table
    before = X.copy()
    sampler, X_new, y_new = resample(CLASSIFIERS[name], X, y, search=search)
    provenance, f = sampler.provenance_, sampler.estimator_

    assert X.tobytes() == before.tobytes()
    assert X_new[: len(X)].tobytes() == X.tobytes()
    assert y_new[: len(y)].tolist() == y.tolist()
    assert X_new.dtype == X.dtype
    assert np.isfinite(X_new).all()
    assert max(Counter(y_new.tolist()).values()) == min(Counter(y_new.tolist()).values())

    new, factual = X_new[len(X) :], X[provenance["factual"]]
    assert provenance["sample"].tolist() == list(range(len(X), len(X_new)))
    assert y_new[len(y) :].tolist() == provenance["to_class"].tolist()
    assert (new >= X.min(axis=0)).all()
    assert (new <= X.max(axis=0)).all()
    np.testing.assert_array_equal(provenance.changed_mask(), new != factual)
    again = distance(
        sampler.profile_, sampler.feature_order_, factual.astype(float), new.astype(float)
    )
    assert again.tobytes() == provenance["distance"].tobytes()

    assert set(provenance["origin"]) <= {"inversion", "interior", "copy"}
    found = provenance["origin"] == "inversion"
    assert ((provenance["round"] > 0) == (found & (search == "perturb"))).all()
    if search == "minimum":  # one factual, one counterfactual
        pairs = list(zip(provenance["factual"][found], provenance["to_class"][found], strict=True))
        assert len(set(pairs)) == len(pairs)
    if found.any():
        assert f.predict(factual[found]).tolist() == provenance["from_class"][found].tolist()
        assert f.predict(new[found]).tolist() == provenance["to_class"][found].tolist()


@given(table=tables(), seed=st.integers(0, 2**31), search=st.sampled_from(["minimum", "perturb"]))
def test_jobs_and_memory_never_change_a_byte(table, seed, search):
    X, y = table
    results = set()
    for n_jobs, memory in [(1, 1024), (2, 0.1)]:
        sampler = CounterfactualOverSampler(
            estimator=DecisionTreeClassifier(max_depth=3),
            search=search,
            n_draws=4,
            n_jobs=n_jobs,
            random_state=seed,
        )
        with config_context(working_memory=memory):
            X_new, y_new = sampler.fit_resample(X, y)
        results.add((X_new.tobytes(), y_new.tobytes(), sampler.provenance_["distance"].tobytes()))
    assert len(results) == 1


def test_jobs_and_memory_never_change_a_byte_on_a_table_of_many_chunks():
    X, y = make_classification(2000, 20, weights=[0.9], random_state=0)
    results = set()
    for n_jobs, memory in [(None, 1024), (2, 64), (-1, 1024)]:
        with config_context(working_memory=memory):
            sampler = CounterfactualOverSampler(n_jobs=n_jobs, random_state=0)
            results.add(sampler.fit_resample(X, y)[0].tobytes())
    assert len(results) == 1


def test_the_global_random_state_is_never_touched():
    X, y = make_classification(100, weights=[0.8], random_state=0)
    np.random.seed(5)  # noqa: NPY002  (the legacy state is what is looked at)
    before = np.random.get_state()  # noqa: NPY002
    CounterfactualOverSampler(random_state=None).fit_resample(X, y)
    after = np.random.get_state()  # noqa: NPY002
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]


def test_the_seed_decides_and_reaches_f():
    X, y = make_classification(200, weights=[0.8], random_state=0)
    forest = RandomForestClassifier(5)
    first, same, other = (
        CounterfactualOverSampler(estimator=forest, random_state=seed).fit_resample(X, y)[0]
        for seed in (0, 0, 1)
    )
    assert first.tobytes() == same.tobytes()
    assert first.tobytes() != other.tobytes()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_any_classifier_can_be_f(name):
    X, y = make_classification(120, weights=[0.8], random_state=0)
    sampler = CounterfactualOverSampler(estimator=CLASSIFIERS[name], random_state=0)
    _, y_new = sampler.fit_resample(X, y)
    assert Counter(y_new.tolist())[0] == Counter(y_new.tolist())[1]
    assert np.isnan(sampler.provenance_["score_after"]).all() == (name == "no score")


def test_scores_rise_towards_the_new_class():
    X, y = make_classification(200, weights=[0.8], random_state=0)
    for f in (LogisticRegression(), LinearSVC()):
        sampler = CounterfactualOverSampler(estimator=f, random_state=0)
        sampler.fit_resample(X, y)
        provenance = sampler.provenance_
        flipped = provenance["origin"] == "inversion"
        assert (provenance["score_after"] > provenance["score_before"])[flipped].all()


def test_a_fitted_classifier_is_used_as_it_is():
    X, y = make_classification(200, weights=[0.8], random_state=0)
    f = LogisticRegression(class_weight="balanced").fit(X, y)
    before = pickle.dumps(f)
    frozen = CounterfactualOverSampler(estimator=FrozenEstimator(f), random_state=0)
    fitted = CounterfactualOverSampler(estimator=clone(f), random_state=0)
    assert frozen.fit_resample(X, y)[0].tobytes() == fitted.fit_resample(X, y)[0].tobytes()
    assert frozen.estimator_.estimator is f
    assert pickle.dumps(f) == before


def test_a_fitted_classifier_is_not_fitted_to_the_table():
    X, y = make_classification(200, weights=[0.8], random_state=0)
    of_others = LogisticRegression().fit(-X, y)
    sampler = CounterfactualOverSampler(
        estimator=FrozenEstimator(of_others), on_shortfall="accept", random_state=0
    )
    X_new, _ = sampler.fit_resample(X, y)
    assert len(X_new) > len(X)
    assert (of_others.predict(X_new[len(X) :]) == 1).all()


def test_the_papers_loss_is_a_choice():
    X, y = make_classification(200, weights=[0.8], random_state=0)
    sampler = CounterfactualOverSampler(estimator="ridge", random_state=0)
    sampler.fit_resample(X, y)
    assert type(sampler.estimator_[-1]).__name__ == "RidgeClassifier"


def test_the_default_f_works_on_raw_unscaled_features():
    X, y = make_classification(300, weights=[0.9], class_sep=2, random_state=0)
    raw = X * 10.0 ** np.linspace(-6, 6, X.shape[1])
    shares = []
    for table in (X, raw):
        sampler = CounterfactualOverSampler(random_state=0)
        sampler.fit_resample(table, y)
        shares.append(sampler.yield_[0, 1].share)
    assert shares[0] > 0.1
    assert shares[1] == pytest.approx(shares[0], abs=0.05)


@pytest.mark.parametrize("way", ["exact", "gibbs"])
def test_both_ways_of_drawing_balance(way):
    X, y = make_classification(200, weights=[0.8], random_state=0)
    _, y_new = CounterfactualOverSampler(draws=way, random_state=0).fit_resample(X, y)
    assert len(set(Counter(y_new.tolist()).values())) == 1


def test_every_smaller_class_draws_from_every_larger_one():
    X, y = make_classification(
        600, 8, n_informative=6, n_classes=3, weights=[0.6, 0.3, 0.1], random_state=0
    )
    sampler = CounterfactualOverSampler(random_state=0)
    sampler.fit_resample(X, y)
    assert set(sampler.yield_) == {(0, 1), (0, 2), (1, 2)}
    assert all(pair.inversions for pair in sampler.yield_.values())
    inverted = sampler.provenance_[sampler.provenance_["origin"] == "inversion"]
    pairs = zip(inverted["from_class"], inverted["to_class"], strict=True)
    assert set(pairs) == {(0, 1), (0, 2), (1, 2)}


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("auto", {0: 60, 1: 60, 2: 60}),
        ("minority", {0: 60, 1: 30, 2: 60}),
        ("not minority", {0: 60, 1: 60, 2: 10}),
        ("not majority", {0: 60, 1: 60, 2: 60}),
        ({2: 25}, {0: 60, 1: 30, 2: 25}),
        ({0: 70, 2: 10}, {0: 70, 1: 30, 2: 10}),
        (lambda y: {1: 40, 2: len(y)}, {0: 60, 1: 40, 2: 100}),
    ],
)
def test_every_form_of_sampling_strategy_is_met_exactly(strategy, expected):
    y = np.repeat([0, 1, 2], [60, 30, 10])
    X = np.random.default_rng(0).normal(size=(100, 4)) + y[:, None]
    sampler = CounterfactualOverSampler(sampling_strategy=strategy, random_state=0)
    assert Counter(sampler.fit_resample(X, y)[1].tolist()) == expected


def test_a_float_strategy_is_a_ratio():
    X, y = make_classification(100, weights=[0.9], random_state=0)
    sampler = CounterfactualOverSampler(sampling_strategy=0.5, random_state=0)
    counts = Counter(sampler.fit_resample(X, y)[1].tolist())
    assert counts[1] == counts[0] // 2


def test_features_that_are_not_listed_never_change():
    X, y = make_classification(200, 5, weights=[0.8], random_state=0)
    sampler = CounterfactualOverSampler(feature_order=["x3", 1], random_state=0)
    sampler.fit_resample(X, y)
    assert sampler.feature_order_.tolist() == [3, 1]
    assert not sampler.provenance_.changed_mask()[:, [0, 2, 4]].any()


def test_a_bad_parameter_of_f_is_refused_by_f():
    X, y = make_classification(100, weights=[0.8], random_state=0)
    with pytest.raises(ValueError, match="'C' parameter"):
        CounterfactualOverSampler(estimator=LogisticRegression(C=-1)).fit_resample(X, y)


def test_scikit_learns_configuration_reaches_every_job():
    X, y = make_classification(600, 4, weights=[0.8], random_state=0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    pick = make_column_transformer(("passthrough", ["a", "b"]), verbose_feature_names_out=False)
    f = make_pipeline(StandardScaler(), pick, LogisticRegression(class_weight="balanced"))
    with config_context(transform_output="pandas"):
        one, two = (
            CounterfactualOverSampler(estimator=f, n_jobs=n, random_state=0).fit_resample(frame, y)
            for n in (None, 2)
        )
    pd.testing.assert_frame_equal(one[0], two[0])


def test_a_users_own_encoder_is_not_taken_for_ours():
    X, y = make_classification(200, 4, weights=[0.8], random_state=0)
    frame = pd.DataFrame(X * [1, 10, 100, 1000], columns=list("abcd"))
    f = make_pipeline(TableEncoder(), StandardScaler(), LogisticRegression(class_weight="balanced"))
    sampler = CounterfactualOverSampler(estimator=f, on_shortfall="accept", random_state=0)
    X_new, _ = sampler.fit_resample(frame, y)
    assert len(X_new) > 250
    assert (sampler.estimator_.predict(X_new.iloc[200:]) == 1).all()


def test_scores_of_pairs_of_classes_are_not_taken_for_scores_of_classes():
    X, y = make_classification(
        300, 6, n_informative=4, n_classes=3, weights=[0.6, 0.3], random_state=0
    )
    sampler = CounterfactualOverSampler(
        estimator=SVC(decision_function_shape="ovo"), random_state=0
    )
    sampler.fit_resample(X, y)
    assert np.isnan(sampler.provenance_["score_after"]).all()


def test_it_works_in_a_pipeline_a_grid_search_a_clone_and_a_pickle():
    X, y = make_classification(200, weights=[0.8], random_state=0)
    sampler = CounterfactualOverSampler(estimator=LogisticRegression(), random_state=0)
    pipeline = make_pipeline(sampler, LogisticRegression())
    grid = {"counterfactualoversampler__n_draws": [5, 10]}
    search = GridSearchCV(pipeline, grid, scoring="roc_auc", cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.8
    fitted = sampler.fit_resample(X, y)
    again = pickle.loads(pickle.dumps(sampler))  # noqa: S301  (our own bytes)
    assert again.provenance_["distance"].tobytes() == sampler.provenance_["distance"].tobytes()
    assert clone(sampler).fit_resample(X, y)[0].tobytes() == fitted[0].tobytes()


def test_weights_reach_f_and_come_out_with_the_mean_of_the_class():
    X, y = make_classification(100, weights=[0.8], random_state=0)
    weight = np.random.default_rng(0).random(100)
    sampler = CounterfactualOverSampler(estimator=Weighed(), random_state=0)
    X_new, _ = sampler.fit_resample(X, y, sample_weight=weight)
    assert sampler.estimator_.weight_.tolist() == weight.tolist()
    assert sampler.sample_weight_[:100].tolist() == weight.tolist()
    assert len(sampler.sample_weight_) == len(X_new)
    np.testing.assert_allclose(sampler.sample_weight_[100:], weight[y == 1].mean())


def test_weights_are_routed_through_a_pipeline():
    X, y = make_classification(100, weights=[0.8], random_state=0)
    with config_context(enable_metadata_routing=True):
        sampler = CounterfactualOverSampler(estimator=Weighed(), random_state=0)
        sampler.set_fit_resample_request(sample_weight=True)
        pipeline = make_pipeline(sampler, LogisticRegression().set_fit_request(sample_weight=False))
        pipeline.fit(X, y, sample_weight=np.arange(100.0))
    assert pipeline[0].estimator_.weight_.tolist() == list(range(100))


def test_a_shortfall_is_reported_and_never_silent():
    X, y = make_classification(200, weights=[0.8], flip_y=0.2, random_state=0)
    sampler = CounterfactualOverSampler(epsilon=0.5, n_draws=20, random_state=0)
    with pytest.warns(
        ShortfallWarning, match=r"class 1: \d+ new samples requested, \d+ inversions"
    ):
        sampler.fit_resample(X, y)
    assert set(sampler.provenance_["origin"]) == {"inversion", "interior"}


@pytest.mark.parametrize("search", ["minimum", "perturb"])
def test_each_policy_does_what_it_says(search):
    X, y = make_classification(200, weights=[0.9], flip_y=0.1, random_state=0)
    given = {"search": search, "n_draws": 1, "random_state": 0}
    fill = CounterfactualOverSampler(on_shortfall="fill", **given)
    accept = CounterfactualOverSampler(on_shortfall="accept", **given)
    filled, of_filled = fill.fit_resample(X, y)
    fewer, of_fewer = accept.fit_resample(X, y)
    assert len(set(Counter(of_filled.tolist()).values())) == 1
    n_found = int((fill.provenance_["origin"] == "inversion").sum())
    assert 0 < n_found < len(fill.provenance_)
    assert len(accept.provenance_) == n_found == len(of_fewer) - len(y)
    assert set(accept.provenance_["origin"]) == {"inversion"}
    assert filled[: len(fewer)].tobytes() == fewer.tobytes()
    assert fill.yield_ == accept.yield_
    with pytest.raises(ShortfallError, match=f"{n_found} inversions found"):
        CounterfactualOverSampler(on_shortfall="raise", **given).fit_resample(X, y)


def test_the_yield_counts_factuals_inversions_and_what_was_used_of_them():
    X, y = make_classification(300, weights=[0.6], flip_y=0.1, random_state=0)
    sampler = CounterfactualOverSampler(sampling_strategy=0.8, random_state=0)
    sampler.fit_resample(X, y)
    got, f = sampler.yield_[0, 1], sampler.estimator_
    assert set(sampler.yield_) == {(0, 1)}
    assert got.rows == (y == 0).sum()
    assert got.factuals == ((y == 0) & (f.predict(X) == 0)).sum()
    assert got.used == len(sampler.provenance_) < got.inversions < got.factuals
    assert got.share == got.inversions / got.factuals


def test_there_are_fifteen_parameters():
    assert len(CounterfactualOverSampler().get_params(deep=False)) == 15
