import numpy as np
import pytest
from scipy.spatial.distance import mahalanobis

from counterbalance.methods import MDO, PeerFallbackWarning


def test_new_rows_keep_the_mahalanobis_distance_of_a_row_to_the_class_mean():
    rng = np.random.default_rng(0)
    mix = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 3.0]])
    ours = rng.normal(size=(50, 3)) @ mix + 100  # far off: every row passes k1
    X = np.vstack([ours, rng.normal(size=(200, 3))])
    y = np.repeat([1, 0], [50, 200])
    new = MDO(random_state=0).fit_resample(X, y)[0][len(y) :]
    mean, inverse = ours.mean(axis=0), np.linalg.inv(np.cov(ours, rowvar=False))
    seeds = np.array([mahalanobis(row, mean, inverse) for row in ours])
    for row in new:
        assert np.abs(seeds - mahalanobis(row, mean, inverse)).min() < 1e-8


def test_rows_among_other_classes_are_not_seeds():
    rng = np.random.default_rng(0)
    ours = rng.normal(size=(30, 2))
    lost = np.array([[50.0, 50.0]])
    X = np.vstack([ours, lost, lost + rng.normal(size=(100, 2))])
    y = np.repeat([1, 0], [31, 100])
    new = MDO(random_state=0).fit_resample(X, y)[0][len(y) :]
    assert np.abs(new).max() < 10


def test_warns_if_no_row_passes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(303, 2)), np.repeat([1, 0], [3, 300])
    with pytest.warns(PeerFallbackWarning, match="all rows of the class are seeds"):
        _, y_new = MDO(random_state=0).fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [300, 300])


def test_the_class_keeps_its_covariance_with_ten_features():
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(10, 10))
    ours = rng.normal(size=(200, 10)) @ mix + 1000  # far off: every row is a seed
    X = np.vstack([ours, rng.normal(size=(5200, 10))])
    y = np.repeat([1, 0], [200, 5200])
    new = MDO(random_state=0).fit_resample(X, y)[0][len(y) :]
    whiten = np.linalg.inv(np.linalg.cholesky(np.cov(ours, rowvar=False)))
    variances = np.linalg.eigvalsh(whiten @ np.cov(new, rowvar=False) @ whiten.T)
    assert variances.min() > 0.9
    assert variances.max() < 1.1


@pytest.mark.parametrize("direction", [[1.0], [1.0, 2.0, 0.0]], ids=["one feature", "a line"])
def test_warns_if_the_ellipse_is_two_points(direction):
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(9, 1, (20, 1)), rng.normal(0, 1, (60, 1))
    X, y = np.vstack([ours, theirs]) * direction, np.repeat([1, 0], [20, 60])
    with pytest.warns(PeerFallbackWarning, match="one direction"):
        new = MDO(random_state=0).fit_resample(X, y)[0][len(y) :, 0]
    expected = np.concatenate([ours[:, 0], 2 * ours[:, 0].mean() - ours[:, 0]])
    assert np.abs(new[:, None] - expected).min(axis=1).max() < 1e-9
