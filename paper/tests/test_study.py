"""The study: its suites, trials, scores, comparison, tables and page."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from imblearn.over_sampling import ADASYN
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

from counterbalance.errors import CounterbalanceError
from paper.classifiers import CLASSIFIERS, as_call, descriptions, expected_warnings
from paper.study import DEVELOPMENT, load_labelled, measure, methods, suite, trials
from paper.study.methods import METHODS, OURS, make_peer, resampled
from paper.study.page import study
from paper.study.resamplers import (
    METRICS,
    PROTOCOL,
    compute,
    loss_table,
    origin_tables,
    page_fields,
    statements,
    tables,
)
from paper.study.scores import collect, critical_difference, mean_ranks, probability, record


def a_line(data, method, fold, level, *, failed=False):
    """Return a trial whose every figure is ``level``, or one that failed."""
    line = {"data": data, "method": method, "repeat": 0, "fold": fold}
    if failed:
        return {**line, "error": "it refused"}
    figures = {f"{name} {metric}": level for name in CLASSIFIERS for metric in METRICS}
    return {**line, **figures, "seconds": 0.01, "error": None}


def collected(lines):
    return collect(pd.DataFrame(lines), PROTOCOL.kind)


@pytest.fixture(name="scores")
def make_scores():
    """Interior is better than SMOTE on 9 of 10 data sets, none is the worst; CCR fails once."""
    levels = {"none": 0.5, "SMOTE": 0.7, "interior": 0.8, "CCR": 0.6}
    return collected(
        [
            a_line(
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
    )


def test_the_suites_are_disjoint_and_every_class_has_enough_rows_for_folds():
    final = suite("final")
    assert not set(final) & set(DEVELOPMENT)
    assert len(final) > 50
    y = load_labelled(final[0], 0)[1]
    assert np.bincount(y).min() >= 10


def test_the_field_suites_are_the_two_halves_of_the_field():
    halves = suite("field-open"), suite("field-held")
    assert [len(half) for half in halves] == [14, 14]
    assert not set(halves[0]) & set(halves[1])


def test_a_table_that_is_cut_keeps_a_hundred_rows_of_a_small_class():
    assert np.bincount(load_labelled("flchain", 800)[1]).tolist() == [788, 100]
    assert np.bincount(load_labelled("Gunnels", 800)[1]).tolist() == [776, 48]


def test_a_table_is_cut_by_class_share_and_the_smallest_class_is_last():
    _, y, n_classes = load_labelled("page-blocks0", 1600)
    assert len(y) == pytest.approx(1600, abs=2)
    assert n_classes == 2
    assert np.bincount(y)[0] > np.bincount(y)[1]


def test_trials_are_distinct_and_as_many_as_are_asked_for():
    sizes = {"folds": 3, "repeats": (0, 2), "rows": 100}
    found = trials(("glass2", "ecoli3"), ("none", "SMOTE"), **sizes)
    assert len({str(trial) for trial in found}) == len(found) == 2 * 2 * 3 * 2
    assert found[0].keys() == {"data", "rows", "method", "folds", "repeat", "fold"}


def test_peers_get_mixed_tables_scaled_and_without_holes_and_ours_get_them_as_they_are(monkeypatch):
    X, y, _ = load_labelled("acs12", 300)
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
            resampled(name, X, y, seed=0)
    numbers = seen["ADASYN"][:, :4]
    assert not np.isnan(seen["ADASYN"]).any()
    np.testing.assert_allclose(numbers.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(numbers.std(axis=0), 1)
    assert set(np.unique(seen["ADASYN"][:, 4:])) == {0.0, 1.0}
    assert seen["interior"] is X


def test_smote_makes_whole_categories_on_a_mixed_table():
    X, y, _ = load_labelled("mifem", 200)
    rows = resampled("SMOTE", X, y, seed=0).rows
    assert set(np.unique(rows[:, 2:])) == {0.0, 1.0}


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
def test_a_trial_measures_six_classifiers_and_gives_the_same_figures_twice(method):
    trial = {"data": "glass2", "rows": 0, "method": method, "folds": 5, "repeat": 0, "fold": 0}
    first, second = compute(trial), compute(trial)
    names = {f"{name} {metric}" for name in CLASSIFIERS for metric in METRICS}
    assert names - set(first) == {"SVM brier"}
    assert {k: v for k, v in first.items() if k != "seconds"} == {
        k: v for k, v in second.items() if k != "seconds"
    }


def test_every_method_resamples_a_small_fold():
    X, y, _ = load_labelled("glass2", 0)
    for method in METHODS:
        if method in {"ADASYN", "tuned threshold"}:
            continue  # the first may refuse, the second resamples nothing
        with expected_warnings():
            rows, labels, preparation, origins = resampled(method, X, y, seed=0)
        assert sum(origins.values()) == (len(rows) - len(y)) * (method in OURS)
        assert len(rows) == len(labels)
        assert preparation.transform(X).shape[1] == rows.shape[1]


def test_a_peer_gets_no_more_neighbours_than_the_class_has():
    y = np.repeat([0, 1], [50, 4])
    assert make_peer("SMOTE", y, 0).k_neighbors == 3


def test_a_failed_fold_counts_as_no_resampling(scores):
    levels = scores.by_dataset("g_mean")["CCR"]
    assert levels["d0"] == pytest.approx((0.6 + 0.5) / 2)
    assert levels["d1"] == pytest.approx(0.6)
    assert scores.failed.to_dict() == {("CCR", "it refused"): 1}


def test_ranks_wins_and_probability_follow_the_scores(scores):
    ranks = mean_ranks(scores, "g_mean")
    assert ranks["interior"] == pytest.approx((9 * 1 + 2) / 10)
    assert ranks["none"] == 4
    assert record(scores, "g_mean", "interior", "SMOTE") == (54, 0, 6)
    assert probability(scores, "g_mean", "interior", "SMOTE") > 0.95
    assert probability(scores, "g_mean", "SMOTE", "interior") < 0.05


def test_the_brier_score_is_better_when_lower(scores):
    assert mean_ranks(scores, "brier")["none"] == 1


def test_the_page_counts_our_new_rows_by_origin():
    lines = [
        a_line(f"d{d}", m, f, 0.5) for d in range(2) for m in ("none", *OURS) for f in range(2)
    ]
    for line in lines:
        if line["method"] == "counterfactuals":
            found = 30.0 if line["data"] == "d0" else 0.0
            line.update({"origin inversion": found, "origin interior": 60 - found})
    (table,) = origin_tables(collected(lines))
    name, inversions, within, *rest, without = table.rows[0]
    assert (name, inversions, within, without) == ("**counterfactuals**", "25%", "75%", "1")
    assert set(rest) == {"0%"}
    assert len(table.rows) == 1
    assert origin_tables(collected([line for line in lines if line["method"] == "none"])) == []


def test_the_critical_difference_shrinks_with_more_tables():
    assert critical_difference(20, 40) < critical_difference(20, 10)


def test_a_data_set_that_a_method_has_not_finished_is_left_out():
    lines = [a_line(f"d{d}", m, 0, 0.5) for d in range(2) for m in ("none", "SMOTE")]
    assert collected(lines[:-1]).datasets == ["d0"]
    with pytest.raises(CounterbalanceError, match="no data set is finished"):
        collected(lines[:1] + lines[3:])
    with pytest.raises(CounterbalanceError, match="none"):
        collected(lines[1:2])
    with pytest.raises(CounterbalanceError, match="none"):
        collected([])


def test_our_methods_can_stand_alone():
    lines = [a_line(f"d{d}", m, 0, 0.5) for d in range(3) for m in ("none", *OURS)]
    names = [table.name for table in tables(collected(lines))]
    assert "ranks" in names
    assert not any(name.startswith("losses") for name in names)


def test_where_ours_loses_most_is_shown_first(scores):
    first = loss_table(scores, "interior").rows[0]
    assert first == ("d9", "G-mean", "0.650", "0.700 (SMOTE)", "0.500")


def test_a_statement_names_the_metrics_that_are_won_and_lost(scores):
    _, text = statements(scores)
    assert "better mean rank than every other method on G-mean" in text
    assert "does not rank before every other method on Brier score" in text


def test_the_page_prints_the_classifiers_and_the_f_that_our_samplers_fit():
    fields = page_fields({})
    assert fields["classifiers"] == descriptions(small=True)
    rng = np.random.default_rng(0)
    y = np.repeat(["large", "small"], [60, 15])
    X = rng.normal(size=(75, 3)) + 1.5 * (y == "small")[:, None]
    for name, maker in OURS.items():
        sampler = maker(random_state=0)
        with expected_warnings():
            sampler.fit_resample(X, y)
        (line,) = [one for one in fields["ours"].splitlines() if one.startswith(f"- **{name}**")]
        assert f"`{as_call(sampler.estimator_)}`" in line


@pytest.mark.slow
def test_a_study_ends_in_tables_a_picture_and_a_page_and_is_not_computed_twice(tmp_path):
    chosen = ("none", "SMOTE", "interior")
    sizes = {"folds": 2, "repeats": (0,), "rows": 0}
    places = {"store": tmp_path / "trials.sqlite", "out": tmp_path / "out"}
    found = study(PROTOCOL, {"chosen": ("glass2",)}, chosen, **sizes, **places, jobs=2)
    text = (tmp_path / "out" / "results.md").read_text()
    assert "Mean ranks of 3 methods" in text
    assert "Where interior loses most" in text
    assert "What the new rows of ours are" in text
    assert "1 data sets, 3 methods, 2 folds, shuffles 0, all rows." in text
    assert (tmp_path / "out/figures/study_chosen.png").stat().st_size > 1000
    assert (tmp_path / "out/chosen_ranks.csv").exists()
    again = study(PROTOCOL, {"chosen": ("glass2",)}, chosen, **sizes, **places, computing=False)
    assert [table.rows for table in again] == [table.rows for table in found]
