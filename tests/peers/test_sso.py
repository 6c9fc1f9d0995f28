import numpy as np
from scipy.spatial.distance import cdist

from counterbalance.peers import SSO


def test_new_rows_lie_in_the_neighbourhood_of_a_minority_row(blobs):
    X, y = blobs
    X_new, _ = SSO(q=0.1, random_state=0).fit_resample(X, y)
    scaled = X_new / X.std(axis=0)
    apart = cdist(scaled[len(y) :], scaled[: len(y)][y == 1], "chebyshev").min(axis=1)
    assert (apart <= 0.1 + 1e-9).all()


def test_rows_at_the_boundary_get_more_than_rows_far_from_it():
    rng = np.random.default_rng(0)
    near, far = rng.normal(2.0, 0.3, (30, 2)), rng.normal(12.0, 0.3, (30, 2))
    X = np.vstack([near, far, rng.normal(0, 1, (400, 2))])
    y = np.repeat([1, 0], [60, 400])
    X_new, _ = SSO(random_state=0).fit_resample(X, y)
    new = X_new[len(y) :]
    assert (new[:, 0] < 7).sum() > 2 * (new[:, 0] > 7).sum()
