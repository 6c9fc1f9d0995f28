"""``counterbalance datasets`` and ``counterbalance methods``: what comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from counterbalance.cli.options import Command, valued
from counterbalance.cli.terminal import say, show_json, show_tables
from counterbalance.io.atomic import check_output
from counterbalance.result_table import ResultTable

if TYPE_CHECKING:
    from counterbalance.datasets import Dataset
    from counterbalance.methods import Method

BUNDLED = "wbc"


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


def show_dataset(name: str, *, out: Path | None = None, json: bool = False) -> int:
    """Show the bundled data set, or save it."""
    from counterbalance.datasets import load_wisconsin

    if name.strip().casefold() not in (BUNDLED, "wisconsin"):
        raise typer.BadParameter(
            f"must be {BUNDLED}, the data set that comes with the package, got {name!r}",
            param_hint="NAME",
        )
    data = load_wisconsin()
    if out is not None:
        _save(data, out)
    counts = data.class_counts
    about: dict[str, Any] = {
        "name": data.name,
        "description": data.description,
        "source": data.source,
        "rows": len(data.X),
        "features": {str(name): str(dtype) for name, dtype in data.X.dtypes.items()},
        "class_counts": counts,
    }
    if json:
        show_json(about)
        return 0
    say(f"{data.name}: {len(data.X):,} rows, {data.X.shape[1]} features")
    say(f"{data.description}\nFrom: {data.source}\n")
    rows = [(label, f"{count:,}", f"{count / len(data.X):.1%}") for label, count in counts.items()]
    notes = (f"features: {', '.join(about['features'])}",)
    show_tables(
        [ResultTable("classes", "Rows of each class", ("class", "rows", "share"), rows, notes)]
    )
    if out is not None:
        say(f"\nwrote it to {out}; the column with the classes is {data.y.name}")
    return 0


def _save(data: Dataset, out: Path) -> None:
    """Write the table with its classes in the last column."""
    from counterbalance.io import write_table_file
    from counterbalance.io.csv import CsvTable, Dialect

    check_output(out, option="--out")
    frame = data.X.assign(**{str(data.y.name): data.y})
    write_table_file(CsvTable.from_frame(frame, Dialect()), out)


DATASETS = Command(
    "datasets",
    "Show the bundled data set, or save it to try other commands on.",
    "Show the data set that comes with the package: wbc, Wisconsin breast cancer. --out writes it "
    "to a file, to try other commands on.",
    (
        ("what is in it", "counterbalance datasets wbc"),
        ("a table to try balance on", "counterbalance datasets wbc --out wbc.csv"),
    ),
    show_dataset,
    {
        "name": typer.Argument(help="Name of the data set: wbc.", show_default=False),
        "out": valued("FILE", "Write the data set here: csv, tsv (also .gz), parquet, feather."),
    },
)
