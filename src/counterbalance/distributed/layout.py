"""Layout: what is known of the whole table's columns and classes before a block is read.

    sketch     a few rows that show the least and the largest number of every column and
               every level: no row of the table, but of its columns
    counts     N_c, the rows of each class in the whole table

A block is read with the sketch above it. So its levels get the codes that they have in the
whole table, every level can be given back, and the sampler's own table serves unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.table.kinds import Grid, Kind
from counterbalance.table.labels import Labels, as_array
from counterbalance.table.table import Columns, read_column, read_table

# The class code of a row of the sketch: of no class, and nothing that f could answer.
NO_CLASS = -2


@dataclass(frozen=True)
class Layout:
    """The columns and the classes of the whole table."""

    names: list[Any]  # of the table, target included
    target: Any
    sketch: pd.DataFrame  # without the target
    kinds: list[Kind]
    grid: Grid
    categorical: Mask  # which features the sampler is told to read as nominal
    integer: Mask  # which as whole numbers
    classes: NDArray[Any]
    examples: pd.Series[Any]  # a cell of the target for each class
    counts: Integers

    @property
    def features(self) -> list[Any]:
        """The names of the columns without the target."""
        return list(self.sketch.columns)

    def table(self, block: pd.DataFrame) -> Columns:
        """Read a block, with the sketch above it."""
        return self.read(pd.concat([self.sketch, block[self.features]], ignore_index=True))

    @cached_property
    def sketch_table(self) -> Columns:
        """The sketch alone, as a table of the whole one's ranges and levels."""
        return self.read(self.sketch)

    @property
    def empty(self) -> pd.DataFrame:
        """A table of no row."""
        none = self.sketch.iloc[:0]
        return self.whole(none, np.zeros(0, dtype=np.intp), none.index)

    @property
    def only_floats(self) -> bool:
        """Whether every feature is a numpy float of full width."""
        continuous = all(kind is Kind.CONTINUOUS for kind in self.kinds)
        return continuous and all(dtype == np.float64 for dtype in self.sketch.dtypes)

    @property
    def nominal(self) -> Mask:
        """Which features have no order."""
        return np.array([not kind.has_order for kind in self.kinds], dtype=bool)

    def range_of(self, m: int) -> tuple[float, float]:
        """Return the least and the largest cell of a feature, zeros where no cell is known."""
        known = self.sketch_table.column(m)
        known = known[~np.isnan(known)]
        return (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)

    def n_levels(self, m: int) -> int:
        """Return how many levels a feature has."""
        return int(np.nanmax(self.sketch_table.column(m), initial=-1.0)) + 1

    def column(self, cells: pd.Series[Any], m: int) -> Columns:
        """Read a whole column alone."""
        name = self.features[m]
        column = read_column(cells, name, nominal=self.categorical[m], whole=self.integer[m])
        return Columns(cells.to_frame(), [column], snap_to_grid=False)

    def read(self, rows: pd.DataFrame) -> Columns:
        """Read rows as they are, without the sketch."""
        table = read_table(
            rows, categorical_features=self.categorical, integer_features=self.integer
        )
        assert isinstance(table, Columns)  # noqa: S101  (a frame is never one block)
        table.grid = self.grid
        return table

    def encode(self, block: pd.DataFrame) -> Floats:
        """Return the block as floats."""
        return self.table(block).codes[len(self.sketch) :]

    def class_codes(self, block: pd.DataFrame) -> Integers:
        """Return the class code of every row."""
        return np.searchsorted(self.classes, as_array(block[self.target])).astype(np.intp)

    def labels(self, block: pd.DataFrame) -> Labels:
        """Return the classes of a block, of no class for the sketch above it."""
        codes = np.concatenate([np.full(len(self.sketch), NO_CLASS), self.class_codes(block)])
        return Labels(None, codes, self.classes, codes, self.counts)

    def whole(self, x: pd.DataFrame, codes: Integers, index: Any) -> pd.DataFrame:
        """Put the target beside the features, in the order of the user's columns."""
        columns = {name: x[name].array for name in self.features}
        columns[self.target] = self.examples.iloc[codes].array
        return pd.DataFrame(columns, index=index)[self.names]
