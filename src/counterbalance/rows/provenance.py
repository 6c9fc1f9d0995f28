"""Provenance: where every new row comes from, what changed, and by how much.

    sample         position of the new row in the result
    factual        position in X of the row it came from
    from_class     the class of that row
    to_class       the class of the new row
    origin         "inversion", or how the class was filled: "interior" or "copy"
    distance       sum over the features of |change| / MAD
    round          how many features of the Spearman order were perturbed, 0 for none
    changed        names of the features in which it differs from its factual
    score_before   the score of to_class for the factual, by the classifier (f in the paper); nan if
                   it has none
    score_after    the same for the new row
    outlier_from   how far out the new row lies among the real rows of from_class: above 1
                   farther than 95 % of them (see ``plausible.outliers``; nan for a class of one)
    outlier_to     the same among the real rows of to_class

The result holds both pairs: row ``factual`` and row ``sample``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Integers, Mask
from counterbalance.extras import require
from counterbalance.table import containers, frames
from counterbalance.table.labels import in_words, plain

COLUMNS = (
    "sample",
    "factual",
    "from_class",
    "to_class",
    "origin",
    "distance",
    "round",
    "changed",
    "score_before",
    "score_after",
    "outlier_from",
    "outlier_to",
)
# The numbers of rows in a printed table, of changes in a sentence, and of features in a notebook.
SHOWN_ROWS = 10
SHOWN_CHANGES = 4
# Numbers in this range are written without an exponent: 111400, and not 1.114e+05.
WRITTEN_IN_FULL = (1e4, 1e15)
DIGITS = (4, 7, 10, 17)
SHOWN_FEATURES = 12
# A changed cell in a notebook: a tint that is readable in light and in dark themes.
MARKED = ' style="background: rgba(230, 140, 0, 0.3); font-weight: bold"'
# First characters of a text that a spreadsheet runs as a formula.
STARTERS = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, eq=False)
class ShownPairs:
    """The first new rows and, below them, their factuals, as the table has them.

    A notebook shows their cells; all other rows are only in the user's table.
    """

    first: int = 0
    """Position of the first new row in the result."""
    count: int = 0
    rows: Any = None

    @classmethod
    def from_result(cls, X_resampled: Any, sample: Integers, factual: Integers) -> Self:
        """Copy the pairs from the result."""
        some = slice(SHOWN_ROWS)
        positions = np.concatenate([sample[some], factual[some]])
        rows = containers.take(X_resampled, positions)
        return cls(int(sample[0]) if len(sample) else 0, len(sample[some]), rows)

    def tell(self, sample: int, m: int, *, changed: bool) -> str:
        """Return a cell of a new row, with that of its factual before it where it changed."""
        place = sample - self.first
        if place >= self.count:
            return "changed" if changed else ""
        column = frames.column(self.rows, m)
        after = _cell(column, place)
        return f"{_cell(column, place + self.count)} → {after}" if changed else after


class Provenance:
    """A table with one row per new sample, in the order in which they are appended.

    ``provenance["distance"]`` is a column (a numpy array), ``provenance[3]`` a row
    (a dict), ``provenance[mask]`` a smaller table, ``len(provenance)`` the number
    of new samples. ``to_pandas()`` and ``to_polars()`` give data frames. A notebook
    shows it with the cells that changed marked.

    Examples
    --------
    >>> from counterbalance import CounterfactualOverSampler
    >>> X, y = np.arange(20).reshape(-1, 1), np.repeat(["low", "high"], [12, 8])
    >>> sampler = CounterfactualOverSampler(random_state=0)
    >>> X_resampled, y_resampled = sampler.fit_resample(X, y)
    >>> sampler.provenance_[0]["factual"], sampler.provenance_[0]["changed"]
    (5, ('x0',))
    """

    def __init__(
        self,
        columns: dict[str, NDArray[Any]],
        changed: NDArray[np.uint8],
        names: list[Any],
        pairs: ShownPairs | None = None,
    ) -> None:
        self._columns = columns
        # One bit for each cell: lists of names for a million rows would not fit into memory.
        self._changed = changed
        self._names = names
        self._pairs = ShownPairs() if pairs is None else pairs

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return COLUMNS

    def keys(self) -> tuple[str, ...]:
        """Return the names of the columns, so that ``dict(provenance)`` works."""
        return COLUMNS

    def __len__(self) -> int:
        return len(self._columns["sample"])

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key == "changed":
                return self._changed_names(range(len(self)))
            if key not in self._columns:
                raise KeyError(f"no column {key!r}; the columns are {', '.join(COLUMNS)}")
            return self._columns[key]
        if isinstance(key, (int, np.integer)):
            place = range(len(self))[key]
            row = {name: plain(column[place]) for name, column in self._columns.items()}
            row["changed"] = self._changed_names([place])[0]
            return {name: row[name] for name in COLUMNS}
        smaller = {name: column[key] for name, column in self._columns.items()}
        return Provenance(smaller, self._changed[key], self._names, self._pairs)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[place] for place in range(len(self)))

    def changed_mask(self) -> Mask:
        """Return which features changed, one row per new sample and one column per feature."""
        return np.unpackbits(self._changed, axis=1, count=len(self._names)).astype(bool)

    def _changed_names(self, places: Any) -> NDArray[np.object_]:
        cells = np.empty(len(places), dtype=object)
        mask = np.unpackbits(self._changed[list(places)], axis=1, count=len(self._names))
        for place, row in enumerate(mask):
            cells[place] = tuple(self._names[m] for m in np.flatnonzero(row))
        return cells

    def to_pandas(self) -> Any:
        """Return a pandas data frame; ``changed`` holds tuples of names."""
        pandas = require("pandas", "to_pandas()")
        return pandas.DataFrame({name: self[name] for name in COLUMNS})

    def to_polars(self) -> Any:
        """Return a polars data frame; ``changed`` holds lists of names."""
        polars = require("polars", "to_polars()")
        plain = {name: self[name].tolist() for name in COLUMNS}
        plain["changed"] = [[str(name) for name in names] for names in plain["changed"]]
        return polars.DataFrame(plain)

    def to_csv(self, path: str | Path) -> None:
        """Write the table as csv; the names in ``changed`` are joined by a semicolon.

        A text that a spreadsheet would run as a formula gets an apostrophe (see ``inert``).
        """
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows(self.cells())

    def cells(self) -> Iterator[list[Any]]:
        """Yield the rows as written to a text file: names joined, no text a formula."""
        for row in self:
            row["changed"] = ";".join(map(str, row["changed"]))
            yield [inert(cell) if isinstance(cell, str) else cell for cell in row.values()]

    def sentences(self, X_resampled: Any) -> list[str]:
        """Describe every new row in a sentence, from the table that ``fit_resample`` returned.

        >>> from counterbalance import CounterfactualOverSampler
        >>> import numpy as np
        >>> X, y = np.arange(20).reshape(-1, 1), np.repeat(["low", "high"], [12, 8])
        >>> sampler = CounterfactualOverSampler(random_state=0)
        >>> X_resampled, _ = sampler.fit_resample(X, y)
        >>> print(sampler.provenance_.sentences(X_resampled)[0])
        row 5, class low: x0: 5 → 12 makes it high, distance 1.4
        """
        X = np.array(X_resampled, dtype=object) if isinstance(X_resampled, list) else X_resampled
        return [self._sentence(row, X) for row in self]

    def _sentence(self, row: dict[str, Any], X: Any) -> str:
        start = f"row {row['factual']}, class {row['from_class']}"
        origin, far = row["origin"], f"distance {row['distance']:.3g}"
        to = in_words(row["to_class"])
        if origin == "copy":
            return f"{start}: copied as it is (copy)"
        if origin != "inversion":
            scored = _scored(row, f"f's score of {to} is")
            return (
                f"{start}: moved within its class, not a counterfactual{scored}, {far} ({origin})"
            )
        changes = []
        for name in row["changed"][:SHOWN_CHANGES]:
            column = frames.column(X, self._names.index(name))
            for digits in DIGITS:  # the fewest that show a difference
                before, after = (
                    _cell(column, row[which], digits) for which in ("factual", "sample")
                )
                if before != after:
                    break
            colon = ":" if str(name)[-1:].isdigit() else ""  # column 45: 52 → 51
            changes.append(f"{name}{colon} {before} → {after}")
        if len(row["changed"]) > SHOWN_CHANGES:
            changes.append(f"{len(row['changed']) - SHOWN_CHANGES} more")
        what = f"{start}: {', '.join(changes)}"
        makes = "makes" if len(row["changed"]) == 1 else "make"
        return f"{what} {makes} it {to}, {far}"

    def __repr__(self) -> str:
        shown = [self[place] for place in range(min(len(self), SHOWN_ROWS))]
        cells = [COLUMNS, *(tuple(_short(row[name]) for name in COLUMNS) for row in shown)]
        widths = [max(len(line[k]) for line in cells) for k in range(len(COLUMNS))]
        lines = [
            "  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)) for line in cells
        ]
        if len(self) > SHOWN_ROWS:
            lines.append(f"... and {len(self) - SHOWN_ROWS} more rows")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the first rows as a table in a notebook, cells that changed marked."""
        n = min(len(self), SHOWN_ROWS)
        mask = self[:n].changed_mask()
        features = np.flatnonzero(mask.any(axis=0))
        heads = ["row", "class", "origin", "distance"]
        heads += [str(self._names[m]) for m in features[:SHOWN_FEATURES]]
        lines = [_html_line("th", [(head, False) for head in heads])]
        for row, changed in zip(self[:n], mask, strict=True):
            classes = f"{row['from_class']} → {row['to_class']}"
            texts = [str(row["factual"]), classes, row["origin"], f"{row['distance']:.3g}"]
            cells = [(text, False) for text in texts]
            cells += [
                (self._pairs.tell(row["sample"], m, changed=bool(changed[m])), bool(changed[m]))
                for m in features[:SHOWN_FEATURES]
            ]
            lines.append(_html_line("td", cells))
        notes = [f"{len(self):,} new {'row' if len(self) == 1 else 'rows'}"]
        if len(self) > n:
            notes.append(f"the first {n} are shown")
        if len(features) > SHOWN_FEATURES:
            notes.append(f"{len(features) - SHOWN_FEATURES} more features changed in them")
        return f"<table>{''.join(lines)}</table><p>{', '.join(notes)}</p>"


def _html_line(tag: str, cells: Sequence[tuple[str, bool]]) -> str:
    """Return a line of an html table from texts and whether each is marked."""
    inside = (f"<{tag}{MARKED if marked else ''}>{escape(text)}</{tag}>" for text, marked in cells)
    return f"<tr>{''.join(inside)}</tr>"


def _scored(row: dict[str, Any], label: str) -> str:
    """Return the text of f's score of a new row, empty if f has none."""
    score = row["score_after"]
    return "" if np.isnan(score) else f", {label} {score:.2g}"


def _cell(column: Any, place: int, digits: int = DIGITS[0]) -> str:
    """Return one cell as text, a number with no more digits than a reader needs."""
    cell = column.iloc[place] if hasattr(column, "iloc") else column[int(place)]
    if hasattr(cell, "toarray"):
        cell = cell.toarray().item()
    if not isinstance(cell, (float, np.floating)):
        return str(cell)
    size = abs(float(cell))
    if digits < len(f"{size:.0f}") and WRITTEN_IN_FULL[0] <= size < WRITTEN_IN_FULL[1]:
        return f"{cell:.0f}"
    return f"{cell:.{digits}g}"


def _short(cell: Any) -> str:
    if isinstance(cell, (float, np.floating)):
        return f"{cell:.4g}"
    if isinstance(cell, tuple):
        text = ", ".join(map(str, cell[:SHOWN_CHANGES]))
        return text + (", ..." if len(cell) > SHOWN_CHANGES else "")
    return str(cell)


def inert(text: str) -> str:
    """Return a text that no spreadsheet runs as a formula; numbers stay as they are.

    A cell that begins with ``=``, ``+``, ``-`` or ``@`` (or with a tab or a line end before it)
    is a formula to a spreadsheet. The user's own table is written as it was read; other files that
    we write get an apostrophe before such a text.

    Examples
    --------
    >>> inert("=HYPERLINK(0)"), inert("-1.5"), inert("age")
    ("'=HYPERLINK(0)", '-1.5', 'age')
    """
    return f"'{text}" if text.startswith(STARTERS) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
