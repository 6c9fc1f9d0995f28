"""Folds keep classes, groups and time as they must."""

import numpy as np
import pandas as pd
import pytest

from comparison_tables import two_clouds
from counterbalance.compare.data import read_compared
from counterbalance.compare.plan import ComparisonPlan, Settings, splits
from counterbalance.errors import TableError


def folds_of(table, folds, repeats, seed):
    return ComparisonPlan(table, Settings(folds=folds, repeats=repeats, seed=seed)).folds


def test_every_row_is_tested_once_in_each_repeat():
    table = read_compared(*two_clouds(50, 10, apart=1))
    folds = folds_of(table, 5, 2, seed=0)
    for repeat in range(2):
        tested = np.concatenate([fold.test for fold in folds if fold.repeat == repeat])
        assert sorted(tested) == list(range(60))
    assert not np.array_equal(folds[0].test, folds[5].test)


@pytest.mark.parametrize("seed", range(5))
def test_a_group_is_never_split(seed):
    X, y = two_clouds(150, 50, apart=1, seed=seed)
    groups = np.random.default_rng(seed).integers(0, 25, len(y))
    table = read_compared(X, y, groups=groups)
    folds = folds_of(table, 5, 2, seed=seed)
    assert folds
    for fold in folds:
        assert not set(groups[fold.train]) & set(groups[fold.test])
        part = table.part(fold.train)
        for train, test in splits(part, 3, seed):
            assert not set(part.groups[train]) & set(part.groups[test])


@pytest.mark.parametrize("seed", range(5))
def test_training_sees_only_what_was_before_the_test(seed):
    X, y = two_clouds(150, 50, apart=1, seed=seed)
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 40, len(y)), unit="D")
    table = read_compared(X, y, times=pd.Series(days).astype(str))
    folds = folds_of(table, 5, 3, seed=0)
    assert len(folds) >= 4
    for fold in folds:
        assert table.times[fold.train].max() < table.times[fold.test].min()
        part = table.part(fold.train)
        assert list(part.times) == sorted(part.times)
        for train, test in splits(part, 3, 0):
            assert part.times[train].max() < part.times[test].min()
    assert np.array_equal(table.X["x0"], X["x0"][np.argsort(days, kind="stable")])


@pytest.mark.parametrize(
    ("settings", "looks"),
    [
        ({}, [1, 3, 5, 10, 15]),
        ({"repeats": 1}, [1, 3, 5]),
        ({"folds": 3, "repeats": 2}, [1, 3, 6]),
        ({"adaptive": False}, [15]),
    ],
)
def test_a_plan_looks_early_and_then_after_each_repeat(settings, looks):
    table = read_compared(*two_clouds(50, 20, apart=1))
    assert ComparisonPlan(table, Settings(**settings)).looks == looks


def test_a_fold_without_a_class_is_left_out():
    X, y = two_clouds(100, 20, apart=1)
    # the minority comes last in time: nothing to learn from before
    table = read_compared(X, y, times=np.arange(120))
    with pytest.raises(TableError, match="only 0 of the folds by time"):
        folds_of(table, 5, 1, seed=0)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * 20, "class"),
        (["a"] * 17 + ["b"] * 3, "class 'b' has 3"),
        ([str(n // 4) for n in range(20 * 13)], "at most 50 classes, it has 65"),
        (["a"] * 10 + [None] + ["b"] * 9, "missing"),
        (["a", "b"] * 5, "20 rows but y has 10 labels"),
    ],
)
def test_a_target_that_cannot_be_used_is_refused(y, message):
    rows = max(len(y), 20)
    with pytest.raises(TableError, match=message):
        read_compared(np.zeros((rows, 2)), y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": [1] * 30 + [None] * 30}, "no missing cell, it has 30"),
        ({"times": ["soon"] * 60}, "must hold numbers or dates, got 'soon'"),
        ({"times": range(60), "groups": range(60)}, "cannot be used together"),
        ({"times": range(59)}, "59 values for 60 rows"),
    ],
)
def test_groups_and_times_that_cannot_be_used_are_refused(settings, message):
    with pytest.raises(TableError, match=message):
        read_compared(*two_clouds(50, 10, apart=1), **settings)


def test_one_group_for_all_rows_is_refused():
    X, y = two_clouds(50, 10, apart=1)
    table = read_compared(X, y, groups=np.zeros(60))
    with pytest.raises(TableError, match="folds by groups"):
        folds_of(table, 5, 1, seed=0)
