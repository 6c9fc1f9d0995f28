"""Nothing is learned from a test part: no row, no scale, no threshold."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from imblearn.over_sampling import RandomOverSampler
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from comparison_tables import mixed_table, plan_of, results_of, two_clouds
from counterbalance.compare.models import make_parts
from counterbalance.compare.trials import compute, fit_parts
from counterbalance.table.encoder import TablePreparation

# small tables: inversions may have to be drawn again, which is said and right
pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


def test_copies_of_test_rows_are_not_trained_on():
    """Labels are random: only a copy of a test row in training can tell its label."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((300, 3)))
    y = np.where(rng.random(300) < 0.2, "b", "a")
    leaking = cross_val_score(
        KNeighborsClassifier(1),
        *RandomOverSampler(random_state=0).fit_resample(X, y),
        scoring="balanced_accuracy",
    )
    assert leaking.mean() > 0.8  # what a comparison would show that resampled first
    plan = plan_of(X, y, strategies=("Random oversampling",), classifiers=("KNN",))
    for pair in results_of(plan).pairs.values():
        assert pair.failed is None
        assert abs(pair.score("balanced_accuracy", "tuned")[0] - 0.5) < 0.1
        assert abs(pair.score("roc_auc")[0] - 0.5) < 0.12


def with_other_test_part(plan, fold):
    """The same plan, with labels and features of a test part turned upside down."""
    table = plan.table
    X, codes = table.X.copy(), table.codes.copy()
    codes[fold.test] = 1 - codes[fold.test]
    X.iloc[fold.test] = X.iloc[fold.test].to_numpy() * 1000 + 7
    changed = replace(table, X=X, codes=codes, counts_of_file=np.bincount(codes))
    other = type(plan)(changed, plan.settings)
    other.__dict__["folds"] = plan.folds  # the folds of the first plan
    return other


@pytest.mark.parametrize("strategy", ["none", "SMOTE", "Random undersampling", "Counterfactual"])
def test_models_and_thresholds_do_not_depend_on_the_test_part(strategy):
    plan = plan_of(*two_clouds(80, 30, apart=1.5), strategies=(strategy,), classifiers=("LR",))
    fold = plan.folds[0]
    cell = {"strategy": strategy, "classifier": "logistic regression", "fold": 0}
    before = compute(plan, cell)
    other = with_other_test_part(plan, fold)
    after = compute(other, cell)
    for name in ("g_mean", "f1", "balanced_accuracy"):
        assert before[f"threshold {name}"] == after[f"threshold {name}"]
    assert before["g_mean@tuned"] != after["g_mean@tuned"]
    asked = plan.table.X
    said = []
    for one in (plan, other):
        parts = make_parts(one, strategy, "logistic regression")
        model, X = fit_parts(one, parts, one.table.part(fold.train), asked)
        said.append(model.predict_proba(X).tobytes())
    assert said[0] == said[1]


def test_scales_are_those_of_the_training_part():
    plan = plan_of(*two_clouds(80, 30, apart=1.5))
    part = plan.table.part(plan.folds[0].train)
    model, X = fit_parts(plan, make_parts(plan, "none", "logistic regression"), part, part.X)
    rows = model.estimator_[0].transform(X)
    assert np.allclose(rows.mean(axis=0), 0)
    assert np.allclose(rows.std(axis=0), 1)


def test_the_tuned_threshold_is_no_better_than_luck_where_there_is_nothing_to_find():
    """A threshold tuned on the test part would look better than chance on random labels."""
    found = []
    for seed in range(10):
        X, y = two_clouds(48, 12, apart=0, seed=seed)
        plan = plan_of(X, y, strategies=("none",), classifiers=("LR",))
        found.append(results_of(plan).pairs["none", "logistic regression"])
    mean = np.mean([pair.score("balanced_accuracy", "tuned")[0] for pair in found])
    assert abs(mean - 0.5) < 0.06


@pytest.mark.slow
@pytest.mark.parametrize("name", ["none", "SMOTE", "ADASYN", "Random undersampling", "ours"])
def test_mixed_tables_with_missing_cells_are_taken(name):
    X, y = mixed_table()
    plan = plan_of(X, y, strategies=(name,), classifiers=("LR",))
    for pair in results_of(plan).pairs.values():
        assert pair.failed is None
        assert 0 < pair.score("roc_auc")[0] <= 1


@pytest.mark.parametrize("only", [None, ["ward", "smokes"]])
def test_new_categories_of_smote_are_whole(only):
    X, y = mixed_table()
    X = X if only is None else X[only].astype(str)
    plan = plan_of(X, y)
    before, model = make_parts(plan, "SMOTE", "logistic regression")
    codes = before.fit_transform(plan.table.X)
    rows, _ = model.sampler.fit_resample(codes, plan.table.y)
    levels = rows[:, -len(before.nominal_) :]
    assert len(rows) > len(X)
    assert set(np.unique(levels)) <= set(np.unique(codes[:, -len(before.nominal_) :]))


def test_a_level_that_training_has_not_seen_is_no_error():
    X, y = mixed_table()
    X.loc[0, "ward"] = "Z"
    table = plan_of(X, y).table
    preparation = TablePreparation().fit(table.X.iloc[1:])
    rows, missing = preparation.transform(table.X.iloc[[0, 0]].assign(ward=["Z", None]))
    assert np.array_equal(rows, missing)


def test_a_threshold_is_tuned_inside_even_where_the_minority_is_in_one_group():
    X, y = two_clouds(60, 24, apart=2)
    groups = np.concatenate([np.arange(60), np.repeat([60, 61], 12)])
    plan = plan_of(X, y, groups=groups, strategies=("none",), classifiers=("LR",), folds=2)
    pair = results_of(plan).pairs["none", "logistic regression"]
    assert pair.failed is None
    assert len(pair.thresholds("g_mean")) == 2
