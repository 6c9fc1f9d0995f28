"""Tables show each figure beside the paper's, and failed trials as failed."""

import io

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from paper.classifiers import CLASSIFIERS
from paper.datasets.synthetic import SHAPES
from paper.reproduction import DATASETS, Settings, published
from paper.reproduction.areas import areas_table
from paper.reproduction.areas import trials as area_trials
from paper.reproduction.class_counts import class_counts_table
from paper.reproduction.class_counts import trials as count_trials
from paper.reproduction.methods import METHODS
from paper.reproduction.page import EXPERIMENTS, all_tables
from paper.reproduction.scores import score_table, scores, summary_table
from paper.reproduction.scores import trials as score_trials
from paper.reproduction.sensitivity import sensitivity_table
from paper.tables import Table

NOTHING = pd.DataFrame()
MEANS = {
    "none": 0.9,
    "SMOTE": 0.955,
    "SOMO": 0.95,
    "k-SMOTE": 0.96,
    "CUSBoost": 0.94,
    "ours": 0.97,
    "ours, as printed": 0.96,
    "InteriorOverSampler": 0.98,
}


def score_trials_of(means, failing=(), runs=(0,), data="WBC"):
    """Two folds for each run and method, 0.02 apart, around a mean for each method.

    All rows of the majority are right, so a G-mean of g is a recall of g * g.
    """
    lines = []
    for method in means:
        for run in runs:
            for fold in (0, 1):
                line = {"data": data, "method": method, "run": run, "folds": 2, "fold": fold}
                if method in failing:
                    lines.append({**line, "error": "ValueError: too few rows\nand more"})
                    continue
                value = means[method] + (0.01 if fold else -0.01) + 0.001 * run * (method == "ours")
                right = round(10**6 * value**2)
                counts = [[10**6, 0], [10**6 - right, right]]
                lines.append({**line, "error": None, **dict.fromkeys(CLASSIFIERS, counts)})
    return pd.DataFrame(lines)


def test_a_table_rests_on_the_runs_that_every_method_has():
    more = score_trials_of({"ours": 0.999}, runs=(2,))
    figures = scores(pd.concat([score_trials_of(MEANS, runs=(0, 1)), more]))[0]
    assert {figures.count("WBC", method) for method in MEANS} == {2}
    fewer = scores(score_trials_of(MEANS, runs=(0, 1)))[0]
    assert figures.mean("WBC", "ours", "SVM") == fewer.mean("WBC", "ours", "SVM")
    complete = scores(score_trials_of(MEANS, runs=(0, 1, 2)))[0]
    assert {complete.count("WBC", method) for method in MEANS} == {3}


def test_a_method_that_failed_takes_no_run_from_the_others():
    failing = scores(score_trials_of(MEANS, failing=("SOMO",), runs=(0, 1)))[0]
    assert (failing.count("WBC", "SOMO"), failing.count("WBC", "ours")) == (0, 2)


def test_the_counts_by_class_rest_on_the_splits_that_every_method_has():
    def counted(method, split, right):
        counts = {f"{kind} {x}": right for x in published.CLASS_NAMES for kind in KINDS}
        return {"method": method, "split": split, "error": None, **counts}

    lines = [counted(method, 0, 5) for method in METHODS] + [counted("none", 1, 9)]
    table = class_counts_table(pd.DataFrame(lines))
    assert {row[1] for row in table.rows if row[0] in METHODS} == {"5.0 (+0.0)"}
    assert "36.5%: 1; " in table.notes[0]


KINDS = ("rows", "correct")


def test_the_summary_counts_nothing_where_nothing_has_run():
    rows = {row[0]: row[1:] for row in summary_table(scores(NOTHING), ["WBC", "FMN2"]).rows}
    assert rows["WBC g_mean"] == ("-", "-", "6", "-", "-", "-")
    assert set(rows["FMN2 g_mean"]) == {"-"}


def test_trials_are_in_the_order_of_runs_and_then_of_data_sets():
    trials = score_trials(Settings())
    places = [(int(t["run"]), DATASETS.index(t["data"]), int(t["fold"])) for t in trials]
    assert places == sorted(places)


def test_each_score_stands_beside_the_papers_with_difference_and_ranking():
    fold_mean, pooled, f_measure = scores(score_trials_of(MEANS))
    table = score_table(fold_mean, "WBC")
    assert table.columns == ("method", *CLASSIFIERS, "runs")
    by_place = [list(row) for row in table.rows]
    ours = next(place for place, row in enumerate(by_place) if row[0] == "ours")
    assert by_place[ours][1] == "0.970 ±0.014"
    assert by_place[ours + 1][:2] == ["  paper", "0.968 ±0.011"]
    assert by_place[ours + 2][:2] == ["  difference", "+0.002"]
    assert by_place[ours][-1] == "1"
    assert by_place[-7][:-1] == ["first of the four", *["ours"] * 6]
    # the paper's order is ours, k-SMOTE, SOMO, CUSBoost for KNN and GBDT only
    assert by_place[-5][:-1] == ["ranking agrees", "no", "yes", "no", "yes", "no", "no"]
    assert by_place[-4][:2] == ["ours - best other of the four", "+0.010"]
    assert by_place[-2][:2] == ["ours - SMOTE", "+0.015"]
    together = ((0.89**2 + 0.91**2) / 2) ** 0.5
    assert score_table(pooled, "WBC").rows[0][1] == f"{together:.3f}"
    assert not any("paper" in row[0] for row in score_table(f_measure, "WBC").rows)


def test_a_failed_trial_is_shown_as_failed_with_its_error_and_has_no_rank():
    table = score_table(scores(score_trials_of(MEANS, ["SOMO"]))[0], "WBC")
    somo = next(row for row in table.rows if row[0] == "SOMO")
    assert set(somo[1:-1]) == {"failed"}
    first = next(row for row in table.rows if row[0] == "first of the four")
    assert set(first[1:-1]) == {"-"}
    assert table.notes == ["Failed: WBC SOMO, 2 of 2 trials: ValueError: too few rows"]
    figures = table.figures.set_index(["method", "classifier"])
    assert figures.loc[("SOMO", "KNN"), "state"] == "failed"
    assert np.isnan(figures.loc[("SOMO", "KNN"), "mean"])


def test_a_run_that_is_not_complete_counts_for_nothing_and_the_row_says_how_many_do():
    ran = score_trials_of(MEANS, runs=(0, 1, 2))
    stopped = ran.query("not (method == 'ours' and run == 2 and fold == 1)")
    assert len(stopped) == len(ran) - 1
    figures = scores(stopped)[0]
    assert (figures.count("WBC", "ours"), figures.count("WBC", "SOMO")) == (2, 2)
    assert figures.mean("WBC", "ours", "RF") == pytest.approx(0.9705, abs=1e-5)
    # compared over the runs that both have
    assert figures.difference("WBC", "ours", "SOMO", "RF").mean == pytest.approx(0.0205, abs=1e-5)
    rows = {row[0]: row[-1] for row in score_table(figures, "WBC").rows}
    assert (rows["ours"], rows["SOMO"]) == ("2", "2")


def test_a_difference_is_tested_in_pairs_corrected_for_overlapping_training_parts():
    figures = scores(score_trials_of(MEANS, runs=(0, 1, 2)))[0]
    found = figures.difference("WBC", "ours", "SOMO", "LR")
    d = np.repeat([0.02, 0.021, 0.022], 2)
    t = d.mean() / np.sqrt(d.var(ddof=1) * (1 / 6 + 1 / 1))  # two folds: test : train is 1 : 1
    assert found.p == pytest.approx(2 * student.sf(t, 5), rel=1e-2)
    assert found.verdict == "ahead"
    back = figures.difference("WBC", "SOMO", "ours", "LR")
    assert (back.verdict, back.p) == ("behind", pytest.approx(found.p))
    assert figures.difference("WBC", "ours", "ours", "LR").verdict == "open"


def test_one_figure_cannot_be_tested():
    pooled = scores(score_trials_of(MEANS))[1]
    found = pooled.difference("WBC", "ours", "SOMO", "LR")
    assert (found.p, found.verdict) == (None, "open")


def test_the_summary_counts_cells_won_and_lost_and_a_tie_is_lost():
    won = summary_table(scores(score_trials_of(MEANS)), ["WBC"])
    assert won.rows[0] == ("WBC g_mean", "6", "0", "6", "2", "6", "6")
    tied = summary_table(scores(score_trials_of({**MEANS, "ours": 0.96})), ["WBC"])
    assert tied.rows[0][1:3] == ("0", "6")


def area_trials_of(counts):
    """One trial for each shape, method and table."""
    return pd.DataFrame(
        [
            {"shape": shape, "method": method, "seed": seed, "error": None}
            | dict(zip(("new majority", "new boundary", "new interior"), new, strict=True))
            for (shape, method), tables in counts.items()
            for seed, new in enumerate(tables)
        ]
    )


def test_the_areas_of_every_shape_stand_below_the_papers():
    table = areas_table(area_trials_of({("long", "SSO"): [(265, 108, 457), (0, 5, 5)]}))
    rows = [list(row) for row in table.rows]
    assert [row[:2] for row in rows[:3]] == [["paper", m] for m in ("SSO", "ADASYN", "ours")]
    assert [row[0] for row in rows[3::4]] == list(SHAPES)
    sso = next(row for row in rows if row[:2] == ["long", "SSO"])
    assert sso[2:6] == rows[0][2:6]  # the paper's own counts were put in
    assert sso[6:] == ["0.0% to 31.9%", "13.0% to 50.0%"]
    assert ["round", "ADASYN", *["-"] * 6] in rows


def test_the_notes_say_on_how_many_tables_ours_is_first():
    counts = {
        ("long", "ours"): [(0, 996, 4), (0, 990, 10)],
        ("round", "ours"): [(0, 27, 73), (3, 37, 60)],
        ("long", "SSO"): [(10, 80, 10)] * 2,
        ("long", "ADASYN"): [(10, 20, 70)] * 2,
        ("round", "SSO"): [(10, 30, 60)] * 2,
        ("round", "ADASYN"): [(10, 20, 70)] * 2,
    }
    notes = " ".join(areas_table(area_trials_of(counts)).notes)
    assert "than SSO and ADASYN: long 2 of 2, round 1 of 2." in notes


def test_a_failed_area_is_shown_as_failed():
    failed = {"shape": "round", "method": "ours", "seed": 0, "error": "ValueError: no"}
    ran = area_trials_of({("long", "ours"): [(0, 9, 1)]})
    table = areas_table(pd.concat([ran, pd.DataFrame([failed])]))
    assert ("round", "ours", *["failed"] * 6) in table.rows
    assert "Failed: round ours, 1 of 1 trials: ValueError: no" in table.notes


def test_counts_by_class_are_means_with_the_difference_to_the_truth():
    labels = list(published.CLASS_NAMES)
    ran = pd.DataFrame(
        [
            {"method": "ours", "split": split, "error": None}
            | {f"rows {label}": 40 for label in labels}
            | {f"correct {label}": 30 + split for label in labels}
            for split in (0, 1)
        ]
    )
    rows = [list(row) for row in class_counts_table(ran).rows]
    assert rows[0][:2] == ["ground truth", "40"]
    place = next(place for place, row in enumerate(rows) if row[0] == "ours")
    assert rows[place][1] == "30.5 ±0.7 (-9.5)"
    assert rows[place + 1] == [
        *("  paper", "1771 (-21)", "27 (-16)"),
        *("111 (-10)", "8 (-2)", "27 (-5)"),
    ]


def test_a_setting_without_inversions_has_no_distance_and_one_that_failed_no_figure():
    lines = [
        {"setting": "T", "value": "1", "seed": s, "yield": 0.0, "g_mean": 0.5 + s, "error": None}
        for s in (0, 1)
    ]
    lines.append({"setting": "f", "value": "NN", "seed": 0, "error": "ValueError: no"})
    rows = {row[0]: row[1:] for row in sensitivity_table(pd.DataFrame(lines)).rows}
    assert rows["T = 1"] == ("0.000 ±0.000", "-", "-", "1.000 ±0.707")
    assert rows["f = NN"] == ("failed",) * 4
    assert rows["f = SVM"] == ("-",) * 4


def test_the_printed_figures_are_the_papers():
    assert published.g_mean("PBC", "k-SMOTE", "SVM") == (0.653, 0.075)
    assert published.g_mean("FMN", "CUSBoost", "LR") == (0.874, 0.031)
    assert published.g_mean("WBC", "none", "SVM") is None
    assert sum(published.CLASS_ROWS) == 1998
    assert [sum(counts) for counts in published.AREAS.values()] == [830, 852, 837]


def test_a_table_is_written_as_markdown_and_csv():
    table = Table("t", "Yield", ("f", "share"), [("LR", "0.9"), ("a|b", "1")], ["A note."])
    assert "| a\\|b | 1 |" in table.markdown()
    assert table.csv() == "f,share\nLR,0.9\na|b,1\n"
    figures = pd.DataFrame({"f": ["LR"], "share": [0.1 + 0.2]})
    exact = Table("t", "Yield", ("f",), [("LR",)], figures=figures)
    assert pd.read_csv(io.StringIO(exact.csv()))["share"][0] == 0.1 + 0.2


def test_tables_of_a_store_without_results_are_empty_and_not_an_error():
    nothing = {experiment.EXPERIMENT: NOTHING for experiment in EXPERIMENTS}
    tables = all_tables(nothing, scores(NOTHING), ("WBC", "PBC"))
    assert {"areas", "summary", "class_counts", "sensitivity"} <= {table.name for table in tables}


RUNS = {"all": 2, "PBC": 1}


def test_a_number_of_rows_is_that_of_the_data_set_or_of_all():
    settings = Settings(rows={"FMN": 500, "all": 2000})
    assert (settings.rows_of("FMN"), settings.rows_of("PBC")) == (500, 2000)
    assert Settings().rows_of("PBC") == 0


def test_trials_are_distinct_and_as_many_as_the_settings_say():
    settings = Settings(("WBC", "PBC"), folds=3, runs=RUNS, splits=4, seeds=1)
    assert len(score_trials(settings)) == (2 + 1) * len(METHODS) * 3
    assert len(count_trials(settings)) == len(METHODS) * 4
    assert len(area_trials(settings)) == len(SHAPES) * 4
    every = [trial for experiment in EXPERIMENTS for trial in experiment.trials(settings)]
    assert len({str(trial) for trial in every}) == len(every)
    assert count_trials(Settings(("WBC",))) == []


def test_a_run_is_complete_on_every_data_set_before_the_next_one_begins():
    trials = score_trials(Settings(("WBC", "PBC"), folds=2, runs=RUNS))
    blocks = list(dict.fromkeys((t["run"], t["data"]) for t in trials))
    assert blocks == [(0, "WBC"), (0, "PBC"), (1, "WBC")]


def test_a_method_that_is_left_out_has_no_trials_and_the_others_keep_their_names():
    every = score_trials(Settings(("WBC",), folds=2))
    others = tuple(method for method in METHODS if method != "ours")
    fewer = score_trials(Settings(("WBC",), others, folds=2))
    assert fewer == [trial for trial in every if trial["method"] != "ours"]
