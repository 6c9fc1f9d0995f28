"""``counterbalance balance``: a user's table with counterfactuals added to its smaller classes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from counterbalance.cli.balance_summary import (
    BalancedTable,
    balance_table,
    balance_with_peer,
    say_warnings,
    show_summary,
    summarise,
)
from counterbalance.cli.on_dask import balance_on_dask
from counterbalance.cli.options import Command, as_words, asks_for_every, flag, rows_wanted, valued
from counterbalance.cli.rules import GivenRules, make_sampler
from counterbalance.cli.terminal import note, show_json
from counterbalance.cli.user_table import read_user_table
from counterbalance.errors import TableError
from counterbalance.extras import require
from counterbalance.io import Reading, TableFile, check_format, write_table_file
from counterbalance.io.atomic import OutputError, check_output
from counterbalance.io.spreadsheet import check_size
from counterbalance.io.table_file import SHEET

if TYPE_CHECKING:
    from counterbalance.methods import Method

COUNTERFACTUAL = "counterfactual"
SUMMARY = "Add counterfactuals to the smaller classes of a table, or resample it otherwise."
DESCRIPTION = (
    "Balance a table: for rows of a larger class, find the smallest change that makes a trained "
    "classifier put them into a smaller class, and add the changed rows to it. The rows of the "
    "file are written as they are, with the new ones below. Columns that look like identifiers, "
    "dates or free text are not used and are empty in new rows. --method interior makes rows to "
    "train a classifier on; any other method that counterbalance methods lists will do as well."
)


class Engine(StrEnum):
    """Where the work is done."""

    MEMORY = "memory"
    DASK = "dask"


EXAMPLES = (
    (
        "balance a table and keep the result",
        "counterbalance balance patients.csv --target risk --out balanced.csv",
    ),
    (
        "rows that a classifier learns best from, instead of counterfactuals",
        "counterbalance balance patients.csv --target risk --method interior --out balanced.csv",
    ),
    (
        "half as many rows as the largest class, and nobody gets younger",
        "counterbalance balance patients.csv --target risk --ratio 0.5 --increasing age",
    ),
    (
        "only changes that make sense",
        "counterbalance balance patients.csv --target risk --range dose=0:40 --max-changed 3",
    ),
    (
        "where every new row comes from",
        "counterbalance balance patients.csv --target risk --provenance new.csv",
    ),
    (
        "a page with the map, every new row beside its twin, and the features that change",
        "counterbalance balance patients.csv --target risk --report report.html",
    ),
    (
        "files larger than memory, through workers of 2 GB",
        "counterbalance balance big/*.parquet --target risk --out new --engine dask --memory 2GB",
    ),
)

PAGE = "--report"
OPTIONS = {
    "tables": typer.Argument(
        metavar="TABLE",
        help="A csv or tsv file (also gzipped), xlsx, parquet, feather or arrow file; "
        "several parquet files with --engine dask.",
        show_default=False,
    ),
    "method": valued(
        "NAME",
        "counterfactual, interior (rows to train on), or any other method that "
        "counterbalance methods lists, such as SMOTE. The first two also run on Dask.",
    ),
    "out": valued(
        "FILE",
        "Where to write the balanced table, in the format of the suffix (a folder with "
        "--engine dask). Without it, nothing is written.",
    ),
    "ratio": valued(
        "R, CLASS=N or all",
        "How many rows the smaller classes get: a share of the largest class (default "
        "1.0), or the number of rows of one class. May be given several times. 'all' is the "
        "paper's way: one for each row of a larger class that can be inverted, and no more.",
    ),
    "provenance": valued("FILE", "Where to write the origin of every new row."),
    "report": valued("FILE", "Where to write a report (html). It shows real rows as they are."),
    "no_rows": flag(
        "--no-rows", "Leave all rows, real and new, out of the report: no table, no map."
    ),
    "engine": typer.Option(
        help="Where the work is done: in memory, or by Dask for parquet files that are larger "
        "than memory; the result is then a folder of such files."
    ),
    "scheduler": valued(
        "ADDRESS",
        "Scheduler of a Dask cluster, such as tcp://scheduler:8786; by default a cluster "
        "is started on this machine.",
    ),
    "workers": valued("N", "Dask workers on this machine (default: cores).", min=1),
    "memory": valued("SIZE", "Memory of each Dask worker, such as 2GB; at least 1GB."),
}


def execute(
    tables: list[Path],
    *,
    target: str,
    method: str = COUNTERFACTUAL,
    out: Path | None = None,
    ratio: list[str] | None = None,
    keep: list[str] | None = None,
    use: list[str] | None = None,
    plausible: bool | None = None,
    ignore_relation: list[str] | None = None,
    seed: int = 0,
    provenance: Path | None = None,
    report: Path | None = None,
    no_rows: bool = False,
    drop_missing_target: bool = False,
    jobs: int = 1,
    json: bool = False,
    engine: Engine = Engine.MEMORY,
    scheduler: str | None = None,
    workers: int | None = None,
    memory: str | None = None,
    rules: GivenRules,
    reading: Reading,
) -> int:
    """Balance the table and say what was done."""
    from counterbalance.methods.registry import find_method

    chosen = find_method(method, "--method")
    ours = {**rules.given, "--provenance": provenance, PAGE: report}
    _check_method(chosen, ratio or (), {} if engine is Engine.DASK else ours)
    if engine is Engine.DASK:
        unused = {
            "--provenance": provenance,
            PAGE: report,
            "--no-rows": no_rows,
            "--drop-missing-target": drop_missing_target,
            **dict.fromkeys(reading.words[:1], True),
        }
        _refuse(unused, "--engine memory", "leave it out")
        cluster = {"scheduler": scheduler, "n_workers": workers, "memory": memory}
        return balance_on_dask(
            tables,
            target,
            out,
            ratio or (),
            rules,
            seed,
            cluster,
            method=chosen,
            keep=keep or (),
            use=use or (),
            plausible=as_plausible(plausible=plausible, ignored=ignore_relation),
            json=json,
        )
    elsewhere = {"--scheduler": scheduler, "--workers": workers, "--memory": memory}
    _refuse(elsewhere, "--engine dask", "add it")
    table = _only_table(tables)
    if no_rows and report is None:
        raise TableError(
            "--no-rows says what a report leaves out; add --report FILE, or leave it out"
        )
    check_outputs(table, {"--out": out, "--provenance": provenance, PAGE: report})
    user = read_user_table(
        table, target, keep=keep, use=use, drop_missing_target=drop_missing_target, reading=reading
    )
    strategy = rows_wanted(user, ratio or ())
    if not isinstance(strategy, str):  # the size that "all" gives is not known yet
        _check_room(out, sum(strategy.values()), user.stored.frame.shape[1])
    if chosen.ours:
        sampler = make_sampler(user, strategy, rules, seed, chosen.name)
        learned = as_plausible(plausible=plausible, ignored=ignore_relation)
        threads = {"n_jobs": jobs} if hasattr(sampler, "n_jobs") else {}
        balanced = balance_table(user, sampler.set_params(**threads, **learned))
    else:
        balanced = balance_with_peer(user, chosen, strategy, seed)
    if out is not None:
        write_table_file(balanced.stored, out, like=table)
    if provenance is not None:
        write_table_file(_provenance_table(balanced), provenance, like=table)
    if report is not None:
        named = None if chosen.name.casefold() == COUNTERFACTUAL else chosen.name
        again = [
            *("counterbalance", "balance", table.name, "--target", target),
            *as_words({"--method": named, "--ratio": ratio, "--keep": keep, "--use": use}),
            *as_words({"--ignore-relation": ignore_relation}),
            *rules.words,
            *reading.words,
            *as_words({"--plausible": plausible, "--no-plausible": plausible is False}),
            *as_words({"--drop-missing-target": drop_missing_target, "--no-rows": no_rows}),
            *as_words({"--seed": seed, PAGE: "report.html"}),
        ]
        write_page(balanced, report, shlex.join(again), rows=not no_rows)
    summary = summarise(balanced, ratio or ())
    written = {"out": out, "provenance": provenance, "report": report}
    summary["written"] = {name: str(path) for name, path in written.items() if path is not None}
    if json:
        show_json(summary)
    else:
        show_summary(summary)
    if not summary["written"]:
        note("nothing was written: --out FILE writes the balanced table")
    say_warnings(summary)
    return 0


def as_plausible(*, plausible: bool | None, ignored: Sequence[str] | None) -> dict[str, Any]:
    """Return the parameters behind --plausible and --ignore-relation."""
    return {
        "plausible": "auto" if plausible is None else plausible,
        "ignore_relations": list(ignored) if ignored else None,
    }


def _refuse(options: dict[str, Any], what: str, remedy: str) -> None:
    """Refuse options that only another engine or method knows."""
    for option, value in options.items():
        if value:
            raise TableError(f"{option} goes with {what} only; {remedy}")


def _only_table(tables: Sequence[Path]) -> Path:
    if len(tables) > 1:
        raise TableError(
            f"only one table at a time is balanced in memory, got {len(tables)}; "
            "parquet files that make up one table need --engine dask"
        )
    return tables[0]


def _check_method(method: Method, ratio: Sequence[str], ours: dict[str, Any]) -> None:
    """Refuse a method that gives no table, and options that it does not know.

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
        every = asks_for_every(ratio)
        _refuse({"--ratio all": every}, "--method counterfactual", f"{leave}, or give a share")


def check_outputs(table: Path, outputs: dict[str, Path | None]) -> None:
    """Refuse outputs that cannot be written before any work is done."""
    taken: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        if option == PAGE:
            require("jinja2", PAGE)
        else:
            check_format(path, option)
        check_output(path, *([table] if table.exists() else []), option=option)
        other = taken.setdefault(path.parent.resolve() / path.name, option)
        if other != option:
            raise OutputError(f"{other} and {option} must be two files, got {path} for both")


def _check_room(out: Path | None, rows: int, columns: int) -> None:
    """Refuse a result that is too large for its format before it is made."""
    if out is not None and out.suffix.lower() == SHEET:
        check_size(rows + 1, columns, "the result")


def _provenance_table(balanced: BalancedTable) -> TableFile:
    import pandas as pd

    from counterbalance.io.csv import CsvTable, Dialect

    provenance = balanced.sampler.provenance_
    frame = pd.DataFrame(list(provenance.cells()), columns=list(provenance.columns))
    return CsvTable.from_frame(frame, Dialect())


def write_page(balanced: BalancedTable, path: Path, again: str, *, rows: bool) -> None:
    """Write the report of a balanced table, with or without ``rows``.

    ``again`` is the command that makes it again, without any paths of this machine.
    """
    from counterbalance.report import summarise_sampler, write_report

    user = balanced.user
    summary = summarise_sampler(
        balanced.sampler,
        user.X,
        user.y,
        balanced.X,
        balanced.y,
        alone=True,
        file=user.path.name,
        target=user.target,
        reproduce=again,
        rows=rows,
        notes=user.notes(rows=rows),
    )
    write_report(summary, path, like=user.path)


BALANCE = Command("balance", SUMMARY, DESCRIPTION, EXAMPLES, execute, OPTIONS)
