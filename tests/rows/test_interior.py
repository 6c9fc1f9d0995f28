"""Interior: the partners of a row are its nearest fellows, with the kernel and without it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from counterbalance.rows import interior


@pytest.mark.parametrize("compiled", [True, False])
@given(
    seed=st.integers(0, 2**16),
    n_rows=st.integers(1, 70),
    n_features=st.integers(1, 25),
    k=st.integers(0, 5),
)
@settings(max_examples=40)
def test_the_nearest_rows_come_first_and_of_equals_the_first_ones(
    compiled, seed, n_rows, n_features, k
):
    if compiled and interior.kernel is None:
        pytest.skip("the kernel is not compiled")
    rng = np.random.default_rng(seed)
    x = (
        rng.integers(0, 3, (n_rows, n_features)) / 7
        if seed % 2
        else rng.normal(size=(n_rows, n_features))
    )
    k = min(k, n_rows - 1)
    far = cdist(x, x, "cityblock")
    np.fill_diagonal(far, np.inf)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interior, "CELLS_COMPARED", 300)
        if not compiled:
            patch.setattr(interior, "kernel", None)
        near = interior._nearest(x, k)
    np.testing.assert_array_equal(near, np.argsort(far, axis=1, kind="stable")[:, :k])


def test_a_wide_table_has_the_partners_that_scikit_learn_finds():
    x = np.random.default_rng(0).normal(size=(300, 20))
    search = NearestNeighbors(n_neighbors=6, metric="manhattan", algorithm="brute").fit(x)
    theirs = search.kneighbors(x, return_distance=False)[:, 1:]
    np.testing.assert_array_equal(interior._nearest(x, 5), theirs)
