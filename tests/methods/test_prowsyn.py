import numpy as np
import pytest

from counterbalance.methods import ProWSyn
from counterbalance.methods.prowsyn import proximity_levels


def test_levels_peel_the_minority_from_the_boundary_inwards():
    minority = np.array([[3.0], [1.0], [4.0], [2.0]])
    majority = np.array([[0.0], [-1.0]])
    levels = proximity_levels(minority, majority, n_levels=3, k=1)
    np.testing.assert_array_equal(levels, [3, 1, 3, 2])


def test_seeds_follow_the_weight_of_their_level():
    # One level-1 row and three level-2 rows, each with a twin far from all others as the one
    # partner in its cluster: which pair a new row lies between tells its seed.
    minority = np.array([[1.0], [100.0], [200.0], [300.0]])
    X = np.vstack([minority, minority + 0.5, np.linspace(-9, 0, 40)[:, None]])
    y = np.repeat([1, 0], [8, 40])
    sampler = ProWSyn(n_neighbors=2, n_levels=2, theta=np.log(2), random_state=0)
    X_new, _ = sampler.fit_resample(X, y)
    pairs, counts = np.unique(np.floor(X_new[48:]), return_counts=True)
    np.testing.assert_array_equal(pairs, [1, 100, 200, 300])
    # 32 new rows in shares of 1 : 1/2 : 1/2 : 1/2.
    np.testing.assert_allclose(counts, [12.8, 6.4, 6.4, 6.4], atol=2)


def copies(X, new):
    return (new[:, None] == X).all(axis=2).any(axis=1).mean()


@pytest.mark.parametrize("threshold", [3.0, 1.0, 1e-9])
def test_no_new_row_is_a_copy_of_an_old_one(blobs, threshold):
    X, y = blobs
    sampler = ProWSyn(cluster_threshold=threshold, random_state=0)
    X_new, _ = sampler.fit_resample(X, y)
    assert copies(X, X_new[len(y) :]) == 0


def test_no_row_lies_between_two_clusters():
    rng = np.random.default_rng(0)
    clumps = np.vstack([rng.normal(0, 0.1, (20, 2)), rng.normal(50, 0.1, (20, 2))])
    X = np.vstack([clumps, rng.normal(25, 5, (100, 2))])
    y = np.repeat([1, 0], [40, 100])
    X_new, _ = ProWSyn(random_state=0).fit_resample(X, y)
    new = X_new[140:]
    assert ((new < 1).all(axis=1) | (new > 49).all(axis=1)).all()
