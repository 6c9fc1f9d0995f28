import numpy as np
import pytest
from scipy.spatial.distance import cdist

from counterbalance.methods import Lee, PeerFallbackWarning


def test_no_new_row_has_more_rivals_than_fellows_around_it(blobs):
    X, y = blobs
    X_new, _ = Lee(random_state=0).fit_resample(X, y)
    nearest = np.argsort(cdist(X_new[len(y) :], X), axis=1)[:, :5]
    assert ((y[nearest] == 0).sum(axis=1) <= 2).all()


def test_it_gives_up_with_a_warning_where_every_row_is_rejected():
    # Two minority rows, each in the midst of a majority clump.
    clump = np.linspace(-0.1, 0.1, 9)
    X = np.concatenate([[0.0, 10.0], clump, clump + 10, np.linspace(1, 9, 60)])[:, None]
    y = np.repeat([1, 0], [2, 78])
    with pytest.warns(PeerFallbackWarning, match="still rejected"):
        _, y_new = Lee(n_neighbors=1, rejection_level=0.0, max_rounds=2).fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [78, 78])
