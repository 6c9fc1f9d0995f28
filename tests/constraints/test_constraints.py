"""Constraints are kept by every new row, and refused where they cannot be."""

import numpy as np
import pandas as pd
import pytest

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import (
    AtLeast,
    Cost,
    Decreasing,
    Immutable,
    Increasing,
    MaxChanged,
    OneOf,
    Range,
    Relation,
    Transitions,
)
from counterbalance.errors import ConstraintError, ShortfallError, ShortfallWarning

RNG = np.random.default_rng(0)
N = 300
X = pd.DataFrame(
    {
        "age": RNG.integers(20, 80, N),
        "dose": RNG.normal(20, 8, N),
        "unique": RNG.integers(1, 20, N),
        "sex": RNG.choice(["f", "m"], N),
        "ward": RNG.choice(["A", "B", "C"], N),
    }
)
X["count"] = X["unique"] + RNG.integers(0, 30, N)
Y = np.where(X["age"] + X["dose"] + 10 * (X["sex"] == "f") + 0.5 * X["count"] > 107, "ill", "well")

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


def twins(constraints, **parameters):
    sampler = CounterfactualOverSampler(constraints=constraints, random_state=0, **parameters)
    X_new, _ = sampler.fit_resample(X, Y)
    new = X_new.iloc[N:].reset_index(drop=True)
    old = X.iloc[sampler.provenance_["factual"]].reset_index(drop=True)
    assert len(new) > 100
    return sampler, old, new


@pytest.mark.parametrize("search", ["minimum", "perturb"])
def test_a_change_is_large_enough_and_a_category_goes_only_where_it_may(search):
    rules = [AtLeast("dose", 5), Transitions("ward", {"A": ["B"], "C": []}), AtLeast("age", 3)]
    _, old, new = twins([*rules, Cost("count", 2)], search=search)
    for column, step in (("dose", 5), ("age", 3)):
        change = (new[column] - old[column]).abs()
        assert (change.eq(0) | change.ge(step * (1 - 1e-9))).all()
    assert new["ward"][old["ward"] == "C"].eq("C").all()
    assert new["ward"][old["ward"] == "A"].isin(["A", "B"]).all()


def test_an_ordered_category_can_only_go_up():
    levels = ["low", "middle", "high"]
    table = X.assign(ward=pd.Categorical(X["ward"].replace(dict(zip("ABC", levels, strict=True)))))
    table["ward"] = table["ward"].cat.set_categories(levels, ordered=True)
    sampler = CounterfactualOverSampler(constraints=[Increasing("ward")], random_state=0)
    rows, _ = sampler.fit_resample(table, Y)
    old = table["ward"].cat.codes.to_numpy()[sampler.provenance_["factual"]]
    assert (rows["ward"].cat.codes.to_numpy()[N:] >= old).all()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda: AtLeast("dose", 0), "needs a number above 0"),
        (lambda: AtLeast("dose", 1e6), "allows no change"),
        (lambda: AtLeast("ward", 1), "needs a column of numbers"),
        (lambda: Cost("dose", -1), "needs a weight above 0"),
        (lambda: Cost("dosis", 1), "names the column 'dosis'|dosis"),
        (lambda: Transitions("ward", {"A": ["Z"]}), "names 'Z', which the column does not have"),
        (lambda: Transitions("ward", {"A": "B"}), "needs a dictionary of lists"),
        (lambda: Transitions("ward", ["A"]), "needs a dictionary of lists"),
        (lambda: Transitions("age", {30: [31]}), "needs a column with categories"),
    ],
)
def test_a_step_a_cost_or_a_transition_that_cannot_be_is_refused(rule, message):
    with pytest.raises(ConstraintError, match=message):
        CounterfactualOverSampler(constraints=[rule()]).fit_resample(X, Y)


def test_an_immutable_column_stays():
    sampler, old, new = twins([Immutable("sex", "ward")])
    assert (old[["sex", "ward"]] == new[["sex", "ward"]]).all(axis=None)
    assert not sampler.provenance_.changed_mask()[:, [3, 4]].any()


def test_an_increasing_column_grows_and_a_decreasing_one_shrinks():
    _, old, new = twins([Increasing("age"), Decreasing("dose")])
    assert (new["age"] >= old["age"]).all()
    assert (new["dose"] <= old["dose"]).all()
    assert (new["age"] > old["age"]).any()


def test_a_range_is_kept_even_where_the_factual_leaves_it():
    _, old, new = twins([Range("dose", 10, 22)])
    assert not old["dose"].between(10, 22).all()
    assert new["dose"].between(10, 22).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_range_is_kept_to_the_last_bit_of_a_narrow_float(dtype):
    rows = RNG.normal(size=(N, 2)).astype(dtype)
    labels = (rows.sum(axis=1) > 1.2).astype(int)
    for epsilon in (None, 1e-9):
        sampler = CounterfactualOverSampler(
            constraints=Range("x0", None, 0.3), epsilon=epsilon, random_state=0
        )
        X_new, _ = sampler.fit_resample(rows, labels)
        assert (X_new[N:, 0].astype(float) <= 0.3).all()


def test_a_range_on_a_grid_keeps_its_own_ends():
    rows = np.round(RNG.uniform(0, 1, (N, 2)), 2)
    rows[:3, 0] = 0.57, 0.07, 0.3
    labels = (rows.sum(axis=1) > 1.5).astype(int)
    sampler = CounterfactualOverSampler(
        constraints=Range("x0", 0.07, 0.57), n_draws=50, random_state=0
    )
    X_new, _ = sampler.fit_resample(rows, labels)
    assert X_new[N:, 0].max() == 0.57
    CounterfactualOverSampler(constraints=Range("x0", 0.57, 0.57)).fit_resample(rows, labels)


def test_a_factual_far_outside_its_range_is_put_to_the_near_bound():
    rows = RNG.normal(size=(N, 2))
    rows[0, 0] = -80
    labels = (rows.sum(axis=1) > 1.2).astype(int)
    sampler = CounterfactualOverSampler(
        constraints=Range("x0", 2, 2.5), on_shortfall="accept", random_state=0
    )
    X_new, _ = sampler.fit_resample(rows, labels)
    assert ((X_new[N:, 0] >= 2) & (X_new[N:, 0] <= 2.5)).all()


def test_missing_cells_do_not_count_as_changes():
    holed = X.assign(gap=np.nan)
    sampler = CounterfactualOverSampler(constraints=MaxChanged(1), epsilon=1e-9, random_state=0)
    sampler.fit_resample(holed, Y)
    assert sampler.provenance_.changed_mask().sum(axis=1).max() == 1


def test_columns_with_whole_numbers_for_names_are_found_by_name():
    rows = X[["age", "dose", "count"]].set_axis([2, 0, 1], axis=1)
    sampler = CounterfactualOverSampler(constraints=Immutable(2), random_state=0)
    sampler.fit_resample(rows, Y)
    assert not sampler.provenance_.changed_mask()[:, 0].any()


def test_one_of_the_values_is_taken():
    _, old, new = twins([OneOf("ward", ["A", "B"])])
    assert (old["ward"] == "C").any()
    assert set(new["ward"]) <= {"A", "B"}


def test_one_of_some_numbers_is_taken():
    _, _, new = twins([OneOf("age", [30, 50, 70])])
    assert set(new["age"]) <= {30, 50, 70}


def test_max_changed_limits_how_many_features_change():
    sampler, _, _ = twins([MaxChanged(1)])
    assert sampler.provenance_.changed_mask().sum(axis=1).max() == 1


def test_a_relation_between_columns_holds():
    _, _, free = twins(None)
    _, _, bound = twins("age + dose <= 95")
    assert not (free["age"] + free["dose"] <= 95).all()
    assert (bound["age"] + bound["dose"] <= 95).all()


def test_constraints_hold_for_interpolated_rows_too():
    sampler, old, new = twins(
        [Immutable("sex"), Increasing("age"), Range("dose", 10, 60), "unique <= count"],
        epsilon=1e-6,
    )
    assert (sampler.provenance_["origin"] == "interior").all()
    assert (new["sex"] == old["sex"]).all()
    assert (new["age"] >= old["age"]).all()
    assert new["dose"].between(10, 60).all()
    assert (new["unique"] <= new["count"]).all()


def test_fewer_inversions_than_asked_for_name_the_constraints():
    sampler = CounterfactualOverSampler(
        constraints=[Immutable("age", "dose", "sex", "count"), "unique <= 3"],
        on_shortfall="accept",
        random_state=0,
    )
    says = r"under the constraints Immutable\('age', 'dose', 'sex', 'count'\), 'unique <= 3'"
    with pytest.warns(ShortfallWarning, match=says):
        sampler.fit_resample(X, Y)


def test_constraints_that_nothing_can_meet_are_an_error_that_names_them():
    sampler = CounterfactualOverSampler(constraints=["age + dose < -1"], random_state=0)
    with pytest.raises(ShortfallError, match=r"under the constraints 'age \+ dose < -1'.*missing"):
        sampler.fit_resample(X, Y)


@pytest.mark.parametrize(
    ("constraints", "says"),
    [
        ([Range("dose", 40, 0)], "no value in it"),
        ([Range("dose", 0, 10), Range("dose", 15, 20)], "contradicts another Range"),
        ([Range("dose", 1000, 2000)], "outside the values"),
        ([Range("age", 30.2, 30.8)], "no value of the column's grid"),
        ([Range("sex", 0, 1)], "needs a column of numbers.*'sex' is nominal"),
        ([Increasing("ward")], "needs a column with an order"),
        ([Increasing("nope")], "Increasing\\('nope'\\) names the column 'nope'"),
        ([OneOf("ward", ["Z"])], "names 'Z'"),
        ([OneOf("ward", [])], "names no value"),
        ([OneOf("ward", ["A"]), OneOf("ward", ["B"])], "contradicts another OneOf"),
        ([MaxChanged(0)], "at least one feature"),
        ([Immutable(*X.columns)], "every column that varies is Immutable"),
        (["age <="], "cannot be read"),
        (["sex <= age"], "needs a column of numbers"),
        ([Relation("weight < 3")], "'weight', which the table does not have"),
        ([42], "must hold constraints or texts"),
        ([Range("dose", "a", 3)], "needs numbers"),
        ([OneOf("dose", ["a"])], "needs numbers"),
        ([OneOf("ward", [["A"]])], "names \\['A'\\]"),
        (["dose < 1e999"], "too large"),
        (["(" * 5000 + "dose" + ")" * 5000 + " < 1"], "more than 100 terms"),
    ],
)
def test_a_constraint_that_cannot_be_met_is_refused_by_name(constraints, says):
    with pytest.raises(ConstraintError, match=says):
        CounterfactualOverSampler(constraints=constraints).fit_resample(X, Y)


@pytest.mark.parametrize("values", ["AB", 3])
def test_one_of_needs_a_list(values):
    with pytest.raises(ConstraintError, match="needs a list of values"):
        OneOf("ward", values)


def test_constraints_can_be_read():
    shown = [Immutable("sex"), Increasing("age"), Range("dose", 0, 40), OneOf("ward", ["A"])]
    assert list(map(repr, [*shown, MaxChanged(3), Relation("a <= b")])) == [
        "Immutable('sex')",
        "Increasing('age')",
        "Range('dose', 0, 40)",
        "OneOf('ward', ('A',))",
        "MaxChanged(3)",
        "'a <= b'",
    ]


@pytest.mark.parametrize("columns", [["x0", "x1"], ("x0", "x1"), pd.Index(["x0", "x1"])])
def test_a_list_of_immutable_columns_is_refused_with_what_to_write(columns):
    X, y = np.arange(40.0).reshape(20, 2), np.repeat([0, 1], [14, 6])
    with pytest.raises(ConstraintError, match=r"write Immutable\('x0', 'x1'\)"):
        CounterfactualOverSampler(constraints=Immutable(columns)).fit_resample(X, y)


def test_a_constraint_on_several_columns_at_once_is_refused():
    X, y = np.arange(40.0).reshape(20, 2), np.repeat([0, 1], [14, 6])
    for column in (["x0"], np.array(["x0", "x1"])):
        with pytest.raises(ConstraintError, match="name each on its own"):
            CounterfactualOverSampler(constraints=Increasing(column)).fit_resample(X, y)
