import numpy as np
import pytest
from scipy.spatial.distance import cdist

from counterbalance.methods import SMOTED, GaussianSMOTE, Lee, PeerFallbackWarning, WeightedSMOTE
from counterbalance.methods.smote import closeness_weights


def test_lee_makes_no_row_with_more_majority_than_minority_neighbours(blobs):
    X, y = blobs
    X_new, _ = Lee(random_state=0).fit_resample(X, y)
    nearest = np.argsort(cdist(X_new[len(y) :], X), axis=1)[:, :5]
    assert ((y[nearest] == 0).sum(axis=1) <= 2).all()


def test_lee_gives_up_with_a_warning_if_every_row_is_rejected():
    # Two minority rows, each in the middle of a majority clump.
    clump = np.linspace(-0.1, 0.1, 9)
    X = np.concatenate([[0.0, 10.0], clump, clump + 10, np.linspace(1, 9, 60)])[:, None]
    y = np.repeat([1, 0], [2, 78])
    with pytest.warns(PeerFallbackWarning, match="still rejected"):
        _, y_new = Lee(n_neighbors=1, rejection_level=0.0, max_rounds=2).fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [78, 78])


def gaussian_positions(sigma):
    X = np.concatenate([[0.0, 1.0], np.full(20_002, 9.0)])[:, None]
    y = np.repeat([1, 0], [2, 20_002])
    sampler = GaussianSMOTE(n_neighbors=1, sigma=sigma, random_state=0)
    return sampler.fit_resample(X, y)[0][len(y) :, 0]


def test_gaussian_smote_with_sigma_zero_is_smote():
    new = gaussian_positions(0.0)
    assert ((new >= 0) & (new <= 1)).all()
    np.testing.assert_allclose(new.std(), np.sqrt(1 / 12), rtol=0.02)


def test_gaussian_smote_adds_normal_noise_to_a_uniform_position():
    new = gaussian_positions(0.3)
    # Variances of independent draws add up.
    np.testing.assert_allclose(new.std(), np.sqrt(1 / 12 + 0.3**2), rtol=0.02)
    assert (new < 0).any()
    assert (new > 1).any()


def test_smote_d_numbers_and_positions_by_hand():
    # Distances 0: (1, 3), 1: (1, 2), 3: (2, 3); standard deviations 1, 1/2, 1/2. Eight rows:
    # 4, 2, 2. By length: 0 gives 1 and 3; 1 gives 2/3 and 4/3; 3 gives 4/5 and 6/5.
    X = np.concatenate([[0.0, 1.0, 3.0], np.full(11, -9.0)])[:, None]
    y = np.repeat([1, 0], [3, 11])
    new = SMOTED(n_neighbors=2).fit_resample(X, y)[0][14:, 0]
    expected = [0.5, 0.75, 1.5, 2.25, 0.5, 2.0, 2.0, 1.5]
    np.testing.assert_allclose(np.sort(new), np.sort(expected))


def test_smote_d_gives_the_same_rows_whatever_the_seed(blobs):
    X, y = blobs
    first = SMOTED(random_state=0).fit_resample(X, y)[0]
    second = SMOTED(random_state=99).fit_resample(X, y)[0]
    np.testing.assert_array_equal(first, second)


def test_weighted_smote_weights_by_hand():
    # Sums of distances 6, 5 and 9: scaled 1/4, 0 and 1, and subtracted from 1.
    weights = closeness_weights(np.array([[0.0], [1.0], [5.0]]))
    np.testing.assert_allclose(weights, [0.75, 1.0, 0.0])


def test_weighted_smote_makes_nothing_from_the_outermost_row():
    X = np.concatenate([[0.0, 1.0, 5.0], np.full(24, -9.0)])[:, None]
    y = np.repeat([1, 0], [3, 24])
    new = WeightedSMOTE(n_neighbors=1, random_state=0).fit_resample(X, y)[0][27:, 0]
    assert len(new) == 21
    assert ((new >= 0) & (new <= 1)).all()
