"""Tree readers: the arrays of an ensemble add up to its raw score, whichever library grew it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

from boosters import lightgbm, needed, raw_score, xgboost
from counterbalance.classifier.trees import read_trees

WITH_GAPS = ("histogram", "LightGBM", "LightGBM dart", "XGBoost", "XGBoost forests")
BOOSTINGS = {
    "gradient": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "from zero": GradientBoostingClassifier(n_estimators=8, init="zero", random_state=0),
    "exponential": GradientBoostingClassifier(
        loss="exponential", n_estimators=8, subsample=0.7, random_state=0
    ),
    "histogram": HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5),
    "LightGBM": lightgbm(n_estimators=8, num_leaves=9),
    "LightGBM dart": lightgbm("dart", n_estimators=8, random_state=0),
    "XGBoost": xgboost(n_estimators=8, max_depth=4),
    "XGBoost forests": xgboost(n_estimators=4, num_parallel_tree=3, subsample=0.6, random_state=0),
}


def table(n_classes=2, seed=0):
    return make_classification(
        150, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.2, random_state=seed
    )


def raw_scores(trees, X):
    """Add up the leaves that each row falls into, walking every tree."""
    total = np.zeros((len(X), trees.value.shape[1]))
    for r, bins in enumerate(trees.bins(X)):
        for root in trees.roots:
            node = root
            while trees.nodes[node, 0] >= 0:
                feature, cut, left, right = trees.nodes[node]
                place = bins[feature]
                goes_left = place <= cut if place >= 0 else trees.missing_left[node]
                node = left if goes_left else right
            total[r] += trees.value[node]
    return total


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", BOOSTINGS)
def test_the_leaves_of_a_boosting_add_up_to_its_raw_score(name, n_classes):
    if name == "exponential" and n_classes > 2:
        pytest.skip("scikit-learn has it for two classes only")
    X, y = table(n_classes)
    if name in WITH_GAPS:
        X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    if BOOSTINGS[name] is None:
        pytest.skip(needed.kwargs["reason"])
    f = BOOSTINGS[name].fit(X, y)
    scores = raw_scores(read_trees(f), X)
    found = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores
    expected = f.decision_function(X) if hasattr(f, "decision_function") else raw_score(f, X)
    # XGBoost adds up in single precision
    np.testing.assert_allclose(found, expected, atol=1e-5 if "XGBoost" in name else 1e-9)
    np.testing.assert_array_equal(f.classes_[scores.argmax(axis=1)], f.predict(X))


def test_a_boosting_of_a_frame_is_read_without_a_warning():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcde"))
    f = GradientBoostingClassifier(n_estimators=3).fit(frame, y)
    scores = raw_scores(read_trees(f), X)
    np.testing.assert_allclose(scores[:, 1], f.decision_function(frame), atol=1e-9)


def test_histogram_boosting_tells_cells_apart_that_float32_does_not():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = (1 + 1e-12 * (y + 0.1 * rng.random(200)))[:, None]
    f = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, y)
    scores = raw_scores(read_trees(f), X)
    np.testing.assert_array_equal(scores[:, 1] > 0, y == 1)
    np.testing.assert_array_equal(f.predict(X), y)


def test_what_is_no_constant_and_a_sum_over_trees_is_not_taken_for_one():
    X, y = table()
    started = GradientBoostingClassifier(n_estimators=2, init=DummyClassifier()).fit(X, y)
    X[:, 0] = np.round(X[:, 0]) - np.round(X[:, 0]).min()
    sets = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(X, y)

    class Contrary(GradientBoostingClassifier):
        def predict(self, X):
            return 1 - super().predict(X)

    contrary = Contrary(n_estimators=2).fit(X, y)
    assert [read_trees(f) for f in (started, sets, contrary)] == [None] * 3


@needed
def test_a_missing_cell_is_a_zero_where_lightgbm_saw_no_gap():
    X, y = table()
    f = lightgbm(n_estimators=8).fit(X, y)
    X[::3, 1] = np.nan
    np.testing.assert_allclose(raw_scores(read_trees(f), X)[:, 1], raw_score(f, X), atol=1e-9)


@needed
def test_a_cell_that_lightgbm_reads_as_zero_goes_where_zero_goes():
    X = np.repeat([[-1.0], [0.0], [1.0]], 20, axis=0)
    f = lightgbm(n_estimators=3, min_child_samples=1).fit(X, (X[:, 0] == 0).astype(int))
    tiny = float(np.float32(1e-35))
    cells = np.array([[-2 * tiny], [-tiny], [0.0], [tiny], [2 * tiny]])
    np.testing.assert_allclose(raw_scores(read_trees(f), cells)[:, 1], raw_score(f, cells))
    assert len(np.unique(raw_score(f, cells))) > 1


@needed
def test_a_cell_on_the_threshold_of_xgboost_goes_right():
    X = np.repeat([[0.0], [1.0], [2.0]], 20, axis=0)
    f = xgboost(n_estimators=1, max_depth=1, min_child_weight=0)
    f.fit(X, (X[:, 0] > 0).astype(int))
    np.testing.assert_allclose(raw_scores(read_trees(f), X)[:, 1], raw_score(f, X), atol=1e-5)
    on = np.array([[f.get_booster().trees_to_dataframe()["Split"].iloc[0]]])
    np.testing.assert_allclose(raw_scores(read_trees(f), on)[:, 1], raw_score(f, on), atol=1e-5)


@needed
def test_leaves_that_are_not_simply_added_up_are_not_read():
    X, y = table()
    codes = X.copy()
    codes[:, 0] = np.round(X[:, 0]) - np.round(X[:, 0]).min()
    small = {"n_estimators": 4}
    frame = pd.DataFrame(codes).astype({0: int}).astype({0: "category"})
    others = [
        lightgbm("rf", **small, subsample=0.5, subsample_freq=1).fit(X, y),
        lightgbm(**small, linear_tree=True).fit(X, y),
        lightgbm(**small, zero_as_missing=True).fit(np.round(X), y),
        lightgbm(**small, min_data_per_group=1, cat_smooth=0).fit(
            codes, y, categorical_feature=[0]
        ),
        xgboost(**small, booster="dart", rate_drop=0.5).fit(X, y),
        xgboost(**small, missing=0.0).fit(np.round(X), y),
        xgboost(**small, enable_categorical=True, max_cat_to_onehot=1).fit(frame, y),
        xgboost(**small, early_stopping_rounds=1).fit(X, y, eval_set=[(X, y)], verbose=False),
    ]
    assert [read_trees(f) for f in others] == [None] * len(others)


@needed
def test_lightgbm_that_stopped_early_is_read_up_to_its_best_round():
    X, y = table()
    f = lightgbm(n_estimators=200, early_stopping_round=2)
    f.fit(X[:100], y[:100], eval_X=X[100:], eval_y=y[100:])
    assert f.best_iteration_ < 200
    np.testing.assert_allclose(raw_scores(read_trees(f), X)[:, 1], raw_score(f, X), atol=1e-9)
