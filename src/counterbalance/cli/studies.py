"""``counterbalance reproduce`` and ``counterbalance study``: the experiments, which take long."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from counterbalance.cli.options import Command, flag, valued
from counterbalance.cli.terminal import note, say, show_tables, working
from counterbalance.extras import require

if TYPE_CHECKING:
    from counterbalance.trials.runner import RunSummary


def reproduce_paper(
    *,
    quick: bool = False,
    datasets: str | None = None,
    runs: str | None = None,
    folds: int | None = None,
    splits: int | None = None,
    seeds: int | None = None,
    rows: str | None = None,
    jobs: int = 1,
    out: Path = Path("reproduction"),
    store: Path | None = None,
    page: Path | None = None,
    retry_failed: bool = False,
    fashion: str | None = None,
    download: bool = False,
    deep: bool = False,
    without: list[str] | None = None,
    tables_only: bool = False,
) -> int:
    """Run the reproduction; trials that fail are shown in the tables and make the exit code 1."""
    from counterbalance.studies.reproduction import reproduce

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
        stage=working,
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
    _say_done(
        summary,
        f"Tables, figures and settings: {result.folder}; page: {result.folder}/reproduction.md",
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


REPRODUCE = Command(
    "reproduce",
    "Run the paper's experiments and print each number beside the paper's.",
    "Run the paper's Section V on real data. Finished trials are kept in a store: stop it at any "
    "time and run the same again to go on. Tables (csv, markdown), figures (png, svg), settings "
    "and package versions go into one folder. The defaults are the paper's sizes with fewer runs "
    "and take hours; --quick covers every table and figure in under three minutes.",
    (
        ("every table and figure, soon", "counterbalance reproduce --quick"),
        ("two data sets, four processes", "counterbalance reproduce --datasets WBC,PBC --jobs 4"),
    ),
    reproduce_paper,
    {
        "quick": flag("--quick", "Few folds, few rows: every table and figure, soon."),
        "datasets": valued(
            "NAME,...",
            "Of WBC, PBC, FMN, FMN2 (a second pair), ILC (simulated); default all, all but "
            "FMN2 with --quick.",
        ),
        "runs": valued(
            "N or NAME=N,...",
            "Repetitions of the cross-validation (paper 100, default 5, of ILC 2).",
        ),
        "folds": valued("N", "Folds of the cross-validation (paper and default 10)."),
        "splits": valued("N", "Splits for the counts by class (paper and default 10)."),
        "seeds": valued("N", "Synthetic tables for Experiment I and sensitivity (default 10)."),
        "rows": valued(
            "N or NAME=N,...",
            "Most rows of a data set, drawn by class share: one number for all, or by name "
            "(IV is PBC in Table IV); default all rows.",
        ),
        "fashion": valued("FOLDER", "Folder with the four files of Fashion-MNIST."),
        "download": flag("--download", "Fetch Fashion-MNIST from OpenML if need be."),
        "deep": flag("--deep", "Rows for GAMO and DOS too; minutes to hours longer."),
        "without": valued("METHOD", "Leave out a method; may be given several times."),
        "tables_only": flag(
            "--tables-only", "Compute nothing: write the page of what the store has so far."
        ),
    },
)


def run_study(
    *,
    suite: str = "development",
    datasets: str | None = None,
    methods: str | None = None,
    folds: int = 5,
    repeats: str = "0",
    rows: int = 1600,
    rivals: bool = False,
    quick: bool = False,
    jobs: int = 1,
    out: Path = Path("study"),
    store: Path | None = None,
    page: Path | None = None,
    retry_failed: bool = False,
) -> int:
    """Run the study; trials that fail count as no resampling and are shown."""
    from counterbalance.studies.rivals import RIVAL_STUDY, RIVALS
    from counterbalance.studies.study import RESAMPLER_STUDY, settings_of, study
    from counterbalance.studies.study.methods import METHODS
    from counterbalance.studies.study.settings import StudySettingsError

    try:
        settings = settings_of(
            _names(suite),
            datasets=_names(datasets),
            methods=_names(methods),
            folds=folds,
            repeats=repeats,
            rows=rows,
            quick=quick,
            known=tuple(RIVALS) if rivals else METHODS,
        )
    except StudySettingsError as error:
        raise typer.BadParameter(str(error)) from error
    protocol = RIVAL_STUDY if rivals else RESAMPLER_STUDY
    result = study(
        settings,
        store=store or out / "trials.sqlite",
        out=out,
        jobs=jobs,
        retry_failed=retry_failed,
        page_file=page,
        protocol=protocol,
        stage=working,
    )
    for part in result.parts:
        show_tables(part.tables)
    summary = result.summary
    _say_done(summary, f"Tables, picture and page: {result.folder}")
    if summary.failed:
        note(f"{summary.failed} trials failed and count as no resampling; the last table says why")
    return 0


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


STUDY = Command(
    "study",
    "Compare resamplers over many data sets, classifiers and metrics.",
    "Data sets x methods x six classifiers x folds. Finished trials are kept in a store: stop it "
    "at any time and run the same again to go on. Prints mean ranks, wins and losses, and how sure "
    "one can be; tables (csv), the picture of the ranks and the page go into one folder.",
    (
        (
            "two data sets, three methods",
            "counterbalance study --datasets glass2,ecoli3 --methods SMOTE,ADASYN,interior",
        ),
        ("the development suite, two processes", "counterbalance study --jobs 2"),
        ("the data sets that no choice was made on", "counterbalance study --suite final --jobs 2"),
        (
            "thresholds, class weights and ensembles beside our samplers, on tables of the field",
            "counterbalance study --rivals --suite field-open --jobs 2",
        ),
    ),
    run_study,
    {
        "suite": valued(
            "NAME,...",
            "Of development, final, field-open and field-held; one part of the page each.",
        ),
        "datasets": valued(
            "NAME,...", "These data sets only, as counterbalance datasets names them."
        ),
        "methods": valued("NAME,...", "These methods only; 'none' is always among them."),
        "folds": valued("N", "Folds of the cross-validation."),
        "repeats": valued("N,...", "Which shuffles of the rows: 0 is the first, 1 a second."),
        "rows": valued(
            "N", "Most rows of a data set, by class share, small classes spared; 0 takes all."
        ),
        "rivals": flag(
            "--rivals",
            "In place of resamplers before six classifiers: boosting with thresholds, "
            "class weights, ensembles and our samplers.",
        ),
        "quick": flag(
            "--quick", "Two tables of each suite, 300 rows, two folds: does everything work?"
        ),
    },
)


def _say_done(summary: RunSummary, where: str) -> None:
    from counterbalance.trials.progress import duration

    say(
        f"{summary.done} of {summary.total} trials done, {summary.failed} failed, "
        f"{summary.computed} of them computed now in {duration(summary.seconds)}. {where}"
    )
