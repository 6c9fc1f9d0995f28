import numpy as np
import pytest

from counterbalance.methods import NRAS, PeerFallbackWarning


def test_noise_leaves_the_others_keep_their_order_and_numbers_are_exact():
    rng = np.random.default_rng(0)
    ours = rng.normal(10, 1, (20, 2))
    X = np.vstack([ours[:7], [[0.0, 0.0]], rng.normal(0, 1, (80, 2)), ours[7:]])
    y = np.repeat([1, 0, 1], [8, 80, 13])
    X_new, y_new = NRAS(random_state=0).fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [80, 80])
    np.testing.assert_array_equal(X_new[:100], np.delete(X, 7, axis=0))
    np.testing.assert_array_equal(y_new[:100], np.delete(y, 7))
    # Nothing was made from the noise row.
    assert (X_new[100:] > 5).all()


def test_nothing_is_removed_where_all_would_go():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(203, 2)), np.repeat([1, 0], [3, 200])
    with pytest.warns(PeerFallbackWarning, match="none of them was removed"):
        X_new, _ = NRAS(n_neighbors=2, threshold=1.0, random_state=0).fit_resample(X, y)
    np.testing.assert_array_equal(X_new[:203], X)
