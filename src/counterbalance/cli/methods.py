"""``counterbalance methods``: the resamplers that ``compare`` and Python know by name."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from counterbalance.cli.options import Json
from counterbalance.cli.terminal import say, show_json, show_tables
from counterbalance.result_table import ResultTable

NAME = "methods"
SUMMARY = "List the resampling methods, or show one."
DESCRIPTION = (
    "List every resampling method of the registry with a sentence each, ours first; with a name, "
    "show that one: its paper and its parameters."
)
EXAMPLES = (
    ("all of them", "counterbalance methods"),
    ("one of them", "counterbalance methods ProWSyn"),
)


def execute(
    name: Annotated[
        str | None, typer.Argument(help="Name of one method.", show_default=False)
    ] = None,
    *,
    json: Json = False,
) -> int:
    """List the methods, or show one."""
    methods = _methods()
    if name is not None:
        method = _with_parameters(_find(name, methods))
        show_json(method) if json else _show(method)
    elif json:
        show_json([_with_parameters(method) for method in methods])
    else:
        rows = [
            (item["name"], str(item["year"]), item["kind"], item["sentence"]) for item in methods
        ]
        columns = ("method", "year", "kind", "what it does")
        show_tables([ResultTable("methods", f"{len(methods)} methods", columns, rows, left=4)])
    return 0


def _methods() -> list[dict[str, Any]]:
    """Return what is known of each method, as plain values."""
    from counterbalance.methods import all_samplers

    return [
        {
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
        }
        for method in all_samplers().values()
    ]


def _with_parameters(method: dict[str, Any]) -> dict[str, Any]:
    """Return it with the parameters that it is made with; this loads the method itself."""
    from counterbalance.methods import all_samplers

    made = all_samplers()[method["name"]].factory()
    return {**method, "parameters": made.get_params(deep=False)}


def _find(name: str, methods: list[dict[str, Any]]) -> dict[str, Any]:
    from counterbalance.methods.registry import find_method

    wanted = find_method(name, "NAME").name
    return next(item for item in methods if item["name"] == wanted)


def _show(method: dict[str, Any]) -> None:
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
