"""Trees: the arrays of a boosting add up to its raw score; buckets keep the order of cuts."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)

from counterbalance.classifier.trees import is_boosting, read_trees

BOOSTINGS = {
    "gradient": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "from zero": GradientBoostingClassifier(n_estimators=8, init="zero", random_state=0),
    "exponential": GradientBoostingClassifier(
        loss="exponential", n_estimators=8, subsample=0.7, random_state=0
    ),
    "histogram": HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5),
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
    if name == "histogram":
        X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    f = BOOSTINGS[name].fit(X, y)
    assert is_boosting(f)
    scores = raw_scores(read_trees(f), X)
    expected = f.decision_function(X)
    found = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores
    np.testing.assert_allclose(found, expected, atol=1e-9)


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
    assert not any(map(is_boosting, (started, sets, contrary)))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    power=st.sampled_from([1, 3, 9]),
    scale=st.sampled_from([1e-30, 1.0, 1e20]),
    missing=st.sampled_from([0.0, 0.3]),
)
def test_all_cuts_in_buckets_before_that_of_a_value_are_below_it(seed, power, scale, missing):
    X, y = table(seed=seed)
    X = scale * X**power  # cuts lie close to each other around zero and far apart elsewhere
    X[np.random.default_rng(seed).random(X.shape) < missing] = np.nan
    trees = read_trees(ExtraTreesClassifier(4, random_state=seed).fit(X, y))
    first, counts, low, rate = trees.buckets()
    for m in range(trees.n_features):
        cuts = trees.cuts_of(m)
        around = np.concatenate([cuts, np.nextafter(cuts, np.inf), [-3e38, 3e38, np.inf]])
        n = first[m + 1] - first[m] - 1
        bucket = np.clip((around - low[m]) * rate[m], 0, n - 1).astype(int)
        below = np.searchsorted(cuts, around)
        assert (counts[first[m] + bucket] <= below).all()
        assert (counts[first[m] + bucket + 1] >= below).all()
