"""A subsample keeps what resampling is about, and its figures speak of the whole table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss, f1_score

from comparison_tables import SMALL, two_clouds
from counterbalance.compare import Settings
from counterbalance.compare.data import kept_counts, read_compared
from counterbalance.compare.metrics import answer_scores, brier, ranking_scores
from counterbalance.compare.plan import ComparisonPlan
from counterbalance.compare.trials import at_shares_of_file, compute


@given(st.lists(st.integers(4, 100_000), min_size=2, max_size=12), st.integers(200, 20_000))
def test_a_subsample_has_as_many_rows_as_asked_for_and_favours_small_classes(counts, rows):
    counts = np.array(counts)
    if counts.sum() <= rows:
        return
    kept = kept_counts(counts, rows)
    assert kept.sum() == rows
    assert (kept <= counts).all()
    assert (kept >= np.minimum(counts, rows // (2 * len(counts)))).all()


def test_a_table_with_708_rows_of_the_minority_keeps_a_quarter_of_a_thousand_of_them():
    X, y = two_clouds(47_552, 708, apart=1)
    table = read_compared(X, y, rows=1000)
    assert table.counts.tolist() == [750, 250]
    assert table.counts_of_file.tolist() == [47_552, 708]
    weights = table.class_weights[table.codes]
    assert np.average(table.codes, weights=weights) == pytest.approx(708 / 48_260)
    assert read_compared(X, y, rows=10_000).counts.tolist() == [9292, 708]


def test_classes_that_are_large_enough_keep_their_shares_and_no_row_is_weighted():
    X, y = two_clouds(7000, 3000, apart=1)
    table = read_compared(X, y, rows=1000)
    assert table.counts.tolist() == [700, 300]
    assert table.class_weights is None
    assert table.is_drawn
    assert not read_compared(X, y).is_drawn


def large(seed=0):
    """Probabilities and truth of many rows, few of them of the minority."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.4, 9, 200_000)
    return p, (rng.random(len(p)) < p).astype(int)


def test_weighted_metrics_of_a_subsample_are_those_of_all_rows():
    p, y = large()
    table = read_compared(np.arange(len(y)), y, rows=20_000)
    kept = table.X["0"].to_numpy()
    weights = table.class_weights[y[kept]]
    both = np.column_stack([1 - p, p])
    scores = ranking_scores(y[kept], both[kept], weights)
    assert scores["average_precision"] == pytest.approx(average_precision_score(y, p), abs=0.01)
    found = brier(y[kept], both[kept], weights)
    assert found == pytest.approx(brier_score_loss(y, p), abs=0.001)
    answers = answer_scores(y[kept], (p[kept] > 0.2).astype(int), 2, weights)
    assert answers["f1"] == pytest.approx(f1_score(y, p > 0.2), abs=0.01)
    unweighted = answer_scores(y[kept], (p[kept] > 0.2).astype(int), 2)
    assert answers["g_mean"] == pytest.approx(unweighted["g_mean"])
    assert answers["f1"] < unweighted["f1"] - 0.05


def test_a_model_fitted_to_a_subsample_describes_all_rows_after_the_correction():
    X, y = two_clouds(40_000, 800, apart=2)
    table = read_compared(X, y, rows=2000)
    p = LogisticRegression().fit(table.X, table.y).predict_proba(X)
    corrected = at_shares_of_file(p, table, table.class_weights)
    assert p[:, 1].mean() > 4 * 800 / 40_800
    assert corrected[:, 1].mean() == pytest.approx(800 / 40_800, rel=0.2)
    assert at_shares_of_file(p, table, None) is p


def test_without_resampling_a_trial_on_a_subsample_is_close_to_one_on_all_rows():
    """At 0.5 a model seldom predicts a rare class, even when it was fitted to a subsample."""
    X, y = two_clouds(24_000, 480, apart=2.5)
    cell = {"strategy": "none", "classifier": "logistic regression"}
    plans = [
        ComparisonPlan(read_compared(X, y, rows=rows), Settings((), ("LR",), **SMALL))
        for rows in (0, 2400)
    ]
    whole, part = ([compute(plan, {**cell, "fold": fold}) for fold in range(3)] for plan in plans)

    def mean(folds, name):
        return np.mean([figures[name] for figures in folds])

    for name in ("f1@0.5", "f1@tuned", "g_mean@0.5", "average_precision", "brier@0.5"):
        assert mean(part, name) == pytest.approx(mean(whole, name), abs=0.12), name
    name = "threshold g_mean"
    assert mean(part, name) == pytest.approx(mean(whole, name), abs=0.03)
