"""``counterbalance reproduce``: the paper's tables and figures, beside its own numbers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from counterbalance.cli.terminal import show_tables
from counterbalance.experiments.progress import duration

NAME = "reproduce"
SUMMARY = "run the paper's experiments and print each number beside the paper's"
DESCRIPTION = (
    "Run the paper's Section V on real data. Finished cells are kept in a store: stop it at any "
    "time and run the same again to go on. Tables (csv, markdown), figures (png, svg), settings "
    "and package versions go into one folder. The defaults are the paper's sizes with one run "
    "and take hours; --quick covers every table and figure in under three minutes."
)
OUT = Path("reproduction")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--quick", action="store_true", help="few folds, few rows: every table and figure, soon"
    )
    parser.add_argument(
        "--datasets",
        metavar="NAME,...",
        help="of WBC, PBC, ILC (simulated), FMN, FMN2 (a second pair); default all, all but FMN2 "
        "with --quick",
    )
    for name, text in (
        ("runs", "repetitions of the cross-validation (paper 100, default 1)"),
        ("folds", "folds of the cross-validation (paper and default 10)"),
        ("splits", "splits for the counts by class (paper and default 10)"),
        ("seeds", "synthetic tables for Experiment I and sensitivity (default 10)"),
    ):
        parser.add_argument(f"--{name}", type=int, metavar="N", help=text)
    parser.add_argument(
        "--rows",
        metavar="N or NAME=N,...",
        help="most rows of a data set, drawn by class share: one number for all, or by name (IV is "
        "PBC in Table IV); default all rows",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="processes, -1 for one per core (default 1)",
    )
    parser.add_argument(
        "--out", type=Path, default=OUT, metavar="FOLDER", help=f"output folder (default {OUT})"
    )
    parser.add_argument(
        "--store",
        type=Path,
        metavar="FILE",
        help="store of the finished cells (default cells.sqlite in the output folder)",
    )
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="write the page here too, with its figures in a folder figures beside it",
    )
    parser.add_argument(
        "--retry-failed", action="store_true", help="compute cells that failed before again"
    )
    parser.add_argument(
        "--fashion", metavar="FOLDER", help="folder with the four files of Fashion-MNIST"
    )
    parser.add_argument(
        "--download", action="store_true", help="fetch Fashion-MNIST from OpenML if need be"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Run the reproduction; cells that fail are shown in the tables and make the exit code 1."""
    from counterbalance.experiments.reproduction import (  # noqa: PLC0415 - needs the extra cli
        reproduce,
    )

    store = arguments.store or arguments.out / "cells.sqlite"
    result = reproduce(
        make_settings(arguments),
        store=store,
        out=arguments.out,
        jobs=arguments.jobs,
        retry_failed=arguments.retry_failed,
        page_file=arguments.page,
    )
    show_tables(result.tables)
    for name, reason in result.left_out.items():
        sys.stderr.write(f"counterbalance: {name} is left out: {reason}\n")
    if result.cells_of_others:
        sys.stderr.write(
            f"counterbalance: {store} also holds {result.cells_of_others} cells made by other code "
            "or versions; they are not used\n"
        )
    summary = result.summary
    sys.stdout.write(
        f"{summary.done} of {summary.total} cells done, {summary.failed} failed, "
        f"{summary.computed} of them computed now in {duration(summary.seconds)}. "
        f"Tables, figures and settings: {result.folder}; page: {result.folder}/reproduction.md\n"
    )
    if summary.failed:
        sys.stderr.write(
            f"counterbalance: {summary.failed} cells failed, the notes of the tables say why; "
            "run the same with --retry-failed to compute them again\n"
        )
    return 1 if summary.failed else 0


def make_settings(arguments: argparse.Namespace) -> Any:
    """Return the settings that the options ask for, an option over --quick over the defaults."""
    from counterbalance.experiments.reproduction import (  # noqa: PLC0415 - needs the extra cli
        QUICK,
        Settings,
    )

    chosen: dict[str, Any] = dict(QUICK) if arguments.quick else {}
    for name in ("runs", "folds", "splits", "seeds"):
        if getattr(arguments, name) is not None:
            chosen[name] = getattr(arguments, name)
    if arguments.rows is not None:
        chosen["rows"] = tuple(map(_most_rows, arguments.rows.split(",")))
    if arguments.datasets is not None:
        names = [name.strip().upper() for name in arguments.datasets.split(",")]
        chosen["datasets"] = tuple(dict.fromkeys(name for name in names if name))
    return Settings(**chosen, fashion_path=arguments.fashion, download=arguments.download)


def _most_rows(text: str) -> tuple[str, int]:
    """Read ``500`` or ``FMN=500``."""
    name, _, number = text.rpartition("=")
    if not number.strip().isdigit():
        raise ValueError(f"--rows must be numbers or NAME=number, got {text!r}; try FMN=500,1000")
    return name.strip().upper() or "all", int(number)
