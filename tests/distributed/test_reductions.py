import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from counterbalance.distributed.reductions import Bracket, BracketCounts, exact_sum, mean_of

within_one = st.floats(-1, 1, allow_subnormal=False)


@given(arrays(np.float64, st.integers(0, 200), elements=within_one), st.integers(0, 200))
def test_a_sum_has_no_order_and_is_rounded_once(values, cut):
    total = exact_sum(values)
    assert total == exact_sum(values[::-1]) == exact_sum(values[:cut]) + exact_sum(values[cut:])
    assert mean_of(total, 1) == pytest.approx(math.fsum(values), rel=1e-15, abs=2.0**-100)


def test_the_mean_of_tiny_values_keeps_its_digits():
    assert mean_of(exact_sum(np.full(1000, 1e-18)), 1000) == pytest.approx(1e-18, rel=1e-13)


@given(
    arrays(np.float64, st.integers(1, 80), elements=st.integers(-4, 4).map(float)),
    st.integers(1, 80),
)
def test_a_bracketed_median_is_that_of_numpy_or_none(cells, n_parts):
    bracket = Bracket.around_median(np.sort(cells[::3]))
    parts = [BracketCounts.of(part, bracket) for part in np.array_split(cells, n_parts)]
    assert BracketCounts.join(parts).median in {float(np.median(cells)), None}
    everything = Bracket(-np.inf, np.inf)
    assert BracketCounts.of(cells, everything).median == np.median(cells)
