import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from counterbalance.methods import (
    ClusteringUnderSampler,
    ClusterRandomUnderSampler,
    CUSBoostClassifier,
    PeerFallbackWarning,
    SensitivityUnderSampler,
)
from counterbalance.methods.under_sampling import imbalance_sensitivity, nearest_to_centres

CLUMPS = np.array([[0.0], [0.2], [0.7], [10.0], [10.6], [20.0]])


def table():
    return np.vstack([CLUMPS, [[-50.0], [-51.0], [-52.0]]]), np.repeat([0, 1], [6, 3])


def test_centres_are_the_means_of_the_clusters():
    X, y = table()
    sampler = ClusteringUnderSampler(strategy="centres", n_init=10, random_state=0)
    X_new, y_new = sampler.fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [3, 3])
    np.testing.assert_allclose(np.sort(X_new[y_new == 0, 0]), [0.3, 10.3, 20.0])
    np.testing.assert_array_equal(X_new[y_new == 1], X[6:])
    assert not hasattr(sampler, "sample_indices_")


def test_nearest_keeps_the_real_rows_nearest_to_the_centres():
    X, y = table()
    sampler = ClusteringUnderSampler(strategy="nearest", n_init=10, random_state=0)
    X_new, y_new = sampler.fit_resample(X, y)
    found = X_new[y_new == 0, 0]
    # Of 10 and 10.6 both are as near to 10.3.
    assert found[0] == 0.2
    assert found[1] in {10.0, 10.6}
    assert found[2] == 20.0
    np.testing.assert_array_equal(X_new, X[sampler.sample_indices_])


@pytest.mark.parametrize("strategy", ["centres", "nearest"])
@pytest.mark.parametrize("wanted", [1, 37, 150])
def test_exactly_as_many_rows_as_asked_for(blobs, strategy, wanted):
    X, y = blobs
    sampler = ClusteringUnderSampler(
        sampling_strategy={0: wanted}, strategy=strategy, random_state=0
    )
    assert (sampler.fit_resample(X, y)[1] == 0).sum() == wanted


def test_no_row_is_taken_for_two_centres():
    rows = np.array([[0.0], [1.0], [5.0]])
    chosen = nearest_to_centres(rows, np.array([[0.1], [0.2], [0.3]]))
    np.testing.assert_array_equal(chosen, [0, 1, 2])


def test_a_class_with_too_few_distinct_rows_is_filled_up_with_a_warning():
    X = np.vstack([np.zeros((9, 1)), np.ones((4, 1))])
    with pytest.warns(PeerFallbackWarning, match="1 different rows and 4 are wanted"):
        _, y_new = ClusteringUnderSampler(random_state=0).fit_resample(X, np.repeat([0, 1], [9, 4]))
    np.testing.assert_array_equal(np.bincount(y_new), [4, 4])


def test_sensitivity_by_hand():
    # Ratio 4, so s = 1/5; k = 4; two minority rows near: p = 2.2 / 5 = 0.44.
    p = 0.44
    q = 4 * p / (4 * p + 1 - p)
    np.testing.assert_allclose(imbalance_sensitivity(np.array([2]), 4, 4.0), [q - p])


def test_safe_rows_and_noise_are_less_sensitive_than_the_border():
    sensitivity = imbalance_sensitivity(np.arange(6), 5, 10.0)
    assert sensitivity[1] > sensitivity[0]
    assert sensitivity[1] > sensitivity[5]


def test_rows_at_the_border_are_kept_more_often():
    rng = np.random.default_rng(0)
    border, safe = rng.normal(3, 0.5, (200, 2)), rng.normal(-20, 1, (200, 2))
    X, y = np.vstack([rng.normal(3, 0.5, (60, 2)), border, safe]), np.repeat([1, 0], [60, 400])
    sampler = SensitivityUnderSampler(random_state=0)
    X_new, y_new = sampler.fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [60, 60])
    kept = X_new[y_new == 0]
    assert (kept[:, 0] > -10).sum() > 1.5 * (kept[:, 0] < -10).sum()


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
