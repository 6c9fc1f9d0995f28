"""A projection shows a table in two dimensions: two of its columns, or principal components."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from counterbalance.displays.projection import Projection, spread_evenly
from counterbalance.errors import TableError


@pytest.fixture(scope="module")
def numbers():
    return np.random.default_rng(0).normal(size=(80, 4)) * [1, 5, 0.1, 2] + [0, 3, 0, 0]


def places(projection):
    return projection.place(np.arange(projection.table.native.shape[0]))


def test_components_are_those_of_scikit_learn_up_to_sign(numbers):
    points = places(Projection.from_table(numbers))
    theirs = PCA(2).fit_transform(StandardScaler().fit_transform(numbers))
    np.testing.assert_allclose(np.abs(points), np.abs(theirs), atol=1e-9)


def test_a_table_of_two_columns_is_shown_as_it_is(numbers):
    projection = Projection.from_table(numbers[:, :2])
    assert projection.is_whole
    np.testing.assert_array_equal(places(projection), numbers[:, :2])
    np.testing.assert_array_equal(projection.rows_at(numbers[:, :2]), numbers[:, :2])
    assert not Projection.from_table(numbers, [1, 3]).is_whole


def test_kinds_stay_what_they_are_and_levels_have_names():
    table = pd.DataFrame(
        {"n": [1, 2, 3, 4] * 5, "c": ["x", "z", "y", "x"] * 5, "b": [True, False] * 10}
    )
    projection = Projection.from_table(table, ["n", "c"])
    assert projection.levels(0) is None
    assert projection.levels(1) == ["x", "y", "z"]
    assert projection.stepped(0)
    whole = Projection.from_table(table[["n", "c"]], ["n", "c"])
    rows = whole.rows_at(np.array([[1.6, 9.0], [2.4, -3.0]]))
    assert rows["n"].tolist() == [2, 2]
    assert rows["c"].tolist() == ["z", "x"]
    assert rows.dtypes.tolist() == table[["n", "c"]].dtypes.tolist()


def test_missing_cells_constant_columns_and_sparse_tables_are_drawn():
    table = pd.DataFrame({"a": [1.0, None, 3.0, 5.0], "b": 7, "c": ["x", None, "x", "y"]})
    table["empty"], table["huge"] = np.nan, [1e300, -1e300, 1.0, 2.0]
    assert np.isfinite(places(Projection.from_table(table))).all()
    assert places(Projection.from_table(table, ["a", "empty"])).tolist()[1] == [3.0, 0.0]
    assert np.isfinite(places(Projection.from_table(sparse.csr_array(np.eye(5))))).all()


def test_what_cannot_be_projected_is_refused(numbers):
    for features, message in (
        ([0], "two columns"),
        ([0, 0], "twice"),
        ([0, 9], "neither the name of a column nor a position"),
    ):
        with pytest.raises(TableError, match=message):
            Projection.from_table(numbers, features)
    with pytest.raises(TableError, match="at least two features"):
        Projection.from_table(numbers[:, :1])
    with pytest.raises(TableError, match="at least two rows"):
        Projection.from_table(numbers[:1])


def test_a_table_of_categories_only_can_be_projected():
    table = pd.DataFrame({"a": ["x", "y", "x", "z"] * 5, "b": ["p", "q", "q", "p"] * 5})
    assert np.isfinite(places(Projection.from_table(table))).all()


def test_rows_are_chosen_evenly():
    assert spread_evenly(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert spread_evenly(100, 3).tolist() == [0, 50, 99]
    assert spread_evenly(0, 3).tolist() == []
