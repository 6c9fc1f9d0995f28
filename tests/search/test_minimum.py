"""Minimum: the nearest inversion, by the structure of f."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import naive
from boosters import lightgbm, needed, xgboost
from counterbalance import CounterfactualOverSampler
from counterbalance.classifier import trees
from counterbalance.constraints import (
    Decreasing,
    Immutable,
    Increasing,
    MaxChanged,
    OneOf,
    Range,
)
from counterbalance.search import minimum, minimum_trees

BALANCED = LogisticRegression(class_weight="balanced")
CLASSIFIERS = {
    "own": None,
    "forest": RandomForestClassifier(10, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=20, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5),
    "linear": BALANCED,
    "scaled": make_pipeline(StandardScaler(), RidgeClassifier(class_weight="balanced")),
    "svc": SVC(class_weight="balanced"),
    "k-NN": KNeighborsClassifier(3),
    "net": make_pipeline(
        StandardScaler(),
        MLPClassifier((8,), solver="lbfgs", alpha=1.0, max_iter=2000, random_state=0),
    ),
}


def table(n_rows=300, n_features=6, n_classes=2, seed=1):
    return make_classification(
        n_rows,
        n_features,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        weights=[0.7, 0.2, 0.1][:n_classes],
        class_sep=0.7,
        random_state=seed,
    )


def solved(X, y, f=None, **parameters):
    parameters = {"on_shortfall": "accept", "selection": "nearest", "random_state": 0} | parameters
    sampler = CounterfactualOverSampler(estimator=f, search="minimum", **parameters)
    X_new, y_new = sampler.fit_resample(X, y)
    return sampler, X_new, y_new


def statistics(X):
    return [naive.feature_statistics(X[:, m]) for m in range(X.shape[1])]


@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_factual_is_inverted_whatever_f_is(name, n_classes):
    X, y = table(n_classes=n_classes)
    sampler, X_new, y_new = solved(X, y, CLASSIFIERS[name])
    assert all(got.share == 1 for got in sampler.yield_.values())
    new = slice(len(X), None)
    np.testing.assert_array_equal(sampler.estimator_.predict(X_new[new]), y_new[new])
    assert (X_new.min(axis=0) >= X.min(axis=0)).all()
    assert (X_new.max(axis=0) <= X.max(axis=0)).all()
    assert set(sampler.provenance_["origin"]) == {"inversion"}


@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_its_rows_are_nearer_than_those_of_the_draws(name):
    X, y = table()
    solved_for, _, _ = solved(X, y, CLASSIFIERS[name], sampling_strategy={1: 100})
    drawn = CounterfactualOverSampler(
        estimator=CLASSIFIERS[name], selection="nearest", random_state=0, on_shortfall="accept"
    )
    drawn.fit_resample(X, y)
    both = np.intersect1d(solved_for.provenance_["factual"], drawn.provenance_["factual"])
    medians = [
        np.median(sampler.provenance_["distance"][np.isin(sampler.provenance_["factual"], both)])
        for sampler in (solved_for, drawn)
    ]
    assert len(both) > 20
    assert medians[0] < 0.95 * medians[1]


@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.parametrize("f", [BALANCED, LinearSVC(class_weight="balanced"), "scaled"], ids=str)
def test_the_minimum_of_a_linear_f_is_that_of_a_linear_program(f):
    X, y = table()
    sampler, _, _ = solved(X, y, CLASSIFIERS.get(f, f) if isinstance(f, str) else f)
    fitted = sampler.estimator_
    weight, intercept = np.zeros(X.shape[1]), float(fitted.decision_function(X[:1] * 0)[0])
    for m in range(X.shape[1]):
        unit = np.zeros((1, X.shape[1]))
        unit[0, m] = 1
        weight[m] = fitted.decision_function(unit)[0] - intercept
    provenance, ranges = sampler.provenance_, statistics(X)
    for place in range(0, len(provenance), 7):
        x = X[provenance["factual"][place]]
        least = naive.nearest_of_a_linear_f(x, weight, intercept, ranges)
        assert provenance["distance"][place] == pytest.approx(least, rel=1e-6, abs=1e-6)


@pytest.mark.filterwarnings("ignore:class")
def test_the_rows_of_a_forest_are_near_the_nearest_of_all_cells():
    X, y = table(150, 4)
    X = X[:, :3]
    f = RandomForestClassifier(4, max_leaf_nodes=6, random_state=0).fit(X, y)
    sampler, _, _ = solved(X, y, f, prefit=True)
    provenance, ranges = sampler.provenance_, statistics(X)
    gaps = []
    for place in range(0, len(provenance), 4):
        x = X[provenance["factual"][place]]
        least = naive.nearest_of_a_forest(f, x, 1, ranges)
        gaps.append(provenance["distance"][place] / least)
    assert min(gaps) > 1 - 1e-6, "nearer than the nearest of all cells"
    assert np.mean(gaps) < 1.1


@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.parametrize(
    "name", ["own", "histogram", "linear", pytest.param("k-NN", marks=pytest.mark.slow)]
)
def test_jobs_and_memory_never_change_a_byte(name):
    X, y = table(1200)
    once = solved(X, y, CLASSIFIERS[name])[1].tobytes()
    for choices in ({"n_jobs": 3}, {"working_memory": 0.05}, {"random_state": 5}):
        f = CLASSIFIERS[name]
        if name == "own" and "random_state" in choices:
            continue  # the seed reaches f
        assert solved(X, y, f, **choices)[1].tobytes() == once


@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.parametrize("name", ["forest", "boosting", "linear"])
def test_every_container_gives_the_same_numbers(name):
    X, y = table()
    expected = solved(X, y, CLASSIFIERS[name])[1]
    frame = solved(pd.DataFrame(X), y, CLASSIFIERS[name])[1]
    np.testing.assert_allclose(frame.to_numpy(), expected)  # f itself may differ by a bit
    np.testing.assert_allclose(
        solved(sparse.csr_array(X), y, CLASSIFIERS[name])[1].toarray(), expected
    )
    frozen = FrozenEstimator(CLASSIFIERS[name].fit(X, y))
    assert solved(X, y, frozen)[1].tobytes() == expected.tobytes()


@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.parametrize("name", ["own", "histogram", "k-NN", "linear"])
@pytest.mark.parametrize(
    "constraints",
    [
        [Immutable(0)],
        [Increasing(0), Decreasing(1)],
        [Range(0, -1, 1), Range(5, 0.5, 3)],
        [MaxChanged(2)],
        ["x0 <= x1 + 2"],
        [OneOf(0, [-1.0, 0.0, 2.0])],
    ],
    ids=str,
)
def test_every_constraint_is_kept(constraints, name):
    # The builder refuses a row that breaks a rule, so what comes out keeps them all.
    X, y = table()
    sampler, _, _ = solved(np.round(X), y, CLASSIFIERS[name], constraints=constraints)
    assert len(sampler.provenance_) > 0


def mixed_frame():
    X, y = table(400)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["whole"] = np.rint(3 * X[:, 0]).astype(int)
    frame["name"] = pd.cut(X[:, 1], 5, labels=list("vwxyz")).astype(str)
    frame["level"] = pd.cut(X[:, 2], 4)  # ordered
    frame["yes"] = X[:, 3] > 0
    frame.loc[::7, "name"] = None
    frame.loc[::5, "a"] = np.nan
    return frame, y


@pytest.mark.parametrize("change_missing", [False, True])
def test_a_frame_of_all_kinds_stays_what_it_is(change_missing):
    frame, y = mixed_frame()
    sampler, new, _ = solved(frame, y, change_missing=change_missing)
    assert list(new.dtypes) == list(frame.dtypes)
    assert set(new["name"].dropna()) == set(frame["name"].dropna())
    factual = sampler.provenance_["factual"]
    was_missing = frame["a"].isna().to_numpy()[factual]
    assert was_missing.any()
    assert new["a"].isna().to_numpy()[len(frame) :][was_missing].all()
    assert next(iter(sampler.yield_.values())).share == 1


@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.parametrize("name", ["own", "boosting", "histogram"])
def test_values_lie_on_the_grid_of_their_column(name):
    X, y = table()
    whole = np.rint(4 * X).astype(np.int64)
    assert solved(whole, y, CLASSIFIERS[name])[1].dtype == np.int64
    tenths = solved(np.round(X, 1), y, CLASSIFIERS[name], snap_to_grid=True)[1]
    np.testing.assert_array_equal(tenths, np.round(tenths, 1))
    single = solved(X.astype(np.float32), y, CLASSIFIERS[name])
    assert single[1].dtype == np.float32
    assert all(got.share == 1 for got in single[0].yield_.values())


@pytest.mark.filterwarnings("ignore:class")
def test_inversions_beyond_epsilon_do_not_count():
    X, y = table()
    far = solved(X, y)[0].provenance_["distance"]
    limit = float(np.median(far))
    near = solved(X, y, epsilon=limit)[0].provenance_["distance"]
    assert near.max() < limit
    np.testing.assert_array_equal(np.sort(near), np.sort(far[far < limit]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.parametrize(
    "f",
    [
        CLASSIFIERS["boosting"],
        CLASSIFIERS["histogram"],
        pytest.param(lightgbm(n_estimators=20, num_leaves=15), marks=needed),
        pytest.param(xgboost(n_estimators=20, max_depth=4), marks=needed),
    ],
    ids=["boosting", "histogram", "LightGBM", "XGBoost"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_structure_of_boosting_leads_nearer_than_questions_do(f, n_classes, monkeypatch):
    X, y = table(500, n_classes=n_classes, seed=2)
    f.fit(X, y)

    def distances():
        sampler, _, _ = solved(X, y, f, prefit=True, sampling_strategy="all")
        assert all(got.share == 1 for got in sampler.yield_.values())
        return sampler.provenance_["distance"]

    by_structure = distances()
    monkeypatch.setattr(minimum, "is_boosting", lambda _: False)
    by_questions = distances()
    assert by_structure.mean() < 0.95 * by_questions.mean()


@pytest.mark.filterwarnings("ignore:class")
@settings(max_examples=8)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 3),
    n_leaves=st.integers(2, 31),
    missing=st.booleans(),
)
def test_every_factual_of_histogram_boosting_is_inverted_with_and_without_the_kernel(
    seed, n_classes, n_leaves, missing
):
    X, y = table(80, 4, n_classes, seed)
    X = np.round(X, 1)
    if missing:
        X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    f = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=n_leaves, min_samples_leaf=4)
    f.fit(X, y)
    assume(len(np.unique(f.predict(X))) == n_classes)
    sampler, compiled, y_new = solved(X, y, f, prefit=True)
    np.testing.assert_array_equal(f.predict(compiled[len(X) :]), y_new[len(X) :])
    if not missing:  # a missing cell stays, so that a row may have no way to the class
        assert all(got.share == 1 for got in sampler.yield_.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minimum_trees, "kernel", None)
        assert solved(X, y, f, prefit=True)[1].tobytes() == compiled.tobytes()


@pytest.mark.filterwarnings("ignore:class")
def test_boosting_that_splits_categories_is_asked():
    frame, y = mixed_frame()
    frame = frame[["b", "c", "level"]].assign(level=frame["level"].cat.codes.astype("category"))
    f = HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype")
    sampler, new, y_new = solved(frame, y, f)
    assert (sampler.estimator_.predict(new[len(frame) :]) == y_new[len(frame) :]).all()
    assert all(got.share == 1 for got in sampler.yield_.values())


@pytest.fixture(params=["leaf sets", "walks"])
def either_way(request, monkeypatch):
    """Look around by leaf sets, and once as if trees were too large for that."""
    if request.param == "walks":
        monkeypatch.setattr(trees, "MOST_WORDS", 0)


@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["own", "forest", "tree", "boosting", "histogram"])
def test_without_the_kernel_the_bytes_are_the_same(name, n_classes, monkeypatch):
    X, y = table(120 if n_classes == 2 else 60, n_classes=n_classes)
    compiled = solved(X, y, CLASSIFIERS[name])[1]
    monkeypatch.setattr(minimum_trees, "kernel", None)
    assert solved(X, y, CLASSIFIERS[name])[1].tobytes() == compiled.tobytes()


@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.parametrize("n_leaves", [2, 3, 64, 65, 500])
def test_without_the_kernel_the_bytes_are_the_same_in_trees_of_any_size(n_leaves, monkeypatch):
    X, y = make_classification(2000, 5, n_redundant=0, flip_y=0.4, weights=[0.6], random_state=0)
    f = RandomForestClassifier(3, max_leaf_nodes=n_leaves, random_state=0).fit(X, y)
    compiled = solved(X[:90], y[:90], f, prefit=True)[1]
    monkeypatch.setattr(minimum_trees, "kernel", None)
    assert solved(X[:90], y[:90], f, prefit=True)[1].tobytes() == compiled.tobytes()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_trees", [63, 64, 65, 130])
def test_without_the_kernel_as_many_trees_say_the_same(n_trees, n_classes, monkeypatch):
    X, y = table(40, n_classes=n_classes)
    f = RandomForestClassifier(n_trees, max_leaf_nodes=5, random_state=0).fit(X, y)
    assert trees.read_trees(f).leaf_sets is not None
    compiled = solved(X, y, f, prefit=True)[1]
    monkeypatch.setattr(minimum_trees, "kernel", None)
    assert solved(X, y, f, prefit=True)[1].tobytes() == compiled.tobytes()


@pytest.mark.filterwarnings("ignore:class")
@given(
    seed=st.integers(0, 10**6),
    n_features=st.integers(1, 5),
    n_classes=st.integers(2, 3),
    n_leaves=st.none() | st.integers(2, 9),
    missing=st.booleans(),
)
def test_without_the_kernel_the_bytes_are_the_same_on_any_table(
    seed, n_features, n_classes, n_leaves, missing
):
    X, y = table(70, 5, n_classes, seed)
    X = np.round(X[:, :n_features], 1)
    if missing:
        X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    # Whole votes: changes of several trees cancel out, and margins tie.
    f = RandomForestClassifier(4, max_leaf_nodes=n_leaves, random_state=seed).fit(X, y)
    compiled = solved(X, y, f, prefit=True)[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minimum_trees, "kernel", None)
        assert solved(X, y, f, prefit=True)[1].tobytes() == compiled.tobytes()


@pytest.mark.filterwarnings("ignore:class")
@given(seed=st.integers(0, 10**6), decimals=st.integers(0, 2), n_leaves=st.integers(2, 64))
def test_no_change_of_a_forests_row_can_be_taken_back(seed, decimals, n_leaves):
    X, y = table(90, 4, seed=seed)
    X = np.round(X, decimals)
    f = RandomForestClassifier(5, max_leaf_nodes=n_leaves, random_state=seed).fit(X, y)
    sampler, X_new, _ = solved(X, y, f, prefit=True, snap_to_grid=True)
    new, old = X_new[len(X) :], X[sampler.provenance_["factual"]]
    place, m = np.nonzero(new != old)
    assume(len(place))
    less = new[place]
    less[np.arange(len(less)), m] = old[place, m]
    share = f.predict_proba(less)
    assert (share[:, 1] - share[:, 0] < 1e-6).all()


@pytest.mark.filterwarnings("ignore:class")
def test_without_the_kernel_the_bytes_are_the_same_in_a_frame_of_all_kinds(monkeypatch):
    frame, y = mixed_frame()
    frame, y = frame.iloc[:120], y[:120]
    compiled = solved(frame, y, constraints=[Increasing("b"), OneOf("level", frame["level"][:2])])
    monkeypatch.setattr(minimum_trees, "kernel", None)
    plain = solved(frame, y, constraints=[Increasing("b"), OneOf("level", frame["level"][:2])])
    pd.testing.assert_frame_equal(plain[1], compiled[1], check_exact=True)


@pytest.mark.filterwarnings("ignore:class")
def test_the_draws_are_helped_out_by_the_minimum_search_first():
    X, y = make_classification(500, 12, n_informative=6, weights=[0.9], random_state=0)
    sampler = CounterfactualOverSampler(selection="nearest", random_state=0)
    _, y_new = sampler.fit_resample(X, y)
    assert len(set(Counter(y_new.tolist()).values())) == 1
    origin = Counter(sampler.provenance_["origin"].tolist())
    assert origin["inversion"] + origin["minimum"] == len(sampler.provenance_)
    assert origin["minimum"] > 0
    by_solving = sampler.provenance_["origin"] == "minimum"
    drawn = sampler.provenance_["factual"][~by_solving]
    assert not np.isin(sampler.provenance_["factual"][by_solving], drawn).any()
