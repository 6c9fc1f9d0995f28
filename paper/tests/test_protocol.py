"""The protocol of Sakho et al.: its tables, its trials, its plain answer."""

import numpy as np
import pandas as pd
import pytest

from paper.study.page import study
from paper.study.protocol import (
    CLASSIFIERS,
    METRICS,
    PROBLEMS,
    PROTOCOL,
    PUBLISHED,
    STRATEGIES,
    SUITES,
    THEIRS,
    compute,
    load_problem,
    statements,
    tables,
)
from paper.study.scores import collect

TRIAL = {"data": "Haberman (10 %)", "rows": 0, "folds": 5, "repeat": 0, "fold": 0}


def scored(levels, tables=6):
    """Return scores in which a strategy has the same level of every figure on some tables."""
    lines = [
        {"data": f"d{d}", "method": name, "repeat": 0, "fold": 0, "error": None, "seconds": 0.1}
        | {f"{c} {m}": level + d / 100 for m in METRICS for c in CLASSIFIERS}
        for name, level in levels.items()
        for d in range(tables)
    ]
    return collect(pd.DataFrame(lines), PROTOCOL.kind)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_table_has_numbers_without_gaps_and_the_share_that_its_name_says(name):
    X, y = load_problem(name)
    assert np.isfinite(X).all()
    assert len(X) == len(y)
    assert 0 < y.mean() < 0.5
    if "%" in name:
        said = float(name.split("(")[1].split()[0]) / 100
        assert y.mean() == pytest.approx(said, abs=0.005)


def test_every_table_is_in_one_suite_and_the_published_figures_are_of_known_ones():
    assert [data for suite in SUITES.values() for data in suite] == list(PROBLEMS)
    assert set(PUBLISHED) <= set(PROBLEMS)
    assert {len(figures) for figures in PUBLISHED.values()} == {len(THEIRS)}
    assert set(THEIRS) <= set(STRATEGIES)


def test_a_trial_gives_both_areas_of_every_classifier_and_the_same_ones_twice():
    trial = TRIAL | {"method": "MGS (d+1)"}
    first, second = compute(trial), compute(trial)
    names = {f"{c} {m}" for c in CLASSIFIERS for m in METRICS}
    assert first.keys() == names | {"seconds"}
    assert all(first[name] == second[name] for name in names)
    assert all(0 <= first[name] <= 1 for name in names)


def test_class_weights_and_a_resampled_classifier_are_no_samplers_but_change_the_classifier():
    none, weights, ours = (
        compute(TRIAL | {"method": name})
        for name in ("none", "class weights", "ResampledClassifier")
    )
    for classifier in CLASSIFIERS:
        assert len({f[f"{classifier} average_precision"] for f in (none, weights, ours)}) > 1


def test_the_answer_names_the_place_of_no_rebalancing_and_what_is_better():
    (empty, line, _) = statements(scored({"none": 0.6, "SMOTE": 0.5, "interior": 0.7}))
    assert empty == ""
    assert line.startswith("- **ROC AUC**: no rebalancing has place 2 of 3 by its mean rank (2.0;")
    assert "the first is interior, 1.0" in line
    assert "at least 0.9: interior (1.00). Worse: SMOTE (1.00)." in line


def test_no_probability_is_given_for_few_tables():
    levels = {"none": 0.6, "SMOTE": 0.5, "interior": 0.7}
    few = scored(levels, tables=3)
    assert statements(few)[1].endswith("3 tables are too few to say more.")
    assert tables(few)[0].rows[0][4] == "-"


def test_the_gain_over_no_rebalancing_is_shown_for_each_classifier():
    gain = tables(scored({"none": 0.6, "SMOTE": 0.5, "interior": 0.7}))[0]
    rows = {row[0]: row[1:] for row in gain.rows}
    assert rows["SMOTE"][:3] == ["-0.100"] * 3
    assert rows["**interior**"][:4] == ["+0.100", "+0.100", "+0.100", "1.00"]


@pytest.mark.slow
def test_the_page_is_written_and_goes_on_from_its_store(tmp_path):
    sizes = {"folds": 5, "repeats": (0,), "rows": 0}
    places = {"store": tmp_path / "trials.sqlite", "out": tmp_path / "out"}
    suites = {"highly imbalanced": ("Haberman (10 %)", "Pima (20 %)")}
    methods = ("none", "SMOTE", "interior")
    study(PROTOCOL, suites, methods, **sizes, **places)
    text = (tmp_path / "out" / "protocol.md").read_text()
    assert "ROC AUC as the authors print it" in text
    assert "| Haberman (10 %) | 0.708 |" in text
    assert (tmp_path / "out/figures/protocol_highly_imbalanced.png").exists()
    study(PROTOCOL, suites, methods, **sizes, **places, computing=False)
