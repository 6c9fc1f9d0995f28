"""Profile: range, deviation, MAD and its stand-ins, Spearman order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from counterbalance.errors import TableError
from counterbalance.profile import (
    _mad,
    _middle_of,
    _ranks,
    by_importance,
    distance,
    middle,
    profile_table,
)
from counterbalance.table.table import read_table


def profile_of(X, y=None, **kinds):
    X = np.asarray(X, dtype=float)
    y = np.arange(len(X)) % 2 if y is None else np.asarray(y)
    return profile_table(read_table(X, **kinds), y)


def test_statistics_are_those_of_numpy_and_scipy():
    X = np.random.default_rng(0).gamma(2, size=(200, 3))
    profile = profile_of(X)
    np.testing.assert_array_equal(profile.lower, X.min(axis=0))
    np.testing.assert_array_equal(profile.upper, X.max(axis=0))
    np.testing.assert_allclose(profile.deviation, X.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(profile.scale, stats.median_abs_deviation(X), rtol=1e-12)


def test_importance_is_the_absolute_spearman_correlation():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = np.round(rng.normal(size=(300, 4)) + np.array([0, 0.5, -1, 2]) * y[:, None], 1)
    rho = [abs(stats.spearmanr(X[:, m], y).statistic) for m in range(4)]
    profile = profile_of(X, y)
    np.testing.assert_allclose(profile.importance, rho, rtol=1e-10)
    assert by_importance(profile).tolist() == np.argsort(rho)[::-1].tolist()


@given(st.lists(st.sampled_from([-0.0, 0.0, 1.5, -2.0, 1e300, 3.0]), min_size=1, max_size=30))
def test_ranks_are_those_of_scipy_to_the_last_bit(cells):
    column = np.array(cells)
    order = np.argsort(column)
    assert _ranks(order, column[order]).tobytes() == stats.rankdata(column).tobytes()


@given(st.lists(st.sampled_from([-0.0, 0.0, 0.1, 1.5, -2.0, 1.7e308, 3.0]), min_size=1, max_size=9))
def test_median_and_mad_of_sorted_numbers_are_those_of_numpy_to_the_last_bit(cells):
    column = np.array(cells)
    median = _middle_of(np.sort(column))
    mad = _mad(np.sort(column), median)
    expected = middle(column), middle(np.abs(column - median))
    assert np.array([median, mad]).tobytes() == np.array(expected).tobytes()


def test_importance_with_three_classes_does_not_depend_on_how_they_are_numbered():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 2)) + y[:, None]
    first, second = profile_of(X, y), profile_of(X, np.array([2, 0, 1])[y])
    np.testing.assert_allclose(first.importance, second.importance, rtol=1e-12)


def test_two_categories_are_as_important_as_their_spearman_correlation():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    category = (rng.random(300) < 0.3 + 0.4 * y).astype(float)
    profile = profile_of(category[:, None], y, categorical_features=[0])
    rho = abs(stats.spearmanr(category, y).statistic)
    assert profile.importance[0] == pytest.approx(rho, rel=1e-10)


def test_a_zero_mad_falls_back_to_the_mean_absolute_deviation():
    column = np.array([1.0] * 8 + [3.0, 5.0])
    assert profile_of(column[:, None]).scale[0] == pytest.approx(0.6)


def test_a_scale_that_would_make_distances_infinite_is_passed_over():
    column = np.array([0.0, 1e-300, 2e-300, 3e-300, 1e300])
    assert np.isfinite(1e300 / profile_of(column[:, None]).scale[0])


def test_tiny_and_huge_columns_have_a_deviation():
    X = np.array([[1e-300, 1e300], [3e-300, 3e300], [2e-300, -1e300]])
    assert np.isfinite(profile_of(X).deviation).all()
    assert (profile_of(X).deviation > 0).all()


def test_a_column_wider_than_a_float_is_refused_by_name():
    with pytest.raises(TableError, match=r"'x1'.*rescale"):
        profile_of([[1, -1.7e308], [2, 1.7e308], [3, 0]])


def test_constant_columns_are_left_out_of_the_order():
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[:, 1] = 7
    assert 1 not in by_importance(profile_of(X))


def test_missing_cells_are_left_out_of_every_statistic():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    gone = rng.random(60) < 0.3
    holed = np.vstack([X, X])
    holed[60:, 0] = np.nan
    holed[:60, 0][gone] = np.nan
    partly = profile_of(holed, np.tile(y, 2))
    alone = profile_of(X[~gone][:, :1], y[~gone])
    for name in ("lower", "upper", "median", "deviation", "scale", "importance"):
        assert getattr(partly, name)[0] == getattr(alone, name)[0], name


def test_distance_is_the_sum_of_changes_over_mads():
    X = np.random.default_rng(0).normal(size=(50, 3))
    profile = profile_of(X)
    order = by_importance(profile)
    expected = (np.abs(X[:10] - X[10:20]) / profile.scale).sum(axis=1)
    np.testing.assert_allclose(distance(profile, order, X[:10], X[10:20]), expected)
