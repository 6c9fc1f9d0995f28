"""Tables larger than memory: the same rows, made by Dask partition by partition.

    from counterbalance.distributed import balance_files, fit_resample

Once f and the statistics of the features are fixed, every row is searched on its own, with
random numbers that belong to its position. So a partition gives the rows that it would give
within the whole table, whatever the partitioning, the workers and the scheduler.

    engine                  tasks on Dask; a local cluster
    inputs, columns         parquet files and partitions; which columns are used
    scan, statistics        what the columns hold, and the profile of the features
    reductions              exact sums and medians over partitions
    fit, prepare            f, and the plan of the search
    search, found, passes   inversions of a partition; selection and shortfall
    draw                    candidates of the interior sampler, and which of them are drawn
    rows                    which new rows there are, and how they are built
    write, resume           files of the result; the folder of an unfinished run
    frame, files            the two entry points: a Dask dataframe, parquet files
"""

from __future__ import annotations

from counterbalance.extras import require

for package in ("dask", "distributed", "pyarrow"):
    require(package, "the distributed engine", "dask")

from counterbalance.distributed.files import BalancedFiles, balance_files  # noqa: E402
from counterbalance.distributed.frame import ResampledFrame, fit_resample  # noqa: E402

__all__ = ["BalancedFiles", "ResampledFrame", "balance_files", "fit_resample"]
