"""The lines that the advice gives to paste run, and are the model that was compared."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

from comparison_tables import mixed_table, plan_of, results_of, two_clouds
from counterbalance import ResampledClassifier
from counterbalance.compare.metrics import answer_scores
from counterbalance.compare.models import make_parts
from counterbalance.compare.strategies import CLASSIFIERS, known_strategies
from counterbalance.compare.trials import compute
from counterbalance.compare.verdict import Offer, advise, decide
from counterbalance.constraints import Immutable, Range

# small tables: inversions may have to be drawn again, which is said and right
pytestmark = pytest.mark.filterwarnings(
    "ignore::counterbalance.errors.ShortfallWarning",
    "ignore::counterbalance.methods.PeerFallbackWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)


def pasted(code, X, y, **more):
    """Run the lines as a user would, and return the model that they make."""
    space = {"X": X, "y": y, **more}
    exec(code, space)  # noqa: S102  (that they run is the test)
    return space["model"]


def scores_of_pasted(plan, code, X, y, metric, **more):
    """Fit the pasted model to each training part, as it is, and score it on the test part."""
    order, found = {label: code for code, label in enumerate(plan.table.classes)}, []
    for fold in plan.folds:
        train = {name: values[fold.train] for name, values in more.items()}
        rows = X.iloc[fold.train].reset_index(drop=True)
        model = pasted(code, rows, y[fold.train], **train)
        answer = model.predict(X.iloc[fold.test].reset_index(drop=True))
        codes = [
            np.array([order[str(label)] for label in labels]) for labels in (y[fold.test], answer)
        ]
        found.append(answer_scores(*codes, len(order))[metric])
    return found


@pytest.mark.parametrize(
    "strategy", ["none", "class weights", "SMOTE", "ADASYN", "Interior", "ours"]
)
@pytest.mark.parametrize("threshold", ["0.5", "tuned"])
@pytest.mark.parametrize("classifier", ["logistic regression", "gradient boosting"])
def test_the_pasted_lines_are_the_model_that_was_compared(strategy, threshold, classifier):
    """On a mixed table with missing cells, whose smaller class comes first in the alphabet."""
    X, y = mixed_table(240)
    plan = plan_of(X, y, metric="f1", strategies=(strategy,), classifiers=(classifier,), folds=2)
    name = plan.settings.strategies[-1]
    _, code = advise(plan, Offer(classifier, name, threshold, 0.5))
    compared = [
        compute(plan, {"strategy": name, "classifier": classifier, "fold": fold})
        for fold in range(2)
    ]
    expected = [figures[f"f1@{threshold}"] for figures in compared]
    assert scores_of_pasted(plan, code, X, y, "f1") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("strategy", ["none", "SMOTE", "Interior"])
def test_with_groups_and_with_time_too(strategy):
    X, y = two_clouds(160, 60, apart=1.5)
    shuffled = np.random.default_rng(0).permutation(len(y))
    X, y = X.iloc[shuffled].reset_index(drop=True), y[shuffled]
    groups = np.arange(len(y)) // 4
    cell = {"strategy": strategy, "classifier": "logistic regression", "fold": 0}
    offer = Offer("logistic regression", strategy, "tuned", 0.5)
    for more in ({"groups": groups}, {"times": np.arange(len(y))}):
        plan = plan_of(X, y, strategies=(strategy,), classifiers=("LR",), **more)
        _, code = advise(plan, offer)
        assert ("groups=groups" in code) == ("groups" in more)
        assert ("TimeSeriesSplit(n_splits=2)" in code) == ("times" in more)
        given = {"groups": groups} if "groups" in more else {}
        found = scores_of_pasted(plan, code, X, y, "g_mean", **given)
        assert found[0] == pytest.approx(compute(plan, cell)["g_mean@tuned"], abs=1e-12)


@pytest.mark.parametrize("strategy", [*known_strategies()][8:])
def test_the_lines_make_the_very_object(strategy):
    plan = plan_of(*two_clouds(80, 20, apart=2), classifiers=("LR",))
    offer = Offer("logistic regression", strategy, "tuned", 0.5)
    _, code = advise(plan, offer)
    space = {}
    exec(code.replace(".fit(X, y)", ""), space)  # noqa: S102  (that they run is the test)
    expected = make_parts(plan, strategy, "logistic regression").model("tuned")
    assert repr(space["model"]) == repr(expected)


@pytest.mark.slow
@pytest.mark.parametrize("classifier", sorted(CLASSIFIERS))
@pytest.mark.parametrize("threshold", ["0.5", "tuned"])
def test_the_lines_for_a_classifier_run_on_the_table(classifier, threshold):
    X, y = two_clouds(80, 20, apart=2)
    plan = plan_of(X, y, classifiers=(classifier,), strategies=("SMOTE",))
    sentence, code = advise(plan, Offer(classifier, "SMOTE", threshold, 0.5))
    assert set(pasted(code, X, y).predict(X)) == {"no", "yes"}
    assert "To train on: the rows of SMOTE" in sentence


def test_a_classifier_of_the_users_own_is_imported_from_its_module():
    X, y = two_clouds(80, 20, apart=2)
    y = (y == "yes").astype(int)  # as many classifiers want it
    own = "comparison_tables:Deaf"
    _, code = advise(plan_of(X, y, classifiers=(own,)), Offer(own, "SMOTE", "tuned", 0.5))
    assert "from comparison_tables import Deaf" in code.splitlines()
    model = pasted(code, X, y)
    assert isinstance(model, Pipeline)
    assert set(model.predict(X)) == {0, 1}


def test_constraints_and_what_makes_x_of_the_file_stand_in_the_lines():
    X, y = two_clouds(80, 20, apart=2)
    plan = plan_of(X, y, classifiers=("LR",), constraints=[Immutable("x1"), Range("x0", -9, 9)])
    setup = "X, y = table.drop(columns=['id', 'y']), table['y']"
    _, code = advise(plan, Offer("logistic regression", "Interior", "tuned", 0.5), setup)
    assert "from counterbalance.constraints import Immutable, Range" in code
    model = pasted(code, None, None, table=X.assign(id=range(100), y=y))
    assert model.n_features_in_ == 2


@pytest.mark.parametrize(("metric", "threshold"), [("brier", "tuned"), ("roc_auc", "0.5")])
def test_metrics_without_a_threshold_get_none_and_calibration_where_it_counts(metric, threshold):
    plan = plan_of(*two_clouds(80, 20, apart=2), metric=metric, classifiers=("LR",))
    _, code = advise(plan, Offer("logistic regression", "Interior", threshold, 0.5))
    assert ("threshold=None" in code) == (metric == "brier")
    assert "calibration=None" not in code  # a sigmoid is the default


def test_where_nothing_helps_the_lines_have_no_threshold_either():
    X, y = two_clouds(200, 150, apart=5)
    verdict = decide(results_of(plan_of(X, y, strategies=("SMOTE",), classifiers=("LR",))))
    assert verdict.headline == "Nothing helps G-mean: leave the table as it is."
    assert "ResampledClassifier" not in verdict.code
    assert "threshold" not in verdict.code
    model = pasted(verdict.code, X, y)
    assert [type(step).__name__ for _, step in model.steps] == [
        "TablePreparation", "LogisticRegression",
    ]  # fmt: skip


def test_the_verdict_names_the_object_and_its_lines_run():
    X, y = two_clouds(150, 50, apart=2)
    y = (y == "yes").astype(int)
    plan = plan_of(X, y, strategies=("SMOTE",), classifiers=("comparison_tables:Deaf",), folds=5)
    verdict = decide(results_of(plan))
    assert verdict.headline.startswith("Oversampling with SMOTE helps")
    assert any("To train on: the rows of SMOTE" in text for text in verdict.sentences)
    model = pasted(verdict.code, X, y)
    answers = pd.Series(model.predict(X)).value_counts()
    assert answers[1] > 20
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("strategy", ["Interior", "Counterfactual"])
def test_counterfactuals_are_for_reading(strategy):
    plan = plan_of(*two_clouds(80, 20, apart=2), classifiers=("LR",))
    sentence, _ = advise(plan, Offer("logistic regression", strategy, "tuned", 0.5))
    name = "InteriorOverSampler" if strategy == "Interior" else "CounterfactualOverSampler"
    assert f"the rows of {name}, inside ResampledClassifier" in sentence
    assert ("made to be read" in sentence) == (strategy == "Counterfactual")


def test_too_few_rows_get_no_lines_to_paste():
    plan = plan_of(*two_clouds(60, 12, apart=2), strategies=("SMOTE",), classifiers=("LR",))
    assert not decide(results_of(plan)).code


def test_a_classifier_without_probabilities_is_calibrated():
    X, y = two_clouds(120, 40, apart=2)
    plan = plan_of(X, y, strategies=(), classifiers=("SVM",))
    cell = {"strategy": "none", "classifier": "support vector machine", "fold": 0}
    figures = compute(plan, cell)
    assert figures["brier@0.5"] == figures["brier@tuned"] < 0.25
    assert isinstance(
        make_parts(plan, "none", "support vector machine").model("tuned"), ResampledClassifier
    )
