"""``sampling_strategy="all"``: the paper's reading, one row for each factual that inverts."""

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imblearn.pipeline import make_pipeline
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.tree import DecisionTreeClassifier

import naive
from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.constraints import Immutable
from counterbalance.errors import TableError
from counterbalance.explain import explain
from counterbalance.prepare import draw_seed, make_random_state


def table(n_classes=2, n_rows=160, random_state=0):
    return make_classification(
        n_rows,
        5,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        weights=[0.6, 0.25, 0.15][:n_classes],
        class_sep=0.6,
        random_state=random_state,
    )


def sampler_of(**settings):
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    given = {"estimator": tree, "n_draws": 3, "random_state": 0} | settings
    return CounterfactualOverSampler(sampling_strategy="all", **given)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_drawn_ones_are_what_the_papers_loops_give(n_classes):
    X, y = table(n_classes)
    sampler = sampler_of(search="perturb")
    X_new, y_new = sampler.fit_resample(X, y)
    seed = draw_seed(make_random_state(sampler.random_state))
    expected = naive.all_counterfactuals(
        sampler.estimator_.predict,
        X,
        y,
        sampler.feature_order_,
        [naive.Feature.from_column(column) for column in X.T],
        seed,
        3,
    )
    provenance = sampler.provenance_
    found = sorted(zip(provenance["factual"], provenance["to_class"], strict=True))
    assert found == sorted((row, i) for row, i, _, _ in expected)
    rows = {(row, i): (distance, x) for row, i, distance, x in expected}
    for place, row in enumerate(provenance):
        distance, x = rows[row["factual"], row["to_class"]]
        assert row["distance"] == pytest.approx(distance, rel=1e-7)
        np.testing.assert_allclose(X_new[len(X) + place], x, rtol=1e-7, atol=1e-7)
        assert y_new[len(X) + place] == row["to_class"]


@given(
    random_state=st.integers(0, 10_000),
    n_classes=st.sampled_from([2, 3]),
    search=st.sampled_from(["minimum", "perturb"]),
)
def test_every_factual_that_inverts_gives_one_row_and_the_yield_counts_them(
    random_state, n_classes, search
):
    X, y = table(n_classes, n_rows=80, random_state=random_state)
    sampler = sampler_of(search=search)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X_new, y_new = sampler.fit_resample(X, y)
    provenance = sampler.provenance_
    assert set(provenance["origin"].tolist()) <= {"inversion"}
    for (larger, smaller), got in sampler.yield_.items():
        pair = (provenance["from_class"] == larger) & (provenance["to_class"] == smaller)
        assert got.used == got.inversions == pair.sum()
        assert len(np.unique(provenance["factual"][pair])) == pair.sum()
    counts = Counter(y.tolist())
    pairs = {(j, i) for i in counts for j in counts if counts[i] < counts[j]}
    assert set(sampler.yield_) == pairs
    assert (sampler.estimator_.predict(X_new[len(X) :]) == y_new[len(y) :]).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_both_searches_invert_the_same_factuals_and_the_minimum_is_nearer(n_classes):
    X, y = table(n_classes, n_rows=300)
    solved, drawn = sampler_of(n_draws=10), sampler_of(n_draws=10, search="perturb")
    solved.fit_resample(X, y)
    drawn.fit_resample(X, y)
    assert len(solved.provenance_)
    for column in ("factual", "to_class"):
        np.testing.assert_array_equal(solved.provenance_[column], drawn.provenance_[column])
    nearer = solved.provenance_["distance"] <= drawn.provenance_["distance"] + 1e-9
    assert nearer.mean() > 0.95
    assert solved.provenance_["distance"].mean() < 0.8 * drawn.provenance_["distance"].mean()


def test_it_may_give_more_rows_than_balance_needs_and_never_fills():
    X, y = table()
    balanced = LogisticRegression(class_weight="balanced")
    sampler = sampler_of(estimator=balanced, n_draws=20, on_shortfall="raise")
    _, y_new = sampler.fit_resample(X, y)
    got = sampler.yield_[0, 1]
    assert Counter(y_new.tolist())[1] == np.sum(y == 1) + got.inversions
    assert got.inversions > np.sum(y == 0) - np.sum(y == 1)


def test_none_found_leaves_the_table_as_it_is_without_a_warning():
    X, y = table()
    sampler = sampler_of(epsilon=1e-12)
    X_new, y_new = sampler.fit_resample(X, y)
    assert X_new.tobytes() == X.tobytes()
    assert y_new.tolist() == y.tolist()
    assert sampler.yield_[0, 1].inversions == len(sampler.provenance_) == 0


def test_equal_classes_get_nothing():
    X, y = table()
    y = np.arange(len(X)) % 2
    X = X + y[:, None]
    _, y_new = sampler_of().fit_resample(X, y)
    assert len(y_new) == len(y)


def test_constraints_hold_and_frames_come_back():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcde"))
    sampler = sampler_of(constraints=[Immutable("a")])
    X_new, _ = sampler.fit_resample(frame, pd.Series(y, name="y"))
    provenance = sampler.provenance_
    assert len(provenance)
    pairs = X_new["a"].to_numpy()[provenance["factual"]]
    assert (X_new["a"].to_numpy()[provenance["sample"]] == pairs).all()


def test_it_works_in_a_pipeline():
    X, y = table()
    model = make_pipeline(sampler_of(), LogisticRegression())
    assert (cross_validate(model, X, y, cv=3)["test_score"] > 0.4).all()


def test_the_fitted_strategy_is_the_number_of_rows_of_larger_classes():
    X, y = table(3)
    counts = Counter(y.tolist())
    sampler = sampler_of().fit(X, y)
    assert sampler.sampling_strategy_ == {
        label: sum(n for n in counts.values() if n > count)
        for label, count in counts.items()
        if count < max(counts.values())
    }


def test_an_explanation_does_not_depend_on_the_strategy():
    X, y = table()
    f = DecisionTreeClassifier(max_depth=4, random_state=0)
    row = int(np.flatnonzero(y == 0)[0])
    found = [
        explain(
            CounterfactualOverSampler(sampling_strategy=strategy, estimator=f, random_state=0),
            X,
            y,
            row,
            1,
        )
        for strategy in ("all", "auto")
    ]
    assert found[0].answers
    assert str(found[0]) == str(found[1])


def test_the_interior_sampler_refuses_the_strategy_and_says_why():
    X, y = table()
    with pytest.raises(TableError, match=r"sampling_strategy='all'.*CounterfactualOverSampler"):
        InteriorOverSampler(sampling_strategy="all").fit_resample(X, y)
