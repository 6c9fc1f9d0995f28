"""Catalogue: every data set that can be had here, by name: the paper's first, then KEEL's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from counterbalance.datasets.collection import DatasetSummary, list_datasets, load, load_page_blocks
from counterbalance.datasets.fashion import load_fashion
from counterbalance.datasets.questionnaire import load_questionnaire
from counterbalance.datasets.record import Dataset
from counterbalance.datasets.synthetic import load_synthetic
from counterbalance.datasets.wisconsin import load_wisconsin
from counterbalance.errors import DataNotFoundError

# By the paper's names.
PAPER: dict[str, Callable[[], Dataset]] = {
    "synthetic": load_synthetic,
    "WBC": load_wisconsin,
    "PBC": load_page_blocks,
    "ILC": load_questionnaire,
    "FMN": load_fashion,
}
COLLECTION = "KEEL"
SOURCES = {
    "synthetic": "made here",
    "WBC": "bundled",
    "PBC": COLLECTION,
    "ILC": "simulated",
    "FMN": "Debian or OpenML",
}


def catalogue() -> Iterator[tuple[DatasetSummary | None, str, str]]:
    """Give (summary, name, where it comes from) of each; no summary where it is not here."""
    for name, loader in PAPER.items():
        try:
            data = loader()
        except DataNotFoundError:
            yield None, name, f"{SOURCES[name]}; not on this machine"
        else:
            counts = {str(label): count for label, count in data.class_counts.items()}
            yield DatasetSummary(name, *data.X.shape, counts), name, SOURCES[name]
    try:
        summaries = list_datasets()
    except DataNotFoundError:
        return
    for summary in summaries:
        yield summary, summary.name, COLLECTION


def load_named(name: str) -> Dataset:
    """Load a data set of the catalogue; case does not matter."""
    loaders = {own.casefold(): loader for own, loader in PAPER.items()}
    own = loaders.get(name.strip().casefold())
    return load(name) if own is None else own()
