import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.methods.synthesis import allocate, repeated


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
