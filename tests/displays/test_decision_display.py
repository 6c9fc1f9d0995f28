"""DecisionDisplay draws precision and recall against the threshold and marks the chosen one."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score

from comparison_tables import two_clouds
from counterbalance import ResampledClassifier
from counterbalance.displays import DecisionDisplay
from counterbalance.errors import TableError

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def fitted():
    X, y = two_clouds(160, 40, apart=1.5)
    return ResampledClassifier(LogisticRegression(), random_state=0).fit(X, y), y


def test_the_curve_is_that_of_the_out_of_fold_probabilities(fitted):
    model, y = fitted
    curve = DecisionDisplay.from_estimator(model).curve
    truth, p = y == "yes", model.out_of_fold_proba_[:, 1]
    for k in range(0, len(curve["thresholds"]), 10):
        answer = p >= curve["thresholds"][k]
        assert curve["precision"][k] == pytest.approx(precision_score(truth, answer))
        assert curve["recall"][k] == pytest.approx(recall_score(truth, answer))


def test_the_chosen_threshold_is_marked_also_after_it_was_moved_in_a_loaded_model(fitted):
    model = pickle.loads(pickle.dumps(fitted[0]))  # noqa: S301  (our own bytes)
    for threshold in (model.threshold_, 0.4):
        model.threshold_ = threshold
        display = DecisionDisplay.from_estimator(model)
        marked = [line for line in display.ax_.lines if line.get_linestyle() == "--"]
        assert [line.get_xdata()[0] for line in marked] == [threshold]
        names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert names == ["precision", "recall", f"threshold {threshold:.3g}"]
    assert "class yes" in display.ax_.get_xlabel()


def test_predictions_of_other_rows_are_drawn_on_given_axes(fitted):
    model, _ = fitted
    X, y = two_clouds(80, 20, apart=1.5, seed=1)
    _, ax = plt.subplots()
    p = model.predict_proba(X)[:, 1]
    display = DecisionDisplay.from_predictions(y, p, pos_label="yes", ax=ax)
    assert display.ax_ is ax
    assert len(ax.lines) == 2  # no threshold is marked
    assert display.plot() is not ax


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        (["a", "b"], [0.1], "shape"),
        (["a", "b"], [[0.1, 0.9], [0.2, 0.8]], "one column"),
        (["a", "b"], [0.1, np.nan], "finite"),
        (["a", "a"], [0.1, 0.2], "pos_label"),
    ],
)
def test_predictions_that_cannot_be_drawn_are_refused(y, p, message):
    with pytest.raises(TableError, match=message):
        DecisionDisplay.from_predictions(y, p, pos_label="b")


def test_an_estimator_without_out_of_fold_probabilities_is_refused():
    X, y = two_clouds(60, 30, apart=1.5)
    model = ResampledClassifier(LogisticRegression(), threshold=None, calibration=None)
    for estimator in (model, model.fit(X, y), LogisticRegression()):
        with pytest.raises(TableError, match="use from_predictions"):
            DecisionDisplay.from_estimator(estimator)
