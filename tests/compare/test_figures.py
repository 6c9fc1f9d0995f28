"""Metrics and the posterior are what they are defined to be."""

import baycomp
import numpy as np
import pytest
from imblearn.metrics import geometric_mean_score
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, f1_score

from counterbalance.compare.evidence import chance
from counterbalance.compare.metrics import answer_scores, brier
from counterbalance.compare.results import posterior
from counterbalance.estimators.decision import prior_corrected


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("rope", [0.0, 0.01, 0.1])
def test_the_posterior_is_that_of_baycomp(runs, rope):
    rng = np.random.default_rng(runs)
    one, other = rng.normal(0.7, 0.05, (2, 5 * runs))
    expected = baycomp.CorrelatedTTest.probs(one, other, rope=rope, runs=runs)
    ours = posterior(other - one, ratio=1 / 4)
    assert 1 - ours.above(-rope) == pytest.approx(expected[0])
    assert ours.above(rope) == pytest.approx(expected[-1])


def test_the_interval_holds_95_percent():
    belief = posterior(np.array([0.1, 0.2, 0.15, 0.4]), ratio=0.25)
    low, high = belief.interval()
    assert 1 - belief.above(low) == pytest.approx(0.025)
    assert belief.above(high) == pytest.approx(0.025)


def test_equal_differences_leave_no_doubt():
    belief = posterior(np.full(5, 0.25), ratio=0.25)
    assert belief.above(0.01) == 1
    assert belief.interval() == (0.25, 0.25)


def test_one_fold_says_nothing():
    belief = posterior(np.array([0.25]), ratio=0.25)
    assert belief.above(0.01) == pytest.approx(0.5)
    assert chance(np.array([-0.25]), 0.25, 15, 0.01, 0.95) == 1


@pytest.mark.parametrize("gain", [-0.02, 0.0, 0.03, 0.06])
def test_hope_is_how_often_more_folds_do_show_it(gain):
    """Folds of one table share what is common to them; `chance` knows their own noise only."""
    rng = np.random.default_rng(0)
    ratio, noise, tables = 0.25, 0.03, 3000
    d = gain + rng.normal(0, noise, (tables, 15))
    shown = np.array([posterior(row, ratio).above(0.01) >= 0.95 for row in d])
    hoped = np.array([chance(row[:5], ratio, 15, 0.01, 0.95) for row in d])
    lost = shown & (hoped < 0.05)
    assert lost.mean() < 0.02  # what is left out would hardly ever have been shown
    assert hoped[shown].mean() > hoped[~shown].mean() if 0 < shown.mean() < 1 else True
    if gain <= 0:
        assert np.mean(hoped < 0.05) > 0.8  # and most of what does not help is left out


@pytest.mark.parametrize("n_classes", [2, 4])
def test_metrics_of_answers_are_the_usual_ones(n_classes):
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 60)])
    answer = np.where(rng.random(len(y)) < 0.6, y, rng.integers(0, n_classes, len(y)))
    weights = rng.uniform(0.5, 2, len(y))
    scores = answer_scores(y, answer, n_classes, weights)
    average = "binary" if n_classes == 2 else "macro"
    f1 = f1_score(y, answer, average=average, sample_weight=weights)
    balanced = balanced_accuracy_score(y, answer, sample_weight=weights)
    assert scores["f1"] == pytest.approx(f1)
    assert scores["balanced_accuracy"] == pytest.approx(balanced)
    expected = geometric_mean_score(y, answer, average="multiclass", sample_weight=weights)
    assert scores["g_mean"] == pytest.approx(expected)


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
