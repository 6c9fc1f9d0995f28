"""``counterbalance datasets`` and ``counterbalance methods``: list data sets and methods."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterbalance.cli.options import Json, valued
from counterbalance.cli.terminal import say, show_json, show_tables
from counterbalance.io.atomic import check_output, write_files
from counterbalance.result_table import ResultTable

if TYPE_CHECKING:
    from counterbalance.methods import Method

BUNDLED = "wbc"
METHODS = {
    "all of them": "counterbalance methods",
    "one of them": "counterbalance methods ProWSyn",
}
DATASETS = {
    "what is in it": "counterbalance datasets wbc",
    "a table to try balance on": "counterbalance datasets wbc --out wbc.csv",
}


def methods(
    name: Annotated[
        str | None, typer.Argument(help="Name of one method.", show_default=False)
    ] = None,
    *,
    json: Json = False,
) -> int:
    """List the resampling methods, or show one.

    Ours come first. With a name, the method's paper and its parameters are shown.
    """
    from counterbalance.methods import all_samplers
    from counterbalance.methods.registry import find_method

    known = list(all_samplers().values())
    if name is not None:
        found = _as_values(find_method(name, "NAME"))
        show_json(found) if json else _show_method(found)
    elif json:
        show_json([_as_values(method) for method in known])
    else:
        rows = [(item.name, str(item.year), item.kind, item.sentence) for item in known]
        columns = ("method", "year", "kind", "what it does")
        show_tables([ResultTable("methods", f"{len(known)} methods", columns, rows, left=4)])
    return 0


def _as_values(method: Method) -> dict[str, Any]:
    """Return a method as plain values; reading its parameters imports the method."""
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
    say(f"{method['name']} ({method['year']})")
    say(method["sentence"])
    say("")
    for what, text in (
        ("paper", method["reference"]),
        ("kind", method["kind"]),
        ("new rows from", method["makes_rows_from"] or "none: it makes no new rows"),
        ("at the boundary", "yes" if method["favours_boundary"] else "no"),
        ("in Python", method["python"]),
    ):
        say(f"  {what:<16} {text}")
    say("\nparameters")
    for name, value in method["parameters"].items():
        say(f"  {name} = {value!r}")


def datasets(
    name: Annotated[str, typer.Argument(help="Name of the data set: wbc.", show_default=False)],
    *,
    out: Annotated[
        Path | None,
        valued(
            "FILE",
            "Write the data set here: csv, tsv (also .gz), xlsx, parquet, feather.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Show the bundled data set, or save it to try other commands on.

    It is wbc, Wisconsin breast cancer.
    """
    from counterbalance.datasets import load_wisconsin

    if name.strip().casefold() not in (BUNDLED, "wisconsin"):
        raise typer.BadParameter(
            f"must be {BUNDLED}, the data set that comes with the package, got {name!r}",
            param_hint="NAME",
        )
    data = load_wisconsin()
    if out is not None:
        from counterbalance.io import encode_frame

        check_output(out, option="--out")
        write_files({out: encode_frame(data.X.assign(**{str(data.y.name): data.y}), out)})
    counts = data.class_counts
    about: dict[str, Any] = {
        "name": data.name,
        "description": data.description,
        "source": data.source,
        "rows": len(data.X),
        "features": {str(column): str(dtype) for column, dtype in data.X.dtypes.items()},
        "class_counts": counts,
    }
    if json:
        show_json(about)
        return 0
    say(f"{data.name}: {len(data.X):,} rows, {data.X.shape[1]} features")
    say(f"{data.description}\nFrom: {data.source}\n")
    rows = [(label, f"{count:,}", f"{count / len(data.X):.1%}") for label, count in counts.items()]
    notes = (f"features: {', '.join(about['features'])}",)
    show_tables([ResultTable("classes", "", ("class", "rows", "share"), rows, notes)])
    if out is not None:
        say(f"wrote it to {out}; the column with the classes is {data.y.name}")
    return 0
