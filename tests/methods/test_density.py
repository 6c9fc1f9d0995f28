import numpy as np
import pytest

from counterbalance.methods import ANS, CCR, ProWSyn
from counterbalance.methods.density import intruders, outcasts, proximity_levels, sphere_radii


def test_intruders_are_majority_rows_nearer_than_the_nearest_minority_row():
    minority = np.array([[0.0], [4.0], [5.0]])
    majority = np.array([[1.0], [2.0], [-4.0], [6.0]])
    # From 0 the nearest minority row is at 4: 1 and 2 are nearer, -4 is as far. From 4 and 5 it is
    # at 1, and 6 is as far from 5 as 4 is.
    np.testing.assert_array_equal(intruders(minority, majority), [2, 0, 0])


def test_the_tolerance_grows_until_it_admits_no_further_row():
    # A tolerance of 1 wins a row over 0, a tolerance of 2 wins none over 1.
    np.testing.assert_array_equal(
        outcasts(np.array([0, 0, 1, 5]), largest=4), [False, False, False, True]
    )


def test_the_radius_comes_from_the_class_and_outcasts_are_not_seeds():
    # 0, 1, 3 are a chain whose largest step is 2; 100 sits among the majority.
    minority = [0.0, 1.0, 3.0, 100.0]
    majority = np.linspace(80, 120, 60)
    X = np.concatenate([minority, majority])[:, None]
    y = np.repeat([1, 0], [4, 60])
    new = ANS(random_state=0).fit_resample(X, y)[0][64:, 0]
    assert len(new) == 56
    assert ((new >= 0) & (new <= 3)).all()
    assert (new > 1).any()


def test_it_makes_rows_on_a_table_of_500_rows_and_9_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 9))
    y = np.repeat([1, 0], [60, 440])
    X[:60] += 0.7
    assert ANS(random_state=0).fit_resample(X, y)[0].shape == (880, 9)


def test_levels_peel_the_minority_from_the_boundary_inwards():
    minority = np.array([[3.0], [1.0], [4.0], [2.0]])
    majority = np.array([[0.0], [-1.0]])
    levels = proximity_levels(minority, majority, n_levels=3, k=1)
    np.testing.assert_array_equal(levels, [3, 1, 3, 2])


def test_seeds_follow_the_weight_of_their_level():
    # One level-1 row and three level-2 rows, each with a second row near it as the one partner in
    # its cluster: which pair a new row lies between tells its seed.
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


@pytest.mark.parametrize(
    ("energy", "radius"),
    [
        (0.5, 0.5),  # the first row, at 1, is not reached
        (1.0, 1.0),  # just reached
        (2.0, 1.5),  # from there on each step costs twice
        (3.0, 2.0),  # the second row, at 2, is just reached
        (4.0, 2 + 1 / 3),  # and from there on three times
    ],
)
def test_a_sphere_pays_more_for_each_row_inside(energy, radius):
    np.testing.assert_allclose(sphere_radii(np.array([[2.0, 1.0]]), energy), [radius])


def test_the_sphere_around_a_minority_row_is_emptied():
    X = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, -1.0], [0.1, 0.2], [30.0, 30.0]])
    y = np.array([1, 0, 0, 0, 0])
    X_new, y_new = CCR(energy=3.0, random_state=0).fit_resample(X, y)
    # Distances 0.3, 0.5, 1.0 cost 0.3 + 2 * 0.2 + 3 * 0.5 = 2.2; the 0.8 left buys 0.2.
    radius = 1.2
    moved = X_new[:5][y == 0]
    np.testing.assert_allclose(np.abs(moved[:3]).sum(axis=1), radius)
    np.testing.assert_allclose(moved[:3], X[1:4] * np.array([2.4, 1.2, 4.0])[:, None])
    np.testing.assert_array_equal(moved[3], X[4])
    np.testing.assert_array_equal(X_new[0], X[0])
    new = X_new[5:]
    assert (y_new[5:] == 1).all()
    assert len(new) == 3
    assert (np.abs(new).sum(axis=1) <= radius).all()


def test_endangered_rows_get_more_new_rows():
    # The row at 0 has a majority row at 0.1; the one at 100 is alone.
    X = np.concatenate([[0.0, 100.0, 0.1], np.full(40, 50.0)])[:, None]
    y = np.repeat([1, 0], [2, 41])
    X_new, _ = CCR(energy=1.0, random_state=0).fit_resample(X, y)
    new = X_new[len(y) :, 0]
    # Radii 0.1 + 0.9 / 2 = 0.55 and 1: 39 rows in shares of 1 / 0.55 to 1.
    assert (new < 50).sum() == round(39 / 0.55 / (1 / 0.55 + 1))
