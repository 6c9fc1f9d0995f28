import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from counterbalance.errors import TableError
from counterbalance.methods import MGSGRF
from counterbalance.methods.gaussian import drawn_by_forest, normal_rows


def test_new_rows_have_the_mean_and_the_covariance_of_a_row_and_its_neighbours():
    rows = np.random.default_rng(0).normal(size=(6, 3)) @ [[2.0, 1, 0], [0, 1, 0], [0, 0, 0.5]]
    # All other rows are neighbours, so every new row has the same distribution.
    made = normal_rows(rows, 200_000, 5, np.random.default_rng(1))
    np.testing.assert_allclose(made.mean(axis=0), rows.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(np.cov(made.T), np.cov(rows.T, bias=True), atol=0.05)


def test_new_rows_lie_in_the_plane_of_fewer_rows_than_features():
    rows = np.random.default_rng(0).normal(size=(3, 10))
    made = normal_rows(rows, 50, 2, np.random.default_rng(1)) - rows.mean(axis=0)
    assert np.linalg.matrix_rank(made, tol=1e-9) == 2


def test_a_row_is_drawn_as_often_as_the_weights_of_the_forest_say():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2))
    forest = RandomForestClassifier(20, max_depth=3, random_state=0)
    forest.fit(rows, (rows[:, 0] + rng.normal(size=40) > 0).astype(int))
    point = np.array([[0.3, -0.2]])
    same = forest.apply(rows) == forest.apply(point)
    weights = (same / same.sum(axis=0)).mean(axis=1)
    drawn = drawn_by_forest(forest, rows, np.repeat(point, 100_000, axis=0), rng)
    np.testing.assert_allclose(np.bincount(drawn, minlength=40) / 100_000, weights, atol=0.01)


@pytest.mark.parametrize("columns", [[1, 3], [False, True, False, True, False], [-4, 3]])
def test_categories_of_a_new_row_are_those_of_one_minority_row(columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    X[:, 1] = rng.integers(0, 4, size=150)
    X[:, 3] = X[:, 1] * 10 + rng.integers(0, 2, size=150)
    y = np.repeat([1, 0], [30, 120])
    X_new, _ = MGSGRF(categorical_features=columns, random_state=0).fit_resample(X, y)
    known = {tuple(row) for row in X[:30, [1, 3]]}
    assert {tuple(row) for row in X_new[150:, [1, 3]]} <= known


def test_categories_follow_the_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    X[:, 1] = X[:, 0] > 0
    y = np.repeat([1, 0], [100, 400])
    new = MGSGRF(categorical_features=[1], random_state=0).fit_resample(X, y)[0][500:]
    assert ((new[:, 0] > 0) == (new[:, 1] == 1)).mean() > 0.95


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([7], "positions below 3"),
        ([True, False], "a mask of 3 columns"),
        (["a"], "positions of columns or a mask"),
        ([0, 1, 2], "a column of numbers"),
    ],
)
def test_wrong_columns_are_refused_with_the_rule(given, message):
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.repeat([1, 0], [8, 22])
    with pytest.raises(TableError, match=message):
        MGSGRF(categorical_features=given).fit_resample(X, y)
