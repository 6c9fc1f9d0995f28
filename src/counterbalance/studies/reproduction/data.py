"""The tables of Experiment II under the paper's short names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from counterbalance.datasets import (
    load_fashion,
    load_page_blocks,
    load_questionnaire,
    load_wisconsin,
)
from counterbalance.datasets.dataset import share_of_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counterbalance.datasets import Dataset
    from counterbalance.studies.reproduction.settings import ReproductionSettings

# Chosen by the peers' figures alone, with logistic regression. The paper names no classes; its
# three peers have mean G-means of .87 to .90 there, and of .88 to .90 here, on both pairs (ten
# folds of the first run; their standard deviation is .03 to .05, so one fold tells little). SMOTE
# has .89 on both, .73 on T-shirt/top against Shirt and .71 on Pullover against Coat, which do not
# fit. The page says how near the peers come with every classifier (`claims`).
PAIRS = {"FMN": ("Dress", "Shirt"), "FMN2": ("Coat", "Dress")}
DESCRIPTIONS = {
    "WBC": "Wisconsin breast cancer",
    "ILC": "a simulated questionnaire of the published shape: the hospital's data are private, "
    "so these figures are not the paper's. How strong its signal is was tuned once, among 12 "
    "settings of the generator, by the figures of k-SMOTE and CUSBoost on one fold, so that they "
    "are near the paper's; ours had no part in it",
    "FMN": f"Fashion-MNIST, {' against '.join(PAIRS['FMN'])}; the paper does not name its two "
    "classes; this pair was chosen by the peers' figures",
    "FMN2": f"Fashion-MNIST, {' against '.join(PAIRS['FMN2'])}, a second pair",
    "PBC": "page blocks (KEEL's file)",
}
PAGE_BLOCKS = {
    "1": "text",
    "2": "horizontal line",
    "3": "picture",
    "4": "vertical line",
    "5": "graphic",
}


@dataclass(frozen=True, eq=False)
class PaperTable:
    """A table with its labels as text, the classes from the largest to the smallest."""

    X: Any
    y: NDArray[np.str_]
    classes: tuple[str, ...]

    @property
    def minority(self) -> int | None:
        """Position of the minority class; None with more than two classes."""
        return 1 if len(self.classes) == 2 else None  # noqa: PLR2004 - two classes


def descriptions(settings: ReproductionSettings) -> dict[str, str]:
    """Describe each data set of a run, with the size of the table that is used."""
    tables = {
        name: load_labelled(name, settings.rows_of(name), settings) for name in settings.datasets
    }
    return {name: f"{DESCRIPTIONS[name]}; {_size(table)}" for name, table in tables.items()}


def _size(table: PaperTable) -> str:
    counts = " : ".join(f"{np.count_nonzero(table.y == label):,}" for label in table.classes)
    missing = int(table.X.isna().to_numpy().sum())
    return (
        f"{len(table.y):,} rows ({counts}), {table.X.shape[1]} features, {missing:,} missing cells"
    )


def load_labelled(name: str, rows: int, settings: ReproductionSettings) -> PaperTable:
    """Load a data set of the paper, cut to a number of rows; 0 takes all."""
    return _load(name, rows, settings.fashion_path, settings.download)


@lru_cache(maxsize=2)
def _load(name: str, rows: int, fashion_path: str | None, download: bool) -> PaperTable:  # noqa: FBT001 - a key of the cache
    dataset = _dataset(name, fashion_path, download=download)
    classes = tuple(map(str, dataset.class_counts))
    y = dataset.y.to_numpy().astype(str)
    X = dataset.X
    if name == "PBC":
        classes = tuple(PAGE_BLOCKS[label] for label in classes)
        y = np.array([PAGE_BLOCKS[label] for label in y])
    if 0 < rows < len(y):
        kept = share_of_rows(y, rows)
        X, y = X.iloc[kept].reset_index(drop=True), y[kept]
    return PaperTable(X, y, classes)


def _dataset(name: str, fashion_path: str | None, *, download: bool) -> Dataset:
    if name == "WBC":
        return load_wisconsin()
    if name == "ILC":
        return load_questionnaire()
    if name == "PBC":
        return load_page_blocks()
    return load_fashion(PAIRS[name], path=fashion_path, download=download)
