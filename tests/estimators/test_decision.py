"""Corrections, calibrations and rules are what they are defined to be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imblearn.metrics import geometric_mean_score
from scipy.special import expit, logit
from sklearn.metrics import f1_score, precision_score, recall_score

from counterbalance.estimators.decision import (
    METRICS,
    Calibration,
    Rule,
    best_cut,
    cut_scores,
    logits,
    precision_recall,
    prior_corrected,
    rarest_of,
    tuned_rule,
)

shares = st.lists(st.floats(0.02, 1), min_size=2, max_size=5).map(
    lambda values: np.array(values) / sum(values)
)


@given(shares, st.integers(0, 1000))
def test_a_correction_there_and_back_changes_nothing(base, seed):
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.full(len(base), 5.0)) + 1e-3
    p = rng.dirichlet(np.ones(len(base)), 20)
    there = prior_corrected(p, base, prior)
    np.testing.assert_allclose(there.sum(axis=1), 1)
    np.testing.assert_allclose(prior_corrected(there, prior, base), p, atol=1e-9)


@given(st.integers(0, 1000))
def test_a_correction_keeps_the_order_of_the_rows(seed):
    rng = np.random.default_rng(seed)
    p = rng.random(30)
    both = np.column_stack([1 - p, p])
    corrected = prior_corrected(both, np.array([0.95, 0.05]), np.array([0.5, 0.5]))[:, 1]
    np.testing.assert_array_equal(np.argsort(p, kind="stable"), np.argsort(corrected))


def test_the_rarest_class_is_the_last_of_several():
    assert rarest_of(np.array([0.2, 0.6, 0.2])) == 2


def scored(n, seed=0, *, share=0.1):
    """Rows with well calibrated probabilities of the second class, and their classes."""
    rng = np.random.default_rng(seed)
    p = expit(rng.normal(logit(share), 1.5, n))
    return np.column_stack([1 - p, p]), (rng.random(n) < p).astype(np.intp)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_a_calibration_finds_probabilities_that_were_bent(kind):
    p, y = scored(20_000)
    bent = expit(0.5 * logits(p) + np.array([-1, 1]))
    curve = Calibration.from_scores(kind, logits(bent / bent.sum(axis=1, keepdims=True)), y)
    mended = curve.probabilities(logits(bent / bent.sum(axis=1, keepdims=True)))
    assert abs(mended[:, 1] - p[:, 1]).mean() < 0.015
    np.testing.assert_allclose(mended.sum(axis=1), 1)


@given(st.integers(0, 500), st.integers(2, 40))
def test_a_sigmoid_never_changes_the_order_of_the_rows(seed, n):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    y = rng.permutation(np.arange(n) % 2)  # no relation at all, or the wrong one
    curve = Calibration.from_scores("sigmoid", np.column_stack([-scores, scores]), y)
    p = curve.probabilities(np.column_stack([-scores, scores]))[:, 1]
    assert (np.diff(p[np.argsort(scores)]) >= 0).all()
    assert curve.curves[0]["slope"] > 0


def test_two_rows_do_not_let_a_sigmoid_run_away():
    scores = np.array([[1.0, -1.0], [-1.0, 1.0]])
    p = Calibration.from_scores("sigmoid", scores, np.array([0, 1])).probabilities(scores)
    assert 0.6 < p[1, 1] < 0.95


def test_a_calibration_of_weighted_rows_is_that_of_repeated_ones():
    p, y = scored(300)
    times = np.random.default_rng(1).integers(1, 4, len(y))
    weighted = Calibration.from_scores("isotonic", logits(p), y, times.astype(float))
    repeated = Calibration.from_scores(
        "isotonic", logits(np.repeat(p, times, axis=0)), np.repeat(y, times)
    )
    np.testing.assert_allclose(weighted.probabilities(logits(p)), repeated.probabilities(logits(p)))


def test_three_classes_are_calibrated_one_against_the_rest():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([8, 2, 1], 20_000)
    y = (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1)
    bent = p**0.5 / (p**0.5).sum(axis=1, keepdims=True)
    curve = Calibration.from_scores("sigmoid", logits(bent), y)
    mended = curve.probabilities(logits(bent))
    assert abs(mended - p).mean() < 0.5 * abs(bent - p).mean()


def test_every_cut_has_the_scores_that_are_reached_at_it():
    p, y = scored(400)
    cuts, scores = cut_scores(p[:, 1], y)
    for place in np.linspace(0, len(cuts) - 1, 9).astype(int):
        answer = p[:, 1] >= cuts[place]
        assert scores["recall"][place] == pytest.approx(recall_score(y, answer))
        assert scores["precision"][place] == pytest.approx(precision_score(y, answer))
        assert scores["f1"][place] == pytest.approx(f1_score(y, answer))


@given(st.integers(0, 200), st.integers(5, 400))
def test_a_curve_has_thresholds_that_rise_and_a_recall_that_falls(seed, n):
    rng = np.random.default_rng(seed)
    p, y = rng.random(n).round(2), (rng.random(n) < 0.2).astype(np.intp)
    y[0] = 1
    curve = precision_recall(p, y)
    assert (np.diff(curve["thresholds"]) > 0).all()
    assert (np.diff(curve["recall"]) <= 0).all()
    assert len(curve["thresholds"]) <= 202
    at = len(curve["thresholds"]) // 2
    answer = p >= curve["thresholds"][at]
    assert curve["recall"][at] == pytest.approx(recall_score(y, answer))
    assert curve["precision"][at] == pytest.approx(precision_score(y, answer))


@pytest.mark.parametrize("metric", METRICS)
def test_the_chosen_cut_is_nearly_the_best_for_new_rows_if_probabilities_are_right(metric):
    p, y = scored(600, share=0.1)
    later, truth = scored(60_000, seed=1, share=0.1)
    cuts, scores = cut_scores(later[:, 1], truth)
    for weights in (None, np.random.default_rng(0).integers(1, 4, len(y))):
        at = len(cuts) - np.searchsorted(cuts[::-1], best_cut(p[:, 1], y, metric, weights))
        assert scores[metric][at] > scores[metric].max() - 0.02


@pytest.mark.parametrize("metric", METRICS)
def test_many_rows_choose_the_cut_where_probabilities_are_wrong(metric):
    p, y = scored(100_000, share=0.2)
    wrong = expit(logit(p[:, 1]) + 1.5)
    cut = best_cut(wrong, y, metric)
    cuts, scores = cut_scores(wrong, y)
    at = len(cuts) - np.searchsorted(cuts[::-1], cut)
    assert scores[metric][at] > scores[metric].max() - 0.005


def test_a_few_rows_move_a_cut_less_than_their_own_best_one():
    chosen, best = [], []
    for seed in range(40):
        p, y = scored(150, seed)
        cuts, scores = cut_scores(p[:, 1], y)
        best.append(logit(cuts[scores["g_mean"].argmax()]))
        chosen.append(logit(best_cut(p[:, 1], y, "g_mean")))
    assert np.std(chosen) < 0.7 * np.std(best)


def test_the_compromise_is_the_mean_of_two_metrics_and_its_cut_lies_between_theirs():
    p, y = scored(60_000, share=0.1)

    def reached(cut):
        answer = p[:, 1] >= cut
        return (geometric_mean_score(y, answer) + f1_score(y, answer)) / 2

    cuts, scores = cut_scores(p[:, 1], y)
    for place in np.linspace(0, len(cuts) - 1, 7).astype(int):
        assert scores["compromise"][place] == pytest.approx(reached(cuts[place]))
    chosen = {metric: best_cut(p[:, 1], y, metric) for metric in METRICS}
    assert chosen["g_mean"] < chosen["compromise"] < chosen["f1"]
    assert reached(chosen["compromise"]) > scores["compromise"].max() - 0.002


@pytest.mark.parametrize(("miss", "alarm"), [(10.0, 1.0), (1.0, 1.0), (1.0, 5.0)])
def test_a_cost_matrix_gives_elkans_threshold(miss, alarm):
    """Where probabilities are right, the cut is alarm / (alarm + miss)."""
    p, y = scored(60_000, share=0.3)
    cost = np.array([[0.0, alarm], [miss, 0.0]])
    rule = tuned_rule(p, y, "cost", cost=cost)
    assert rule.cut == pytest.approx(alarm / (alarm + miss), abs=0.06)
    flipped = tuned_rule(p[:, ::-1], 1 - y, "cost", cost=cost[::-1, ::-1])
    assert flipped.rarest == 0
    np.testing.assert_array_equal(flipped.answer(p[:, ::-1]), 1 - rule.answer(p))


@pytest.mark.parametrize("metric", [*METRICS, "cost"])
def test_factors_of_three_classes_are_no_worse_than_none(metric):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([6, 1, 0.5], 600)
    y = (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1)
    cost = np.array([[0.0, 1, 1], [5, 0, 1], [20, 1, 0]]) if metric == "cost" else None
    rule = tuned_rule(p, y, metric, cost=cost)

    def reached(answer):
        counts = np.zeros((3, 3))
        np.add.at(counts, (y, answer), 1)
        recall = np.diag(counts) / counts.sum(axis=1)
        f1 = f1_score(y, answer, average="macro", zero_division=0)
        return {
            "g_mean": recall.prod(),
            "balanced_accuracy": recall.mean(),
            "f1": f1,
            "compromise": (np.cbrt(recall.prod()) + f1) / 2,
            "cost": -(counts * cost).sum() if cost is not None else 0,
        }[metric]

    assert reached(rule.answer(p)) > reached(p.argmax(axis=1))


def test_a_rule_without_anything_answers_the_most_probable_class():
    p = np.array([[0.2, 0.5, 0.3], [0.4, 0.35, 0.25]])
    assert Rule(np.ones(3)).answer(p).tolist() == [1, 0]


@pytest.mark.parametrize("metric", ["g_mean", "balanced_accuracy"])
def test_probabilities_that_hardly_differ_are_cut_inside_their_range(metric):
    """A calibration that found no skill leaves them all near one value, not quite the share."""
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.15).astype(int)
    p = 0.1553 + 1e-4 * rng.standard_normal(300)
    rule = tuned_rule(np.column_stack([1 - p, p]), y, metric)
    assert 0.1 < (p >= rule.cut).mean() < 0.9
