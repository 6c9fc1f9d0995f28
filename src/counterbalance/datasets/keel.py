"""KEEL's file format (.dat), which is also the plain part of ARFF.

A file is a header and rows of comma-separated cells::

    @relation car-good
    @attribute Doors {2, 3, 4, 5more}       nominal: its values
    @attribute Height integer [1, 804]      whole numbers, the range is not used
    @attribute Eccen real [0.0070, 537.0]   numbers; ARFF says numeric
    @outputs Class                          the target; without it, the last attribute
    @data
    2, 5, 1.4, positive

A missing cell is ``?`` or ``<null>``. Lines that begin with ``%`` are comments.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterbalance.errors import TableError
from counterbalance.extras import require_pandas

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("?", "<null>")
_ATTRIBUTE = re.compile(
    r"""@attribute \s+ (?P<name> '[^']*' | "[^"]*" | [^\s{]+ ) \s* (?P<kind> \{.*\} | \S+ )""",
    re.VERBOSE | re.IGNORECASE,
)
_BLANKS = re.compile(r"[ \t]+,[ \t]*|,[ \t]+")


@dataclass(frozen=True)
class Attribute:
    """A column: its name, and its values if it is nominal or else its kind of number."""

    name: str
    kind: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeelFile:
    """A file taken apart: attributes, place of the target, and the lines of data."""

    attributes: tuple[Attribute, ...]
    target: int
    lines: tuple[str, ...]


def parse_keel(text: str) -> KeelFile:
    """Take a KEEL file apart into its attributes and its lines of data."""
    attributes: list[Attribute] = []
    target_name = None
    lines = text.splitlines()
    for place, line in enumerate(lines):
        keyword = line.split(maxsplit=1)[0].lower() if line.strip() else ""
        if keyword == "@attribute":
            attributes.append(_attribute(line.strip()))
        elif keyword in {"@output", "@outputs"}:
            target_name = line.split(maxsplit=1)[1].strip()
        elif keyword == "@data":
            start = place + 1
            break
    else:
        raise TableError("a KEEL file must have a line @data and this one has none")
    names = [attribute.name for attribute in attributes]
    if not names or (target_name is not None and target_name not in names):
        raise TableError(
            f"the target of a KEEL file must be one of its @attribute lines; "
            f"target {target_name!r}, attributes {names}"
        )
    target = len(names) - 1 if target_name is None else names.index(target_name)
    body = (line.strip() for line in lines[start:])
    return KeelFile(
        tuple(attributes), target, tuple(line for line in body if line and line[0] not in "%@")
    )


def _attribute(line: str) -> Attribute:
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise TableError(f"an @attribute line must give a name and a kind; this one is {line!r}")
    name, kind = match["name"].strip("'\""), match["kind"]
    if kind.startswith("{"):
        values = tuple(value.strip().strip("'\"") for value in kind.strip("{}").split(","))
        return Attribute(name, "nominal", values)
    kind = kind.split("[")[0].lower()
    known = {"integer", "real", "numeric"}
    if kind not in known:
        raise TableError(f"an @attribute must be one of {sorted(known)} or {{...}}, got {line!r}")
    return Attribute(name, kind)


def keel_counts(file: KeelFile) -> dict[str, int]:
    """Return the rows per class, the largest class first, without reading the features."""
    if file.target == len(file.attributes) - 1:
        labels = Counter(line.rpartition(",")[2].strip() for line in file.lines)
    else:
        labels = Counter(line.split(",")[file.target].strip() for line in file.lines)
    return dict(labels.most_common())


def keel_table(file: KeelFile) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the features, each with its own dtype, and the labels as they are written."""
    pandas = require_pandas()
    kinds = enumerate(attribute.kind for attribute in file.attributes)
    cells = pandas.read_csv(
        io.StringIO(_BLANKS.sub(",", "\n".join(file.lines))),
        header=None,
        names=range(len(file.attributes)),
        dtype={place: str if kind == "nominal" else float for place, kind in kinds},
        na_values=list(MISSING),
        keep_default_na=False,
        quoting=csv.QUOTE_NONE,
    )
    columns = {
        attribute.name: _column(cells[place], attribute)
        for place, attribute in enumerate(file.attributes)
        if place != file.target
    }
    name = file.attributes[file.target].name
    y = pandas.Series(cells[file.target].to_numpy(dtype=object), name=name, dtype=object)
    return pandas.DataFrame(columns), y


def _column(cells: pd.Series[Any], attribute: Attribute) -> pd.Series[Any]:
    if attribute.kind == "nominal":
        cells = cells.astype("category")
        seen = set(cells.cat.categories)
        # a few files declare a value twice, or use one that they do not declare
        declared = [value for value in dict.fromkeys(attribute.values) if value in seen]
        return cells.cat.set_categories([*declared, *sorted(seen - set(declared))])
    whole = bool(cells.notna().all()) and bool((cells % 1 == 0).all())
    return cells.astype("int64") if whole and attribute.kind != "real" else cells
