"""``counterbalance compare``: whether a table should be resampled, and with what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterbalance.cli import options as shared
from counterbalance.cli.balance import check_no_rows
from counterbalance.cli.options import flag, valued
from counterbalance.cli.rules import GivenRules, given_rules
from counterbalance.cli.terminal import (
    Progress,
    note,
    say,
    show_json,
    show_tables,
    working,
    wrapped,
)
from counterbalance.cli.user_table import UserTable, make_reading, read_user_table
from counterbalance.errors import TableError
from counterbalance.extras import require
from counterbalance.io.atomic import check_folder, check_output

if TYPE_CHECKING:
    from counterbalance.compare import Comparison, Settings
    from counterbalance.constraints import Constraint

EXAMPLES = {
    "should I resample? a first answer in half a minute": "counterbalance compare patients.csv "
    "--target risk --quick",
    "the whole answer, as a page to look at": "counterbalance compare patients.csv --target risk "
    "--jobs -1 --report report.html",
    "another method and a classifier of your own, from the file mine.py": "counterbalance compare "
    "patients.csv --target risk --methods MDO --classifiers mine:model",
    "several rows for each patient, which must stay together": "counterbalance compare visits.csv "
    "--target risk --groups patient",
}
DRAWS = 5


METHODS = (
    "Methods to try: any that counterbalance methods lists, none, class weights, default "
    "(what matters most), all. none is always tried."
)
CLASSIFIERS = (
    "Any of LR, GBDT (these two by default), RF, KNN, SVM, NN, or your own as module:object."
)
METRIC = "g_mean, f1, balanced_accuracy, roc_auc, average_precision or brier."
GROUPS = "Rows with the same value stay together in a fold; it is not used as a feature."
TIME = "Dates or numbers: train on the past, test on what comes after; it is not used as a feature."
ROWS = (
    "Most rows (default 10,000, 1,000 with --quick). A larger table is sampled: small classes keep "
    "their rows where possible, and weights correct the scores for it."
)


def compare(
    ctx: typer.Context,
    table: shared.Table,
    *,
    target: shared.Target,
    methods: Annotated[str | None, valued("NAME,...", METHODS)] = None,
    classifiers: Annotated[str | None, valued("NAME,...", CLASSIFIERS)] = None,
    metric: Annotated[str, valued("NAME", METRIC)] = "g_mean",
    rope: Annotated[
        float, valued("X", "A difference of the metric up to this does not count.")
    ] = 0.01,
    groups: Annotated[str | None, valued("COL", GROUPS)] = None,
    time: Annotated[str | None, valued("COL", TIME)] = None,
    quick: Annotated[
        bool, flag("--quick", "One repeat, at most 1,000 rows: an answer in half a minute.")
    ] = False,
    full: Annotated[
        bool, flag("--full", "Every row, more methods and a forest, all folds, however long.")
    ] = False,
    trust: Annotated[
        bool, flag("--trust", "Also say how far the labels of new rows can be trusted.")
    ] = False,
    folds: Annotated[int | None, valued("N", "Folds of the cross-validation (default 5).")] = None,
    repeats: Annotated[
        int | None, valued("N", "Repeats with other folds (default 3, 1 with --quick).")
    ] = None,
    rows: Annotated[int | None, valued("N", ROWS)] = None,
    jobs: shared.Jobs = 1,
    seed: shared.Seed = 0,
    out: Annotated[
        Path | None, valued("FOLDER", "Output folder (default NAME-comparison).")
    ] = None,
    report: shared.Report = None,
    no_rows: shared.NoRows = False,
    keep: shared.Keep = None,
    use: shared.Use = None,
    drop_missing_target: shared.DropMissingTarget = False,
    json: shared.Json = False,
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
    """Say whether resampling helps on a table, and with what.

    Try strategies against imbalance in a few minutes: class weights, other decision thresholds,
    SMOTE, rows within the class, counterfactuals, and any method that counterbalance methods
    lists. The answer may be not to resample. Everything, thresholds too, is learned inside
    training folds. Only a gain beyond that of a threshold alone counts. Finished trials are kept:
    stop the command at any time and run it again to resume. Tables (csv) and the summary (json)
    go into one folder.
    """
    from counterbalance.compare import compare as compare_strategies
    from counterbalance.compare import write_files
    from counterbalance.compare.strategies import BASELINE
    from counterbalance.report import write_report

    check_no_rows(report, no_rows=no_rows)
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
    chosen = make_settings(
        quick=quick,
        full=full,
        methods=methods,
        classifiers=classifiers,
        sizes={"folds": folds, "repeats": repeats, "rows": rows, "draws": DRAWS if trust else None},
        metric=metric.strip().lower().replace("-", "_").replace(" ", "_"),
        rope=rope,
        seed=seed,
    )
    folder = out or Path(f"{table.name.split('.', 1)[0] or 'table'}-comparison")
    if groups is not None and time is not None:
        raise typer.BadParameter("--groups and --time cannot be used together; give one of them")
    check_folder(folder, option="--out")
    if report is not None:
        for package in ("jinja2", "matplotlib"):
            require(package, "--report", "report")
        check_output(report, *([table] if table.exists() else []), option="--report")
    user = read_user_table(
        table,
        target,
        keep=keep,
        use=use,
        apart={"--groups": groups, "--time": time},
        drop_missing_target=drop_missing_target,
        reading=make_reading(header, number, text, na, sheet),
    )
    chosen = replace(chosen, constraints=_check_rules(rules, user, chosen))
    with working("comparing") as tell:
        result = compare_strategies(
            user.X,
            user.y,
            store=folder / "trials.jsonl",
            settings=chosen,
            groups=None if groups is None else user.column(groups),
            time=None if time is None else user.column(time),
            jobs=jobs,
            progress=Progress(tell),
            announce=note,
            setup=setup_lines(user, groups, time),
            like=table,
        )
    summary, data = result.summary, result.summary["data"]
    in_all = f"In all {data['rows_of_file']:,} rows of the file: " if result.verdict.scope else ""
    data |= {"file": table.name, "target": target}
    data["notes"] = [f"{in_all}{text}" for text in user.notes(rows=not no_rows)]
    summary["title"] = f"Should {table.name} be resampled?"
    summary["reproduce"] = shared.typed_again(ctx, table, "out", "jobs", "json")
    write_files(summary, folder, like=table)
    if report is not None:
        write_report(_page(result, rows=not no_rows), report, like=table)
    if json:
        show_json(summary)
    else:
        _show(result, user)
    page = f"; page: {report}" if report is not None else ""
    n_trials = len(result.results.records)
    note(f"{n_trials} trials, {result.computed} of them now; tables and summary: {folder}{page}")
    pairs = result.results.pairs.items()
    has_baseline = any(pair.failed is None for (name, _), pair in pairs if name == BASELINE)
    return 0 if has_baseline else 1


def make_settings(
    *,
    quick: bool,
    full: bool,
    methods: str | None,
    classifiers: str | None,
    sizes: dict[str, int | None],
    **others: Any,
) -> Settings:
    """Return the settings of the options; an option overrides --quick and --full."""
    from counterbalance.compare import FULL, QUICK, Settings
    from counterbalance.compare.strategies import (
        DEFAULT_STRATEGIES,
        known_strategies,
        new_classifier,
    )
    from counterbalance.errors import CounterbalanceError

    if full and (quick or sizes.get("rows") is not None):
        raise typer.BadParameter("--full cannot be used with --quick or --rows; leave it out")
    chosen: dict[str, Any] = dict(FULL if full else QUICK if quick else {})
    chosen |= {name: size for name, size in sizes.items() if size is not None}
    if methods is not None:
        aliases = {"default": DEFAULT_STRATEGIES, "all": tuple(known_strategies())}
        listed = [part.strip() for part in methods.split(",") if part.strip()]
        chosen["strategies"] = [
            name for part in listed for name in aliases.get(part.lower(), [part])
        ]
    if classifiers is not None:
        chosen["classifiers"] = [part.strip() for part in classifiers.split(",") if part.strip()]
    try:
        settings = Settings(**chosen, **others)
        for name in settings.classifiers:
            new_classifier(name, settings.seed)
    except CounterbalanceError as error:
        raise typer.BadParameter(str(error)) from error
    return settings


def setup_lines(user: UserTable, groups: str | None, time: str | None) -> str:
    """Return lines of Python that make the compared X and y from the file."""
    lines = [f"# table: {user.path.name} as a frame, such as pandas.read_csv gives"]
    cells = getattr(user.stored, "cells", None)
    if cells is not None and cells.header is None:
        lines.append("table.columns = [f'column {m + 1}' for m in range(table.shape[1])]")
    elif cells is not None and any(name != name.strip() for name in cells.header):
        lines.append("table.columns = table.columns.str.strip()")
    if time is not None:
        lines.append(f"table = table.sort_values({time!r})")
    left_out = [user.target, *user.kept]
    lines.append(f"X, y = table.drop(columns={left_out!r}), table[{user.target!r}]")
    if groups is not None:
        lines.append(f"groups = table[{groups!r}]")
    return "\n".join(lines)


def _check_rules(rules: GivenRules, user: UserTable, chosen: Settings) -> list[Constraint]:
    """Return the constraints. Note the methods that ignore them; raise if every method does."""
    from counterbalance.compare.strategies import known_strategies

    found, kinds = rules.checked(user), known_strategies()
    if found and not any(kinds[name] == "ours" for name in chosen.strategies):
        raise TableError(
            f"{next(iter(rules.given))} is kept by our own methods only, and --methods names none "
            "of them; add Counterfactual or Interior, or leave it out"
        )
    others = [name for name in chosen.strategies if kinds[name] == "over"]
    if found and others:
        note(f"the new rows of {', '.join(others)} ignore the constraints")
    return found


def _show(result: Comparison, user: UserTable) -> None:
    """Show the verdict, then the table with its plot, then sentences, code and caveats."""
    verdict, table = result.verdict, result.results.plan.table
    counts = zip(table.counts_of_file.tolist(), table.classes, strict=True)
    each = ", ".join(f"{count:,} of class {label}" for count, label in counts)
    say(f"{user.path.name}, {user.target}: {table.counts_of_file.sum():,} rows, {each}\n")
    if verdict.scope:
        say(wrapped(verdict.scope, "") + "\n")
    say(wrapped(f"VERDICT: {verdict.headline}", "") + "\n")
    show_tables(result.tables)
    for sentence in verdict.sentences:
        say(wrapped(sentence))
    if verdict.code:
        say("\n" + indent(verdict.code, "    "))
    if verdict.caveats:
        say("\nBe careful:")
    for caveat in verdict.caveats:
        say(wrapped(caveat))


def _page(result: Comparison, *, rows: bool) -> dict[str, Any]:
    """Return the page; its map and rows are those of our sampler on the compared rows."""
    import numpy as np

    from counterbalance import CounterfactualOverSampler
    from counterbalance.errors import CounterbalanceError
    from counterbalance.report import summarise_sampler

    plan = result.results.plan
    table, settings = plan.table, plan.settings
    y = np.array(table.classes)[table.codes]
    sampler = CounterfactualOverSampler(
        constraints=list(settings.constraints) or None, random_state=settings.seed
    )
    try:
        with working("searching for counterfactuals"):
            X_resampled, y_resampled = sampler.fit_resample(table.X, y)
        made = summarise_sampler(sampler, table.X, y, X_resampled, y_resampled, rows=rows)
    except CounterbalanceError as error:
        note(f"the page has no map: {error}")
        return result.summary
    return {**result.summary, **made}
