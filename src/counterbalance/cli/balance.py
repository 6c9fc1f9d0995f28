"""``counterbalance balance``: a user's table with new rows in its smaller classes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterbalance.cli import options as shared
from counterbalance.cli.balance_summary import (
    Balanced,
    balance_table,
    resample_table,
    show_summary,
    summarise,
)
from counterbalance.cli.on_dask import balance_on_dask
from counterbalance.cli.options import flag, several, valued
from counterbalance.cli.rules import given_rules, make_sampler
from counterbalance.cli.terminal import note, show_json
from counterbalance.cli.user_table import make_reading, read_user_table
from counterbalance.errors import TableError
from counterbalance.extras import require
from counterbalance.io import check_format, encode_frame, encode_with_rows
from counterbalance.io.atomic import OutputError, check_output, write_files
from counterbalance.io.spreadsheet import check_size
from counterbalance.io.table_file import SHEET

if TYPE_CHECKING:
    from counterbalance.methods import Method

COUNTERFACTUAL = "counterfactual"
REPORT = "--report"
EXAMPLES = {
    "balance a table and keep the result": "counterbalance balance patients.csv --target risk "
    "--out balanced.csv",
    "rows that a classifier learns best from": "counterbalance balance patients.csv --target risk "
    "--method interior --out balanced.csv",
    "half as many rows as the largest class, and nobody gets younger": "counterbalance balance "
    "patients.csv --target risk --ratio 0.5 --increasing age",
    "only changes that make sense": "counterbalance balance patients.csv --target risk "
    "--range dose=0:40 --max-changed 3",
    "where every new row comes from": "counterbalance balance patients.csv --target risk "
    "--provenance new.csv",
    "a page with every new row beside the real one": "counterbalance balance patients.csv "
    "--target risk --report report.html",
    "files larger than memory, through workers of 2 GB": "counterbalance balance big/*.parquet "
    "--target risk --out new --engine dask --memory 2GB",
}


class EngineChoice(StrEnum):
    """Where the work is done."""

    MEMORY = "memory"
    DASK = "dask"


METHOD = "counterfactual, interior (to train on), or any that counterbalance methods lists."
OUT = "Where to write the balanced table, in any of these formats; a folder with --engine dask."
RATIO = (
    "How many rows the smaller classes get: a share of the largest class (default 1.0), or the "
    "rows of one class. 'all' is the paper's way: one for each row of a larger class that can be "
    "inverted, and no more."
)
PLAUSIBLE = (
    "Whether new rows keep what goes together in the table: pairs of categories, and relations "
    "between columns."
)
IGNORE = "Relation between columns that new rows need not keep, as the command lists it."
ENGINE = "In memory, or by Dask for parquet files that are larger than memory."
SCHEDULER = "Dask scheduler, such as tcp://host:8786; by default one is started on this machine."


def balance(
    ctx: typer.Context,
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE",
            help=f"{shared.TABLE}; several parquet files with --engine dask.",
            show_default=False,
        ),
    ],
    *,
    target: shared.Target,
    method: Annotated[str, valued("NAME", METHOD)] = COUNTERFACTUAL,
    out: Annotated[Path | None, valued("FILE", OUT)] = None,
    ratio: Annotated[shared.Texts, several("R, CLASS=N or all", RATIO)] = None,
    keep: shared.Keep = None,
    use: shared.Use = None,
    plausible: Annotated[
        bool | None,
        flag("--plausible/--no-plausible", PLAUSIBLE, show_default="if there are categories"),
    ] = None,
    ignore_relation: Annotated[shared.Texts, several("TEXT", IGNORE)] = None,
    seed: shared.Seed = 0,
    provenance: Annotated[
        Path | None, valued("FILE", "Where to write the origin of every new row.")
    ] = None,
    report: shared.Report = None,
    no_rows: shared.NoRows = False,
    drop_missing_target: shared.DropMissingTarget = False,
    jobs: shared.Jobs = 1,
    json: shared.Json = False,
    engine: Annotated[EngineChoice, typer.Option(help=ENGINE)] = EngineChoice.MEMORY,
    scheduler: Annotated[str | None, valued("ADDRESS", SCHEDULER)] = None,
    workers: Annotated[
        int | None, valued("N", "Dask workers on this machine (default: cores).", min=1)
    ] = None,
    memory: Annotated[
        str | None, valued("SIZE", "Memory of each Dask worker, such as 2GB; at least 1GB.")
    ] = None,
    immutable: shared.Immutable = None,
    increasing: shared.Increasing = None,
    decreasing: shared.Decreasing = None,
    range_: shared.Range = None,
    one_of: shared.OneOf = None,
    constraint: shared.Relation = None,
    transitions: shared.Transitions = None,
    at_least: shared.AtLeast = None,
    cost: shared.Cost = None,
    max_changed: shared.MaxChanged = None,
    number: shared.Number = None,
    text: shared.Text = None,
    na: shared.Na = None,
    header: shared.Header = None,
    sheet: shared.Sheet = None,
) -> int:
    """Add counterfactuals to the smaller classes of a table, or use another resampling method.

    A counterfactual is a row of a larger class with the smallest change that makes a trained
    classifier predict a smaller class. The rows of the file are written as they are, with the new
    ones below. Columns that look like identifiers, dates or free text are not used and are empty
    in new rows. --method interior makes rows to train a classifier on.
    """
    from counterbalance.methods.registry import find_method

    chosen = find_method(method, "--method")
    rules = given_rules(
        immutable,
        increasing,
        decreasing,
        range_,
        one_of,
        constraint,
        transitions,
        at_least,
        cost,
        max_changed=max_changed,
    )
    reading = make_reading(header, number, text, na, sheet)
    ratios = ratio or ()
    on_dask = engine is EngineChoice.DASK
    ours = {**rules.given, "--provenance": provenance, REPORT: report}
    _check_method(chosen, ratios, {} if on_dask else ours)
    plausibility = {
        "plausible": "auto" if plausible is None else plausible,
        "ignore_relations": ignore_relation or None,
    }
    if on_dask:
        in_memory_only = {
            "--provenance": provenance,
            REPORT: report,
            "--no-rows": no_rows,
            "--drop-missing-target": drop_missing_target,
            **dict.fromkeys(reading.options, True),
        }
        _refuse(in_memory_only, "--engine memory", "leave it out")
        cluster = {"scheduler": scheduler, "n_workers": workers, "memory": memory}
        return balance_on_dask(
            tables,
            target,
            out,
            ratios,
            rules,
            seed,
            cluster,
            method=chosen,
            keep=keep or (),
            use=use or (),
            plausible=plausibility,
            json=json,
        )
    dask_only = {"--scheduler": scheduler, "--workers": workers, "--memory": memory}
    _refuse(dask_only, "--engine dask", "add it")
    if len(tables) > 1:
        raise TableError(
            f"only one table at a time is balanced in memory, got {len(tables)}; "
            "parquet files that make up one table need --engine dask"
        )
    table = tables[0]
    check_no_rows(report, no_rows=no_rows)
    check_outputs(table, {"--out": out, "--provenance": provenance, REPORT: report})
    user = read_user_table(
        table, target, keep=keep, use=use, drop_missing_target=drop_missing_target, reading=reading
    )
    strategy = shared.rows_wanted(user, ratios)
    if out is not None and out.suffix.lower() == SHEET and not isinstance(strategy, str):
        check_size(sum(strategy.values()) + 1, user.stored.frame.shape[1])
    if chosen.ours:
        threads = {"n_jobs": jobs} if chosen.name.casefold() == COUNTERFACTUAL else {}
        sampler = make_sampler(user, strategy, rules, seed, chosen.name, **plausibility, **threads)
        result = balance_table(user, sampler)
    else:
        result = resample_table(user, chosen, strategy, seed)
    again = shared.typed_again(ctx, table, "out", "provenance", "jobs", "json")
    write_files(_encode(result, out, provenance, report, again, rows=not no_rows), like=table)
    summary = summarise(result, ratios)
    written = {"out": out, "provenance": provenance, "report": report}
    summary["written"] = {name: str(path) for name, path in written.items() if path is not None}
    if json:
        show_json(summary)
    else:
        show_summary(summary)
    if not summary["written"]:
        note("nothing was written: --out FILE writes the balanced table")
    for warning in summary["warnings"]:
        note(f"WARNING: {warning}")
    return 0


def check_no_rows(report: Path | None, *, no_rows: bool) -> None:
    """Refuse --no-rows without a report."""
    if no_rows and report is None:
        raise TableError(
            "--no-rows leaves rows out of a report; add --report FILE, or leave it out"
        )


def check_outputs(table: Path, outputs: dict[str, Path | None]) -> None:
    """Refuse outputs that cannot be written before any work is done."""
    taken: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        if option == REPORT:
            require("jinja2", REPORT)
        else:
            check_format(path, option)
        check_output(path, *([table] if table.exists() else []), option=option)
        other = taken.setdefault(path.parent.resolve() / path.name, option)
        if other != option:
            raise OutputError(f"{other} and {option} must be two files, got {path} for both")


def _refuse(options: dict[str, Any], what: str, remedy: str) -> None:
    """Raise for options that only another engine or method supports."""
    for option, value in options.items():
        if value:
            raise TableError(f"{option} goes with {what} only; {remedy}")


def _check_method(method: Method, ratio: Sequence[str], ours: dict[str, Any]) -> None:
    """Raise for a method that returns no table, and for options that it does not support.

    ``ours`` are the options that go with our own samplers only.
    """
    from counterbalance.methods.any_table import check_resampler

    check_resampler(method)
    leave = f"leave it out for {method.name}"
    if not method.ours:
        _refuse(ours, "--method counterfactual or interior", leave)
    if method.kind == "under":
        _refuse({"--ratio": ratio}, "methods that add rows", leave)
    elif method.name.casefold() != COUNTERFACTUAL:
        every = shared.asks_for_every(ratio)
        _refuse({"--ratio all": every}, "--method counterfactual", f"{leave}, or give a share")


def _encode(
    result: Balanced,
    out: Path | None,
    provenance: Path | None,
    report: Path | None,
    again: str,
    *,
    rows: bool,
) -> dict[Path, bytes]:
    """Return the content of every file of the run."""
    contents = {}
    user, sampler = result.user, result.sampler
    if out is not None:
        contents[out] = encode_with_rows(user.stored, out, result.new, result.rows)
    if provenance is not None:
        import pandas as pd

        cells, names = list(sampler.provenance_.cells()), list(sampler.provenance_.columns)
        contents[provenance] = encode_frame(pd.DataFrame(cells, columns=names), provenance)
    if report is not None:
        from counterbalance.report import render, summarise_sampler

        page = summarise_sampler(
            sampler,
            user.X,
            user.y,
            result.X,
            result.y,
            alone=True,
            file=user.path.name,
            target=user.target,
            reproduce=again,
            rows=rows,
            notes=user.notes(rows=rows),
        )
        contents[report] = render(page).encode()
    return contents
