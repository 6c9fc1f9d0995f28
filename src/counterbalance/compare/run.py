"""Run a comparison: trials into the store, verdict, tables and summary out of it."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from time import monotonic
from typing import Any

from counterbalance.compare.advice import scope
from counterbalance.compare.data import read_compared
from counterbalance.compare.metrics import CALIBRATION, CORRECTED, METRICS
from counterbalance.compare.plan import ComparisonPlan, Settings
from counterbalance.compare.records import Score, Summary, Verdict, as_plain
from counterbalance.compare.results import HALF, TUNED, Pair, Results, summarise, versions
from counterbalance.compare.runner import Progress, Trial, TrialFile, run, source_digest, trial_key
from counterbalance.compare.strategies import (
    BASELINE,
    DEFAULT_CLASSIFIERS,
    new_classifier,
    own_modules,
)
from counterbalance.compare.trials import SCORES, TRUST, all_trials, compute
from counterbalance.compare.verdict import judge
from counterbalance.estimators.decision import THRESHOLDED
from counterbalance.io.atomic import make_folder, written_whole
from counterbalance.result_table import ABSENT, FAILED, ResultTable, Value, as_csv, as_html

NAMES = {
    "g_mean": "G-mean",
    "f1": "F1",
    "balanced_accuracy": "bal. acc.",
    "roc_auc": "ROC AUC",
    "average_precision": "av. prec.",
    "brier": "Brier",
}
ANSWERS = ("most probable", "by class share")  # with more than two classes
NOTE = (
    "* is the metric of the verdict. The tuned threshold is tuned for each metric inside the "
    "training folds; ROC AUC, average precision and Brier need none. ! marks what failed."
)
TRUST_FIGURES = ("hidden_majority", "agreement", "distance", "outliers")


def score_tables(results: Results) -> list[ResultTable]:
    """Return a table of scores for each classifier, then their probabilities and the trust."""
    chosen = results.plan.settings.metric
    tables = []
    for classifier in results.plan.settings.classifiers:
        pairs = [pair for pair in results.pairs.values() if pair.classifier == classifier]
        columns = [
            "strategy",
            "threshold" if results.plan.table.is_binary else "answer",
            *(f"{label}*" if name == chosen else label for name, label in NAMES.items()),
        ]
        rows = [row for pair in pairs for row in _score_rows(results, pair)]
        title = f"{classifier}: mean over {len(results.plan.folds)} folds"
        is_last = classifier == results.plan.settings.classifiers[-1]
        tables.append(ResultTable("scores", title, columns, rows, (NOTE,) if is_last else ()))
    tables.append(_calibration_table(results))
    if results.trust:
        tables.append(_trust_table(results))
    return tables


def csv_tables(results: Results) -> list[ResultTable]:
    """Return the same figures with their intervals, one record for each, to be written."""
    scores = [record for pair in results.pairs.values() for record in _records(pair)]
    trust: list[dict[str, Value]] = [
        {
            "strategy": found.strategy,
            "new": found.new,
            **{name: getattr(found, name) for name in TRUST_FIGURES},
            "failed": found.failed or "",
        }
        for found in results.trust
    ]
    return [
        ResultTable("comparison", "scores", (), (), records=scores),
        *([ResultTable("trust", "trust", (), (), records=trust)] if trust else []),
    ]


def _score_rows(results: Results, pair: Pair) -> Iterator[list[str]]:
    for place, threshold in enumerate((HALF, TUNED)):
        scores = [pair.score(name, threshold) for name in NAMES]
        cells = [_mean(score) for score in scores]
        if place:  # the other metrics do not depend on the threshold and stand above
            cells = [
                cell if name in THRESHOLDED else "" for cell, name in zip(cells, NAMES, strict=True)
            ]
        if pair.failed and not pair.done:
            cells = [FAILED, *[""] * (len(NAMES) - 1)]
        label = pair.strategy if not place else ""
        mark = "!" if pair.failed and not place else ""
        how = threshold if results.plan.table.is_binary else ANSWERS[place]
        yield [label + mark, how, *cells]


def _calibration_table(results: Results) -> ResultTable:
    columns = ["probabilities", "Brier", "slope", "intercept"]
    rows = []
    for classifier in results.plan.settings.classifiers:
        rows.append([classifier, "", "", ""])
        rows += [
            [f"  {pair.strategy}", *(_both(pair, name) for name in ("brier", *CALIBRATION))]
            for pair in results.pairs.values()
            if pair.classifier == classifier
        ]
    note = (
        "Raw, then after prior correction, which undoes the shift of the base rate that resampling "
        "or weights made. A Brier score is good when low, a slope at 1, an intercept at 0."
    )
    return ResultTable(
        "calibration", "Do the probabilities mean what they say?", columns, rows, (note,)
    )


def _both(pair: Pair, metric: str) -> str:
    raw, corrected = _mean(pair.score(metric)), _mean(pair.score(f"{metric}{CORRECTED}"))
    return raw if raw == corrected else f"{raw} → {corrected}"


def _trust_table(results: Results) -> ResultTable:
    rows = [
        [
            found.strategy,
            str(found.new),
            *(
                ABSENT if value is None else f"{value:.3f}"
                for value in (getattr(found, name) for name in TRUST_FIGURES)
            ),
        ]
        for found in results.trust
    ]
    note = (
        "Hidden majority: share of new rows nearer to a hidden row of the largest class than to a "
        "real one of their own (low is good). Agreement: share that a committee fitted to other "
        "rows puts into their class (high is good). Distance to the nearest real row: 0 is a copy, "
        "1 as far as real rows are from each other. Outliers: share that lies farther out than "
        "95 % of the real rows of its class. Real rows say what to expect of true labels. "
        "New: rows made from half of the table, on average."
    )
    columns = ("strategy", "new", *(name.replace("_", " ") for name in TRUST_FIGURES))
    return ResultTable("trust", "Trust in the new labels", columns, rows, (note,))


def _records(pair: Pair) -> Iterator[dict[str, Value]]:
    for threshold in (HALF, TUNED):
        record: dict[str, Value] = {
            "classifier": pair.classifier,
            "strategy": pair.strategy,
            "threshold": threshold,
            "failed": pair.failed or "",
        }
        for name in METRICS:
            score = pair.score(name, threshold)
            for part in ("mean", "low", "high"):
                record[f"{name} {part}"] = None if score is None else getattr(score, part)
        yield record


def _mean(score: Score | None) -> str:
    if score is None or score.mean is None:
        return ABSENT
    text = f"{score.mean:.3f}"
    return "0.000" if text == "-0.000" else text


# Settings that the figures of a trial depend on; the trial itself names the others.
TRIAL_SETTINGS = ("folds", "inner_folds", "seed", "constraints")


@dataclass(frozen=True)
class RunSummary:
    """How a run went.

    Parameters
    ----------
    total, done, failed : int
        Trials asked for; of these, done and failed.
    computed : int
        Trials that were not in the store and were computed now.
    seconds : float
        Time the run took.
    """

    total: int
    done: int
    failed: int
    computed: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """What came out.

    Parameters
    ----------
    verdict : Verdict
        The answer in words.
    results : Results
        The figures of every strategy.
    tables : tuple of ResultTable
        To read.
    summary : Summary
        All of it as records; ``as_plain`` makes them plain values.
    run : RunSummary
        How the run went.
    """

    verdict: Verdict
    results: Results
    tables: tuple[ResultTable, ...]
    summary: Summary
    run: RunSummary

    @property
    def has_verdict(self) -> bool:
        """Whether at least one classifier could be judged."""
        return any(
            pair.strategy == BASELINE and pair.failed is None
            for pair in self.results.pairs.values()
        )

    def _repr_html_(self) -> str:
        """Return the verdict and its tables for a notebook."""
        said = self.verdict
        told = (*said.sentences, *said.caveats)
        lines = "".join(f"<li>{escape(sentence)}</li>" for sentence in told)
        scope = f"<p>{escape(said.scope)}</p>" if said.scope else ""
        headline = f"<p><strong>{escape(said.headline)}</strong></p>"
        return f"{headline}{scope}<ul>{lines}</ul>{''.join(map(as_html, self.tables))}"


def compare(
    X: Any,
    y: Any,
    *,
    store: Path | str | None = None,
    settings: Settings | None = None,
    groups: Any = None,
    time: Any = None,
    jobs: int = 1,
    progress: Progress | None = None,
    file: str = "the table",
    target: str = "y",
    reproduce: str = "",
    notes: Sequence[str] = (),
    announce: Callable[[str], None] | None = None,
    like: Path | None = None,
) -> Comparison:
    """Say whether resampling helps on a table, and with what.

    Parameters
    ----------
    X : pandas.DataFrame or array-like
        Features: numbers, categories, texts, missing cells.
    y : array-like
        The class of each row.
    store : path, optional
        File that finished trials are kept in. Run the same again to resume after Ctrl-C or a
        kill. A file of another table or other settings is begun anew.
    settings : Settings, optional
        What is tried and how it is judged.
    groups, time : array-like, optional
        Rows of one group stay together; training never sees the time of the test or later.
    jobs : int, default=1
        Number of processes; -1 is one per core. It never changes a figure.
    progress : callable, optional
        Gets, after each trial, a word, how many are done and how many there are.
    file, target, reproduce : str
        Names for the summary, and the command that gives it again.
    notes : sequence of str
        What was found in the file, for the summary.
    announce : callable, optional
        Gets, before the run, sentences that say on which rows, and how much is to be computed.
    like : Path, optional
        Nobody may read the store who may not read this file.

    Returns
    -------
    comparison : Comparison
        The verdict, the figures and the tables; a notebook shows them.

    See Also
    --------
    counterbalance.displays.ComparisonDisplay : Draws what came out.
    counterbalance.report.write_report : Makes a page of ``comparison.summary``.

    Notes
    -----
    With more than one job, call this in a script under ``if __name__ == "__main__"``.
    """
    start = monotonic()
    settings = settings or Settings()
    table = read_compared(X, y, groups=groups, times=time, rows=settings.rows)
    for name in settings.classifiers:
        new_classifier(name, settings.seed)  # what cannot be imported is said before the run
    plan = ComparisonPlan(table, settings)
    trials = all_trials(plan)
    kept = TrialFile(None if store is None else Path(store), made_by(plan), like)
    todo = [trial for trial in trials if trial_key(trial) not in kept.done]
    if announce is not None:
        _announce(plan, trials, announce, todo, replaced=kept.replaced)
    records = run(trials, partial(compute, plan), kept, jobs=jobs, progress=progress)
    results = Results(plan, records)
    verdict = judge(results)
    named = {"file": file, "target": target, "reproduce": reproduce}
    summary = summarise(results, verdict, notes=notes, **named)
    done = sum(record.is_done for record in records)
    counts = (len(trials), done, len(trials) - done, len(todo))
    ran = RunSummary(*counts, monotonic() - start)
    return Comparison(verdict, results, tuple(score_tables(results)), summary, ran)


def fits_of(plan: ComparisonPlan, trials: Sequence[Trial]) -> int:
    """Return how many times a classifier is fitted for these trials."""
    inner = plan.settings.inner_folds if plan.table.is_binary else 0
    scored = sum(trial["experiment"] == SCORES for trial in trials)
    draws = {trial["draw"] for trial in trials if trial["experiment"] == TRUST}
    return scored * (1 + inner) + len(draws) * len(DEFAULT_CLASSIFIERS)


def _announce(
    plan: ComparisonPlan,
    trials: list[Trial],
    announce: Callable[[str], None],
    todo: list[Trial],
    *,
    replaced: bool,
) -> None:
    """Say, before the run, on which rows it is and how much there is to compute."""
    if replaced:
        announce(
            "the trials in the folder are of another table, other settings or other versions, so "
            "they are computed anew"
        )
    if said := scope(plan.table):
        announce(said)
    if todo:
        announce(
            f"{len(todo):,} of {len(trials):,} trials are to be computed, with about "
            f"{fits_of(plan, todo):,} fits of a classifier; after a minute there is an estimate "
            "of the time. Stop it with Ctrl-C and run the same again to resume"
        )


def write_files(comparison: Comparison, folder: Path, like: Path | None = None) -> list[Path]:
    """Write the tables as csv and the summary as JSON; each appears whole or not at all.

    Nobody may read them who may not read the file ``like``.
    """
    make_folder(folder, like)
    texts = {f"{table.name}.csv": as_csv(table) for table in csv_tables(comparison.results)}
    texts["summary.json"] = json.dumps(as_plain(comparison.summary), indent=2) + "\n"
    written = []
    for name, text in texts.items():
        written.append(folder / name)
        with written_whole(written[-1], like=like) as part:
            part.write_text(text, encoding="utf-8")
    return written


def made_by(plan: ComparisonPlan) -> dict[str, Any]:
    """Return what makes the figures: the table, some settings, versions, the user's own code."""
    settings = plan.settings.as_dict()
    return {
        "table": plan.table.digest,
        **{name: settings[name] for name in TRIAL_SETTINGS},
        **versions(),
        "own code": source_digest(own_modules(plan.settings.classifiers)),
    }
