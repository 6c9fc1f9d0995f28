"""ComparisonDisplay draws every score that there is, with its interval."""

import json

import pytest

from comparison_tables import plan_of, results_of, two_clouds
from counterbalance.compare.summary import summarise
from counterbalance.compare.verdict import decide
from counterbalance.displays import ComparisonDisplay
from counterbalance.errors import TableError

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def summary():
    X, y = two_clouds(80, 40, apart=1.5)
    plan = plan_of(X, y, strategies=("SMOTE", "weights"), classifiers=("LR", "KNN"))
    results = results_of(plan)
    return json.loads(json.dumps(summarise(results, decide(results))))


def test_every_score_is_a_dot_and_failures_are_not_drawn(summary):
    display = ComparisonDisplay.from_summary(summary)
    # three strategies at two thresholds, of which nearest neighbours cannot weigh classes
    assert len(display.dots) == 3 * 2 + 2 * 2
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert shown == ["none", "SMOTE", "class weights"]
    assert display.ax_.get_xlabel() == "G-mean (higher is better)"
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names[:2] == ["logistic regression", "nearest neighbours"]


def test_a_metric_without_threshold_has_one_dot_for_each(summary):
    display = ComparisonDisplay.from_summary(summary, metric="roc_auc")
    assert len(display.dots) == 5
    assert "higher is better" in display.ax_.get_xlabel()
    lower = ComparisonDisplay.from_summary(summary, metric="brier")
    assert "lower is better" in lower.ax_.get_xlabel()


def test_the_line_is_what_others_have_to_beat(summary):
    display = ComparisonDisplay.from_summary(summary)
    rows = summary["comparison"]["rows"]
    best = max(
        row["scores"]["g_mean"]["mean"]
        for row in rows
        if row["strategy"] == "none" and row["classifier"] == "logistic regression"
    )
    dashed = [line for line in display.ax_.lines if line.get_linestyle() == "--"]
    assert dashed[0].get_xdata()[0] == best


def test_it_draws_on_the_axes_it_is_given_and_returns_them(summary):
    _, ax = plt.subplots()
    display = ComparisonDisplay.from_summary(summary, ax=ax)
    assert display.ax_ is ax
    assert display.plot() is not ax
    assert display.figure_ is display.ax_.figure


@pytest.mark.parametrize(
    ("change", "metric", "message"),
    [
        ({"comparison": None}, None, "must hold a comparison"),
        ({}, "accuracy", "metric must be one of g_mean, .*got 'accuracy'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(summary, change, metric, message):
    given = {name: value for name, value in summary.items() if name not in change}
    with pytest.raises(TableError, match=message):
        ComparisonDisplay.from_summary(given, metric=metric)
