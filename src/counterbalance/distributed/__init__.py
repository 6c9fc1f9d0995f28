"""Tables larger than memory: the same rows, made by Dask part by part.

    from counterbalance.distributed import balance_files, fit_resample

Once the classifier (f in the paper) and the profile of the features are known, every row is
searched on its own, with random numbers that depend on its position. So the result is the same for
any partitioning, number of workers, and scheduler.

    cluster     where tasks run; a cluster on this machine
    inputs      parquet files as one table; which columns are used
    plan        labels, scan, profile and f: everything up to the search
    search      the samplers' steps on each part, and the selection of new rows
    balance     the two entry points: a Dask dataframe, parquet files
"""

from __future__ import annotations

from counterbalance.extras import require

for package in ("dask", "distributed", "pyarrow"):
    require(package, "the distributed engine", "dask")

from counterbalance.distributed.balance import (  # noqa: E402
    BalancedFiles,
    ResampledFrame,
    balance_files,
    fit_resample,
)

__all__ = ["BalancedFiles", "ResampledFrame", "balance_files", "fit_resample"]
