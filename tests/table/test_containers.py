"""Containers: rows that came in stay as they were, new ones get labels that cannot collide."""

import contextlib
import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.errors import ClassifierError, IdentifierWarning, TableError
from counterbalance.table.containers import new_index

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], [40, 10])
X = pd.DataFrame(RNG.normal(size=(50, 2)) + 2 * Y[:, None], columns=["a", "b"])

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


def resample(X, y=Y, **parameters):
    return CounterfactualOverSampler(random_state=0, **parameters).fit_resample(X, y)


@pytest.mark.parametrize(
    ("index", "labels"),
    [
        (pd.RangeIndex(3), [0, 1, 2, 3, 4]),
        (pd.RangeIndex(5, 8, name="id"), [5, 6, 7, 8, 9]),
        (pd.Index([10, 3, 7]), [10, 3, 7, 11, 12]),
        (pd.Index(["a", "b", "c"]), ["a", "b", "c", "new-0", "new-1"]),
        (pd.Index(["new-0", "b", "c"]), ["new-0", "b", "c", "new--0", "new--1"]),
        (pd.Index([0.5, 1.5, 2.5]), [0.5, 1.5, 2.5, "new-0", "new-1"]),
        (
            pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
            [("a", 1), ("a", 2), ("b", 1), ("new-0", "new-0"), ("new-1", "new-1")],
        ),
    ],
)
def test_new_labels_cannot_collide(index, labels):
    result = new_index(index, 2)
    assert result.tolist() == labels
    assert result.names == index.names
    assert new_index(index, 0).tolist() == index.tolist()


def test_dates_of_an_index_stay_and_are_not_invented():
    dates = pd.date_range("2026-01-01", periods=50)
    X_new, _ = resample(X.set_axis(dates))
    assert X_new.index[:50].tolist() == dates.tolist()
    assert X_new.index[50] == "new-0"


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(Y).map({0: "no", 1: "yes"}),
        pd.Series(Y == 1),
        pd.Series(Y).astype("Int64"),
        pd.Series(Y).map({0: "no", 1: "yes"}).astype("category"),
        pd.Series(Y, dtype="int8", name="label"),
        pl.Series("label", ["no", "yes"]).gather(Y),
        pl.Series("label", ["no", "yes"], dtype=pl.Categorical).gather(Y),
        pl.Series(Y == 1),
        Y.astype(bool),
        Y.tolist(),
        Y[:, None],
        pd.DataFrame({"label": Y}),
    ],
)
def test_labels_come_back_as_they_came(y):
    _, y_new = resample(X, y)
    assert type(y_new) is type(y)
    if not isinstance(y, list | pd.DataFrame):
        assert y_new.dtype == y.dtype
    assert len(y_new) == 80
    assert getattr(y_new, "name", None) == getattr(y, "name", None)


def test_labels_may_be_texts_that_look_like_numbers():
    for y in (pd.Series(Y).map({0: "1", 1: "2"}), np.array(["1", "2"], dtype=object)[Y]):
        _, y_new = resample(X, y)
        assert list(y_new).count("2") == 40


def test_series_and_frame_keep_one_index():
    y = pd.Series(Y, index=[f"r{n}" for n in range(50)])
    X_new, y_new = resample(X.set_axis(y.index), y)
    assert X_new.index.equals(y_new.index)


def test_missing_labels_are_refused():
    for y in (pd.Series(Y).astype("Int64").mask(Y == 1), pl.Series([None, *Y[1:].tolist()])):
        with pytest.raises(TableError, match="missing label"):
            resample(X, y)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([1, "a"] * 25, "cannot be perturbed"),
        ([[1]] * 50, "cannot be perturbed"),
        (np.arange(50) + 1j, "cannot be perturbed"),
        ([np.inf] * 50, "infinite"),
    ],
)
def test_a_column_that_cannot_be_used_is_refused_by_name_with_a_remedy(cells, says):
    with pytest.raises(TableError, match=rf"'bad'.*{says}"):
        resample(X.assign(bad=cells))


def test_polars_columns_that_cannot_be_used_are_refused():
    with pytest.raises(TableError, match="'bad'"):
        resample(pl.from_pandas(X).with_columns(pl.Series("bad", [[1]] * 50)))


@pytest.mark.parametrize(
    "cells",
    [
        pd.date_range("2026-01-01", periods=50),
        [dt.date(2026, 1, 1 + n % 28) for n in range(50)],
        pd.to_timedelta(np.arange(50) % 7, unit="D"),
        [f"2026-01-{1 + n % 28:02}" for n in range(50)],
    ],
)
@pytest.mark.parametrize("from_pandas", [lambda frame: frame, pl.from_pandas])
def test_dates_are_copied_from_the_real_row_and_named(cells, from_pandas):
    table = from_pandas(X.assign(day=cells))
    sampler = CounterfactualOverSampler(random_state=0)
    with pytest.warns(IdentifierWarning, match=r"'day' \(dates\).*use=\['day'\]"):
        X_new, _ = sampler.fit_resample(table, Y)
    for row in sampler.provenance_:
        if row["factual"] >= 0:
            assert X_new["day"].to_numpy()[row["sample"]] == table["day"].to_numpy()[row["factual"]]


def test_repeated_column_names_are_refused():
    with pytest.raises(TableError, match="unique"):
        resample(X.set_axis(["a", "a"], axis=1))


def test_an_identifier_too_large_for_a_float_is_refused_or_taken_as_a_category():
    table = X.assign(id=np.arange(50) % 3 + 2**60)
    with pytest.raises(TableError, match=r"'id'.*categorical_features"):
        resample(table)
    X_new, _ = resample(table, categorical_features=["id"])
    assert set(X_new["id"]) <= set(table["id"])


def test_columns_are_named_by_name_position_or_mask():
    table = X.assign(code=np.arange(50) % 4)
    results = [
        resample(table, categorical_features=choice)[0]
        for choice in (["code"], [2], [-1], [False, False, True], np.array([2]))
    ]
    for result in results[1:]:
        pd.testing.assert_frame_equal(result, results[0])


def test_whole_numbers_kept_in_floats_stay_whole():
    table = X.assign(n=np.rint(3 * X["a"]))
    X_new, _ = resample(table, feature_order=["n"], on_shortfall="accept")
    assert len(X_new) > len(table)
    assert (X_new["n"] % 1 == 0).all()
    assert X_new["n"].dtype == np.float64


@pytest.mark.parametrize(("step", "decimals"), [(0.5, 1), (0.01, 2), (0.1, 1), (1.0, 0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_recognised_grid_is_kept(step, decimals, dtype):
    grid = np.round(RNG.integers(-20, 30, (50, 2)) * step, decimals).astype(dtype)
    X_new, _ = resample(grid)
    steps = np.rint(X_new.astype(float) / step)
    np.testing.assert_array_equal(X_new, np.round(steps * step, decimals).astype(dtype))
    assert not np.signbit(X_new[X_new == 0]).any()


def test_a_column_with_more_decimals_than_any_grid_has_none():
    X_new, _ = resample(X)
    assert (np.round(X_new["a"].to_numpy()[50:], 4) != X_new["a"].to_numpy()[50:]).any()


def test_missing_cells_reach_f_as_they_are():
    cells = np.where(Y == 1, None, np.nan).astype(object)
    cells[::3] = "seen"
    table = pd.DataFrame({"a": pd.Series(cells, dtype=object), "b": X["b"]})

    class Particular(DecisionTreeClassifier):
        def fit(self, X, y):
            return super().fit(self.read(X), y)

        def predict(self, X):
            return super().predict(self.read(X))

        def predict_proba(self, X):
            return super().predict_proba(self.read(X))

        @staticmethod
        def read(X):
            return np.column_stack([[cell is None for cell in X["a"]], X["b"]])

    sampler = CounterfactualOverSampler(estimator=Particular(max_depth=1), random_state=0)
    with contextlib.suppress(ClassifierError):
        sampler.fit_resample(table, Y)
    assert sampler.estimator_.predict(table).sum() > 0


def test_a_list_of_mixed_rows_keeps_its_cells():
    rows = [[float(a), "x" if b > 0 else "y"] for a, b in X.to_numpy()]
    X_new, _ = resample(rows)
    assert X_new[:50] == rows
    assert all(isinstance(row[0], float) and isinstance(row[1], str) for row in X_new)


def test_an_object_column_of_whole_numbers_stays_one():
    table = X.assign(n=pd.Series(np.rint(3 * X["a"]).astype(int).tolist(), dtype=object))
    X_new, _ = resample(table)
    assert all(isinstance(cell, int) for cell in X_new["n"])


def test_a_column_with_a_category_for_every_row_changes_only_if_it_is_named():
    table = X.assign(id=[f"patient {n}" for n in range(50)])
    sampler = CounterfactualOverSampler(random_state=0)
    with pytest.warns(IdentifierWarning, match="'id'"):
        sampler.fit_resample(table, Y)
    assert 2 not in sampler.feature_order_
    sampler = CounterfactualOverSampler(random_state=0, use=["id"])
    sampler.fit_resample(table, Y)
    assert sampler.feature_order_[-1] == 2


def test_a_frame_with_a_column_called_collect_is_a_frame():
    assert len(resample(X.rename(columns={"a": "collect"}))[0]) == 80


def test_a_small_index_type_gets_wider_where_it_must():
    X_new, _ = resample(X.set_axis(pd.Index(np.arange(78, 128), dtype="int8")))
    assert X_new.index.is_unique
    assert X_new.index[50] == 128


def test_null_and_nan_stay_apart_in_polars():
    table = pl.DataFrame({"a": [None, float("nan"), *X["a"][2:]], "b": X["b"]})
    sampler = CounterfactualOverSampler(random_state=0)
    X_new, _ = sampler.fit_resample(table, Y)
    for row in sampler.provenance_:
        if row["factual"] < 2:
            old, new = X_new["a"][row["factual"]], X_new["a"][row["sample"]]
            assert (old is None) == (new is None)


def test_a_list_is_read_column_by_column():
    rows = [[bool(a > 0), int(8 + b), float(b)] for a, b in X.to_numpy()]
    X_new, _ = resample(rows)
    assert X_new[:50] == rows
    assert all(list(map(type, row)) == [bool, int, float] for row in X_new)


@pytest.mark.parametrize("series", [pd.Series(Y), pl.Series(Y)])
def test_a_series_is_refused_with_a_remedy(series):
    with pytest.raises(TableError, match="to_frame"):
        resample(series)


def test_cells_that_are_no_numbers_are_refused_by_name():
    for cell in (np.array([1, 2]), Decimal("sNaN"), Fraction(1, 3)):
        cells = pd.Series([cell] * 50, dtype=object)
        with pytest.raises(TableError, match=f"'bad' holds {type(cell).__name__}"):
            resample(X.assign(bad=cells))
