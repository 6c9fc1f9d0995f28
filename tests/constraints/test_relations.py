"""Relations are read by their own small grammar and by nothing else."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.constraints.relations import parse
from counterbalance.errors import ConstraintError

COLUMNS = ["a", "b", "cell size", "größe"]
ROWS = np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 5.0, 0.0, -1.0], [np.nan, 1.0, 1.0, 1.0]])


def holds(text):
    return parse(text, COLUMNS.index).holds(ROWS).tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <= b", [True, True, True]),
        ("a < b", [True, False, True]),
        ("a >= b", [False, True, True]),
        ("a == b", [False, True, True]),
        ("a != b", [True, False, True]),
        ("b > 3", [False, True, False]),
        ("`cell size` + b == 5", [True, True, False]),
        ("2 * (a + b) - `cell size` <= 3.5e0", [True, False, True]),
        ("-größe < .5", [True, False, True]),
    ],
)
def test_a_relation_holds_where_it_should(text, expected):
    assert holds(text) == expected


def test_a_relation_with_a_missing_cell_counts_as_held():
    assert holds("a > 1000")[2]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a <= ",
        "<= b",
        "a <= b <= 3",
        "a = b",
        "a <= b)",
        "(a <= b",
        "1 <= 2",
        "a <= 'text'",
        "a.real <= 1",
        "a <= b; b",
        "__import__('os').system('true') <= 1",
        "a if b else 1 <= 2",
        "a <= [1]",
        "a ** b <= 1",
    ],
)
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises((ConstraintError, ValueError), match=r"cannot be read|is not in list"):
        parse(text, COLUMNS.index)


@given(st.text(max_size=40))
def test_any_text_is_either_parsed_or_refused(text):
    with contextlib.suppress(ConstraintError):
        parse(text, lambda _: 0)
