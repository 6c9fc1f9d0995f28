"""Shortfall: each policy does what its name says, and says so."""

import ast
import re
import warnings
from collections import Counter

import numpy as np
import pytest
from counterbalance.search.problem import Problem
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.errors import InflatedClassWarning, ShortfallError, ShortfallWarning
from counterbalance.rows import shortfall
from counterbalance.rows.origins import CALLED

# f says "minority" for few candidates only, and for none within a small epsilon.
RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], [200, 20])
X = RNG.normal(size=(220, 3)) + 1.2 * Y[:, None]
TIMID = LogisticRegression()
BALANCED = LogisticRegression(class_weight="balanced")


def resample(policy, **parameters):
    usual = {"estimator": TIMID, "n_draws": 2, "selection": "nearest", "random_state": 0}
    sampler = CounterfactualOverSampler(**usual | {"on_shortfall": policy} | parameters)
    with pytest.warns(ShortfallWarning) as caught:
        X_new, y_new = sampler.fit_resample(X, Y)
    return sampler, X_new, Counter(y_new.tolist()), str(caught[0].message)


def test_accept_returns_fewer():
    sampler, X_new, counts, message = resample("accept")
    found = sampler.yield_[0, 1].inversions
    assert counts == {0: 200, 1: 20 + found}
    assert len(X_new) == 220 + found
    assert f"180 new samples asked for, {found} inversions found" in message
    assert f"{180 - found} missing" in message


def test_redraw_gives_further_counterfactuals_of_the_same_factuals():
    sampler, X_new, counts, message = resample("redraw", n_draws=8)
    assert counts == {0: 200, 1: 200}
    origin = sampler.provenance_["origin"]
    assert set(origin) == {"inversion", "redraw"}
    assert (sampler.estimator_.predict(X_new[220:]) == 1).all()
    assert f"{(origin == 'redraw').sum()} more by drawing again" in message


@pytest.mark.parametrize("selection", ["agreement", "nearest"])
def test_the_yield_counts_the_new_rows_of_each_pair_by_origin(selection):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [60, 30, 8])
    table = rng.normal(size=(98, 3)) + np.repeat([0, 1, 2], [60, 30, 8])[:, None]
    chain = ["redraw", "minimum", "threshold", "interior"]
    sampler = CounterfactualOverSampler(
        n_draws=1, selection=selection, on_shortfall=chain, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortfallWarning)
        sampler.fit_resample(table, y)
    made = Counter(
        zip(
            *(sampler.provenance_[name] for name in ("from_class", "to_class", "origin")),
            strict=True,
        )
    )
    assert set(sampler.yield_) == {("a", "b"), ("a", "c"), ("b", "c")}
    for pair, got in sampler.yield_.items():
        assert got.origins == {origin: made[(*pair, origin)] for origin in got.origins}
        assert got.origins["inversion"] == got.used
    assert sum(sum(got.origins.values()) for got in sampler.yield_.values()) == sum(
        n for (larger, smaller, _), n in made.items() if larger != smaller
    )
    assert any(got.origins["redraw"] or got.origins["minimum"] for got in sampler.yield_.values())


def test_threshold_moves_f_to_the_prior():
    sampler, X_new, _, message = resample(["threshold", "accept"])
    moved = sampler.provenance_["origin"] == "threshold"
    score = sampler.estimator_.predict_proba(X_new[220:][moved])[:, 1]
    assert moved.any()
    assert (score >= 20 / 220).all()
    assert score.min() < 1.1 * 20 / 220  # the nearest ones lie at the moved threshold
    assert "moving the threshold of f to the class prior" in message


def test_threshold_takes_no_factual_that_gave_an_inversion_already():
    sampler, _, _, _ = resample(["threshold", "accept"])
    provenance = sampler.provenance_
    plain = provenance["factual"][provenance["origin"] == "inversion"]
    moved = provenance["factual"][provenance["origin"] == "threshold"]
    assert len(plain)
    assert len(moved)
    assert not np.isin(moved, plain).any()


def test_threshold_is_passed_over_where_f_has_no_probabilities():
    class Mute(LogisticRegression):
        predict_proba = property()

    sampler, _, _, _ = resample(["threshold", "accept"], estimator=Mute())
    assert set(sampler.provenance_["origin"]) == {"inversion"}


def test_interior_interpolates_between_rows_of_the_class():
    sampler, X_new, counts, message = resample("interior")
    assert counts == {0: 200, 1: 200}
    provenance = sampler.provenance_
    inside = provenance["origin"] == "interior"
    assert (Y[provenance["factual"][inside]] == 1).all()
    assert (provenance["from_class"][inside] == 1).all()
    assert (provenance["round"][inside] == 0).all()
    minority = X[Y == 1]
    assert (X_new[220:][inside] >= minority.min(axis=0)).all()
    assert (X_new[220:][inside] <= minority.max(axis=0)).all()
    assert "interpolating" in message


def test_raise_refuses_and_names_the_remedies():
    sampler = CounterfactualOverSampler(estimator=TIMID, n_draws=2, on_shortfall="raise")
    with pytest.raises(ShortfallError, match=r"class 1: 180 new samples.*missing.*class_weight"):
        sampler.fit_resample(X, Y)


def test_a_chain_that_leaves_a_class_short_refuses():
    sampler = CounterfactualOverSampler(estimator=TIMID, epsilon=1e-6, on_shortfall="redraw")
    with pytest.raises(ShortfallError, match="180 missing"):
        sampler.fit_resample(X, Y)


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


def test_redraw_never_gives_a_row_twice():
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 4, (220, 2)) + Y[:, None]
    sampler = CounterfactualOverSampler(
        estimator=DecisionTreeClassifier(max_depth=3, class_weight="balanced", random_state=0),
        n_draws=2,
        random_state=0,
    )
    with pytest.warns(ShortfallWarning):
        X_new, y_new = sampler.fit_resample(whole, Y)
    provenance = sampler.provenance_
    found = np.isin(provenance["origin"].astype(str), ["inversion", "redraw"])
    made = np.column_stack([provenance["factual"], X_new[220:]])[found]
    assert len(np.unique(made, axis=0)) == len(made)
    assert (provenance["origin"] == "redraw").any()
    assert len(y_new) == 400


@given(
    seed=st.integers(0, 2**16),
    sizes=st.lists(st.integers(4, 60), min_size=2, max_size=4),
    asked=st.integers(1, 4),
    selection=st.sampled_from(["agreement", "nearest"]),
)
def test_drawing_again_makes_at_most_twice_the_draws_of_the_first_pass(
    seed, sizes, asked, selection
):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    table = rng.normal(size=(len(y), 3)) + rng.normal(size=(len(sizes), 3))[y]
    sampler = CounterfactualOverSampler(
        sampling_strategy={label: asked * max(sizes) for label in range(len(sizes))},
        estimator=DecisionTreeClassifier(max_depth=4, random_state=0),
        n_draws=1,
        selection=selection,
        on_shortfall=("redraw", "accept"),
        random_state=seed,
    )
    drawn, find = [], Problem.find

    def count(problem, judged, number, targets, among=None):
        drawn.append(len(problem._searched(judged, targets, among)[0]))
        return find(problem, judged, number, targets, among)

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(Problem, "find", count)
        sampler.fit_resample(table, y)
    assert sum(drawn[1:]) <= 2 * drawn[0]


def test_few_factuals_that_inverted_are_drawn_again_more_often_than_twice():
    sampler, *_ = resample(("redraw", "accept"), n_draws=1)
    assert Counter(sampler.provenance_["factual"].tolist()).most_common(1)[0][1] > 2


def test_interpolation_never_passes_a_copy_off_as_new():
    bits = (X > 0.5).astype(float)
    sampler = CounterfactualOverSampler(
        estimator=TIMID, on_shortfall="interior", epsilon=1e-9, random_state=0
    )
    with pytest.warns(ShortfallWarning):
        sampler.fit_resample(bits, Y)
    changed = sampler.provenance_.changed_mask().any(axis=1)
    np.testing.assert_array_equal(changed, sampler.provenance_["origin"] == "interior")


@pytest.mark.parametrize("chain", [("raise", "accept"), ("interior", "interior")])
def test_a_chain_is_read_in_its_order_and_names_nothing_twice(chain):
    sampler = CounterfactualOverSampler(estimator=TIMID, n_draws=1, on_shortfall=chain)
    with pytest.raises(ValueError, match=r"missing|more than once"):
        sampler.fit_resample(X, Y)


def test_a_failed_call_shows_nothing_of_an_earlier_one():
    sampler = CounterfactualOverSampler(estimator=TIMID, random_state=0)
    sampler.fit_resample(X, Y, sample_weight=np.ones(220))
    sampler.set_params(on_shortfall="raise", epsilon=1e-9)
    with pytest.raises(ShortfallError):
        sampler.fit_resample(X, Y)
    assert not hasattr(sampler, "provenance_")
    assert not hasattr(sampler, "sample_weight_")
    assert sampler.yield_[0, 1].inversions == 0


def test_no_warning_where_nothing_is_short():
    sampler = CounterfactualOverSampler(
        estimator=BALANCED, sampling_strategy=0.3, selection="nearest", random_state=0
    )
    sampler.fit_resample(X, Y)
    assert set(sampler.provenance_["origin"]) == {"inversion"}
    assert sampler.yield_[0, 1].used == len(sampler.provenance_)


def test_the_default_never_moves_the_threshold():
    sampler = CounterfactualOverSampler(estimator=TIMID, n_draws=1, epsilon=4, random_state=0)
    with pytest.warns(ShortfallWarning):
        X_new, y_new = sampler.fit_resample(X, Y)
    origin = sampler.provenance_["origin"].astype(str)
    assert set(origin) <= {"inversion", "minimum", "redraw", "interior"}
    by_f = origin != "interior"
    assert by_f.any()
    assert (sampler.estimator_.predict(X_new[220:][by_f]) == y_new[220:][by_f]).all()


@pytest.fixture
def passes(monkeypatch):
    """Note every pass, and how large the pool of each class is before and after it is settled."""
    made = {"find": [], "solve": [], "settle": []}
    find, solve, settle = Problem.find, Problem.solve, shortfall.settle

    def noted_find(self, judged, number, targets, among=None):
        made["find"].append(number)
        return find(self, judged, number, targets, among)

    def noted_solve(self, judged, targets, *more):
        made["solve"].append(tuple(targets))
        return solve(self, judged, targets, *more)

    def noted_settle(classes):
        before = [len(rows.factuals) for rows in classes]
        settle(classes)
        made["settle"].append((before, [len(rows.factuals) for rows in classes]))

    monkeypatch.setattr(Problem, "find", noted_find)
    monkeypatch.setattr(Problem, "solve", noted_solve)
    monkeypatch.setattr(shortfall, "settle", noted_settle)
    return made


def test_a_pool_is_filled_up_to_three_times_the_number_asked_for_and_settled(passes):
    sampler = CounterfactualOverSampler(estimator=BALANCED, random_state=0)
    for share, asked in ((0.15, 10), (0.5, 80)):
        passes["find"].clear()
        sampler.set_params(sampling_strategy=share).fit_resample(X, Y)
        assert passes["settle"].pop() == ([3 * asked], [asked])
        inverted = sampler.yield_[0, 1].inversions
        assert (passes["find"] == [0]) == (inverted >= 3 * asked)
        assert len(sampler.provenance_) == asked
    assert len(passes["find"]) > 1
    assert passes["solve"] == []  # drawing again comes first, and was enough


def test_the_minimum_search_adds_to_a_pool_what_drawing_again_does_not_find(passes):
    sampler = CounterfactualOverSampler(estimator=TIMID, n_draws=1, random_state=0)
    sampler.fit_resample(X, Y)  # a warning would be an error
    ([pooled], [kept]) = passes["settle"].pop()
    assert 180 == kept < pooled < 3 * 180
    assert passes["solve"] == [(1,)]
    assert set(sampler.provenance_["origin"]) == {"inversion", "redraw", "minimum"}


@given(
    seed=st.integers(0, 2**16),
    sizes=st.lists(st.integers(4, 60), min_size=2, max_size=4),
    decimals=st.integers(1, 3),
    chain=st.sampled_from([shortfall.DEFAULT, ("redraw", "accept"), ("minimum", "accept")]),
)
def test_no_row_of_a_pool_comes_twice_and_f_calls_each_its_class(seed, sizes, decimals, chain):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    table = np.round(rng.normal(size=(len(y), 2)) + rng.normal(size=(len(sizes), 2))[y], decimals)
    sampler = CounterfactualOverSampler(
        estimator=DecisionTreeClassifier(max_depth=4, random_state=0),
        n_draws=2,
        on_shortfall=chain,
        snap_to_grid=True,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X_new, y_new = sampler.fit_resample(table, y)
    by_f = sampler.provenance_[np.isin(sampler.provenance_["origin"].astype(str), CALLED)]
    new = by_f["sample"]
    rows = np.column_stack([by_f["factual"], y_new[new], X_new[new]])
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert (sampler.estimator_.predict(X_new)[new] == y_new[new]).all()
    assert Counter(y_new.tolist()).most_common(1)[0][1] == max(sizes)


def test_a_class_that_a_pool_fills_is_not_short():
    sampler = CounterfactualOverSampler(estimator=BALANCED, random_state=0)
    _, y_new = sampler.fit_resample(X, Y)  # a warning would be an error
    assert Counter(y_new.tolist()) == {0: 200, 1: 200}
    origin = sampler.provenance_["origin"]
    assert sampler.yield_[0, 1].used == (origin == "inversion").sum() < 180
    assert sampler.yield_[0, 1].inversions > (origin == "inversion").sum()


def test_what_a_pool_lacks_is_filled_by_the_other_policies_and_only_that_is_warned_of():
    sampler, _, counts, message = resample(
        ("redraw", "interior"), selection="agreement", n_draws=1, epsilon=3
    )
    assert counts == {0: 200, 1: 200}
    origin = Counter(sampler.provenance_["origin"].tolist())
    assert origin["redraw"] > 0 < origin["interior"]
    found = origin["inversion"] + origin["redraw"]
    assert f"180 new samples asked for, {found} inversions found; " in message
    assert f"{origin['interior']} more by interpolating" in message
    assert "drawing again" not in message


def test_a_pool_that_is_too_small_is_refused_where_nothing_may_fill_the_class():
    sampler = CounterfactualOverSampler(
        estimator=TIMID, n_draws=1, epsilon=3, on_shortfall=("redraw", "raise"), random_state=0
    )
    with pytest.raises(ShortfallError, match=r"180 new samples asked for, \d+ inversions found, "):
        sampler.fit_resample(X, Y)


@pytest.mark.parametrize("chain", ["accept", "interior", ("accept", "redraw", "minimum")])
def test_there_is_no_pool_where_nothing_may_be_searched_again(passes, chain):
    sampler, _, _, message = resample(chain, selection="agreement")
    assert passes == {"find": [0], "solve": [], "settle": []}
    assert f"{sampler.yield_[0, 1].inversions} inversions found" in message


@pytest.mark.parametrize("more", [{"sampling_strategy": "all"}, {"search": "minimum"}])
def test_nothing_is_pooled_for_every_inversion_or_by_solving(passes, more):
    usual = {"estimator": BALANCED, "sampling_strategy": 0.5, "random_state": 0}
    sampler = CounterfactualOverSampler(**usual | more)
    sampler.fit_resample(X, Y)
    assert len(passes["find"] + passes["solve"]) == 1
    assert passes["settle"] == []
    assert set(sampler.provenance_["origin"]) == {"inversion"}


@pytest.mark.parametrize("selection", ["nearest", "random"])
def test_only_a_selection_by_agreement_has_a_pool(passes, selection):
    sampler = CounterfactualOverSampler(
        estimator=BALANCED, selection=selection, sampling_strategy=0.5, random_state=0
    )
    sampler.fit_resample(X, Y)
    assert passes == {"find": [0], "solve": [], "settle": []}


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
