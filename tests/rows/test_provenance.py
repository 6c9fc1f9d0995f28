"""Provenance: a table that can be read, in numpy, pandas, polars, csv and in words."""

import csv
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import SVC

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.errors import ShortfallWarning
from counterbalance.rows.provenance import COLUMNS

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
    sampler = CounterfactualOverSampler(n_draws=100, random_state=0)
    X_new, y_new = sampler.fit_resample(X, Y)
    return sampler.provenance_, X_new, y_new


def test_provenance_is_a_table(result):
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


def test_sentences_work_for_every_container():
    for table in (X, X.to_numpy(object), pl.from_pandas(X)):
        sampler = CounterfactualOverSampler(n_draws=100, random_state=0)
        X_new, _ = sampler.fit_resample(table, Y)
        sentences = sampler.provenance_.sentences(X_new)
        assert isinstance(sentences, list)
        assert len(sentences) == 60
        assert all("malignant" in sentence for sentence in sentences)


NOISE = np.random.default_rng(3).normal(size=(300, 3)) + 1.0 * (np.arange(300) < 25)[:, None]
RARE = np.where(np.arange(300) < 25, "rare", "usual")


def short(**settings):
    given = {"n_draws": 1, "random_state": 0} | settings
    sampler = CounterfactualOverSampler(**given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortfallWarning)
        return sampler, *sampler.fit_resample(NOISE, RARE)


@given(
    search=st.sampled_from(["minimum", "perturb"]),
    policy=st.sampled_from(["fill", "accept"]),
    estimator=st.sampled_from([None, LogisticRegression(), SVC(), RidgeClassifier()]),
    epsilon=st.sampled_from([None, 0.5, 3.0]),
)
def test_a_sentence_says_makes_it_only_if_f_agrees(search, policy, estimator, epsilon):
    sampler, X_new, y_new = short(
        search=search, on_shortfall=policy, estimator=estimator, epsilon=epsilon
    )
    answers = sampler.estimator_.predict(X_new)
    sentences = list(sampler.provenance_.sentences(X_new))
    origins = sampler.provenance_["origin"]
    described = zip(sentences, answers[300:], y_new[300:], origins, strict=True)
    for sentence, answer, label, origin in described:
        assert (" it rare, distance" in sentence) == (origin == "inversion")
        if origin == "inversion":
            assert answer == label == "rare"
        else:
            assert sentence.split("(")[-1] in {"interior)", "copy)"}


def test_rows_made_within_their_class_and_copies_say_so():
    sampler, X_new, _ = short(estimator=LogisticRegression(), epsilon=1e-9)
    sentences = list(sampler.provenance_.sentences(X_new))
    assert all("moved within its class, not a counterfactual" in sentence for sentence in sentences)
    assert "f's score of rare is 0." in sentences[0]
    alike = np.where(RARE == "rare", 5.0, np.arange(300.0))[:, None]
    sampler = CounterfactualOverSampler(
        estimator=LogisticRegression(), epsilon=1e-9, random_state=0
    )
    with pytest.warns(ShortfallWarning):
        X_new, _ = sampler.fit_resample(alike, RARE)
    first = next(iter(sampler.provenance_.sentences(X_new)))
    assert first == "row 0, class rare: copied as it is (copy)"


def test_the_round_is_that_of_the_draw_and_zero_where_none_gave_the_row():
    drawn, _, _ = short(search="perturb", n_draws=10)
    solved, _, _ = short(n_draws=10)
    by_f = drawn.provenance_["origin"] == "inversion"
    assert by_f.any()
    assert set(drawn.provenance_["round"][by_f]) <= {1, 2, 3}
    assert (drawn.provenance_["round"][~by_f] == 0).all()
    assert (solved.provenance_["round"] == 0).all()
    pruned = drawn.provenance_.changed_mask().sum(axis=1)
    assert (pruned[by_f] <= drawn.provenance_["round"][by_f]).all()


def test_provenance_prints_as_a_table(result):
    provenance, _, _ = result
    lines = repr(provenance).splitlines()
    assert lines[0].split() == list(COLUMNS)
    assert lines[-1] == "... and 50 more rows"


def test_a_notebook_shows_twins_with_changed_cells_marked(result):
    provenance, X_new, _ = result
    html = provenance._repr_html_()
    shown, mask = provenance[:10], provenance[:10].changed_mask()
    assert html.count("<tr>") == 11
    assert html.count("background") == mask.sum()
    for row in shown:
        for name in row["changed"]:
            before, after = X_new[name].iloc[[row["factual"], row["sample"]]]
            texts = [f"{cell:.4g}" if name == "Texture" else str(cell) for cell in (before, after)]
            assert f">{texts[0]} → {texts[1]}</td>" in html
    assert "60 new rows, the first 10 are shown" in html


def test_rows_that_lie_farther_down_are_marked_without_their_cells(result):
    provenance, _, _ = result
    html = provenance[40:43]._repr_html_()
    assert html.count("<tr>") == 4
    assert html.count(">changed</td>") == provenance[40:43].changed_mask().sum()
    assert provenance[:0]._repr_html_().endswith("<p>0 new rows</p>")


def test_a_notebook_shows_names_classes_and_cells_as_text():
    name, ill = "<img src=x onerror=alert(1)>", "<script>ill</script>"
    table = X.assign(Site=X["Site"] + "<b>").rename(columns={"CellSize": name})
    sampler = CounterfactualOverSampler(n_draws=100, random_state=0)
    sampler.fit_resample(table, np.where(Y == "benign", "well", ill))
    html = sampler.provenance_._repr_html_()
    assert "&lt;img" in html
    assert "&lt;script" in html
    assert set(re.findall(r"<(/?\w+)", html)) == {
        "table", "/table", "tr", "/tr", "th", "/th", "td", "/td", "p", "/p",
    }  # fmt: skip


@pytest.mark.parametrize(
    "make", [np.asarray, pl.from_numpy, sparse.csr_array, sparse.csc_matrix, list]
)
def test_any_container_is_shown(make):
    numbers = X[["CellSize", "Texture"]].to_numpy()
    sampler = CounterfactualOverSampler(sampling_strategy="all", random_state=0)
    sampler.fit_resample(make(numbers), Y)
    assert " → " in sampler.provenance_._repr_html_().replace("benign → malignant", "")


def test_a_wide_table_shows_some_features_and_says_how_many_more():
    wide = np.random.default_rng(0).normal(size=(60, 40)) + np.repeat([0, 3], [40, 20])[:, None]
    sampler = InteriorOverSampler(random_state=0)
    sampler.fit_resample(wide, np.repeat([0, 1], [40, 20]))
    html = sampler.provenance_._repr_html_()
    assert html.count("<th>") == 4 + 12
    assert "more features changed in them" in html


def test_a_sampler_keeps_the_diagram_of_scikit_learn():
    assert "sk-container" in CounterfactualOverSampler()._repr_html_()
