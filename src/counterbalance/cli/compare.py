"""``counterbalance compare``: whether a table should be resampled, and with what."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import typer

from counterbalance.cli.options import Command, as_words, flag, valued
from counterbalance.cli.rules import GivenRules
from counterbalance.cli.terminal import (
    Progress,
    duration,
    note,
    say,
    show_json,
    show_tables,
    working,
    wrapped,
)
from counterbalance.cli.user_table import UserTable, read_user_table
from counterbalance.errors import TableError
from counterbalance.extras import require
from counterbalance.io.atomic import check_folder, check_output
from counterbalance.io.reading import Reading

if TYPE_CHECKING:
    from counterbalance.compare import Comparison, Settings
    from counterbalance.constraints import Constraint
    from counterbalance.report import Page

NAME = "compare"
SUMMARY = "Say whether resampling helps on a table, and with what."
DESCRIPTION = (
    "Try strategies against imbalance on a table and answer in words whether one helps: class "
    "weights, other decision thresholds, random over- and undersampling, SMOTE, ADASYN, "
    "counterfactuals, and any method that counterbalance methods lists. The answer may be: do not. "
    "Everything is learned inside training folds, thresholds too, and a gain counts only beyond "
    "what a threshold alone gives. Finished trials are kept: stop it at any time and run the same "
    "again to resume. Tables (csv) and the summary (json) go into one folder."
)
EXAMPLES = (
    (
        "should I resample? a first answer in a few minutes",
        "counterbalance compare patients.csv --target risk --quick",
    ),
    (
        "the whole answer, as a page to look at",
        "counterbalance compare patients.csv --target risk --jobs -1 --report report.html",
    ),
    (
        "another method and a classifier of your own, from the file mine.py",
        "counterbalance compare patients.csv --target risk --methods MDO --classifiers mine:model",
    ),
    (
        "several rows for each patient, which must stay together",
        "counterbalance compare visits.csv --target risk --groups patient",
    ),
)
DEFAULT, ALL = "default", "all"


OPTIONS = {
    "methods": valued(
        "NAME,...",
        "Methods to try, of those that counterbalance methods lists, and: none, class "
        "weights, default (the usual ones), all. none is always tried.",
    ),
    "classifiers": valued(
        "NAME,...",
        "Of LR, RF, GBDT (these three by default), KNN, SVM, NN, or your own as module:object.",
    ),
    "metric": valued(
        "NAME",
        "What the verdict is about: g_mean, f1, balanced_accuracy, roc_auc, "
        "average_precision or brier.",
    ),
    "rope": valued("X", "A difference of the metric up to this does not count."),
    "groups": valued("COL", "Rows with the same value stay together in a fold; it is no feature."),
    "time": valued(
        "COL", "Dates or numbers: train on the past, test on what comes after; it is no feature."
    ),
    "quick": flag("--quick", "One repeat, at most 1,000 rows: a first answer."),
    "full": flag("--full", "Every row, however long it takes (by default 10,000)."),
    "folds": valued("N", "Folds of the cross-validation (default 5)."),
    "repeats": valued("N", "Repeats with other folds (default 3, 1 with --quick)."),
    "rows": valued(
        "N",
        "Most rows (default 10,000, 1,000 with --quick). Of a larger table the small "
        "classes keep what they have, as far as there is room, and the figures are corrected "
        "for it.",
    ),
    "jobs": valued("N", "Processes, -1 for one per core."),
    "out": valued("FOLDER", "Output folder (default NAME-comparison)."),
    "report": valued(
        "FILE", "Write a page to look at (html) here. It shows real rows as they are."
    ),
    "no_rows": flag("--no-rows", "Leave rows, real and new, out of the page: no table, no map."),
}


def execute(
    table: Path,
    *,
    target: str,
    methods: str | None = None,
    classifiers: str | None = None,
    metric: str = "g_mean",
    rope: float = 0.01,
    groups: str | None = None,
    time: str | None = None,
    quick: bool = False,
    full: bool = False,
    folds: int | None = None,
    repeats: int | None = None,
    rows: int | None = None,
    jobs: int = 1,
    seed: int = 0,
    out: Path | None = None,
    report: Path | None = None,
    no_rows: bool = False,
    keep: list[str] | None = None,
    use: list[str] | None = None,
    drop_missing_target: bool = False,
    json: bool = False,
    rules: GivenRules,
    reading: Reading,
) -> int:
    """Compare, and say what came out."""
    from counterbalance.compare import as_plain, compare, write_files
    from counterbalance.report import write_report

    if full and rows is not None:
        raise typer.BadParameter("--full and --rows cannot be used together; give one of them")
    if no_rows and report is None:
        raise TableError(
            "--no-rows says what a page leaves out; add --report FILE, or leave it out"
        )
    chosen = make_settings(
        quick=quick,
        names={"strategies": methods, "classifiers": classifiers},
        sizes={"folds": folds, "repeats": repeats, "rows": 0 if full else rows},
        metric=metric,
        rope=rope,
        seed=seed,
    )
    folder = out or Path(f"{table.name.split('.', 1)[0] or 'table'}-comparison")
    _check_usage(table, folder, report, jobs=jobs, both=groups is not None and time is not None)
    user = read_user_table(
        table,
        target,
        keep=keep,
        use=use,
        apart={"--groups": groups, "--time": time},
        drop_missing_target=drop_missing_target,
        reading=reading,
    )
    chosen = replace(chosen, constraints=_check_rules(rules, user, chosen))
    again = [
        *("counterbalance", NAME, table.name, "--target", target),
        *as_words({"--methods": methods, "--classifiers": classifiers, "--groups": groups}),
        *as_words({"--time": time, "--folds": folds, "--repeats": repeats, "--rows": rows}),
        *as_words({"--keep": keep, "--use": use}),
        *rules.words,
        *reading.words,
        *as_words({"--quick": quick, "--full": full, "--drop-missing-target": drop_missing_target}),
        *as_words({"--metric": chosen.metric, "--rope": f"{chosen.rope:g}", "--seed": seed}),
    ]
    with working("comparing") as tell:
        result = compare(
            user.X,
            user.y,
            store=folder / "trials.jsonl",
            settings=chosen,
            groups=None if groups is None else user.stored.frame[groups],
            time=None if time is None else user.stored.frame[time],
            jobs=jobs,
            progress=Progress(tell),
            file=table.name,
            target=target,
            reproduce=shlex.join(again),  # the same figures, without anything of this machine
            notes=user.notes(rows=not no_rows),
            announce=note,
            like=table,
        )
    write_files(result, folder, like=table)
    if report is not None:
        write_report(_page(result, rows=not no_rows), report, like=table)
    if json:
        show_json(as_plain(result.summary))
    else:
        _show(result, user)
    _say_where(result, folder, report)
    return 0 if result.has_verdict else 1


def _check_rules(rules: GivenRules, user: UserTable, chosen: Settings) -> list[Constraint]:
    """Return the constraints; name the methods that they do not concern, refuse if all are."""
    from counterbalance.compare.strategies import OURS, adds_rows

    found = rules.checked(user)
    ours = [method.name for method in OURS if method.name in chosen.strategies]
    if found and not ours:
        raise TableError(
            f"{rules.words[0]} is kept by our own methods only, and --methods names none of them; "
            "add Counterfactual or Interior, or leave it out"
        )
    others = [name for name in chosen.strategies if adds_rows(name) and name not in ours]
    if found and others:
        note(f"the new rows of {', '.join(others)} keep no constraint: these methods know none")
    return found


def make_settings(
    *,
    quick: bool,
    names: dict[str, str | None],
    sizes: dict[str, int | None],
    metric: str,
    **others: Any,
) -> Settings:
    """Return the settings that the options ask for, an option over --quick over the defaults."""
    from counterbalance.compare import QUICK, Settings
    from counterbalance.compare.strategies import new_classifier
    from counterbalance.errors import CounterbalanceError

    chosen: dict[str, Any] = dict(QUICK) if quick else {}
    chosen |= {name: size for name, size in sizes.items() if size is not None}
    for name, text in names.items():
        if text is not None:
            listed = [part.strip() for part in text.split(",") if part.strip()]
            chosen[name] = _all_strategies(listed) if name == "strategies" else tuple(listed)
    plain = metric.strip().lower().replace("-", "_").replace(" ", "_")
    try:
        settings = Settings(**chosen, metric=plain, **others)
        for name in settings.classifiers:
            new_classifier(name, settings.seed)
    except CounterbalanceError as error:
        raise typer.BadParameter(str(error)) from error
    return settings


def _check_usage(table: Path, folder: Path, report: Path | None, *, jobs: int, both: bool) -> None:
    """Refuse what cannot be done before any work is done."""
    if both:
        raise typer.BadParameter("--groups and --time cannot be used together; give one of them")
    if jobs < 1 and jobs != -1:
        raise typer.BadParameter(f"--jobs must be at least 1, or -1 for all cores, got {jobs}")
    check_folder(folder, option="--out")
    if report is not None:
        for package in ("jinja2", "contourpy"):
            require(package, "--report", "report")
        check_output(report, *([table] if table.exists() else []), option="--report")


def _all_strategies(listed: list[str]) -> tuple[str, ...]:
    """Put in the place of ``default`` and ``all`` what they stand for."""
    from counterbalance.compare.strategies import DEFAULT_STRATEGIES, known_strategies

    meant = {DEFAULT: DEFAULT_STRATEGIES, ALL: tuple(known_strategies())}
    return tuple(name for part in listed for name in meant.get(part.lower(), (part,)))


def _show(result: Comparison, user: UserTable) -> None:
    table = result.results.plan.table
    counts = zip(table.counts_of_file.tolist(), table.classes, strict=True)
    each = ", ".join(f"{count:,} of class {label}" for count, label in counts)
    say(f"{user.path.name}, {user.target}: {table.counts_of_file.sum():,} rows, {each}\n")
    if result.verdict.scope:
        say(wrapped(result.verdict.scope, "") + "\n")
    show_tables(result.tables)
    say(wrapped(f"VERDICT: {result.verdict.headline}", "") + "\n")
    for sentence in result.verdict.sentences:
        say(wrapped(sentence))
    if result.verdict.code:
        say("\n" + indent(result.verdict.code, "    "))
    if result.verdict.caveats:
        say("\nBe careful:")
    for caveat in result.verdict.caveats:
        say(wrapped(caveat))


def _say_where(result: Comparison, folder: Path, report: Path | None) -> None:
    run = result.run
    note(
        f"{run.done} of {run.total} trials done, {run.computed} of them now in "
        f"{duration(run.seconds)}; tables and summary: {folder}"
        + (f"; page: {report}" if report is not None else "")
    )
    if run.failed:
        note(f"{run.failed} trials failed, the verdict says why; they are tried again next time")


def _page(result: Comparison, *, rows: bool) -> Page:
    """Return the page; its map and explorer show our sampler on the rows that were used."""
    import numpy as np

    from counterbalance import CounterfactualOverSampler
    from counterbalance.errors import CounterbalanceError
    from counterbalance.report import Page, summarise_sampler

    table = result.results.plan.table
    y = np.array(table.classes)[table.codes]
    settings = result.results.plan.settings
    sampler = CounterfactualOverSampler(
        constraints=list(settings.constraints) or None, random_state=settings.seed
    )
    try:
        with working("searching for counterfactuals"):
            X_resampled, y_resampled = sampler.fit_resample(table.X, y)
        made = summarise_sampler(sampler, table.X, y, X_resampled, y_resampled, rows=rows)
    except CounterbalanceError as error:
        note(f"the page has no map: {error}")
        made = Page()
    sections = {"map": made.map, "explorer": made.explorer, "features": made.features}
    return Page.of(result.summary, **sections)


COMPARE = Command(NAME, SUMMARY, DESCRIPTION, EXAMPLES, execute, OPTIONS)
