"""Records of a page are read back from what JSON holds, and what cannot be shown is refused."""

import numpy as np
import pytest

from counterbalance.report import SummaryError
from counterbalance.report.plain import clean
from counterbalance.report.records import read_page

POINTS = {"label": "a", "new": False, "x": [1, 2], "y": [1], "total": 2}
FOREIGN = {"classes": ["a", "b"], "x": [0, 1], "y": [0, 1], "cells": [[0, 2]]}
FLAT = FOREIGN | {"x": [1, 1]}
NEW_ROW = {
    "sample": 9, "factual": 1, "from_class": "a", "to_class": "b", "origin": "inversion",
    "distance": 1.0, "old": ["1"], "new": ["2"], "changed": [3],
}  # fmt: skip


def test_a_section_that_is_not_given_is_not_there():
    summary = read_page({})
    assert summary.verdict is None
    assert summary.trust == ()
    assert summary.title


def test_keys_that_the_page_does_not_know_are_left_alone():
    assert read_page({"nobody": 1, "verdict": {"headline": "x", "mood": 3}}).verdict is not None


def test_a_missing_key_is_named_with_its_place():
    with pytest.raises(SummaryError, match=r"summary\['verdict'\] has no 'headline'"):
        read_page({"verdict": {"sentences": []}})


@pytest.mark.parametrize(
    ("summary", "message"),
    [
        ({"verdict": "yes"}, r"summary\['verdict'\] must be a mapping"),
        ({"verdict": {"headline": "x", "sentences": "one"}}, "must be a list, got 'one'"),
        ({"data": {"rows": "many"}}, r"\['rows'\] must be a whole number, got 'many'"),
        ({"data": {"rows": 2.5}}, "must be a whole number"),
        ({"features": {"rows": [{"name": "a", "share": np.nan}], "total": 1}}, "finite number"),
        ({"map": {"axes": ["only one"], "points": []}}, "must be a list of 2"),
        ({"settings": ["seed"]}, "must be a mapping"),
        ({"curves": [{"strategy": "a", "classifier": "b", "calibration": [[1]]}]}, "a list of 3"),
        ({"map": {"axes": "xy", "points": []}}, "must be a list"),
        ({"map": {"axes": ["x", "y"], "points": [POINTS]}}, "2 values of x and 1 of y"),
        ({"map": {"axes": ["x", "y"], "points": [], "regions": FLAT}}, "must go up, got 1 and 1"),
        ({"map": {"axes": ["x", "y"], "points": [], "regions": FOREIGN}}, "2 classes, got 2"),
        ({"explorer": {"columns": ["a", "b"], "rows": [NEW_ROW], "total": 1}}, "1 cells for 2"),
        ({"explorer": {"columns": ["a"], "rows": [NEW_ROW], "total": 1}}, "the columns are 0 to 0"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_place_rule_and_value(summary, message):
    with pytest.raises(SummaryError, match=message):
        read_page(summary)


def test_numpy_numbers_are_numbers_and_nan_is_none():
    scores = {"f1": {"mean": np.float32(0.5), "low": np.nan, "high": np.inf}}
    row = {"strategy": "none", "classifier": "c", "threshold": "0.5", "scores": scores}
    comparison = {"metrics": [], "rows": [row | {"seconds": np.int64(3)}]}
    (result,) = read_page({"comparison": comparison}).comparison.rows
    assert result.seconds == 3.0
    assert (result.scores["f1"].mean, result.scores["f1"].low, result.scores["f1"].high) == (
        0.5,
        None,
        None,
    )


def test_invisible_and_broken_characters_become_visible():
    told = clean("a\x00b\u2028c\ud800d\u202ee")
    assert told == "a␀b[U+2028]c?d[U+202E]e"
    assert told.encode("utf-8")
    assert clean("größe\t→\n中") == "größe\t→\n中"
    assert clean("a\u200bb\ufeffc\u3164\x7f") == "a[U+200B]b[U+FEFF]c[U+3164]␡"


def test_labels_need_not_be_texts():
    data = {"rows": 3, "classes": [{"label": 1, "count": 3}], "columns": []}
    assert read_page({"data": data}).data.classes[0].label == "1"
