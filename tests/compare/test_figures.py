"""Thresholds, metrics, calibration and the posterior are what they are defined to be."""

import baycomp
import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, f1_score

from counterbalance.compare.metrics import brier, calibration_curve, intercept, slope
from counterbalance.compare.posterior import posterior
from counterbalance.estimators.decision import prior_corrected, tuned_thresholds

HERE = "counterbalance.compare"


@pytest.mark.parametrize("seed", range(8))
def test_no_threshold_is_better_than_the_tuned_one(seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(80) < 0.2).astype(int)
    p = np.clip(rng.normal(0.3 + 0.2 * y, 0.2), 0, 1).round(seed % 3 + 1)
    scores = {
        "f1": lambda cut: f1_score(y, p >= cut, zero_division=0),
        "balanced_accuracy": lambda cut: balanced_accuracy_score(y, p >= cut),
        "g_mean": lambda cut: np.sqrt((p[y == 1] >= cut).mean() * (p[y == 0] < cut).mean()),
    }
    tuned = tuned_thresholds(p, y)
    for name, score in scores.items():
        assert score(tuned[name]) == pytest.approx(max(score(cut) for cut in np.unique(p)))


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("rope", [0.0, 0.01, 0.1])
def test_the_posterior_is_that_of_baycomp(runs, rope):
    rng = np.random.default_rng(runs)
    one, other = rng.normal(0.7, 0.05, (2, 5 * runs))
    expected = baycomp.CorrelatedTTest.probs(one, other, rope=rope, runs=runs)
    ours = posterior(other - one, ratio=1 / 4)
    assert ours.below(-rope) == pytest.approx(expected[0])
    assert ours.above(rope) == pytest.approx(expected[-1])


def test_the_interval_holds_95_percent():
    belief = posterior(np.array([0.1, 0.2, 0.15, 0.4]), ratio=0.25)
    low, high = belief.interval()
    assert belief.below(low) == pytest.approx(0.025)
    assert belief.above(high) == pytest.approx(0.025)


def test_equal_differences_leave_no_doubt():
    belief = posterior(np.full(5, 0.25), ratio=0.25)
    assert belief.above(0.01) == 1
    assert belief.interval() == (0.25, 0.25)


@pytest.mark.parametrize(("bend", "shift"), [(1.0, 0.0), (0.5, 0.0), (2.0, 0.0), (1.0, -1.0)])
def test_slope_and_intercept_are_found_again(bend, shift):
    rng = np.random.default_rng(0)
    truth = expit(rng.normal(-1, 1, 60_000))
    y = rng.random(len(truth)) < truth
    said = expit((logit(truth) - shift) / bend)
    assert slope(said, y).value == pytest.approx(bend, abs=0.05)
    if bend == 1:
        assert intercept(said, y).value == pytest.approx(shift, abs=0.05)


def test_slope_is_that_of_an_unpenalised_logistic_regression():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, 300)
    y = rng.random(300) < p**1.5
    fitted = LogisticRegression(C=np.inf, tol=1e-10).fit(logit(p)[:, None], y)
    assert slope(p, y).value == pytest.approx(fitted.coef_[0, 0], rel=1e-4)


def test_separated_classes_have_no_slope_but_no_error_either():
    p = np.array([0.1] * 10 + [0.9] * 10)
    assert slope(p, p > 0.5) is None
    assert slope(np.full(20, 0.3), p > 0.5) is None


def test_the_calibration_curve_counts_every_row_once():
    rng = np.random.default_rng(0)
    p = rng.random(500).round(1)
    curve = calibration_curve(p, rng.random(500) < p)
    assert sum(count for *_, count in curve) == 500
    assert all(abs(said - seen) < 0.2 for said, seen, _ in curve)


def test_brier_is_the_usual_one_with_two_classes():
    rng = np.random.default_rng(0)
    p, y = rng.random(50), rng.integers(0, 2, 50)
    both = np.column_stack([1 - p, p])
    assert brier(y, both) == pytest.approx(brier_score_loss(y, p))


def test_prior_correction_undoes_undersampling():
    rng = np.random.default_rng(0)
    x = rng.normal(size=40_000)
    y = (rng.random(len(x)) < expit(2 * x - 4)).astype(int)
    kept = np.flatnonzero((y == 1) | (rng.random(len(y)) < 0.1))
    model = LogisticRegression(C=np.inf).fit(x[kept, None], y[kept])
    base, prior = (np.bincount(v) / len(v) for v in (y, y[kept]))
    corrected = prior_corrected(model.predict_proba(x[:, None]), base, prior)
    assert np.abs(corrected[:, 1] - expit(2 * x - 4)).mean() < 0.01
    assert np.abs(model.predict_proba(x[:, None])[:, 1] - expit(2 * x - 4)).mean() > 0.05
