"""Contract: what a summary holds. Whoever fills a summary and the page agree on this file.

A summary is a plain dict that could be written as JSON. Every section is optional, and the
page shows those that are there; keys that are not listed here are left alone. ``read_summary``
checks a dict and returns it as the frozen records below, so that nothing that draws has to
ask again what is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from counterbalance.report.reading import SummaryError, read

# Mean predicted probability, observed share, number of rows; an empty bin has no mean.
Bin = tuple[float | None, float | None, float | None]


@dataclass(frozen=True)
class Verdict:
    """The answer in words, first on the page; ``scope`` says of which rows, if not of all."""

    headline: str
    sentences: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    scope: str = ""


@dataclass(frozen=True)
class ClassCount:
    """How many rows a class has, how many new ones it got, and how many the file has of it."""

    label: str
    count: int
    new: int = 0
    count_of_file: int | None = None


@dataclass(frozen=True)
class ColumnFacts:
    """One column of the user's table."""

    name: str
    kind: str
    missing: int
    distinct: int


@dataclass(frozen=True)
class Data:
    """The user's table at a glance."""

    rows: int
    rows_of_file: int | None = None
    classes: tuple[ClassCount, ...] = ()
    columns: tuple[ColumnFacts, ...] = ()
    file: str = ""
    target: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Metric:
    """A figure of merit; ``ideal`` where neither more nor less is better."""

    name: str
    label: str
    higher_is_better: bool = True
    help: str = ""
    ideal: float | None = None

    def better(self, score: float) -> float:
        """Return a number that is larger the better the score is."""
        if self.ideal is not None:
            return -abs(score - self.ideal)
        return score if self.higher_is_better else -score

    @property
    def direction(self) -> str:
        """What to wish for, in words."""
        if self.ideal is not None:
            return f"best at {self.ideal:g}"
        return "higher is better" if self.higher_is_better else "lower is better"


@dataclass(frozen=True)
class Score:
    """A mean with its interval; None where it could not be measured."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Result:
    """What a strategy reached with a classifier at a decision threshold."""

    strategy: str
    classifier: str
    threshold: str
    scores: dict[str, Score] = field(default_factory=dict)
    failed: str | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Every strategy with every classifier."""

    metrics: tuple[Metric, ...]
    rows: tuple[Result, ...]
    baseline: str = "none"

    @property
    def classifiers(self) -> tuple[str, ...]:
        """The classifiers in the order in which they appear."""
        return tuple(dict.fromkeys(row.classifier for row in self.rows))

    @property
    def strategies(self) -> tuple[str, ...]:
        """The strategies in the order in which they appear."""
        return tuple(dict.fromkeys(row.strategy for row in self.rows))

    @property
    def thresholds(self) -> tuple[str, ...]:
        """The decision thresholds in the order in which they appear."""
        return tuple(dict.fromkeys(row.threshold for row in self.rows))


@dataclass(frozen=True)
class Trust:
    """How far the labels of a strategy's new rows can be trusted."""

    strategy: str
    new: int | None = None
    hidden_majority: float | None = None
    agreement: float | None = None
    distance: float | None = None


@dataclass(frozen=True)
class Curves:
    """Calibration, raw and corrected for the base rate, and precision over recall."""

    strategy: str
    classifier: str
    calibration: tuple[Bin, ...] = ()
    calibration_corrected: tuple[Bin, ...] = ()
    precision_recall: tuple[tuple[float | None, float | None], ...] = ()


@dataclass(frozen=True)
class Points:
    """Rows of one class on the map; ``total`` counts those that are not drawn, too."""

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


@dataclass(frozen=True)
class Twin:
    """A new row beside the real row that it came from."""

    sample: int
    factual: int
    from_class: str
    to_class: str
    origin: str
    distance: float | None
    old: tuple[str, ...]
    new: tuple[str, ...]
    changed: tuple[int, ...]
    name: str = ""


@dataclass(frozen=True)
class Explorer:
    """New rows to look through."""

    columns: tuple[str, ...]
    rows: tuple[Twin, ...]
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

    They are counted in the rows that went over to another class (``inverted``), or in all new
    rows where none did.
    """

    rows: tuple[FeatureChange, ...]
    total: int
    left_out: int = 0
    inverted: bool = True


@dataclass(frozen=True)
class Summary:
    """Everything that the page shows."""

    title: str = "counterbalance report"
    verdict: Verdict | None = None
    data: Data | None = None
    comparison: Comparison | None = None
    curves: tuple[Curves, ...] = ()
    map: Map | None = None
    explorer: Explorer | None = None
    features: Features | None = None
    trust: tuple[Trust, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    reproduce: str = ""
    cite: str = ""
    language: Literal["en"] = "en"


def read_summary(summary: Mapping[str, Any]) -> Summary:
    """Check a summary and return it as records; a problem names the place and the remedy."""
    found = read(Summary, summary, "summary")
    if found.explorer is not None:
        for place, row in enumerate(found.explorer.rows):
            _check_cells(row, found.explorer.columns, f"summary['explorer']['rows'][{place}]")
    if found.data is not None and found.data.rows_of_file is not None:
        for place, item in enumerate(found.data.classes):
            if item.count_of_file is None:
                raise SummaryError(
                    f"summary['data']['classes'][{place}] has no 'count_of_file', but the data "
                    "have 'rows_of_file'; give both or neither"
                )
    if found.map is not None:
        for place, points in enumerate(found.map.points):
            if len(points.x) != len(points.y):
                raise SummaryError(
                    f"summary['map']['points'][{place}] has {len(points.x)} values of x and "
                    f"{len(points.y)} of y; give as many of both"
                )
        if found.map.regions is not None:
            _check_regions(found.map.regions, "summary['map']['regions']")
    return found


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
            f"{max(codes)}; mend what made the summary"
        )


def _check_cells(row: Twin, columns: tuple[str, ...], where: str) -> None:
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
