"""``counterbalance reproduce``: the paper's tables and figures, beside its own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from counterbalance.cli.options import Jobs, OutFolder, Page, RetryFailed, Store
from counterbalance.cli.terminal import note, say, show_tables
from counterbalance.extras import require

NAME = "reproduce"
SUMMARY = "Run the paper's experiments and print each number beside the paper's."
DESCRIPTION = (
    "Run the paper's Section V on real data. Finished trials are kept in a store: stop it at any "
    "time and run the same again to go on. Tables (csv, markdown), figures (png, svg), settings "
    "and package versions go into one folder. The defaults are the paper's sizes with fewer runs "
    "and take hours; --quick covers every table and figure in under three minutes."
)
EXAMPLES = (
    ("every table and figure, soon", "counterbalance reproduce --quick"),
    ("two data sets, four processes", "counterbalance reproduce --datasets WBC,PBC --jobs 4"),
)
OUT = Path("reproduction")


def execute(
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few folds, few rows: every table and figure, soon.")
    ] = False,
    datasets: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Of WBC, PBC, FMN, FMN2 (a second pair), ILC (simulated); default all, all but "
            "FMN2 with --quick.",
        ),
    ] = None,
    runs: Annotated[
        str | None,
        typer.Option(
            metavar="N or NAME=N,...",
            help="Repetitions of the cross-validation (paper 100, default 5, of ILC 2).",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(metavar="N", help="Folds of the cross-validation (paper and default 10)."),
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option(metavar="N", help="Splits for the counts by class (paper and default 10)."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Synthetic tables for Experiment I and sensitivity (default 10)."
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="N or NAME=N,...",
            help="Most rows of a data set, drawn by class share: one number for all, or by name "
            "(IV is PBC in Table IV); default all rows.",
        ),
    ] = None,
    jobs: Jobs = 1,
    out: OutFolder = OUT,
    store: Store = None,
    page: Page = None,
    retry_failed: RetryFailed = False,
    fashion: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Folder with the four files of Fashion-MNIST."),
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch Fashion-MNIST from OpenML if need be.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Rows for GAMO and DOS too; minutes to hours longer.")
    ] = False,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="METHOD", help="Leave out a method; may be given several times."),
    ] = None,
    tables_only: Annotated[
        bool,
        typer.Option(
            "--tables-only", help="Compute nothing: write the page of what the store has so far."
        ),
    ] = False,
) -> int:
    """Run the reproduction; trials that fail are shown in the tables and make the exit code 1."""
    from counterbalance.studies.reproduction import reproduce
    from counterbalance.trials.progress import duration

    if deep:
        require("autograd", "--deep", "deep")
    sizes = {"folds": folds, "splits": splits, "seeds": seeds}
    settings = make_settings(
        quick=quick,
        sizes=sizes,
        rows=rows,
        runs=runs,
        datasets=datasets,
        without=tuple(without or ()),
        fashion_path=fashion,
        download=download,
        deep=deep,
    )
    store = store or out / "trials.sqlite"
    result = reproduce(
        settings,
        store=store,
        out=out,
        jobs=jobs,
        retry_failed=retry_failed,
        page_file=page,
        computing=not tables_only,
    )
    show_tables(result.tables)
    for name, reason in result.left_out.items():
        note(f"{name} is left out: {reason}")
    if result.trials_of_others:
        note(
            f"{store} also holds {result.trials_of_others} trials made by other code or versions; "
            "they are not used"
        )
    summary = result.summary
    say(
        f"{summary.done} of {summary.total} trials done, {summary.failed} failed, "
        f"{summary.computed} of them computed now in {duration(summary.seconds)}. "
        f"Tables, figures and settings: {result.folder}; page: {result.folder}/reproduction.md"
    )
    if summary.failed:
        note(
            f"{summary.failed} trials failed, the notes of the tables say why; "
            "run the same with --retry-failed to compute them again"
        )
    return 1 if summary.failed else 0


def make_settings(
    *,
    quick: bool = False,
    sizes: dict[str, int | None] | None = None,
    rows: str | None = None,
    runs: str | None = None,
    datasets: str | None = None,
    **others: Any,
) -> Any:
    """Return the settings that the options ask for, an option over --quick over the defaults."""
    from counterbalance.studies.reproduction import QUICK, ReproductionSettings

    chosen: dict[str, Any] = dict(QUICK) if quick else {}
    chosen |= {name: size for name, size in (sizes or {}).items() if size is not None}
    for option, text in {"rows": rows, "runs": runs}.items():
        if text is not None:
            chosen[option] = tuple(_by_name(option, part) for part in text.split(","))
    if datasets is not None:
        names = [name.strip().upper() for name in datasets.split(",")]
        chosen["datasets"] = tuple(dict.fromkeys(name for name in names if name))
    return ReproductionSettings(**chosen, **others)


def _by_name(option: str, text: str) -> tuple[str, int]:
    """Read ``500`` or ``FMN=500``."""
    name, _, number = text.rpartition("=")
    if not number.strip().isdigit():
        raise typer.BadParameter(
            f"--{option} must be numbers or NAME=number, got {text!r}; try FMN=500,1000"
        )
    return name.strip().upper() or "all", int(number)
