"""``counterbalance study``: which resampler helps, over many data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterbalance.cli.options import Jobs, OutFolder, Page, RetryFailed, Store
from counterbalance.cli.terminal import note, say, show_tables

NAME = "study"
SUMMARY = "Compare resamplers over many data sets, classifiers and metrics."
DESCRIPTION = (
    "Data sets x methods x six classifiers x folds. Finished trials are kept in a store: stop it "
    "at any time and run the same again to go on. Prints mean ranks, wins and losses, and how sure "
    "one can be; tables (csv), the picture of the ranks and the page go into one folder."
)
EXAMPLES = (
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
)
OUT = Path("study")


def execute(
    *,
    suite: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="Of development, final, field-open and field-held; one part of the page each.",
        ),
    ] = "development",
    datasets: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...", help="These data sets only, as counterbalance datasets names them."
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="These methods only; 'none' is always among them."),
    ] = None,
    folds: Annotated[int, typer.Option(metavar="N", help="Folds of the cross-validation.")] = 5,
    repeats: Annotated[
        str,
        typer.Option(
            metavar="N,...", help="Which shuffles of the rows: 0 is the first, 1 a second."
        ),
    ] = "0",
    rows: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Most rows of a data set, by class share, small classes spared; 0 takes all.",
        ),
    ] = 1600,
    rivals: Annotated[
        bool,
        typer.Option(
            "--rivals",
            help="In place of resamplers before six classifiers: boosting with thresholds, "
            "class weights, ensembles and our samplers.",
        ),
    ] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Two tables of each suite, 300 rows, two folds: does everything work?"
        ),
    ] = False,
    jobs: Jobs = 1,
    out: OutFolder = OUT,
    store: Store = None,
    page: Page = None,
    retry_failed: RetryFailed = False,
) -> int:
    """Run the study; trials that fail count as no resampling and are shown."""
    from counterbalance.studies.rivals import RIVAL_STUDY, RIVALS
    from counterbalance.studies.study import RESAMPLER_STUDY, settings_of, study
    from counterbalance.studies.study.methods import METHODS
    from counterbalance.studies.study.settings import StudySettingsError
    from counterbalance.trials.progress import duration

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
    result = study(
        settings,
        store=store or out / "trials.sqlite",
        out=out,
        jobs=jobs,
        retry_failed=retry_failed,
        page_file=page,
        protocol=RIVAL_STUDY if rivals else RESAMPLER_STUDY,
    )
    for part in result.parts:
        show_tables(part.tables)
    summary = result.summary
    say(
        f"{summary.done} of {summary.total} trials done, {summary.failed} failed, "
        f"{summary.computed} of them computed now in {duration(summary.seconds)}. "
        f"Tables, picture and page: {result.folder}"
    )
    if summary.failed:
        note(f"{summary.failed} trials failed and count as no resampling; the last table says why")
    return 0


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())
