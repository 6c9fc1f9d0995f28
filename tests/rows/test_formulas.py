"""No text that is exported is run by a spreadsheet."""

import csv

import numpy as np
import pandas as pd
import pytest

from counterbalance import CounterfactualOverSampler
from counterbalance.rows import provenance


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        *(("=1+1", "'=1+1"), ("@x", "'@x"), ("+a", "'+a"), ("-x", "'-x"), ("\t=1", "'\t=1")),
        *(("-5", "-5"), ("+1e3", "+1e3"), ("a=b", "a=b"), ("", "")),
    ],
)
def test_no_text_is_a_formula_and_numbers_stay(text, plain):
    assert provenance.inert(text) == plain


def test_a_provenance_file_holds_no_formula(tmp_path):
    X = pd.DataFrame({"=cmd()": np.arange(20.0), "-b": np.arange(20.0) % 3})
    y = np.repeat(["@low", "+high"], [12, 8])
    sampler = CounterfactualOverSampler(random_state=0)
    sampler.fit_resample(X, y)
    sampler.provenance_.to_csv(tmp_path / "new.csv")
    with (tmp_path / "new.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["from_class"] for row in rows} == {"'@low"}
    assert {row["to_class"] for row in rows} == {"'+high"}
    assert all(row["changed"].startswith("'") for row in rows)
