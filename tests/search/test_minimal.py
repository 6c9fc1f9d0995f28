"""Minimal: every new row that f judged changes nothing that f does not need."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import MaxChanged, OneOf, Range

CLASSIFIERS = {
    "own": None,
    "forest": RandomForestClassifier(8, random_state=0),
    "linear": LogisticRegression(class_weight="balanced"),
    "k-NN": KNeighborsClassifier(3),
}
CALLED = ("inversion", "minimum", "redraw")


def table(seed, n_classes=2):
    X, y = make_classification(
        90,
        5,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        weights=[0.6, 0.25, 0.15][:n_classes],
        class_sep=0.5,
        random_state=seed,
    )
    return np.round(X, 1), y


def fit(X, y, **parameters):
    sampler = CounterfactualOverSampler(**{"random_state": 0, "n_draws": 4} | parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X_new, _ = sampler.fit_resample(X, y)
    return sampler, X_new


def needless(sampler, X, allowed=lambda _: True):
    """Return the changes that could be taken back one by one, as (sample, feature)."""
    found = []
    for row in sampler.provenance_:
        for name in row["changed"] if row["origin"] in CALLED else ():
            if isinstance(X, pd.DataFrame):
                tried = X.iloc[[row["sample"]]].copy()
                tried[name] = X[name].iloc[row["factual"]]
            else:
                tried, m = X[[row["sample"]]], int(name[1:])
                tried[0, m] = X[row["factual"], m]
            if allowed(tried) and sampler.estimator_.predict(tried)[0] == row["to_class"]:
                found.append((row["sample"], name))
    return found


@pytest.mark.parametrize("search", ["perturb", "minimum"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_no_single_change_can_be_taken_back(name, search):
    X, y = table(0)
    sampler, X_new = fit(X, y, estimator=CLASSIFIERS[name], search=search, snap_to_grid=True)
    assert np.isin(sampler.provenance_["origin"].astype(str), CALLED).any()
    assert needless(sampler, X_new) == []
    printed, _ = fit(X, y, estimator=CLASSIFIERS[name], minimal=False)
    if search == "perturb" and name != "linear":
        changed = [len(one["changed"]) for one in printed.provenance_]
        assert max(changed) > max(len(one["changed"]) for one in sampler.provenance_)


@given(seed=st.integers(0, 10_000), n_classes=st.sampled_from([2, 3]))
def test_rows_drawn_again_are_minimal_too_and_none_comes_twice(seed, n_classes):
    X, y = table(seed, n_classes)
    forest = RandomForestClassifier(5, max_depth=4, random_state=0)
    sampler, X_new = fit(X, y, estimator=forest, on_shortfall=("redraw", "accept"))
    assert needless(sampler, X_new) == []
    new = sampler.provenance_
    pairs = [(*X_new[row["sample"]], row["factual"]) for row in new]
    assert len(set(pairs)) == len(pairs)
    changed = X_new[new["sample"]] != X_new[new["factual"]]
    assert (changed == new.changed_mask()).all()
    share = np.abs(X_new[new["sample"]] - X_new[new["factual"]]) / sampler.profile_.scale
    assert np.allclose(share.sum(axis=1), new["distance"])


def test_a_change_that_a_rule_needs_stays():
    X, y = table(3)
    X = pd.DataFrame(X, columns=list("abcde"))
    X["ward"] = np.where(np.arange(len(X)) % 3 == 0, "C", np.where(X["a"] > 0, "A", "B"))
    rules = [OneOf("ward", ["A", "B"]), Range("b", -1, 1), MaxChanged(4), "a <= c + 2"]
    sampler, X_new = fit(X, y, constraints=rules, on_shortfall=("minimum", "accept"))
    assert len(sampler.provenance_)

    def allowed(rows):
        inside = rows["ward"].isin(["A", "B"]) & rows["b"].between(-1, 1)
        return (inside & (rows["a"] <= rows["c"] + 2)).all()

    assert needless(sampler, X_new, allowed) == []
    assert allowed(X_new.iloc[len(X) :])


def test_the_nearest_are_chosen_after_changes_were_taken_back():
    X, y = table(1)
    every, _ = fit(X, y, sampling_strategy="all")
    more = {1: int((y == 1).sum()) + 5}
    few, _ = fit(X, y, sampling_strategy=more, selection="nearest")
    nearest = np.sort(every.provenance_["distance"])[:5]
    assert np.sort(few.provenance_["distance"]).tolist() == nearest.tolist()


@pytest.mark.parametrize("settings", [{"working_memory": 0.001}, {"n_jobs": 2}])
def test_memory_and_jobs_change_no_bit(settings):
    X, y = table(2, n_classes=3)
    _, expected = fit(X, y)
    _, other = fit(X, y, **settings)
    assert other.tobytes() == expected.tobytes()


def test_a_wide_table_takes_back_what_f_never_looks_at():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 120))
    y = (X[:, 7] > 0.8).astype(int)
    sampler, X_new = fit(X, y, feature_order=list(range(120)))
    assert needless(sampler, X_new) == []
