import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.errors import TableError
from counterbalance.methods import all_samplers
from counterbalance.methods.any_table import AsNumbers, resample_table
from counterbalance.table.labels import read_labels
from counterbalance.table.table import read_table
from large_tables import mixed_table


def resampled(name, table, wanted=None):
    X, y = table.drop(columns="y"), table["y"]
    method = all_samplers()[name]
    read = read_table(X)
    return resample_table(method, read, read_labels(y), wanted, 0), X, read_labels(y)


@given(st.integers(0, 2**32), st.booleans())
def test_codes_come_back_from_numbers_but_for_missing_numbers(seed, one_hot):
    table = mixed_table(40, seed=seed)
    read = read_table(table.drop(columns="y"))
    codes = read.rows(slice(None))
    numbers = AsNumbers(read, codes, one_hot=one_hot)
    again = numbers.decode(numbers.encode(codes))
    same = np.where(np.isnan(codes) & ~read.nominal, again, codes)
    np.testing.assert_allclose(again, same, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["SMOTE", "Random oversampling", "ProWSyn", "MDO", "MGS-GRF"])
def test_an_oversampler_keeps_every_row_and_its_new_ones_are_rows_of_such_a_table(name):
    table = mixed_table(200)
    made, X, labels = resampled(name, table, {"few": 100, "more": 130, "most": 140})
    assert made.kept.tolist() == list(range(len(X)))
    n_new = np.maximum([100, 130, 140] - labels.counts, 0)
    # MDO and ProWSyn round how many rows each place gets
    assert np.abs(np.bincount(made.target, minlength=3) - n_new).max() <= 3
    assert made.new.dtypes.equals(X.dtypes)
    for column in ("text", "ward", "flag"):
        assert set(made.new[column].unique()) <= set(X[column].unique())
    for column in ("whole", "float", "holes"):
        assert made.new[column].between(X[column].min(), X[column].max()).all()
    assert (made.new["constant"] == 4).all()


def test_the_categories_of_a_new_row_of_mgs_grf_occur_together_in_its_class():
    table = mixed_table(200)
    made, X, labels = resampled("MGS-GRF", table, {"few": 100, "more": 130, "most": 140})
    nominal = ["text", "ward", "flag"]
    for code in range(3):
        known, new = X[nominal][labels.codes == code], made.new[nominal][made.target == code]
        assert set(map(tuple, new.to_numpy())) <= set(map(tuple, known.to_numpy()))
    assert len(made.new)


def test_an_undersampler_leaves_rows_out_and_makes_none():
    table = mixed_table(200)
    made, X, labels = resampled("Random undersampling", table)
    assert np.bincount(labels.codes[made.kept]).tolist() == [labels.counts.min()] * 3
    assert len(made.new) == 0
    assert (np.diff(made.kept) > 0).all()
    assert len(made.kept) < len(X)


def test_rows_that_are_alike_are_kept_as_often_as_they_occur():
    table = pd.DataFrame({"a": [1.0] * 30 + [2.0] * 6, "y": ["n"] * 30 + ["p"] * 6})
    made, *_ = resampled("Random oversampling", table, {"n": 30, "p": 30})
    assert made.kept.tolist() == list(range(36))
    assert len(made.new) == 24


def test_a_classifier_is_refused_with_a_remedy():
    with pytest.raises(TableError, match=r"CUSBoost is a classifier that resamples.*in Python"):
        resampled("CUSBoost", mixed_table(60))


def test_a_method_that_cannot_do_it_is_named_with_its_reason():
    table = mixed_table(60)
    table.loc[table["y"] == "few", "y"] = "more"
    table.loc[0, "y"] = "few"
    with pytest.raises(TableError, match=r"^SMOTE cannot balance this table: .*neighbors"):
        resampled("SMOTE", table, {"few": 20, "more": 50, "most": 50})
