"""Trees: buckets keep the order of cuts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier

from counterbalance.classifier.trees import read_trees


def table(n_classes=2, seed=0):
    return make_classification(
        150, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.2, random_state=seed
    )


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
