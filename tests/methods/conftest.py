"""Tables shared by the tests of the methods."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Small tables gain nothing from threads, and test processes run side by side."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def blobs():
    """Two overlapping normal clouds in three dimensions: 60 rows of class 1, 300 of class 0."""
    rng = np.random.default_rng(7)
    X = np.vstack([rng.normal(1.5, 1.0, size=(60, 3)), rng.normal(0.0, 1.0, size=(300, 3))])
    y = np.repeat([1, 0], [60, 300])
    order = rng.permutation(len(y))
    return X[order], y[order]
