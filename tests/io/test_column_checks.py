"""Which columns are remarkable, which are not to be used, and what can be done about it."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from counterbalance.errors import TableError
from counterbalance.io.column_checks import Remedies, Topic, check_columns, look_at_column

N = 60


def topic(cells, name="column"):
    finding = look_at_column(pd.Series(cells), name)
    return None if finding is None else finding.topic


@pytest.mark.parametrize(
    ("cells", "name"),
    [
        (range(N), "anything"),
        (range(5000, 5000 + N), "anything"),
        (np.random.default_rng(1).permutation(N), "shuffled"),
        (np.arange(N) * 37, "patient_id"),
        (np.arange(N) * 37, "customerID"),
        (np.arange(N) * 3, "ID"),
        ([f"person {i}" for i in range(N)], "name"),
        ([f"text number {i} is free" for i in range(N)], "comment"),
        ([f"u-{i // 2 * 7}" if i < 10 else f"u-{i}" for i in range(N)], "uuid"),
        ([2**60 + i * i for i in range(N)], "hash"),
    ],
)
def test_identifiers_are_recognised(cells, name):
    assert topic(cells, name) is Topic.IDENTIFIER


@pytest.mark.parametrize(
    ("cells", "name"),
    [
        (np.random.default_rng(0).integers(20_000, 90_000, N), "income"),
        (np.random.default_rng(0).normal(size=N), "height"),
        (["A", "B"] * (N // 2), "ward_id"),
        ([f"city {i % 20}" for i in range(N)], "city"),
        ([0, 1] * (N // 2), "paid"),
        ([True, False] * (N // 2), "valid"),
        (["x", "y", "z"], "few"),
        (pd.array([1, 2, None] * 20, dtype="Int64"), "count"),
        (pd.Categorical(["a", "b"] * 30), "level"),
    ],
)
def test_what_only_looks_a_little_like_one_is_left_alone(cells, name):
    assert topic(cells, name) is None


@pytest.mark.parametrize(
    "cells",
    [
        pd.date_range("2020-01-01", periods=N),
        [f"2020-01-{i % 28 + 1:02d}" for i in range(N)],
        [f"{i % 28 + 1:02d}.03.2021" for i in range(N)],
        [f"2020-01-{i % 28 + 1:02d}T10:00:00Z" for i in range(N)],
        [f"Mar {i % 28 + 1}, 2021" for i in range(N)],
        [f"{i % 24}:15" for i in range(N)],
        [dt.date(2020, 1, i % 28 + 1) for i in range(N)],
        pd.to_timedelta(range(N), unit="D"),
        pd.date_range("2020-01-01", periods=N, tz="UTC"),
    ],
)
def test_dates_and_times_are_recognised(cells):
    assert topic(cells) is Topic.DATE


def test_constant_empty_mixed_and_unusable_columns_are_recognised():
    assert topic([7] * N) is Topic.CONSTANT
    assert topic(["x", None] * 30) is Topic.CONSTANT
    assert topic([np.nan] * N) is Topic.EMPTY
    assert topic([str(i) for i in range(N - 2)] + ["unknown", "?"]) is Topic.MIXED
    assert topic([[1, 2]] * 30 + [[3]] * 30) is Topic.UNUSABLE
    assert topic([b"a", b"b"] * 30) is Topic.UNUSABLE
    assert topic([np.array([1, 2])] * N) is Topic.UNUSABLE
    assert topic([True, None] * 30 + [False]) is None


def test_columns_may_be_joined_by_commas_unless_a_name_has_one():
    names = ["a", "b", "c,d"]
    assert check_columns(["a, b"], names, "--keep") == ["a", "b"]
    assert check_columns(["c,d", "a", "a"], names, "--keep") == ["c,d", "a"]
    with pytest.raises(TableError, match="--keep must name a column of the table, got 'x'"):
        check_columns(["a,x"], names, "--keep")


def test_the_remedy_is_said_in_the_words_of_the_caller():
    cells = pd.Series([f"person {i}" for i in range(N)])
    assert look_at_column(cells, "full name").text.endswith("; use=['full name'] uses it")
    options = Remedies("--use", "--use {quoted}", "--number {quoted} reads it as numbers")
    assert look_at_column(cells, "full name", options).text.endswith("; --use 'full name' uses it")
    mixed = pd.Series([str(i) for i in range(N - 1)] + ["?"])
    said = look_at_column(mixed, "{n}", options).text
    assert said.endswith("98% are numbers; --number '{n}' reads it as numbers")
    dates = pd.Series(pd.date_range("2020", periods=N))
    assert look_at_column(dates, "day", options) == look_at_column(dates, "day")
