import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.methods.neighbours import (
    allocate,
    balls_holding,
    minority_share,
    nearer_than,
    nearest_in_table,
    repeated,
)


def column(*values):
    return np.array(values, dtype=float)[:, None]


def test_a_row_is_not_its_own_neighbour_even_among_duplicates():
    minority, majority = np.zeros((4, 2)), np.ones((3, 2))
    indices = nearest_in_table(minority, majority, 3)
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


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.integers(0, 10_000))
def test_shares_add_up_and_stay_within_one_of_exact(weights, total):
    counts = allocate(np.array(weights), total)
    assert counts.sum() == total
    if sum(weights) > 0:
        exact = np.array(weights) / sum(weights) * total
        assert (np.abs(counts - exact) < 1 + 1e-6).all()


def test_the_remainder_goes_to_the_largest_fractional_part():
    # Exact shares 1.25, 1.25 and 2.5.
    np.testing.assert_array_equal(allocate(np.array([1.0, 1.0, 2.0]), 5), [1, 1, 3])


def test_weights_of_zero_count_as_equal():
    np.testing.assert_array_equal(allocate(np.zeros(2), 3), [2, 1])


def test_an_index_is_repeated_as_often_as_its_count():
    np.testing.assert_array_equal(repeated(np.array([2, 0, 1])), [0, 0, 2])
