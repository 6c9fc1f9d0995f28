"""Data sets: those of the paper, of KEEL, of the field and your own, each as a small record.

Nothing is downloaded unless you ask for it. Data that are not on the machine raise
`DataNotFoundError`, which names every way to get them.
"""

from counterbalance.datasets.collection import list_datasets, load, load_page_blocks
from counterbalance.datasets.dataset import Dataset, DatasetSummary, load_table
from counterbalance.datasets.field import list_field
from counterbalance.datasets.paper import (
    load_fashion,
    load_questionnaire,
    load_wisconsin,
    read_wisconsin,
)
from counterbalance.datasets.synthetic import (
    SHAPES,
    load_synthetic,
    synthetic_area,
    synthetic_log_ratio,
)
from counterbalance.errors import DataNotFoundError

__all__ = [
    "SHAPES",
    "DataNotFoundError",
    "Dataset",
    "DatasetSummary",
    "list_datasets",
    "list_field",
    "load",
    "load_fashion",
    "load_page_blocks",
    "load_questionnaire",
    "load_synthetic",
    "load_table",
    "load_wisconsin",
    "read_wisconsin",
    "synthetic_area",
    "synthetic_log_ratio",
]
