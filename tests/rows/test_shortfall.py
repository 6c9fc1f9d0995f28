"""Shortfall: each policy does what its name says, and says so."""

import ast
import re
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.constraints import Increasing
from counterbalance.errors import InflatedClassWarning, ShortfallError, ShortfallWarning
from counterbalance.rows.origins import POLICIES

# f says "minority" for few candidates only, and for none within a small epsilon.
RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], [200, 20])
X = RNG.normal(size=(220, 3)) + 1.2 * Y[:, None]
TIMID = LogisticRegression()
BALANCED = LogisticRegression(class_weight="balanced")
SEARCHES = ("minimum", "perturb")


def resample(policy, **parameters):
    usual = {"estimator": TIMID, "n_draws": 2, "random_state": 0}
    sampler = CounterfactualOverSampler(**usual | {"on_shortfall": policy} | parameters)
    with pytest.warns(ShortfallWarning) as caught:
        X_new, y_new = sampler.fit_resample(X, Y)
    return sampler, X_new, Counter(y_new.tolist()), str(caught[0].message)


def test_there_are_three_policies_and_the_first_is_the_default():
    assert POLICIES == ("fill", "accept", "raise")
    assert CounterfactualOverSampler().on_shortfall == "fill"


@pytest.mark.parametrize("search", SEARCHES)
def test_accept_returns_fewer(search):
    sampler, X_new, counts, message = resample("accept", search=search)
    found = len(sampler.provenance_)
    assert found >= sampler.yield_[0, 1].inversions > 0
    assert counts == {0: 200, 1: 20 + found}
    assert len(X_new) == 220 + found
    assert f"180 new samples requested, {found} inversions found" in message
    assert f"{180 - found} missing, as on_shortfall='accept' allows" in message


@pytest.mark.parametrize("search", SEARCHES)
def test_fill_interpolates_between_rows_of_the_class(search):
    sampler, X_new, counts, message = resample("fill", search=search)
    assert counts == {0: 200, 1: 200}
    provenance = sampler.provenance_
    inside = provenance["origin"] == "interior"
    assert (Y[provenance["factual"][inside]] == 1).all()
    assert (provenance["from_class"][inside] == 1).all()
    assert (provenance["round"][inside] == 0).all()
    minority = X[Y == 1]
    assert (X_new[220:][inside] >= minority.min(axis=0)).all()
    assert (X_new[220:][inside] <= minority.max(axis=0)).all()
    found = (~inside).sum()
    assert f"{found} inversions found; {180 - found} more by interpolating between rows" in message
    by_f = provenance["origin"] == "inversion"
    assert (sampler.estimator_.predict(X_new[220:][by_f]) == 1).all()


def test_raise_refuses_and_names_the_remedies():
    sampler = CounterfactualOverSampler(estimator=TIMID, n_draws=2, on_shortfall="raise")
    with pytest.raises(ShortfallError, match=r"class 1: 180 new samples.*missing.*class_weight"):
        sampler.fit_resample(X, Y)
    with pytest.raises(ShortfallError, match=r"on_shortfall='fill' fill the class, or 'accept'"):
        sampler.fit_resample(X, Y)


def test_the_constraints_are_named_that_a_shortfall_was_found_under():
    _, _, _, message = resample("fill", constraints=Increasing(0))
    assert "inversions found under the constraints Increasing(" in message


def test_the_default_always_gives_the_asked_for_count():
    for epsilon in (1e-9, 0.3, 2.0):
        sampler = CounterfactualOverSampler(estimator=TIMID, epsilon=epsilon, random_state=0)
        with pytest.warns(ShortfallWarning, match="class 1: 180"):
            _, y_new = sampler.fit_resample(X, Y)
        assert Counter(y_new.tolist()) == {0: 200, 1: 200}


def test_a_class_of_one_row_that_f_never_says_is_copied_and_said_so():
    y = np.zeros(220, dtype=int)
    y[0] = 1
    sampler = CounterfactualOverSampler(estimator=TIMID, epsilon=1e-9, random_state=0)
    with pytest.warns(ShortfallWarning) as caught:
        X_new, _ = sampler.fit_resample(X, y)
    assert "218 more by copying rows of the class" in str(caught[0].message)
    assert (X_new[220:] == X[0]).all()
    assert set(sampler.provenance_["origin"]) == {"copy"}


def test_interpolation_never_passes_a_copy_off_as_new():
    bits = (X > 0.5).astype(float)
    sampler = CounterfactualOverSampler(estimator=TIMID, epsilon=1e-9, random_state=0)
    with pytest.warns(ShortfallWarning):
        sampler.fit_resample(bits, Y)
    changed = sampler.provenance_.changed_mask().any(axis=1)
    np.testing.assert_array_equal(changed, sampler.provenance_["origin"] == "interior")
    assert set(sampler.provenance_["origin"]) <= {"interior", "copy"}


def test_a_failed_call_shows_nothing_of_an_earlier_one():
    sampler = CounterfactualOverSampler(estimator=TIMID, random_state=0)
    with pytest.warns(ShortfallWarning):
        sampler.fit_resample(X, Y, sample_weight=np.ones(220))
    sampler.set_params(on_shortfall="raise", epsilon=1e-9)
    with pytest.raises(ShortfallError):
        sampler.fit_resample(X, Y)
    for name in ("provenance_", "sample_weight_", "yield_"):
        assert not hasattr(sampler, name)


@pytest.mark.parametrize("search", SEARCHES)
def test_no_warning_where_nothing_is_short(search):
    sampler = CounterfactualOverSampler(
        estimator=BALANCED, search=search, sampling_strategy=0.3, random_state=0
    )
    sampler.fit_resample(X, Y)  # a warning would be an error
    assert set(sampler.provenance_["origin"]) == {"inversion"}
    assert sampler.yield_[0, 1].used == len(sampler.provenance_) == 40


@pytest.mark.parametrize("policy", POLICIES)
def test_every_inversion_is_never_short(policy):
    sampler = CounterfactualOverSampler(
        estimator=TIMID, n_draws=2, sampling_strategy="all", on_shortfall=policy, random_state=0
    )
    sampler.fit_resample(X, Y)  # a warning would be an error
    assert set(sampler.provenance_["origin"]) == {"inversion"}
    got = sampler.yield_[0, 1]
    assert got.used == got.inversions == len(sampler.provenance_)


@given(
    seed=st.integers(0, 2**16),
    sizes=st.lists(st.integers(4, 60), min_size=2, max_size=4),
    decimals=st.integers(1, 3),
    search=st.sampled_from(SEARCHES),
)
def test_no_row_comes_twice_and_f_calls_each_inversion_its_class(seed, sizes, decimals, search):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    table = np.round(rng.normal(size=(len(y), 2)) + rng.normal(size=(len(sizes), 2))[y], decimals)
    sampler = CounterfactualOverSampler(
        estimator=DecisionTreeClassifier(max_depth=4, random_state=0),
        search=search,
        n_draws=2,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X_new, y_new = sampler.fit_resample(table, y)
    by_f = sampler.provenance_[sampler.provenance_["origin"] == "inversion"]
    new = by_f["sample"]
    rows = np.column_stack([by_f["factual"], y_new[new], X_new[new]])
    assert len(np.unique(rows, axis=0)) == len(rows)
    if search == "minimum":
        assert len(np.unique(rows[:, :2], axis=0)) == len(rows)
    assert (sampler.estimator_.predict(X_new)[new] == y_new[new]).all()
    assert set(Counter(y_new.tolist()).values()) == {max(sizes)}
    assert (
        len(set(zip(by_f["from_class"], by_f["to_class"], strict=True)) - set(sampler.yield_)) == 0
    )


@pytest.mark.parametrize("search", SEARCHES)
def test_the_yield_counts_what_each_pair_of_classes_gave(search):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [60, 30, 8])
    table = rng.normal(size=(98, 3)) + np.repeat([0, 1, 2], [60, 30, 8])[:, None]
    sampler = CounterfactualOverSampler(n_draws=30, search=search, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortfallWarning)
        sampler.fit_resample(table, y)
    by_f = sampler.provenance_[sampler.provenance_["origin"] == "inversion"]
    made = Counter(zip(by_f["from_class"], by_f["to_class"], strict=True))
    right = sampler.estimator_.predict(table) == y
    assert set(sampler.yield_) == {("a", "b"), ("a", "c"), ("b", "c")}
    for (larger, smaller), got in sampler.yield_.items():
        assert got.rows == (y == larger).sum()
        assert got.factuals == ((y == larger) & right).sum()
        assert got.used == made[larger, smaller]
        assert 0 < got.inversions <= got.factuals
        assert got.share == got.inversions / got.factuals
        if search == "minimum":
            assert got.used <= got.inversions


def few_of_many(n_few):
    """Three classes on noise, the smallest of a handful of rows."""
    y = np.repeat(["many", "some", "few"], [400, 100, n_few])
    rng = np.random.default_rng(1)
    return rng.normal(size=(len(y), 3)) + 0.6 * (y == "some")[:, None], y


def test_a_class_of_five_rows_is_not_blown_up_without_naming_what_to_ask_for():
    rows, y = few_of_many(5)
    sampler = CounterfactualOverSampler(n_draws=2, random_state=0)
    with pytest.warns(ShortfallWarning) as caught:
        sampler.fit_resample(rows, y)
    loud = [w for w in caught if w.category is InflatedClassWarning]
    assert len(loud) == 1
    text = str(loud[0].message)
    assert text.startswith("class 'few' has 5 rows and got 395 new ones (79 for each real row;")
    wanted = ast.literal_eval(re.search(r"sampling_strategy=({.*?})", text)[1])
    assert wanted["some"] == 400
    assert 5 < wanted["few"] < 400
    # what is advised is enough: it is no longer called inflated
    with pytest.warns(ShortfallWarning) as caught:
        sampler.set_params(sampling_strategy=wanted).fit_resample(rows, y)
    assert InflatedClassWarning not in {w.category for w in caught}
    sampler.set_params(sampling_strategy="all").fit_resample(rows, y)


def test_the_interior_sampler_warns_of_inflated_classes_alone():
    rows, y = few_of_many(3)
    with pytest.warns(InflatedClassWarning, match="class 'few' has 3 rows") as caught:
        InteriorOverSampler(random_state=0).fit_resample(rows, y)
    assert len(caught) == 1


@pytest.mark.slow
def test_a_remedy_of_many_classes_stays_short():
    y = np.repeat(np.arange(40), [400, *[2] * 39])
    rows = np.random.default_rng(0).normal(size=(len(y), 2))
    with pytest.warns(ShortfallWarning) as caught:
        CounterfactualOverSampler(n_draws=1, epsilon=0.01, random_state=0).fit_resample(rows, y)
    loud = [str(w.message) for w in caught if w.category is InflatedClassWarning]
    assert len(loud) == 1
    assert len(loud[0]) < 1000
    assert "36 more classes" in loud[0]
