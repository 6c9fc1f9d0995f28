import numpy as np
import pytest

from counterbalance.methods import NRAS, OUPS, PeerFallbackWarning
from counterbalance.methods.propensity import next_in_propensity


def test_oups_takes_the_next_lower_scores_and_at_the_end_those_before():
    scores = np.array([0.9, 0.1, 0.5, 0.7])  # in order: rows 0, 3, 2, 1
    np.testing.assert_array_equal(next_in_propensity(scores, 2, 2), [[3, 2], [2, 3]])


def test_oups_matches_rows_by_propensity_and_not_by_distance():
    # Both classes are the same at y = 0 and y = 1000, so propensity depends on x alone and
    # falls as 5, 5, 1, 1, 0, 0, -2: each row is matched with the next of these.
    minority = [[0.0, 0.0], [0.0, 1000.0], [5.0, 0.0], [5.0, 1000.0]]
    majority = [[x, y] for x in (-4.0, -3.0, -2.0, 1.0) for y in (0.0, 1000.0)]
    X, y = np.array(minority + majority), np.repeat([1, 0], [4, 8])
    sampler = OUPS(n_neighbors=1, sampling_strategy={1: 204}, random_state=0)
    new = sampler.fit_resample(X, y)[0][12:]
    x, at_five, at_zero = new[:, 0], new[:, 0] == 5, new[:, 0] == 0
    assert (at_five | at_zero | ((x > 1) & (x < 5)) | ((x > -2) & (x < 0))).all()
    # The nearest in propensity may be a thousand away.
    for group in (at_five, at_zero):
        assert group.any()
        assert ((new[group, 1] > 0) & (new[group, 1] < 1000)).all()


def test_nras_removes_noise_keeps_the_order_and_gives_exact_numbers():
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


def test_nras_removes_nothing_if_all_rows_are_noise():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(203, 2)), np.repeat([1, 0], [3, 200])
    with pytest.warns(PeerFallbackWarning, match="none of them was removed"):
        X_new, _ = NRAS(n_neighbors=2, threshold=1.0, random_state=0).fit_resample(X, y)
    np.testing.assert_array_equal(X_new[:203], X)
