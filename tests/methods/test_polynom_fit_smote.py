import numpy as np
import pytest

from counterbalance.methods import PolynomFitSMOTE


def made(minority, n_new, **parameters):
    minority = np.asarray(minority, dtype=float)
    n_majority = len(minority) + n_new
    X = np.vstack([minority, np.full((n_majority, minority.shape[1]), -9.0)])
    y = np.repeat([1, 0], [len(minority), n_majority])
    return PolynomFitSMOTE(random_state=0, **parameters).fit_resample(X, y)[0][len(y) :]


def test_star_spaces_rows_evenly_from_each_row_to_the_mean():
    new = made([[0, 0], [3, 0], [0, 3]], 6, topology="star")
    # The mean is (1, 1); two rows on each arm, at one and two thirds.
    arms = [(0, 0), (3, 0), (0, 3)]
    expected = [np.add(a, np.subtract((1, 1), a) * t) for a in arms for t in (1 / 3, 2 / 3)]
    np.testing.assert_allclose(new, expected)


def test_bus_joins_each_row_to_the_next():
    np.testing.assert_allclose(made([[0], [1], [3]], 2, topology="bus"), [[0.5], [2.0]])


def test_mesh_joins_every_two_rows():
    new = made([[0], [1], [3]], 3, topology="mesh")
    np.testing.assert_allclose(np.sort(new.ravel()), [0.5, 1.5, 2.0])


def test_mesh_draws_distinct_pairs_if_there_are_more_than_needed():
    # Row i at 2 ** i: the middle of a pair names it.
    new = made(2.0 ** np.arange(20)[:, None], 50, topology="mesh")
    assert len(np.unique(new)) == 50
    pairs = 2 * new.ravel()
    assert all(int(p).bit_count() == 2 for p in pairs)


def test_polynomial_follows_the_curve_of_the_rows():
    t = np.arange(10.0)
    new = made(np.column_stack([t, 1 + t**2, t**3]), 25, topology="polynomial", degree=3)
    np.testing.assert_allclose(new[:, 1], 1 + new[:, 0] ** 2, atol=1e-9)
    np.testing.assert_allclose(new[:, 2], new[:, 0] ** 3, atol=1e-9)


@pytest.mark.parametrize("topology", ["star", "bus", "mesh"])
def test_segments_carry_numbers_that_differ_by_at_most_one(topology):
    assert len(made([[0], [1], [3], [7]], 17, topology=topology)) == 17
