"""Private names of scikit-learn: trees grown by its builder are those of its forest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier

from counterbalance import sklearn_private
from counterbalance.sklearn_private import fit_trees

PARTS = ("feature", "threshold", "children_left", "children_right", "missing_go_to_left", "value")


def unfitted(n_leaves=64, seed=0):
    return ExtraTreesClassifier(7, min_samples_leaf=3, max_leaf_nodes=n_leaves, random_state=seed)


def table(seed=0, n_classes=2, missing=0.0):
    X, y = make_classification(
        200, 6, n_informative=4, n_classes=n_classes, weights=[0.6, 0.3], random_state=seed
    )
    X[np.random.default_rng(seed).random(X.shape) < missing] = np.nan
    return X, y


def assert_same_forest(ours, theirs):
    assert set(vars(ours)) == set(vars(theirs))
    assert repr(ours.get_params()) == repr(theirs.get_params())
    assert len(ours.estimators_) == len(theirs.estimators_)
    for one, other in zip(ours.estimators_, theirs.estimators_, strict=True):
        assert set(vars(one)) == set(vars(other))
        assert one.random_state == other.random_state
        for name in PARTS:
            parts = (getattr(tree.tree_, name) for tree in (one, other))
            np.testing.assert_array_equal(*parts, err_msg=name)


@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 3),
    n_leaves=st.integers(2, 64),
    missing=st.sampled_from([0.0, 0.2]),
    weighted=st.booleans(),
)
def test_the_trees_are_those_of_scikit_learn(seed, n_classes, n_leaves, missing, weighted):
    X, y = table(seed, n_classes, missing)
    weights = np.random.default_rng(seed).random(len(y)) if weighted else None
    ours, theirs = unfitted(n_leaves, seed), unfitted(n_leaves, seed)
    fit_trees(ours, X, y, weights)
    theirs.fit(X, y, weights)
    assert_same_forest(ours, theirs)
    shares = [f.predict_proba(X).tobytes() for f in (ours, theirs)]
    assert shares[0] == shares[1]


def test_labels_may_be_texts():
    X, y = table()
    labels = np.array(["one", "another"])[y]
    ours = unfitted()
    fit_trees(ours, X, labels, None)
    assert_same_forest(ours, unfitted().fit(X, labels))


class _Another(sklearn_private._tree.BestFirstTreeBuilder):
    """Grows something else than scikit-learn's own trees do."""

    def __new__(cls, splitter, *others):
        *rest, leaves, decrease = others
        return super().__new__(cls, splitter, *rest, max(2, leaves // 2), decrease)

    def __init__(self, splitter, *others):
        *rest, leaves, decrease = others
        super().__init__(splitter, *rest, max(2, leaves // 2), decrease)


def _refuses(*_):
    raise TypeError("other arguments")


@pytest.mark.parametrize("builder", [_Another, _refuses])
def test_where_the_builder_is_another_one_scikit_learn_fits_all_trees(builder, monkeypatch):
    X, y = table()
    theirs = unfitted().fit(X, y)
    monkeypatch.setattr(sklearn_private._tree, "BestFirstTreeBuilder", builder)
    grown = []
    monkeypatch.setattr(ExtraTreesClassifier, "fit", _noting(grown, ExtraTreesClassifier.fit))
    ours = unfitted()
    fit_trees(ours, X, y, None)
    assert grown == [1, 7]
    assert_same_forest(ours, theirs)


def _noting(grown, fit):
    def noted(self, *arguments):
        grown.append(self.n_estimators)
        return fit(self, *arguments)

    return noted
