"""Records of a summary: what a comparison found and what a sampler did, as a page shows it.

``as_plain`` turns a record into what JSON can hold and ``read_record`` turns plain values, such as
the summary of a comparison, into records, by the types that they declare:

    text         control characters and broken Unicode are made visible, never passed on
    number       nan and infinity become None where None is allowed
    sequence     any sequence becomes a tuple
    record       a mapping or a record; missing keys take their default, unknown ones are ignored
"""

import dataclasses
import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from counterbalance.errors import CounterbalanceError
from counterbalance.io.reading import by_number, is_invisible

Record = TypeVar("Record")
# Mean predicted probability, observed share, number of rows; an empty bin has no mean.
Bin = tuple[float | None, float | None, float | None]
# Marks a field that JSON leaves out where it is None.
OPTIONAL = {"optional": True}
# Control characters have pictures of their own. Tab and line feed are harmless.
CONTROLS = {code: 0x2400 + code for code in range(0x20) if code not in {0x09, 0x0A}}
CONTROLS[0x7F] = 0x2421
HARMLESS = "\t\n"


class SummaryError(CounterbalanceError):
    """A summary does not hold what is needed to show it."""


@dataclass(frozen=True)
class Cells:
    """A table of texts."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer: what to do, why, and how far to trust it.

    Parameters
    ----------
    scope : str
        Which rows it speaks of, where they are not all.
    headline : str
        One plain sentence.
    sentences : tuple of str
        What it rests on.
    caveats : tuple of str
        What to be careful about.
    code : str
        Lines of Python that make the object to use, where there is one.
    table : Cells, optional
        What each strategy reaches.
    """

    scope: str = ""
    headline: str
    sentences: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    code: str = ""
    table: Cells | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True)
class ClassCount:
    """How many rows a class has here and in the whole file, and how many new ones it got."""

    label: str
    count: int
    count_of_file: int | None = field(default=None, metadata=OPTIONAL)
    new: int | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True)
class ColumnFacts:
    """One column of the user's table."""

    name: str
    kind: str
    missing: int
    distinct: int


@dataclass(frozen=True, kw_only=True)
class Data:
    """The user's table at a glance."""

    file: str = ""
    target: str = ""
    rows: int
    rows_of_file: int | None = field(default=None, metadata=OPTIONAL)
    classes: tuple[ClassCount, ...] = ()
    columns: tuple[ColumnFacts, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Metric:
    """A figure of merit."""

    # What it is called in the code and on the page, and what it means.
    name: str
    label: str
    higher_is_better: bool = True  # whether a larger value is a better one
    help: str = ""
    needs_threshold: bool = False  # whether it judges answers and not probabilities
    # The best value, where neither more nor less is better.
    ideal: float | None = field(default=None, metadata=OPTIONAL)

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
    """A mean and its 95 % interval; None where it could not be measured."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class ScoreRow:
    """What a strategy reached with a classifier at a decision threshold."""

    strategy: str
    classifier: str
    threshold: str
    failed: str | None = None
    seconds: float | None = None
    scores: dict[str, Score] = field(default_factory=dict)

    def mean(self, metric: str) -> float | None:
        """Return the mean of a metric; None where it was not measured, or where a fold failed."""
        return None if self.failed is not None else self.scores.get(metric, Score()).mean


@dataclass(frozen=True)
class ScoreTable:
    """Every strategy with every classifier."""

    metrics: tuple[Metric, ...]
    rows: tuple[ScoreRow, ...]
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
    """How far the labels of a strategy's new rows can be trusted; means over the draws."""

    strategy: str
    hidden_majority: float | None = None
    agreement: float | None = None
    distance: float | None = None
    new: int | None = None
    outliers: float | None = field(default=None, metadata=OPTIONAL)
    failed: str | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True)
class Curves:
    """Calibration, raw and corrected for the base rate, and precision over recall."""

    strategy: str
    classifier: str
    calibration: tuple[Bin, ...] = ()
    calibration_corrected: tuple[Bin, ...] = ()
    precision_recall: tuple[tuple[float | None, float | None], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Summary:
    """All that there is to say of a comparison; the report adds sections of its own."""

    title: str = "counterbalance report"
    verdict: Verdict | None = field(default=None, metadata=OPTIONAL)
    data: Data | None = field(default=None, metadata=OPTIONAL)
    comparison: ScoreTable | None = field(default=None, metadata=OPTIONAL)
    trust: tuple[Trust, ...] = ()
    curves: tuple[Curves, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    reproduce: str = ""
    cite: str = ""

    @property
    def verdict_metric(self) -> Metric | None:
        """The metric that the verdict is about; None where nothing was compared."""
        if self.comparison is None or not self.comparison.rows:
            return None
        metrics = self.comparison.metrics
        named = [metric for metric in metrics if metric.name == self.settings.get("metric")]
        return next(iter([*named, *metrics]), None)


def as_plain(value: Any) -> Any:
    """Return a record as what JSON can hold.

    >>> as_plain(ClassCount("ill", 59))
    {'label': 'ill', 'count': 59}
    """
    if dataclasses.is_dataclass(value):
        found = ((part, getattr(value, part.name)) for part in dataclasses.fields(value))
        return {
            part.name: as_plain(cell)
            for part, cell in found
            if not (cell is None and part.metadata.get("optional"))
        }
    if isinstance(value, Mapping):
        return {str(key): as_plain(cell) for key, cell in value.items()}
    return [as_plain(cell) for cell in value] if isinstance(value, (list, tuple)) else value


def read_record(kind: type[Record], value: Any, where: str) -> Record:
    """Return a record, or a mapping such as ``json.load`` gives, as a checked record of a kind.

    ``where`` names it in messages.
    """
    record: Record = _read(kind, value, where)
    return record


def clean(text: str) -> str:
    r"""Return a text that is valid Unicode and has no invisible characters.

    >>> clean("age\x00 \u202eega")
    'age␀ [U+202E]ega'
    """
    text = text.encode("utf-8", "replace").decode("utf-8").translate(CONTROLS)
    if text.isascii():
        return text
    return "".join(
        by_number(character) if is_invisible(character) and character not in HARMLESS else character
        for character in text
    )


def _read(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return _texts(value)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _read_fields(kind, value, where)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        return _read_optional(arguments, value, where)
    if origin is Literal:
        if value not in arguments:
            raise _wrong(where, f"one of {', '.join(map(repr, arguments))}", value)
        return value
    if origin is tuple:
        return _read_sequence(arguments, value, where)
    if origin is dict:
        if not isinstance(value, Mapping):
            raise _wrong(where, "a mapping", value)
        return {
            clean(str(key)): _read(arguments[1], cell, f"{where}[{key!r}]")
            for key, cell in value.items()
        }
    return _read_scalar(kind, value, where)


def _read_fields(kind: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(value):
        value = {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
    if not isinstance(value, Mapping):
        raise _wrong(where, f"a mapping with the keys {', '.join(_hints(kind))}", value)
    found = {}
    for part in dataclasses.fields(kind):
        if part.name in value:
            inner = f"{where}[{part.name!r}]"
            found[part.name] = _read(_hints(kind)[part.name], value[part.name], inner)
        elif part.default is dataclasses.MISSING and part.default_factory is dataclasses.MISSING:
            raise SummaryError(
                f"{where} has no {part.name!r}; its keys are {', '.join(map(repr, value))}; add it"
            )
    return kind(**found)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _read_optional(arguments: tuple[Any, ...], value: Any, where: str) -> Any:
    """Read ``X | None``; nan and infinity count as None."""
    inner = next(argument for argument in arguments if argument is not types.NoneType)
    if value is None or (isinstance(value, Real) and not math.isfinite(value)):
        return None
    return _read(inner, value, where)


def _read_sequence(arguments: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _wrong(where, "a list", value)
    cells = list(value)
    kinds = arguments[:1] * len(cells) if arguments[-1] is Ellipsis else arguments
    if len(kinds) != len(cells):
        raise _wrong(where, f"a list of {len(kinds)}", value)
    return tuple(
        _read(kind, cell, f"{where}[{place}]")
        for place, (kind, cell) in enumerate(zip(kinds, cells, strict=True))
    )


def _read_scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is str:
        return clean(value if isinstance(value, str) else str(value))
    if kind is bool:
        return bool(value)
    if kind is int and isinstance(value, Integral):
        return int(value)
    if kind is float and isinstance(value, Real) and math.isfinite(value):
        return float(value)
    expected = {int: "a whole number", float: "a finite number"}[kind]
    raise _wrong(where, expected, value)


def _texts(value: Any) -> Any:
    """Return anything as text, lists and mappings of text."""
    if isinstance(value, Mapping):
        return {clean(str(key)): _texts(cell) for key, cell in value.items()}
    if isinstance(value, (list, tuple)):
        return [_texts(cell) for cell in value]
    return clean(str(value))


def _wrong(where: str, expected: str, value: Any) -> SummaryError:
    shown = repr(value)
    shown = shown if len(shown) < 80 else shown[:80] + "..."  # noqa: PLR2004  (a line's worth)
    return SummaryError(f"{where} must be {expected}, got {shown}; correct what made the summary")
