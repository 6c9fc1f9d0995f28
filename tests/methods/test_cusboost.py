import numpy as np
from sklearn.tree import DecisionTreeClassifier

from counterbalance.methods import ClusterRandomUnderSampler, CUSBoostClassifier

SEEN = []


class Recorder(DecisionTreeClassifier):
    """A tree that notes what it is trained on."""

    def fit(self, X, y, sample_weight=None):
        SEEN.append((X.copy(), y.copy()))
        return super().fit(X, y, sample_weight)


def test_no_round_loses_a_minority_row_and_each_sees_half_of_the_majority(blobs):
    X, y = blobs
    SEEN.clear()
    CUSBoostClassifier(Recorder(max_depth=2), n_estimators=8, random_state=0).fit(X, y)
    assert len(SEEN) >= 8
    for rows, labels in SEEN:
        np.testing.assert_array_equal(rows[labels == 1], X[y == 1])
        assert (labels == 0).sum() == 150
    assert any((SEEN[0][0] != rows).any() for rows, _ in SEEN[1:])


def test_learners_are_weighted_by_their_error_as_in_adaboost(blobs):
    X, y = blobs
    fitted = CUSBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    error = fitted.estimator_errors_
    np.testing.assert_allclose(fitted.estimator_weights_, np.log((1 - error) / error))


def test_it_finds_more_of_the_minority_than_plain_accuracy_would(blobs):
    X, y = blobs
    fitted = CUSBoostClassifier(n_estimators=30, random_state=0).fit(X, y)
    assert (fitted.predict(X)[y == 1] == 1).mean() > 0.7


def test_every_cluster_contributes_in_proportion_to_its_size():
    X = np.concatenate([np.zeros(60), np.full(20, 50.0), np.full(20, 99.0)])[:, None]
    X = X + np.linspace(0, 1, 100)[:, None]
    y = np.repeat([0, 1], [80, 20])
    sampler = ClusterRandomUnderSampler(n_clusters=2, random_state=0)
    X_new, y_new = sampler.fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [20, 20])
    # 60 and 20 rows share 20 as 15 and 5.
    assert ((y_new == 0) & (X_new[:, 0] < 10)).sum() == 15
    np.testing.assert_array_equal(X_new, X[sampler.sample_indices_])
