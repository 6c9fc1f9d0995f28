"""The baselines: each takes a table as it is, and the page says first who leads."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, f1_score

from paper.classifiers import expected_warnings
from paper.study import measure
from paper.study.baselines import BASELINES
from paper.study.baselines_page import (
    BESIDE,
    METRICS,
    PROTOCOL,
    compute,
    ensemble_tables,
    leader,
    leaders_table,
)
from paper.study.methods import OURS
from paper.study.page import study
from paper.study.scores import collect

TRIAL = {"data": "births14", "rows": 200, "folds": 2, "repeat": 0, "fold": 0}


def mixed_table(rows=160):
    rng = np.random.default_rng(0)
    y = (np.arange(rows) % 5 == 0).astype(int)
    size = rng.normal(size=rows) + 2 * y
    size[::7] = np.nan
    colour = pd.Categorical(np.where(rng.random(rows) < 0.3 + 0.4 * y, "red", "blue"))
    return pd.DataFrame({"size": size, "colour": colour, "count": rng.integers(0, 5, rows)}), y


def scored(levels):
    """Return scores in which a method has the same level of every metric on six tables."""
    lines = [
        {"data": f"d{d}", "method": method, "repeat": 0, "fold": 0, "error": None, "seconds": 0.1}
        | {f"model {m}": level + d / 100 for m in METRICS | BESIDE}
        for method, level in levels.items()
        for d in range(6)
    ]
    return collect(pd.DataFrame(lines), PROTOCOL.kind)


@pytest.mark.slow
@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_takes_categories_and_holes_and_answers_the_same_twice(name):
    X, y = mixed_table()
    with expected_warnings():
        first, second = (BASELINES[name].make(3).fit(X, y) for _ in range(2))
    p = first.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(p, second.predict_proba(X))
    assert set(first.predict(X)) <= {0, 1}
    assert first.predict(X)[y == 1].mean() > first.predict(X)[y == 0].mean()


def test_those_that_one_would_take_are_there():
    names = " ".join(BASELINES)
    for name in ("none", "threshold", "class weights", "balanced random forest", "easy ensemble"):
        assert name in names
    for name in ("RUSBoost", "CUSBoost", "self-paced ensemble", "SMOTE", *OURS):
        assert name in BASELINES
    assert {n for n, one in BASELINES.items() if one.ours} >= {"counterfactuals", "interior"}


def test_a_threshold_changes_answers_and_no_probability():
    trial = TRIAL | {"data": "acs12", "rows": 600}
    methods = ("none", "threshold for balanced accuracy")
    none, tuned = (compute(trial | {"method": m}) for m in methods)
    assert none["model average_precision"] == tuned["model average_precision"]
    assert none["model brier"] == tuned["model brier"]
    assert none["model balanced_accuracy"] < tuned["model balanced_accuracy"]


def test_macro_f1_balanced_accuracy_and_brier_are_those_of_scikit_learn():
    X, y = mixed_table()
    f = BASELINES["none"].make(0).fit(X, y)
    figures = measure(f, X, y, 2)
    answer = f.predict(X)
    assert figures["macro_f1"] == pytest.approx(f1_score(y, answer, average="macro"))
    assert figures["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, answer))
    assert figures["brier"] == pytest.approx(brier_score_loss(y, f.predict_proba(X)[:, 1]))


def test_the_page_says_who_leads_also_where_it_is_none():
    scores = scored({"none": 0.9, "SMOTE": 0.5, "interior": 0.7})
    precision = leader(scores, "average_precision")
    assert precision.startswith("- **average precision**: none (mean rank 1.00) leads.")
    assert "The best of ours is interior (2.00)" in precision
    brier = leader(scores, "brier")
    assert brier.startswith("- **Brier score**: SMOTE (mean rank 1.00) leads; none has 3.00.")


def test_those_that_share_the_first_place_are_all_named():
    scores = scored({"none": 0.9, "threshold for macro-F1": 0.9, "SMOTE": 0.5})
    line = leader(scores, "macro_f1")
    assert "none and threshold for macro-F1 (mean rank 1.50) lead" in line


def test_the_ensembles_are_ranked_among_themselves():
    levels = {"none": 0.9, "easy ensemble": 0.5, "ResampledClassifier": 0.7, "CUSBoost": 0.3}
    (table,) = ensemble_tables(scored(levels))
    ranks = table.figures.set_index("method")
    assert list(ranks.index) == ["ResampledClassifier", "easy ensemble", "CUSBoost"]
    ours = ranks.loc["ResampledClassifier"]
    assert ours["average precision, macro-F1, balanced accuracy"] == 1
    assert ours["average precision, F-measure, G-mean"] == 1
    assert ours["Brier score"] == 3, "lower is better"
    assert "easy ensemble 0, CUSBoost 0." in table.notes[1]
    del levels["ResampledClassifier"]
    assert ensemble_tables(scored(levels)) == [], "nothing of ours to compare"


def test_the_first_on_each_table_is_the_best_by_the_metric():
    rows = leaders_table(scored({"none": 0.6, "SMOTE": 0.5, "interior": 0.7})).rows
    assert rows[0] == (
        *("d0", "average precision", "0.700 (interior)"),
        *("0.600", "0.700 (interior)"),
    )
    assert ("d5", "Brier score", "0.550 (SMOTE)", "0.650", "0.750 (interior)") in rows


@pytest.mark.slow
def test_a_study_of_baselines_is_written_and_goes_on_from_its_store(tmp_path):
    methods = ("none", "class weights", "interior")
    sizes = {"folds": 2, "repeats": (0,), "rows": 150}
    places = {"store": tmp_path / "trials.sqlite", "out": tmp_path / "out"}
    suites = {"field-open": ("births14", "mifem")}
    study(PROTOCOL, suites, methods, **sizes, **places)
    text = (tmp_path / "out" / "baselines.md").read_text()
    assert "On **field-open**, 2 data sets:" in text
    assert text.index("## Who leads") < text.index("## How it is measured")
    assert "- **interior**: our sampler before the base" in text
    assert "- **RUSBoost**:" not in text, "it did not run"
    assert "(figures/baselines_field_open.png)" in text
    assert (tmp_path / "out/figures/baselines_field_open.png").stat().st_size > 1000
    by_table = pd.read_csv(tmp_path / "out" / "field_open_by_data_set.csv")
    assert len(by_table) == 2 * len(methods) * len(METRICS)
    again = study(PROTOCOL, suites, methods, **sizes, **places, computing=False)
    assert again[0].rows[0][0].strip("*") in methods
