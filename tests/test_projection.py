"""A projection shows a table in two dimensions, and every row stands for itself there."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from counterbalance.errors import TableError
from counterbalance.projection import Projection
from counterbalance.table.table import read_table


@pytest.fixture(scope="module")
def numbers():
    return np.random.default_rng(0).normal(size=(80, 4)) * [1, 5, 0.1, 2] + [0, 3, 0, 0]


def test_components_are_those_of_scikit_learn_up_to_sign(numbers):
    points = Projection.of(numbers).points
    theirs = PCA(2).fit_transform(StandardScaler().fit_transform(numbers))
    np.testing.assert_allclose(np.abs(points), np.abs(theirs), atol=1e-9)


@pytest.mark.parametrize("features", [None, [1, 3]])
def test_a_row_stands_for_itself(numbers, features):
    projection = Projection.of(numbers, features)
    np.testing.assert_allclose(projection.rows_at(projection.points), numbers, atol=1e-9)


def test_a_point_between_rows_is_the_nearest_row_moved_there(numbers):
    projection = Projection.of(numbers, [1, 3])
    moved = projection.rows_at(projection.points[:1] + np.array([1e-6, 0]))
    np.testing.assert_allclose(moved[0], numbers[0] + [0, 1e-6, 0, 0], atol=1e-12)


def test_kinds_stay_what_they_are_and_levels_have_names():
    table = pd.DataFrame(
        {"n": [1, 2, 3, 4] * 5, "c": ["x", "z", "y", "x"] * 5, "b": [True, False] * 10}
    )
    projection = Projection.of(table, ["n", "c"])
    assert projection.levels(0) is None
    assert projection.levels(1) == ["x", "y", "z"]
    assert projection.stepped(0)
    rows = projection.rows_at(np.array([[1.6, 9.0], [2.4, -3.0]]))
    assert rows["n"].tolist() == [2, 2]
    assert rows["c"].tolist() == ["z", "x"]
    assert rows.dtypes.tolist() == table.dtypes.tolist()


def test_missing_cells_constant_columns_and_sparse_tables_are_drawn():
    table = pd.DataFrame({"a": [1.0, None, 3.0, 5.0], "b": 7, "c": ["x", None, "x", "y"]})
    assert np.isfinite(Projection.of(table).points).all()
    assert np.isfinite(Projection.of(sparse.csr_array(np.eye(5))).points).all()


def test_what_cannot_be_projected_is_refused(numbers):
    for features, message in (
        ([0], "two columns"),
        ([0, 0], "twice"),
        ([0, 9], "neither the name of a column nor a position"),
    ):
        with pytest.raises(TableError, match=message):
            Projection.of(numbers, features)
    with pytest.raises(TableError, match="at least two features"):
        Projection.of(numbers[:, :1])
    with pytest.raises(TableError, match="at least two rows"):
        Projection.of(numbers[:1])


def test_a_step_along_a_component_changes_no_category():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    table["ward"] = rng.choice(["x", "y", "z"], 40)
    projection = Projection.of(table)
    rows = projection.rows_at(projection.points + 1e-3)
    assert (rows["ward"] == table["ward"]).all()
    moved = Projection(read_table(rows), projection.labels, components=projection.components).points
    np.testing.assert_allclose(moved - projection.points, 1e-3, atol=1e-9)


def test_a_table_of_categories_only_can_be_projected():
    table = pd.DataFrame({"a": ["x", "y", "x", "z"] * 5, "b": ["p", "q", "q", "p"] * 5})
    projection = Projection.of(table)
    assert np.isfinite(projection.points).all()
    assert projection.rows_at(projection.points).equals(table)
