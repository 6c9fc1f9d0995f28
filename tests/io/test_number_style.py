"""Money, percentages and thousands are numbers, and new ones are written the same way."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.io.csv import decimal_mark
from counterbalance.io.number_style import NumberStyle, read_column


def column(*cells):
    return pd.Series(cells, dtype=str)


def typed(texts, decimal="."):
    return read_column(texts, decimal).series


def write(texts, *new, decimal="."):
    return read_column(texts, decimal).write(pd.Series(new), texts)


@pytest.mark.parametrize(
    ("cells", "values", "new", "texts"),
    [
        (
            ["$84,835.00 ", "$1,200.50 "],
            [84835.0, 1200.5],
            [5.0, -1e6],
            ["$5.00", "-$1,000,000.00"],
        ),
        (["12%", "5%"], [12, 5], [7, 100], ["7%", "100%"]),
        (["1,234", "12"], [1234, 12], [56789], ["56,789"]),
        (["1 234", "12"], [1234, 12], [56789], ["56 789"]),
        (["1'234.50", "12.00"], [1234.5, 12], [5000.0], ["5'000.00"]),
        (["(1,234.00)", "5.00"], [-1234, 5], [-5.5], ["(5.50)"]),
        (["$-5", "$6"], [-5, 6], [-7], ["$-7"]),
        (["12,50 €", "3,10 €"], [12.5, 3.1], [1.5], ["1,50 €"]),
        (["1.234,56", "12,00"], [1234.56, 12], [99999.0], ["99.999,00"]),
        (["EUR 1,000", "EUR 20"], [1000, 20], [3000], ["EUR 3,000"]),
        (["$5", "$5.50"], [5, 5.5], [6.0, 6.25], ["$6", "$6.25"]),
        (["3.10", "2.25"], [3.1, 2.25], [2.5, 0.1 + 0.2], ["2.50", "0.30"]),
        (["7.25", "71.2833", "8"], [7.25, 71.2833, 8], [18.53406420276643], ["18.5341"]),
        (["20000.0", "1.0"], [20000, 1], [191368.0], ["191368.0"]),
        (["20000", "7.5"], [20000, 7.5], [191368.0], ["191368"]),
        (["20000", "7"], [20000, 7], [191368.0], ["191368"]),
        (
            ["900719925474099301"],
            [900719925474099301],
            [900719925474099303],
            ["900719925474099303"],
        ),
        (["0.12345678"], [0.12345678], [0.1 + 0.2], ["0.30000000000000004"]),
        (["1e-05", "0.5"], [1e-05, 0.5], [2e-07, 0.25], ["2e-07", "0.25"]),
    ],
)
def test_numbers_are_read_and_new_ones_are_written_the_same_way(cells, values, new, texts):
    assert typed(column(*cells)).tolist() == values
    assert write(column(*cells), *new) == texts


@pytest.mark.parametrize(
    "cells",
    [
        ["01234", "99999"],  # zip codes
        ["007%", "12%"],
        ["612 345 678", "612 345 679"],  # phone numbers
        ["+49 301 234", "+49 301 235"],
        ["555-1234", "555-9876"],
        ["(555) 123-4567", "(555) 123-4568"],
        ["192.168.100.101", "192.168.100.102"],
        ["1.2.3", "1.2.4"],  # versions
        ["1.100.200", "2.100.200"],
        ["2020-01-02", "2020-01-03"],
        ["01.02.2020", "03.02.2020"],
        ["1,2", "1,3"],  # lists
        ["$5", "€6"],  # two units
        ["5%", "6"],
        ["1,23,456", "12"],
        ["<10", "12"],
    ],
)
def test_digits_that_are_not_a_quantity_stay_texts(cells):
    assert typed(column(*cells)).tolist() == cells


@pytest.mark.parametrize("gap", ["", " ", "\t", "NA", "n.a.", "?", "-", "unknown", "#DIV/0!"])
def test_among_numbers_a_blank_or_a_word_for_unknown_is_missing(gap):
    texts = column("1", gap, "3", " 4 ")
    read = typed(texts)
    assert str(read.dtype) == "Int64"
    assert read.isna().tolist() == [False, True, False, False]
    assert write(texts, None, 5) == [gap, "5"]


def test_among_texts_and_classes_unknown_is_an_ordinary_text():
    assert typed(column("a", "unknown")).tolist() == ["a", "unknown"]
    labels = read_column(column("1", "unknown", " "), kind="label").series
    assert labels.isna().tolist() == [False, False, True]
    assert labels.tolist()[:2] == ["1", "unknown"]


def test_what_the_user_says_about_a_column_wins():
    assert read_column(column("1", "2"), kind="text").series.tolist() == ["1", "2"]
    forced = read_column(column("007", "8", "<9"), kind="number")
    assert forced.series.tolist()[:2] == [7, 8]
    assert forced.not_known == ("<9",)
    assert typed(column("1", "-999")).tolist() == [1, -999]
    assert read_column(column("1", "-999"), missing=("-999",)).series.isna().tolist() == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("rows", "separator", "mark"),
    [
        (["3,14", "2,5"], ";", ","),
        (["1.234,56", "2,5"], ";", ","),
        (["3,14", "2,5"], "\t", ","),
        (["1,234", "5,678"], ";", ","),  # either: between semicolons a decimal comma
        (["1,234", "5,678"], "\t", "."),
        (["3,14", "2,5"], ",", "."),
        (["1,234.5", "7.5"], ";", "."),
        (["3,14", "x"], ";", "."),
    ],
)
def test_the_decimal_mark_of_a_file(rows, separator, mark):
    assert decimal_mark(pd.DataFrame({0: rows}, dtype=str), separator) == mark


def test_a_decimal_point_in_another_column_decides_what_may_be_thousands():
    texts = pd.DataFrame({0: ["1,234", "5,678"], 1: ["3.14", "2.5"]}, dtype=str)
    assert decimal_mark(texts, ";") == "."
    assert typed(texts[0]).tolist() == [1234, 5678]


def test_next_to_decimal_commas_a_point_separates_thousands():
    assert typed(column("1.234", "12"), ",").tolist() == [1234, 12]
    assert typed(column("3.14", "2.5"), ",").tolist() == [3.14, 2.5]
    assert write(column("3.14", "2.5"), 7.5, decimal=",") == ["7.5"]


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=8),
    st.sampled_from(["", "$", "€ ", "USD "]),
    st.sampled_from(["", " €", " %"]),
    st.integers(0, 3),
    st.sampled_from([("", "."), (",", "."), (".", ","), ("'", ".")]),
)
def test_what_a_style_writes_is_read_as_the_same_number(cents, before, after, places, marks):
    """Whatever the style, written and read is the same; or it is left as text, never changed."""
    style = NumberStyle(before, after, *marks, (places,))
    values = [number / 10**places for number in cents]
    texts = column(*map(style.write, values))
    read = read_column(texts, marks[1])
    if read.series.dtype.kind in "iuf":
        assert read.series.tolist() == values
        assert read.write(pd.Series(values), texts) == texts.tolist()
    else:
        assert read.series.tolist() == texts.tolist()
