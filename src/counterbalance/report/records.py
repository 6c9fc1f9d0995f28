"""Records of a page: the summary of a comparison, and what a sampler did to the rows.

A page takes these records, or the plain values that JSON holds of them. Every section is optional,
and those that are there are shown. ``read_page`` checks either and returns a page whose texts are
fit to be seen, so that nothing that draws has to ask again what is there.

``BalancedTable`` is what they are made from: a table before and after a sampler.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Integers
from counterbalance.report.plain import OPTIONAL, Summary, SummaryError, read_record
from counterbalance.rows.provenance import Provenance
from counterbalance.table import frames
from counterbalance.table.labels import plain, read_labels
from counterbalance.table.table import Table, read_table


@dataclass(frozen=True)
class Points:
    """Rows of one class on the map; ``total`` also counts those that are not drawn."""

    label: str
    new: bool
    x: tuple[float, ...]
    y: tuple[float, ...]
    total: int


@dataclass(frozen=True)
class Regions:
    """Where f answers which class.

    ``cells[row][column]`` is a place in ``classes``, or -1 where there are no rows; the first
    row lies at the bottom. ``lines`` are the boundaries. They are ``exact`` where f was asked
    about every cell itself, which needs a table of two columns.
    """

    classes: tuple[str, ...]
    x: tuple[float, float]
    y: tuple[float, float]
    cells: tuple[tuple[int, ...], ...]
    lines: tuple[tuple[tuple[float, float], ...], ...] = ()
    exact: bool = False


@dataclass(frozen=True)
class Map:
    """Real and new rows in two dimensions."""

    axes: tuple[str, str]
    points: tuple[Points, ...]
    links: tuple[tuple[float, float, float, float], ...] = ()
    regions: Regions | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NewRow:
    """A new row beside the real row that it was made from."""

    sample: int
    factual: int
    name: str = ""
    from_class: str
    to_class: str
    origin: str
    distance: float | None
    old: tuple[str, ...]
    new: tuple[str, ...]
    changed: tuple[int, ...]


@dataclass(frozen=True)
class Explorer:
    """New rows to look through."""

    columns: tuple[str, ...]
    rows: tuple[NewRow, ...]
    total: int
    columns_left_out: int = 0

    @property
    def rows_left_out(self) -> int:
        """How many new rows are not shown."""
        return self.total - len(self.rows)


@dataclass(frozen=True)
class FeatureChange:
    """How often a feature changed, and by how much as a rule."""

    name: str
    share: float
    typical: str = ""


@dataclass(frozen=True)
class Features:
    """Which features change most, the most changed first.

    They are counted in the rows that f puts into their new class (``inverted``), or in all new
    rows where it does so with none.
    """

    rows: tuple[FeatureChange, ...]
    total: int
    left_out: int = 0
    inverted: bool = True


@dataclass(frozen=True)
class Origins:
    """What the new rows of each class are: a table of texts, the class first in each row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Page(Summary):
    """Everything that a page shows."""

    origins: Origins | None = field(default=None, metadata=OPTIONAL)
    map: Map | None = field(default=None, metadata=OPTIONAL)
    explorer: Explorer | None = field(default=None, metadata=OPTIONAL)
    features: Features | None = field(default=None, metadata=OPTIONAL)
    language: Literal["en"] = "en"


def read_page(summary: Summary | Mapping[str, Any]) -> Page:
    """Check a summary and return it as a page; a problem names the place and the remedy."""
    page = read_record(Page, summary, "summary")
    if page.origins is not None:
        _check_origins(page.origins)
    if page.explorer is not None:
        for place, row in enumerate(page.explorer.rows):
            _check_row(row, page.explorer.columns, f"summary['explorer']['rows'][{place}]")
    if page.data is not None and page.data.rows_of_file is not None:
        for place, item in enumerate(page.data.classes):
            if item.count_of_file is None:
                raise SummaryError(
                    f"summary['data']['classes'][{place}] has no 'count_of_file', but the data "
                    "have 'rows_of_file'; give both or neither"
                )
    if page.map is not None:
        _check_map(page.map)
    return page


def _check_map(plan: Map) -> None:
    for place, points in enumerate(plan.points):
        if len(points.x) != len(points.y):
            raise SummaryError(
                f"summary['map']['points'][{place}] has {len(points.x)} values of x and "
                f"{len(points.y)} of y; give as many of both"
            )
    if plan.regions is not None:
        _check_regions(plan.regions, "summary['map']['regions']")


def _check_origins(origins: Origins) -> None:
    for place, cells in enumerate(origins.rows):
        if len(cells) != len(origins.columns):
            raise SummaryError(
                f"summary['origins']['rows'][{place}] has {len(cells)} cells for "
                f"{len(origins.columns)} columns; give one for each"
            )


def _check_regions(regions: Regions, where: str) -> None:
    for name, (low, high) in (("x", regions.x), ("y", regions.y)):
        if not low < high:
            raise SummaryError(
                f"{where}[{name!r}] must go up, got {low:g} and {high:g}; give the lower end first"
            )
    codes = {code for row in regions.cells for code in row}
    if not codes <= set(range(-1, len(regions.classes))):
        raise SummaryError(
            f"{where}['cells'] must be -1 or places in its {len(regions.classes)} classes, got "
            f"{max(codes)}; correct what made the summary"
        )


def _check_row(row: NewRow, columns: tuple[str, ...], where: str) -> None:
    for name, cells in (("old", row.old), ("new", row.new)):
        if len(cells) != len(columns):
            raise SummaryError(
                f"{where}[{name!r}] has {len(cells)} cells for {len(columns)} columns; "
                "give one for each"
            )
    if not set(row.changed) <= set(range(len(columns))):
        raise SummaryError(
            f"{where}['changed'] holds {list(row.changed)}, but the columns are 0 to "
            f"{len(columns) - 1}; give places of columns"
        )


@dataclass(frozen=True, eq=False)
class BalancedTable:
    """What a fitted sampler was given and what it made of it."""

    sampler: Any  # the fitted sampler
    table: Table  # the real rows, and the new ones below
    codes: Integers  # the class of each of these rows, as a place in `classes`
    classes: NDArray[Any]  # the labels in sorted order
    n_real: int  # how many rows are real

    @property
    def provenance(self) -> Provenance:
        """Where each new row comes from."""
        found: Provenance = self.sampler.provenance_
        return found

    @property
    def labels(self) -> list[str]:
        """The classes as texts."""
        return [str(plain(label)) for label in self.classes]

    def count(self, code: int, *, new: bool) -> int:
        """Return how many rows a class has, real or new."""
        part = self.codes[self.n_real :] if new else self.codes[: self.n_real]
        return int(np.sum(part == code))


def read_balanced(
    sampler: Any, X: Any, y: Any, X_resampled: Any, y_resampled: Any
) -> BalancedTable:
    """Check that the tables and the sampler belong together, and read them."""
    provenance = getattr(sampler, "provenance_", None)
    if not isinstance(provenance, Provenance):
        raise SummaryError(
            f"sampler must be a sampler of counterbalance after fit_resample, got "
            f"{type(sampler).__name__} without provenance_; call its fit_resample first"
        )
    before, after = [_length(X), _length(y)], [_length(X_resampled), _length(y_resampled)]
    if {n + len(provenance) for n in before} != set(after):
        raise SummaryError(
            f"X and y have {before[0]} and {before[1]} rows, X_resampled and y_resampled have "
            f"{after[0]} and {after[1]}, but the sampler made {len(provenance)} more; pass what "
            "went into its last fit_resample and what came out"
        )
    table = read_table(
        frames.from_list(X_resampled) if isinstance(X_resampled, list) else X_resampled,
        categorical_features=sampler.categorical_features,
    )
    labels = read_labels(y_resampled)
    return BalancedTable(sampler, table, labels.codes, labels.classes, before[0])


def _length(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)
