"""Beyond one machine's memory: the same rows, made by Dask partition by partition.

    from counterbalance.distributed import balance_files, fit_resample

Once f and the statistics of the features are fixed, every row is searched alone, with
random numbers that belong to its position. So a partition gives the rows that the whole
table would give, whatever the partitions, the workers and the scheduler.
"""

from __future__ import annotations

try:
    import dask
    import distributed
    import pandas as pd
    import pyarrow as pa
except ImportError as error:
    raise ImportError(
        f"the distributed engine needs {error.name}; "
        "install it with: pip install 'counterbalance[dask]'"
    ) from error

from counterbalance.distributed.files import Balanced, balance_files
from counterbalance.distributed.frame import Resampled, fit_resample

del dask, distributed, pd, pa

__all__ = ["Balanced", "Resampled", "balance_files", "fit_resample"]
