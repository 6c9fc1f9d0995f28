"""Run a comparison: trials, look by look, then the verdict.

first fold      measures the time of each strategy; the slowest that exceed the limit are dropped
three folds     strategies that can no longer be shown to help are dropped
each repeat     the same; a classifier is settled when no strategy is left, or one helps
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from counterbalance.compare.data import read_compared
from counterbalance.compare.evidence import still_open
from counterbalance.compare.plan import FEWEST_FOLDS, ComparisonPlan, Settings
from counterbalance.compare.results import Results, versions
from counterbalance.compare.runner import Progress, Trial, TrialFile, run
from counterbalance.compare.strategies import BASELINE, new_classifier, own_code
from counterbalance.compare.summary import score_table, summarise
from counterbalance.compare.trials import compute
from counterbalance.compare.trust import compute_trust, summarise_trust, trust_table, trust_trials
from counterbalance.compare.verdict import Verdict, decide, scope
from counterbalance.result_table import ResultTable, as_html

# Settings that the scores of a trial depend on; the trial itself holds the others.
TRIAL_SETTINGS = ("folds", "inner_folds", "seed", "constraints")
Pairs = list[tuple[str, str]]  # of strategy and classifier


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of `compare`."""

    verdict: Verdict  # the answer
    results: Results  # the scores of every strategy
    tables: tuple[ResultTable, ...]  # to read: scores and gains, and trust with draws
    summary: dict[str, Any]  # all of it as plain values
    computed: int  # trials that were not in the store

    def _repr_html_(self) -> str:
        """Return the verdict and its table for a notebook; the evidence is collapsed."""
        verdict = self.verdict
        lines = "".join(
            f"<li>{escape(text)}</li>" for text in (*verdict.sentences, *verdict.caveats)
        )
        return (
            f"<p><strong>{escape(verdict.headline)}</strong></p><p>{escape(verdict.scope)}</p>"
            f"{''.join(map(as_html, self.tables))}<pre>{escape(verdict.code)}</pre>"
            f"<details><summary>Evidence</summary><ul>{lines}</ul></details>"
        )


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
    announce: Callable[[str], None] = lambda _: None,
    setup: str = "",
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
        File for finished trials. Call `compare` again to resume after Ctrl-C or a kill. A file of
        another table or other settings is overwritten.
    settings : Settings, optional
        What is tried and how it is scored.
    groups, time : array-like, optional
        Rows of one group stay together; training never sees the time of the test or later.
    jobs : int, default=1
        Number of processes; -1 is one per core. It never changes a score. With more than one,
        call this in a script under ``if __name__ == "__main__"``.
    progress, announce : callable, optional
        ``progress`` is called after each trial with the name of the folds, the number of finished
        trials and their total. ``announce`` is called before the run with sentences about the
        rows that are used.
    setup : str
        Lines of Python that make X and y, printed before the lines of the model.
    like : Path, optional
        Users who may not read this file may not read the store.

    Returns
    -------
    comparison : Comparison
        The verdict, the scores and the table; a notebook shows them.

    See Also
    --------
    counterbalance.displays.ComparisonDisplay : Draws the scores.
    counterbalance.report.write_report : Makes a page of ``comparison.summary``.
    """
    settings = settings or Settings()
    table = read_compared(X, y, groups=groups, times=time, rows=settings.rows)
    for name in settings.classifiers:
        new_classifier(name, settings.seed)  # fail before the run if it cannot be imported
    plan = ComparisonPlan(table, settings)
    most = len(plan.pairs) * len(plan.folds)  # fails before the run if there are no folds
    kept = TrialFile(None if store is None else Path(store), made_by(plan), like)
    before = len(kept.done)
    restart = "the trials are of another table or settings; all are computed again" * kept.replaced
    stop = f"at most {most:,} trials; stop with Ctrl-C, and run the same again to resume"
    for text in filter(None, (restart, scope(table), stop)):
        announce(text)
    results = run_looks(plan, kept, jobs=jobs, progress=progress)
    records = run(trust_trials(plan), partial(compute_trust, plan), kept, jobs=jobs)
    trust, verdict = summarise_trust(records), decide(results, setup)
    tables = (score_table(results), *([trust_table(trust)] if trust else []))
    summary = summarise(results, verdict, trust)
    return Comparison(verdict, results, tables, summary, len(kept.done) - before)


def run_looks(
    plan: ComparisonPlan, kept: TrialFile, *, jobs: int = 1, progress: Progress | None = None
) -> Results:
    """Compute folds until all are done, the answer is settled, or the time is over."""
    pairs, results, done = plan.pairs, Results(plan, []), 0
    one_repeat = sum(fold.repeat == 0 for fold in plan.folds)
    for look, following in zip(plan.looks, [*plan.looks[1:], 0], strict=True):
        trials: list[Trial] = [
            {"strategy": strategy, "classifier": classifier, "fold": fold}
            for fold in range(done, look)
            for strategy, classifier in pairs
        ]
        what = f"folds {done + 1} to {look} of {len(plan.folds)}"
        records = run(trials, partial(compute, plan), kept, jobs=jobs, progress=progress, what=what)
        results, done = replace(results, records=[*results.records, *records]), look
        healthy = [pair for pair in plan.pairs if not results.pairs[pair].failed]
        wanted = pairs if look < FEWEST_FOLDS else still_open(results, look)
        wanted = [pair for pair in wanted if pair in healthy and following]
        pairs, late = affordable(results, wanted, following - look)
        if look < one_repeat:  # the baseline needs one whole repeat
            pairs = [p for p in healthy if p in pairs or p[0] == BASELINE]
        results = replace(results, late=(*results.late, *late))
        if not pairs:
            break
    return results


def affordable(results: Results, pairs: Pairs, folds: int) -> tuple[Pairs, Pairs]:
    """Return the pairs that fit into the time left for ``folds`` more folds, and the others.

    The slowest is dropped first. A classifier without strategies to compare is dropped, too.
    """
    left = results.plan.seconds - sum(record.seconds for record in results.records)
    taken = {pair: [record.seconds for record in results.pairs[pair].records] for pair in pairs}
    cost = {pair: folds * float(np.mean(seconds)) for pair, seconds in taken.items()}
    late: Pairs = []
    while sum(cost.values()) > left:
        others = [pair for pair in cost if pair[0] != BASELINE]
        if not others:
            return [], late
        late.append(max(others, key=cost.__getitem__))
        del cost[late[-1]]
    busy = {classifier for strategy, classifier in cost if strategy != BASELINE}
    return [pair for pair in cost if pair[1] in busy], late


def made_by(plan: ComparisonPlan) -> dict[str, Any]:
    """Return what the scores depend on: the table, some settings, versions, the user's own code."""
    settings = plan.settings.as_dict()
    made = {"table": plan.table.digest(), "own code": own_code(plan.settings.classifiers)}
    return {**made, **versions(), **{name: settings[name] for name in TRIAL_SETTINGS}}
