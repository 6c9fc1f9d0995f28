"""The bound: no row of the class is nearer, and where it is reached brute force finds no other."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import naive
from boosters import lightgbm, needed, xgboost
from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import (
    AtLeast,
    Cost,
    Immutable,
    Increasing,
    MaxChanged,
    Range,
    Transitions,
)
from counterbalance.explain import explain
from counterbalance.explain.bound import kernel

needs_kernel = pytest.mark.skipif(kernel is None, reason="the kernel is not built")


def numbers(seed, n_classes, decimals):
    X, y = make_classification(
        120,
        3,
        n_informative=3,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=0.7,
        random_state=seed,
    )
    return np.round(X, decimals), y


@needs_kernel
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("decimals", [1, 9])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_a_certified_answer_of_a_forest_is_the_nearest_of_all_cells(
    kind, decimals, n_classes, seed
):
    X, y = numbers(seed, n_classes, decimals)
    f = kind(5, max_leaf_nodes=6, random_state=seed).fit(X, y)
    prepared = CounterfactualOverSampler(estimator=f, random_state=0).prepare(X, y)
    profile = prepared.profile
    ranges = list(zip(profile.lower, profile.upper, profile.scale, strict=True))
    for to in range(n_classes):
        found = explain(f, X, y, range(0, 120, 23), to, certify=True)
        for row, answers in zip(range(0, 120, 23), found, strict=True):
            if answers.called == to:
                continue
            least = naive.nearest_of_a_forest(f, X[row], to, ranges, decimals)
            if least is None:
                assert not answers.answers
                continue
            (answer,) = answers.answers
            assert answer.distance == pytest.approx(least, rel=1e-6)
            assert answer.gap == 0


RULES = {
    "none": [],
    "at least": [AtLeast("a", 3)],
    "costs": [Cost("b", 4), Cost("c", 0.3)],
    "transitions": [Transitions("c", {"q": ["r", "s"], "p": []}), Transitions("d", {"hi": []})],
    "few": [Increasing("d"), MaxChanged(2)],
    "all": [
        AtLeast("b", 2),
        Transitions("c", {"r": ["p"]}),
        Cost("a", 2),
        Immutable("d"),
        Range("a", 1, 10),
    ],
}


def mixed(seed):
    rng = np.random.default_rng(seed)
    degree = pd.Categorical(
        rng.choice(["lo", "mid", "hi"], 150), categories=["lo", "mid", "hi"], ordered=True
    )
    X = pd.DataFrame(
        {
            "a": rng.integers(0, 12, 150),
            "b": rng.integers(0, 9, 150),
            "c": pd.Categorical(rng.choice(list("pqrs"), 150)),
            "d": degree,
        }
    )
    score = X["a"] + 2 * X["b"] * (X["c"] == "p") + 3 * X["d"].cat.codes - 4 * (X["c"] == "r")
    score += rng.normal(0, 2, 150)
    return X, np.where(score > np.quantile(score, 0.6), 1, 0)


def every_row(X):
    levels = list(itertools.product(range(12), range(9), "pqrs", ["lo", "mid", "hi"]))
    every = pd.DataFrame(levels, columns=list("abcd"))
    return every.assign(**{column: every[column].astype(X[column].dtype) for column in "cd"})


@needs_kernel
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", RULES)
def test_under_every_rule_a_certified_answer_is_the_nearest_of_all_rows(name, seed):
    X, y = mixed(seed)
    rules = RULES[name]
    own = CounterfactualOverSampler(constraints=rules or None, random_state=0, plausible=False)
    found = explain(own, X, y, np.arange(0, 150, 9), 1, robust=None, certify=True)
    f, scale = own.estimator_, own.profile_.scale
    every = every_row(X)
    accepted = f.predict(every) == 1
    compared = 0
    for one in found:
        if one.called == 1:
            continue
        row = X.iloc[one.row]
        far = naive.distance_of_mixed_rows(row, every, scale)
        good = accepted & naive.keeps(rules, row, every)
        if not good.any():
            assert not one.answers
            continue
        (answer,) = one.answers
        assert answer.distance == pytest.approx(far[good].min())
        assert answer.gap == 0
        compared += 1
    assert compared > 4


@needs_kernel
@pytest.mark.parametrize(
    "f",
    [
        GradientBoostingClassifier(n_estimators=20, random_state=0),
        HistGradientBoostingClassifier(max_iter=20, random_state=0),
        RandomForestClassifier(40, random_state=0),
        pytest.param(lightgbm(n_estimators=20, random_state=0), marks=needed),
        pytest.param(xgboost(n_estimators=20, random_state=0), marks=needed),
    ],
)
def test_a_bound_is_below_every_row_of_the_class(f):
    X, y = make_classification(400, 6, n_informative=4, random_state=1)
    f.fit(X, y)
    found = explain(f, X, y, range(0, 400, 20), certify=False)
    bounded = explain(f, X, y, range(0, 400, 20))
    assert (bounded.found.bound <= bounded.found.distance).all()
    assert (bounded.found.distance <= found.found.distance * (1 + 1e-9)).all()
    assert (bounded.found.bound > 0).all()
    assert np.isnan(found.found.bound).all()
    # Rows of the class that no search made.
    x, ids = bounded.question.x, bounded.question.ids
    profile = bounded.question.prepared.profile
    called = f.predict(X)
    for row, bound in zip(bounded.found.row, bounded.found.bound, strict=True):
        others = X[called != called[ids[row]]]
        assert (np.abs(others - x[row]) / profile.scale).sum(axis=1).min() >= bound * (1 - 1e-9)


@needs_kernel
def test_more_boxes_never_lower_the_bound_and_the_budget_gives_the_same_bytes():
    X, y = make_classification(500, 8, n_informative=6, random_state=0)
    f = RandomForestClassifier(60, random_state=0).fit(X, y)
    short = explain(f, X, y, range(10))
    again = explain(f, X, y, range(10))
    assert short.found.bound.tobytes() == again.found.bound.tobytes()
    long = explain(f, X, y, range(10), certify=True)
    assert (long.found.bound >= short.found.bound * (1 - 1e-9)).all()
    assert (long.gap <= short.gap + 1e-9).all()
    assert long.gap.mean() < short.gap.mean()
    alone = explain(f, X, y, [7])
    assert alone.found.bound[0] == short.found.bound[short.found.row == 7][0]


def test_a_linear_answer_is_exact_and_of_any_other_f_nothing_is_proved():
    X, y = make_classification(200, 4, random_state=0)
    found = explain(LogisticRegression().fit(X, y), X, y, range(9))
    assert (found.gap == 0).all()
    found = explain(GaussianNB().fit(X, y), X, y, range(9))
    assert np.isnan(found.gap).all()


@needs_kernel
@pytest.mark.parametrize("rule", ["b <= a", "a + b <= 14"])
def test_under_a_relation_the_bound_is_that_of_fewer_rules(rule):
    X, y = mixed(0)
    own = CounterfactualOverSampler(constraints=[rule], random_state=0, plausible=False)
    found = explain(own, X, y, np.arange(0, 150, 9), 1, robust=None, certify=True)
    every = every_row(X)
    accepted = own.estimator_.predict(every) == 1
    accepted &= every.eval(rule).to_numpy()
    proved = 0
    for one in found:
        far = naive.distance_of_mixed_rows(X.iloc[one.row], every, own.profile_.scale)
        for answer in one.answers:
            least = far[accepted].min()
            assert answer.bound <= least * (1 + 1e-9) <= answer.distance * (1 + 2e-9)
            proved += answer.gap == 0
    assert proved > 1
