"""Provenance: a table that can be read, in numpy, pandas, polars, csv and in words."""

import csv

import numpy as np
import pandas as pd
import polars as pl
import pytest

from counterbalance import CounterfactualOverSampler
from counterbalance.provenance import COLUMNS

RNG = np.random.default_rng(0)
Y = np.repeat(["benign", "malignant"], [80, 20])
X = pd.DataFrame(
    {
        "CellSize": RNG.integers(1, 4, 100) + 4 * (Y == "malignant"),
        "Texture": RNG.normal(size=100),
        "Site": RNG.choice(["left", "right"], 100),
    }
)


@pytest.fixture(scope="module")
def result():
    sampler = CounterfactualOverSampler(random_state=0)
    X_new, y_new = sampler.fit_resample(X, Y)
    return sampler.provenance_, X_new, y_new


def test_it_is_a_table(result):
    provenance, _, _ = result
    assert provenance.columns == COLUMNS
    assert len(provenance) == len(provenance["sample"]) == 60
    assert dict(provenance).keys() == set(COLUMNS)
    row = provenance[0]
    assert row["sample"] == 100
    assert row == next(iter(provenance))
    assert provenance[-1]["sample"] == 159
    assert len(provenance[np.arange(60) < 7]) == len(provenance[53:]) == 7
    with pytest.raises(KeyError, match="the columns are sample"):
        provenance["nope"]
    with pytest.raises(IndexError):
        provenance[60]


def test_frames_and_csv_hold_the_same(result, tmp_path):
    provenance, _, _ = result
    pandas, polars = provenance.to_pandas(), provenance.to_polars()
    assert isinstance(polars, pl.DataFrame)
    assert pandas["factual"].tolist() == polars["factual"].to_list()
    assert pandas["changed"][0] == tuple(polars["changed"][0])
    provenance.to_csv(tmp_path / "provenance.csv")
    with (tmp_path / "provenance.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["distance"]) for row in rows] == provenance["distance"].tolist()
    assert rows[0]["changed"].split(";") == list(pandas["changed"][0])


def test_a_counterfactual_can_be_said_in_words(result):
    provenance, X_new, _ = result
    row, sentence = provenance[0], provenance.sentences(X_new)[0]
    before, after = X_new.iloc[row["factual"]], X_new.iloc[row["sample"]]
    name = row["changed"][0]
    assert sentence.startswith(f"row {row['factual']}, class benign: {name} {before[name]} → ")
    assert str(after["CellSize"]) in sentence
    assert sentence.endswith(f"it malignant, distance {row['distance']:.3g}")


def test_words_know_every_container():
    for table in (X, X.to_numpy(object), pl.from_pandas(X)):
        sampler = CounterfactualOverSampler(random_state=0)
        X_new, _ = sampler.fit_resample(table, Y)
        sentences = sampler.provenance_.sentences(X_new)
        assert isinstance(sentences, list)
        assert len(sentences) == 60
        assert all("malignant" in sentence for sentence in sentences)


def test_it_prints_as_a_table(result):
    provenance, _, _ = result
    lines = repr(provenance).splitlines()
    assert lines[0].split() == list(COLUMNS)
    assert lines[-1] == "... and 50 more rows"
