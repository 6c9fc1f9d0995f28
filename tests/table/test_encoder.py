"""A table becomes numbers the same way for every row, whatever it came in."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from comparison_tables import mixed_table
from counterbalance import TablePreparation
from counterbalance.table.table import read_table


def test_numbers_are_scaled_gaps_filled_and_levels_spread_out():
    X, _ = mixed_table()
    rows = TablePreparation().fit_transform(X)
    assert np.isfinite(rows).all()
    # two numbers; A, B, C and missing; False and True
    assert rows.shape == (160, 2 + 4 + 2)
    np.testing.assert_allclose(rows[:, :2].mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(rows[:, :2].std(axis=0), 1)
    np.testing.assert_allclose(rows[:, 2:6].sum(axis=1), 1)


def test_containers_give_the_same_numbers():
    X, _ = mixed_table()
    expected = TablePreparation().fit_transform(X)
    for given in (pl.from_pandas(X), X.to_numpy(dtype=object)):
        np.testing.assert_allclose(TablePreparation().fit_transform(given), expected)


def test_what_is_learned_comes_from_the_training_part_alone():
    X, _ = mixed_table()
    preparation = TablePreparation().fit(X[:100])
    before = preparation.transform(X[:100])
    preparation.transform(X[100:].assign(dose=1e9, ward="Z"))
    np.testing.assert_array_equal(preparation.transform(X[:100]), before)
    other = preparation.transform(X[100:].assign(ward="Z"))
    assert other.shape[1] == before.shape[1]
    assert np.isfinite(other).all()


def test_known_kinds_are_taken_at_their_word():
    X, _ = mixed_table()
    kinds = read_table(X).kinds
    named = TablePreparation().fit_kinds(X, kinds).transform(X)
    np.testing.assert_array_equal(named, TablePreparation().fit(X).transform(X))


def test_columns_are_held_to_their_names_and_order():
    X, _ = mixed_table()
    preparation = TablePreparation().fit(X)
    with pytest.raises(ValueError, match="feature names"):
        preparation.transform(X[["ward", "dose", "visits", "smokes"]])
    with pytest.raises(NotFittedError):
        clone(preparation).transform(X)


def test_numbers_that_are_names_can_be_said_to_be():
    X = pd.DataFrame({"code": [1, 2, 3, 1], "x": [0.0, 1.0, 2.0, 3.0]})
    assert TablePreparation().fit_transform(X).shape == (4, 2)
    assert TablePreparation(categorical_features=["code"]).fit_transform(X).shape == (4, 4)
