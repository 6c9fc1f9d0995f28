import dask
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.distributed import passes
from counterbalance.distributed.engine import DaskEngine
from counterbalance.distributed.found import Found
from counterbalance.distributed.passes import find_cutoffs, take_up_to
from counterbalance.search.selection import select
from large_tables import random_found


@given(st.integers(0, 2**32), st.booleans(), st.integers(0, 60))
def test_the_cutoffs_take_what_the_in_memory_selection_takes(seed, ties, wanted):
    rng = np.random.default_rng(seed)
    whole = random_found(rng, 50, ties=ties)
    edges = np.sort(rng.integers(0, 50, 3))
    parts = [
        whole.take((whole.inversions.factual >= low) & (whole.inversions.factual < high))
        for low, high in zip([0, *edges], [*edges, 50], strict=True)
    ]
    counts = np.bincount(whole.inversions.target, minlength=3)
    few = passes.FEW
    with dask.config.set(scheduler="synchronous"):
        try:
            passes.FEW = 2  # so that digits are counted
            cutoffs = find_cutoffs(DaskEngine(None, 0), parts, counts, {0: wanted, 2: 5})
        finally:
            passes.FEW = few
    taken = Found.join([take_up_to(part, cutoffs) for part in parts], 3).inversions
    for target, n in ((0, wanted), (1, 0), (2, 5)):
        expected = select(whole.inversions.take(whole.inversions.target == target), n)
        got = taken.take(taken.target == target)
        np.testing.assert_array_equal(got.factual, expected.factual)
        np.testing.assert_array_equal(got.distance, expected.distance)
