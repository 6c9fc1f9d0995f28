"""Self-paced ensemble: what each member sees, and scikit-learn's checks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from counterbalance.errors import TableError
from paper.self_paced import SelfPacedEnsembleClassifier, drawn_by_hardness

SEEN = []


class Recorder(DecisionTreeClassifier):
    """A tree that notes what it is trained on."""

    def fit(self, X, y):
        SEEN.append((X.copy(), y.copy()))
        return super().fit(X, y)


def clouds(counts=(200, 20)):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(counts)), counts)
    return rng.normal(size=(len(y), 2)) + 1.5 * y[:, None], y


def test_every_member_sees_the_whole_minority_and_no_more_of_the_majority():
    X, y = clouds()
    SEEN.clear()
    SelfPacedEnsembleClassifier(Recorder(max_depth=2), random_state=0).fit(X, y)
    assert len(SEEN) == 10
    for rows, labels in SEEN:
        np.testing.assert_array_equal(rows[labels == 1], X[y == 1])
        assert 0 < (labels == 0).sum() <= 20
    assert (SEEN[0][1] == 0).sum() == 20


def test_more_than_two_classes_are_all_cut_to_the_smallest():
    X, y = clouds((100, 50, 10))
    SEEN.clear()
    f = SelfPacedEnsembleClassifier(Recorder(max_depth=3), n_estimators=4, random_state=0)
    assert f.fit(X, y).predict_proba(X).shape == (160, 3)
    assert all(np.bincount(labels).max() == 10 for _, labels in SEEN)


def test_it_finds_more_of_the_minority_than_one_tree_does():
    X, y = clouds()
    f = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), random_state=0).fit(X, y)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    assert f.predict(X)[y == 1].mean() > tree.predict(X)[y == 1].mean()


@given(
    hardness=st.lists(st.floats(0, 1), min_size=2, max_size=60),
    share=st.floats(0.05, 0.95),
    alpha=st.floats(0, 1e17),
)
def test_no_row_is_drawn_twice_and_never_more_than_asked_for(hardness, share, alpha):
    wanted = max(1, int(share * len(hardness)))
    rng = np.random.default_rng(0)
    drawn = drawn_by_hardness(np.array(hardness), wanted, 5, alpha, rng)
    assert 0 < len(drawn) <= wanted
    assert len(set(drawn.tolist())) == len(drawn)


def test_one_class_is_refused():
    with pytest.raises(TableError, match="at least two classes, got one class"):
        SelfPacedEnsembleClassifier().fit(np.zeros((4, 1)), [1, 1, 1, 1])


@parametrize_with_checks([SelfPacedEnsembleClassifier(n_estimators=3, random_state=0)])
def test_scikit_learn(estimator, check):
    check(estimator)
