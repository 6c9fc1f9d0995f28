import numpy as np
import pytest

from counterbalance.methods import CCR
from counterbalance.methods.ccr import sphere_radii


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
