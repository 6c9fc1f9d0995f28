"""The lines that the advice gives to paste run, and make what was compared."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

from comparison_tables import mixed_table, plan_of, results_of, two_clouds
from counterbalance import ResampledClassifier
from counterbalance.compare.advice import Offer, advise, make_model
from counterbalance.compare.results import Results
from counterbalance.compare.strategies import CLASSIFIERS, known_strategies
from counterbalance.compare.verdict import judge


# small tables: inversions may have to be drawn again, which is said and right
pytestmark = pytest.mark.filterwarnings(
    "ignore::counterbalance.errors.ShortfallWarning",
    "ignore::counterbalance.methods.PeerFallbackWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)


def pasted(code, X, y):
    """Run the lines as a user would, and return the model that they make."""
    space = {"X": X, "y": y}
    exec(code, space)  # noqa: S102  (that they run is the test)
    return space["model"]


def resampled_of(model):
    return model if isinstance(model, ResampledClassifier) else model[-1]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [*known_strategies()][:8])
@pytest.mark.parametrize("threshold", ["0.5", "tuned"])
def test_the_lines_for_a_strategy_run_on_a_mixed_table(strategy, threshold):
    X, y = mixed_table()
    plan = plan_of(X, y, metric="f1", classifiers=("LR",))
    offer = Offer("logistic regression", strategy, threshold, 0.5)
    sentence, code = advise(Results(plan, []), offer)
    model = pasted(code, X, y)
    assert set(model.predict(X)) <= {"ill", "well"}
    if strategy == "none" and threshold == "0.5":
        assert "logistic regression" in sentence
    else:
        assert "ResampledClassifier" in sentence
        assert resampled_of(model).threshold == "f1"
        assert resampled_of(model).calibration == "sigmoid"


@pytest.mark.parametrize("strategy", [*known_strategies()][8:])
def test_the_lines_make_the_very_object(strategy):
    X, y = two_clouds(80, 20, apart=2)
    results = Results(plan_of(X, y, metric="g_mean", classifiers=("LR",)), [])
    offer = Offer("logistic regression", strategy, "tuned", 0.5)
    _, code = advise(results, offer)
    space = {}
    exec(code.replace(".fit(X, y)", ""), space)  # noqa: S102  (that they run is the test)
    assert repr(space["model"]) == repr(make_model(results, offer))


@pytest.mark.slow
@pytest.mark.parametrize("classifier", sorted(CLASSIFIERS))
def test_the_lines_for_a_classifier_run_on_the_table(classifier):
    X, y = two_clouds(80, 20, apart=2)
    results = Results(plan_of(X, y, metric="g_mean", classifiers=(classifier,)), [])
    sentence, code = advise(results, Offer(classifier, "none", "tuned", 0.5))
    model = pasted(code, X, y)
    assert set(model.predict(X)) == {"no", "yes"}
    assert "ResampledClassifier" in sentence
    assert isinstance(resampled_of(model), ResampledClassifier)


def test_a_classifier_of_the_users_own_is_imported_from_its_module():
    X, y = two_clouds(80, 20, apart=2)
    y = (y == "yes").astype(int)  # as many classifiers want it
    own = "comparison_tables:Deaf"
    results = Results(plan_of(X, y, metric="f1", classifiers=(own,)), [])
    _, code = advise(results, Offer(own, "SMOTE", "tuned", 0.5))
    assert "from comparison_tables import Deaf" in code.splitlines()
    model = pasted(code, X, y)
    assert isinstance(model, Pipeline)
    assert set(model.predict(X)) == {0, 1}


def test_metrics_without_a_threshold_get_none():
    X, y = two_clouds(80, 20, apart=2)
    results = Results(plan_of(X, y, metric="brier", classifiers=("LR",)), [])
    _, code = advise(results, Offer("logistic regression", "Interior", "0.5", 0.1))
    assert "threshold" not in code
    assert 'calibration="sigmoid"' in code.replace("'", '"')


def test_the_verdict_names_the_object_and_its_lines_run():
    X, y = two_clouds(150, 50, apart=2)
    y = (y == "yes").astype(int)
    plan = plan_of(X, y, strategies=("SMOTE",), classifiers=("comparison_tables:Deaf",), folds=5)
    verdict = judge(results_of(plan))
    assert verdict.headline.startswith("Oversampling with SMOTE helps")
    assert any("ResampledClassifier, in the lines below" in text for text in verdict.sentences)
    model = pasted(verdict.code, X, y)
    answers = pd.Series(model.predict(X)).value_counts()
    assert answers[1] > 20
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


def test_too_few_rows_get_no_lines_to_paste():
    plan = plan_of(*two_clouds(60, 12, apart=2), strategies=("SMOTE",), classifiers=("LR",))
    assert not judge(results_of(plan)).code
