"""What goes together is found in the partitions as it is in memory."""

import dask
import numpy as np
import pandas as pd
import pytest

from counterbalance import CounterfactualOverSampler
from counterbalance.distributed import fit_resample
from large_tables import assert_same, in_memory, mixed_table, partitioned

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


def table_with_relations(n=240):
    table = mixed_table(n)
    table.insert(0, "sum", table["float"] + table["whole"])
    table.insert(1, "part", np.where(table["ward"] == "east", "a", "b"))
    return table


@pytest.mark.parametrize("n", [1, 4])
def test_every_partitioning_keeps_the_pairs_and_relations_of_the_whole_table(n):
    table = table_with_relations()
    sampler = CounterfactualOverSampler(random_state=0, n_draws=3)
    with dask.config.set(scheduler="synchronous"):
        resampled = fit_resample(sampler, partitioned(table, n), "y")
        frame, provenance = dask.compute(resampled.frame, resampled.provenance)
    expected = in_memory(sampler, table)
    assert {"sum follows float + whole", "part follows ward"} <= {
        found.text for found in sampler.relations_
    }
    assert_same(frame, provenance, *expected)
    new = frame.iloc[len(table) :]
    assert np.allclose(new["sum"], new["float"] + new["whole"])
    assert set(pd.unique(new["part"][new["ward"] == "east"])) <= {"a"}
