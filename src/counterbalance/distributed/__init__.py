"""Beyond one machine's memory: the same rows, made by Dask partition by partition.

    from counterbalance.distributed import balance_files, fit_resample

Once f and the statistics of the features are fixed, every row is searched alone, with
random numbers that belong to its position. So a partition gives the rows that the whole
table would give, whatever the partitions, the workers and the scheduler.
"""

from __future__ import annotations

from counterbalance.extras import require

for package in ("dask", "distributed", "pyarrow"):
    require(package, "the distributed engine", "dask")

from counterbalance.distributed.files import Balanced, balance_files  # noqa: E402
from counterbalance.distributed.frame import Resampled, fit_resample  # noqa: E402

__all__ = ["Balanced", "Resampled", "balance_files", "fit_resample"]
