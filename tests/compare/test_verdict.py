"""The verdict says what the folds say, and no more."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from comparison_tables import SMALL, plan_of, results_of, two_clouds
from counterbalance.compare import ComparisonError, Settings
from counterbalance.compare.data import read_compared
from counterbalance.compare.evidence import (
    ClassifierEvidence,
    Gain,
    find,
    still_open,
)
from counterbalance.compare.plan import ComparisonPlan
from counterbalance.compare.results import Posterior, Results
from counterbalance.compare.run import affordable, run_looks
from counterbalance.compare.runner import TrialFile, TrialRecord
from counterbalance.compare.summary import score_table, summarise, write_files
from counterbalance.compare.verdict import decide

THREE = ("SMOTE", "class weights", "Random undersampling")


def test_where_nothing_helps_it_says_so():
    plan = plan_of(*two_clouds(200, 150, apart=5), strategies=THREE, classifiers=("LR",), folds=5)
    verdict = decide(results_of(plan))
    assert verdict.headline == "Nothing helps G-mean: leave the table as it is."
    assert "no threshold either" in verdict.sentences[0]


def test_where_a_threshold_is_enough_it_names_the_threshold():
    plan = plan_of(*two_clouds(500, 60, apart=1.5), strategies=THREE, classifiers=("LR",), folds=5)
    results = results_of(plan)
    verdict = decide(results)
    assert verdict.headline == "Do not resample: move the decision threshold instead."
    assert verdict.sentences[0].startswith("To do: move the decision threshold (0.1")
    (none,) = (row for row in score_table(results).rows if row[1] == "none")
    assert none[6] in {">0.99", "0.99", "0.98", "0.97", "0.96", "0.95"}  # that the threshold helps
    assert verdict.scope == ""


def test_a_planted_gain_is_found():
    plan = plan_of(
        *two_clouds(150, 50, apart=2),
        strategies=("SMOTE",),
        classifiers=("comparison_tables:Deaf", "LR"),
    )
    results = results_of(plan)
    verdict = decide(results)
    expected = "Oversampling with SMOTE helps comparison_tables:Deaf; nothing is shown to help log"
    assert verdict.headline.startswith(expected)
    first = next(row for row in score_table(results).rows if row[1] == "SMOTE")
    assert float(first[4]) > 0.01
    assert first[6] == ">0.99"


def test_too_few_rows_are_too_few_whatever_they_seem_to_say():
    plan = plan_of(
        *two_clouds(60, 12, apart=2),
        strategies=("SMOTE",),
        classifiers=("comparison_tables:Deaf",),
    )
    verdict = decide(results_of(plan))
    assert verdict.headline == "Too few data to tell: class 'yes' has 12 rows."
    assert verdict.sentences[0].startswith("Collect more before you choose")
    assert any("about 4 rows of class 'yes'" in text for text in verdict.caveats)


def test_a_strategy_that_fails_is_shown_and_left_out_of_the_verdict():
    plan = plan_of(
        *two_clouds(80, 30, apart=2),
        strategies=("SMOTE", "Random undersampling", "weights"),
        classifiers=("comparison_tables:Broken", "LR"),
    )
    results = results_of(plan)
    verdict = decide(results)
    failures = [text for text in verdict.caveats if "failed" in text]
    expected = (
        "SMOTE, Random undersampling failed with comparison_tables:Broken on 3 of 3 folds: Run"
    )
    assert any(text.startswith(expected) for text in failures)
    assert any("Deaf" not in text and "takes no class_weight" in text for text in failures)
    broken, fine = find(results)
    assert not broken.gains
    assert fine.gains
    rows = [row[1:4] for row in score_table(results).rows]
    assert ["SMOTE", "failed", "-"] in rows


def test_a_baseline_that_fails_leaves_that_classifier_without_a_verdict():
    plan = plan_of(
        *two_clouds(60, 60, apart=2),
        strategies=("SMOTE",),
        classifiers=("comparison_tables:Broken",),
    )
    verdict = decide(results_of(plan))
    assert verdict.headline.startswith("There is no verdict")


def test_rows_that_our_subsample_left_out_need_not_be_collected():
    rng = np.random.default_rng(0)
    y = np.repeat([f"c{k}" for k in range(11)], [6000, *[100] * 10])
    X = rng.standard_normal((len(y), 2))
    chosen = Settings(("SMOTE",), ("LR",), rows=200, **SMALL)
    plan = ComparisonPlan(read_compared(X, y, rows=200), chosen)
    verdict = decide(results_of(plan))
    assert verdict.scope.startswith("200 of 7,000 rows are used")
    assert verdict.headline.startswith("Too few rows were used to tell: 9 of class 'c")
    assert "The file has 100 of them: use more with --rows, or --full." in verdict.sentences
    assert not any("ollect more" in text for text in verdict.sentences)


def test_a_subsample_says_what_it_kept_and_how_that_was_corrected():
    X, y = two_clouds(20_000, 300, apart=2)
    chosen = Settings(("SMOTE",), ("LR",), rows=1000, **SMALL)
    results = results_of(ComparisonPlan(read_compared(X, y, rows=1000), chosen))
    verdict = decide(results)
    assert verdict.scope.startswith(
        "1,000 of 20,300 rows are used, drawn at random: 250 of 300 of class 'yes', 750 of 20,000 "
    )
    expected = "Class 'yes' is 25.0% of the rows used and 1.48% of the file"
    assert any(text.startswith(expected) for text in verdict.caveats)
    data = summarise(results, verdict)["data"]
    assert (data["rows"], data["rows_of_file"]) == (1000, 20_300)
    assert [item["count_of_file"] for item in data["classes"]] == [20_000, 300]


def test_what_is_best_supported_is_the_best_that_helps():
    plan = plan_of(
        *two_clouds(500, 60, apart=1.5), strategies=THREE, classifiers=("LR", "KNN"), folds=5
    )
    results = results_of(plan)
    (sentence,) = (t for t in decide(results).sentences if t.startswith("Best supported by G-mean"))
    means = [
        results.pairs["none", name].score("g_mean", "tuned")[0]
        for name in plan.settings.classifiers
    ]
    assert sentence.endswith(f"with no resampling, tuned, {max(means):.3f}.")


def test_a_threshold_lies_near_the_share_even_of_boosting_that_learned_by_heart():
    """Its probabilities are nearly 0 or 1 before they are calibrated."""
    plan = plan_of(
        *two_clouds(900, 45, apart=1.5), strategies=(), classifiers=("GBDT", "LR"), folds=2
    )
    for pair in results_of(plan).pairs.values():
        cuts = pair.thresholds("g_mean")
        assert 0.01 < cuts.min() <= cuts.max() < 0.2


def test_every_headline_is_one_plain_sentence():
    for majority, minority, apart in [(200, 150, 5), (500, 60, 1.5), (60, 12, 2), (90, 30, 0)]:
        plan = plan_of(
            *two_clouds(majority, minority, apart=apart), strategies=("SMOTE",), classifiers=("LR",)
        )
        headline = decide(results_of(plan)).headline
        assert headline.endswith(".")
        assert ". " not in headline
        assert not re.search(r"\d\.\d", headline)


def gain(mean, scale, name="SMOTE"):
    return Gain(name, "tuned", Posterior(mean, scale, 14), 0.01)


def finding(*gains):
    return ClassifierEvidence("LR", gains, None)


def test_the_bar_rises_with_the_number_of_candidates():
    sure = gain(0.04, 0.012)
    assert 0.97 < sure.better < 0.99
    assert finding(sure).state == "helps"
    assert finding(sure, *[gain(0, 0.01)] * 9).state == "probably"


@pytest.mark.parametrize(
    ("mean", "state"), [(0.04, "helps"), (0.03, "probably"), (0.02, "no"), (0.01, "no")]
)
def test_the_state_follows_from_the_evidence(mean, state):
    assert finding(gain(mean, 0.01), gain(0, 0.01)).state == state


def test_more_than_two_classes_have_factors_for_a_threshold():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [80, 40, 20])
    X = rng.standard_normal((140, 2)) + np.repeat([[0, 0], [2, 0], [0, 2]], [80, 40, 20], axis=0)
    plan = plan_of(X, y, strategies=("SMOTE", "ours"), classifiers=("LR",))
    results = results_of(plan)
    verdict = decide(results)
    none = results.pairs["none", "logistic regression"]
    assert none.values("g_mean", "tuned").mean() > none.values("g_mean", "0.5").mean()
    assert not len(none.thresholds("g_mean"))
    assert all(pair.failed is None for pair in results.pairs.values())
    assert "threshold" not in verdict.headline
    json.dumps(summarise(results, verdict), allow_nan=False)


def test_the_summary_is_plain_json_and_holds_every_row(tmp_path):
    plan = plan_of(
        *two_clouds(80, 40, apart=1.5), strategies=("SMOTE", "weights"), classifiers=("LR", "KNN")
    )
    results = results_of(plan)
    summary = summarise(results, decide(results))
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    rows = summary["comparison"]["rows"]
    assert len(rows) == 3 * 2 * 2
    assert summary["comparison"]["baseline"] == "none"
    weighted = [r for r in rows if r["strategy"] == "class weights" and "near" in r["classifier"]]
    assert all("KNeighborsClassifier takes no class_weight" in row["failed"] for row in weighted)
    for row in rows:
        for score in row["scores"].values():
            assert score["low"] <= score["mean"] <= score["high"]
    assert [c["count"] for c in summary["data"]["classes"]] == [80, 40]
    table = summary["verdict"]["table"]
    assert [row[1] for row in table["rows"]] == ["none", "SMOTE", "class weights"] * 2
    assert {path.name for path in write_files(summary, tmp_path)} == {
        "comparison.csv", "summary.json",
    }  # fmt: skip


def test_class_weights_spoil_probabilities_and_calibration_mends_them():
    plan = plan_of(
        *two_clouds(400, 80, apart=2), strategies=("weights",), classifiers=("LR", "GBDT")
    )
    results = results_of(plan)
    for name in plan.settings.classifiers:
        base, pair = (results.pairs[strategy, name] for strategy in ("none", "class weights"))
        raw, mended = (pair.values("brier", cut).mean() for cut in ("0.5", "tuned"))
        assert mended < raw
        assert mended == pytest.approx(base.values("brier", "tuned").mean(), rel=0.1)


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "brier", "f1"])
def test_every_metric_gets_its_verdict(metric):
    plan = plan_of(
        *two_clouds(80, 30, apart=1.5), strategies=("SMOTE",), classifiers=("LR",), metric=metric
    )
    results = results_of(plan)
    (found,) = find(results)
    assert len(found.gains) == (2 if metric in {"f1", "brier"} else 1)
    assert decide(results).headline


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategies": ("SMOTEE",)}, "got 'SMOTEE' .near: 'SMOTE'.*counterbalance methods lists"),
        ({"strategies": ("CUSBoost",)}, "methods must return a resampled table, got 'CUSBoost'"),
        ({"classifiers": ("XGB",)}, "LR .logistic regression.*module:object, got 'XGB'"),
        ({"classifiers": ()}, "at least one"),
        ({"metric": "accuracy"}, "metric must be one of g_mean"),
        ({"folds": 1}, "folds must be at least 2, got 1"),
        ({"rope": -1}, "rope must be at least 0"),
        ({"rows": 20}, "at least 200, got 20"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Settings(**settings)
    assert issubclass(ComparisonError, ValueError)


def recorded(plan, gains, folds=15, seconds=1.0):
    """Results in which each strategy gains so much on each fold, with some noise."""
    rng = np.random.default_rng(0)
    records = []
    for fold in range(folds):
        level = rng.normal(0.7, 0.02)
        for strategy, classifier in plan.pairs:
            score = level + gains.get(strategy, 0.0) + rng.normal(0, 0.01)
            figures = {f"g_mean@{cut}": score for cut in ("0.5", "tuned")}
            figures["threshold g_mean"] = 0.2
            trial = {"strategy": strategy, "classifier": classifier, "fold": fold}
            records.append(TrialRecord(trial, figures, seconds=seconds))
    return Results(plan, records)


@pytest.fixture
def plan():
    X, y = two_clouds(150, 50, apart=2)
    settings = Settings(("SMOTE", "weights", "Interior"), ("LR",), adaptive=True)
    return ComparisonPlan(read_compared(X, y), settings)


def test_what_cannot_be_shown_any_more_is_left_out_and_a_gain_settles_the_answer(plan):
    lost = recorded(plan, {"SMOTE": -0.05, "class weights": -0.04, "Interior": -0.06}, folds=5)
    assert still_open(lost, 5) == []
    close = recorded(plan, {"SMOTE": -0.05, "class weights": 0.03, "Interior": -0.06}, folds=3)
    assert still_open(close, 3) == [
        (name, "logistic regression") for name in ("none", "class weights")
    ]
    clear = {"Interior": 0.3}
    assert still_open(recorded(plan, clear, folds=3), 3)  # three folds are too few for a claim
    assert still_open(recorded(plan, clear, folds=5), 5) == []
    assert find(recorded(plan, clear, folds=5))[0].state == "helps"


def test_a_candidate_that_was_left_out_is_not_claimed_and_still_raises_the_bar(plan):
    results = recorded(plan, {"SMOTE": 0.3})
    (found,) = find(results)
    assert (found.state, found.best.strategy) == ("helps", "SMOTE")
    assert found.bar == pytest.approx(1 - 0.05 / (6 * 3))  # six candidates, three looks
    few = [r for r in results.records if r.trial["strategy"] != "SMOTE" or r.trial["fold"] < 3]
    (found,) = find(Results(plan, few))
    assert found.state != "helps"
    assert found.bar == pytest.approx(1 - 0.05 / (6 * 3))


def test_of_what_is_as_good_the_rows_to_train_on_are_named():
    gains = [gain(0.105, 0.01, "Counterfactual"), gain(0.1, 0.01, "Interior"), gain(0.099, 0.01)]
    assert finding(*gains).best.strategy == "Interior"
    assert finding(gains[0], gains[2]).best.strategy == "SMOTE"
    better = gain(0.2, 0.01, "Counterfactual")
    assert finding(better, *gains[1:]).best.strategy == "Counterfactual"


def test_the_slowest_go_first_where_the_time_is_short(plan):
    results = recorded(plan, {}, folds=3)
    slow = [
        replace(r, seconds=40.0) if r.trial["strategy"] == "Interior" else r
        for r in results.records
    ]
    pairs, late = affordable(Results(plan, slow[:4]), plan.pairs, 2)
    assert late == [("Interior", "logistic regression")]
    assert [name for name, _ in pairs] == ["none", "SMOTE", "class weights"]
    pairs, late = affordable(
        Results(plan, [replace(r, seconds=60.0) for r in slow[:4]]), plan.pairs, 2
    )
    assert pairs == []
    assert len(late) == 3


@pytest.mark.parametrize(("apart", "classifier"), [(1.5, "LR"), (2.0, "comparison_tables:Deaf")])
def test_an_answer_that_is_settled_ends_the_run_and_says_what_was_saved(apart, classifier):
    X, y = two_clouds(200, 60, apart=apart)
    settings = Settings(("SMOTE", "weights", "Random oversampling"), (classifier,), inner_folds=2)
    results = run_looks(ComparisonPlan(read_compared(X, y), settings), TrialFile(None, {}))
    counts = {name: len(pair.records) for (name, _), pair in results.pairs.items()}
    assert counts["none"] in {5, 10}
    assert min(counts.values()) >= 1
    verdict = decide(results)
    planned = 4 * 15
    said = (
        f"{len(results.records)} of {planned} trials were enough; {planned - len(results.records)} "
    )
    assert any(text.startswith(said) for text in verdict.caveats)
    assert (":" in classifier) == ("helps" in verdict.headline)


def test_no_time_at_all_leaves_the_baseline_and_says_so():
    X, y = two_clouds(120, 40, apart=2)
    plan = plan_of(
        X, y, strategies=("SMOTE",), classifiers=("LR",), folds=5, adaptive=True, seconds=1e-6
    )
    results = run_looks(plan, TrialFile(None, {}))
    assert {name: len(pair.records) for (name, _), pair in results.pairs.items()} == {
        "none": 5,
        "SMOTE": 1,
    }
    verdict = decide(results)
    assert verdict.headline == "No resampling was compared."
    assert "Nothing was compared for logistic regression: there was no time." in verdict.sentences
    scores = summarise(results, verdict)["comparison"]["rows"]
    (half, _) = (row["scores"]["g_mean"] for row in scores if row["strategy"] == "SMOTE")
    assert half["low"] is half["high"] is None  # of one fold
    expected = "or for lack of time: SMOTE with logistic regression. --full computes them all."
    assert any(text.endswith(expected) for text in verdict.caveats)
