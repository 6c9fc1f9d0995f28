"""Accepted values: f accepts each, and none next to them; other cells as in the answer."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import Increasing, OneOf, Range
from counterbalance.explain import AcceptedRange, explain


def table(seed=0, n=120):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    X["count"] = rng.integers(0, 30, n)
    score = X["a"] + X["b"] * X["c"] + X["count"] / 10 + rng.normal(0, 0.3, n)
    return X, np.where(score > np.quantile(score, 0.75), "ill", "well")


def explained(X, y, estimator=None, n_answers=3, **given):
    sampler = CounterfactualOverSampler(estimator=estimator, random_state=0, **given)
    prepared = sampler.prepare(X, y)
    wells = np.flatnonzero((y == "well") & (prepared.predict() == prepared.labels.codes))
    found = explain(sampler, X, y, int(wells[3]), "ill", n_answers=n_answers)
    assert found.answers
    return sampler.estimator_, found


def asked(f, X, found, answer, name, values):
    """Return what f says of the answer with other values of one feature."""
    rows = pd.concat([X.iloc[[found.row]]] * len(values), ignore_index=True)
    for changed, (_, after) in answer.changes.items():
        rows[changed] = after
    rows[name] = np.asarray(values, dtype=rows[name].dtype if name != "count" else float)
    return f.predict(rows) == found.to


def ends(accepted, column):
    low = column.min() if accepted.low is None else accepted.low
    return low, column.max() if accepted.high is None else accepted.high


FORESTS = {
    "own": None,
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "forest": RandomForestClassifier(10, random_state=0),
}
LINEAR = {
    "logistic": LogisticRegression(class_weight="balanced"),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced")),
}
OTHERS = {"k-NN": KNeighborsClassifier(3), "SVC": SVC(class_weight="balanced")}


@pytest.mark.parametrize("name", [*FORESTS, *LINEAR])
def test_trees_and_linear_models_have_exact_rooms(name):
    X, y = table()
    f, found = explained(X, y, {**FORESTS, **LINEAR}[name])
    for answer in found.answers:
        for feature, accepted in answer.accepted.items():
            assert accepted.exact
            low, high = ends(accepted, X[feature])
            inside = np.linspace(low, high, 400)
            if feature == "count":
                inside = np.unique(np.rint(inside))
            assert asked(f, X, found, answer, feature, inside).all()
            step = 1 if feature == "count" else 1e-5 * max(1, abs(low), abs(high))
            beyond = [end for end in (low - step, high + step) if X[feature].min() <= end]
            beyond = [end for end in beyond if end <= X[feature].max()]
            assert beyond
            assert not asked(f, X, found, answer, feature, beyond).any()


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_rooms_of_any_other_f_are_said_to_be_bisected(name):
    X, y = table()
    f, found = explained(X, y, OTHERS[name])
    for answer in found.answers:
        for feature, accepted in answer.accepted.items():
            assert accepted.exact == (feature == "count")
            low, high = ends(accepted, X[feature])
            assert asked(f, X, found, answer, feature, [low, high]).all()
            assert low <= answer.changes[feature][1] <= high
            step = 1 if feature == "count" else 1e-6
            if accepted.low is not None:
                assert not asked(f, X, found, answer, feature, [low - step]).any()


@given(seed=st.integers(0, 10_000), single=st.booleans())
def test_the_room_of_a_forest_holds_the_answer_and_not_the_old_value(seed, single):
    X, y = table(seed, n=60)
    values = X.to_numpy(dtype=np.float32 if single else np.float64)
    forest = RandomForestClassifier(5, random_state=0)
    sampler = CounterfactualOverSampler(estimator=forest, random_state=0)
    found = explain(sampler, values, y, int(np.flatnonzero(y == "well")[0]), "ill", n_answers=2)
    for answer in found.answers:
        for name, (before, after) in answer.changes.items():
            low, high = ends(answer.accepted[name], values[:, int(name[1:])])
            assert low <= after <= high
            assert not low <= before <= high


def test_a_category_gets_every_level_that_f_accepts():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"ward": rng.choice(list("ABCD"), 200), "age": rng.integers(20, 60, 200)})
    y = np.where(X["ward"].isin(["C", "D"]), "ill", "well")
    y[:60] = "well"
    _, found = explained(X, y, n_answers=1)
    assert found.answers[0].accepted["ward"] == AcceptedRange(None, None, ("C", "D"), exact=True)


def test_rules_bound_the_room():
    X, y = table(5)
    rules = [Range("a", -1, 1), Increasing("b"), OneOf("count", [0, 10, 20, 29])]
    _, found = explained(X, y, constraints=rules, n_answers=5)
    for answer in found.answers:
        for name, accepted in answer.accepted.items():
            low, high = ends(accepted, X[name])
            if name == "a":
                assert low >= -1
                assert high <= 1
            if name == "b":
                assert low >= answer.changes[name][0]
            if name == "count":
                assert {low, high} <= {0, 10, 20, 29}


def test_a_relation_ends_the_room_where_it_no_longer_holds():
    X, y = table(7)
    _, found = explained(X, y, constraints=["a <= b + 1"], n_answers=5)
    for answer in found.answers:
        values = {name: X[name].iloc[found.row] for name in X} | {
            name: after for name, (_, after) in answer.changes.items()
        }
        if "a" in answer.accepted:
            assert ends(answer.accepted["a"], X["a"])[1] <= values["b"] + 1
            assert not answer.accepted["a"].exact


@pytest.mark.parametrize(
    ("accepted", "value", "text"),
    [
        (AcceptedRange(61, 74, None, exact=True), 63, "61 to 74"),
        (AcceptedRange(6580.0005, None, None, exact=True), 7000.0, "6,581 or more"),
        (AcceptedRange(None, 0.123456, None, exact=True), 0.1, "0.1234 or less"),
        (AcceptedRange(1.00001, 1.00002, None, exact=True), 1.000015, "1.00001 to 1.00002"),
        (AcceptedRange(None, None, ("A", "B", "C"), exact=True), "A", "A, B or C"),
        (AcceptedRange(None, None, tuple("ABCDEFG"), exact=True), "A", "A, B, C, D, E or 2 others"),
        (AcceptedRange(2.0, 3.0, None, exact=False), 2.5, "about 2 to 3"),
        (AcceptedRange(5, 5, None, exact=True), 5, "5"),
        (AcceptedRange(123456.7, None, None, exact=True), 200000.0, "123,500 or more"),
    ],
)
def test_a_room_is_told_with_ends_that_are_rounded_inwards(accepted, value, text):
    assert accepted.tell(value) == text
