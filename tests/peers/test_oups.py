import numpy as np

from counterbalance.peers import OUPS


def test_rows_are_matched_by_propensity_and_not_by_distance():
    # Both classes are the same at y = 0 and y = 1000, so propensity depends on x alone, and
    # the nearest in propensity is the row a thousand away.
    minority = [[0.0, 0.0], [0.0, 1000.0], [5.0, 0.0], [5.0, 1000.0]]
    majority = [[x, y] for x in (-4.0, -3.0, -2.0, 1.0) for y in (0.0, 1000.0)]
    X, y = np.array(minority + majority), np.repeat([1, 0], [4, 8])
    sampler = OUPS(n_neighbors=1, sampling_strategy={1: 44}, random_state=0)
    new = sampler.fit_resample(X, y)[0][12:]
    assert np.isin(new[:, 0], [0.0, 5.0]).all()
    assert ((new[:, 1] > 0) & (new[:, 1] < 1000)).all()
