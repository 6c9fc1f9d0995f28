import numpy as np

from counterbalance.methods import OUPS
from counterbalance.methods.oups import next_in_propensity


def test_the_next_rows_follow_in_falling_propensity_and_fill_up_from_before():
    scores = np.array([0.9, 0.1, 0.5, 0.7])  # in order: rows 0, 3, 2, 1
    np.testing.assert_array_equal(next_in_propensity(scores, 2, 2), [[3, 2], [2, 3]])


def test_rows_are_matched_by_propensity_and_not_by_distance():
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
