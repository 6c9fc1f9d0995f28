import numpy as np

from counterbalance.methods.neighbours import (
    balls_holding,
    minority_share,
    nearer_than,
    nearest_in_table,
)


def column(*values):
    return np.array(values, dtype=float)[:, None]


def test_a_row_is_not_its_own_neighbour_even_among_duplicates():
    minority, majority = np.zeros((4, 2)), np.ones((3, 2))
    _, indices = nearest_in_table(minority, majority, 3)
    for own, found in enumerate(indices):
        assert own not in found
        assert set(found) == {0, 1, 2, 3} - {own}


def test_minority_share_counts_the_nearest_rows():
    share = minority_share(column(0.0, 9.0), column(1.0, 2.0), column(3.0, 8.0, 10.0), 3)
    # Nearest to 0: 1, 2, 3. Nearest to 9: 8, 10, 3.
    np.testing.assert_allclose(share, [2 / 3, 0])


def test_balls_include_their_surface_and_limits_do_not():
    points, centres = column(0.0, 1.0, 3.0), column(1.0, 5.0)
    np.testing.assert_array_equal(balls_holding(points, centres, np.array([1.0, 2.0])), [1, 1, 1])
    np.testing.assert_array_equal(nearer_than(centres, points, np.array([1.0, 2.5])), [1, 1])
