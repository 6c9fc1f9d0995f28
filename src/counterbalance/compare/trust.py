"""Trust: whether the new rows of a strategy lie where real rows of their class lie.

The table is halved at random, stratified by class. In the first half some rows of the largest
class are hidden: as many as the smaller classes have on average, but never so many that the class
is no longer clearly the largest. The sampler gets the remaining rows. ``NOTE`` defines the metrics
of its new rows. Distances are Euclidean on prepared features. The committee (logistic regression
and boosting, class-weighted) is fitted to the second half. Real rows get the same metrics, each
left out in turn.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors

from counterbalance.arrays import Floats, Integers
from counterbalance.compare.data import ComparedTable
from counterbalance.compare.models import make_parts
from counterbalance.compare.plan import ComparisonPlan
from counterbalance.compare.runner import Trial, TrialRecord
from counterbalance.compare.strategies import (
    DEFAULT_CLASSIFIERS,
    known_strategies,
    new_classifier,
    weighted,
)
from counterbalance.plausible.outliers import USUAL, K
from counterbalance.result_table import ABSENT, ResultTable
from counterbalance.table.encoder import TablePreparation

REAL_ROWS = "real rows"
FIGURES = ("new", "hidden_majority", "agreement", "distance", "outliers")
NOTE = (
    "Hidden majority: share of new rows nearer to a hidden row of the largest class than to a "
    "real one of their own (low is good). Agreement: share that a committee fitted to other "
    "rows puts into their class (high is good). Distance to the nearest real row: 0 is a copy, "
    "1 as far as real rows are from each other. Outliers: share that lies farther out than "
    "95 % of the real rows of its class. Real rows say what to expect of true labels. "
    "New: rows made from half of the table, on average."
)


def trust_trials(plan: ComparisonPlan) -> list[Trial]:
    """Return a trial for each draw and each strategy that adds rows, and for the real rows."""
    kinds = known_strategies()
    return [
        {"experiment": "trust", "strategy": strategy, "draw": draw}
        for strategy in (REAL_ROWS, *plan.settings.strategies)
        if kinds.get(strategy, "over") in {"ours", "over"}
        for draw in range(plan.settings.draws)
    ]


def compute_trust(plan: ComparisonPlan, trial: Trial) -> dict[str, float]:
    """Score the new rows of a sampler, or the real rows of the smaller classes."""
    seed = plan.settings.seed + int(trial["draw"])
    seen, hidden, other = (plan.table.part(rows) for rows in halves(plan.table, seed))
    preparation = TablePreparation().fit(seen.X)
    real, hidden_rows, learned_from = (preparation.transform(p.X) for p in (seen, hidden, other))
    is_real = trial["strategy"] == REAL_ROWS
    if is_real:
        rows, labels = real[seen.codes > 0], seen.codes[seen.codes > 0]
    else:
        rows, labels = new_rows(plan, str(trial["strategy"]), seen, preparation)
    if not len(rows):
        return {"new": 0.0}
    votes = sum(
        weighted(new_classifier(name, seed)).fit(learned_from, other.codes).predict_proba(rows)
        for name in DEFAULT_CLASSIFIERS
    ).argmax(axis=1)
    to_own, outside = np.empty(len(rows)), np.zeros(len(rows), dtype=bool)
    for code in np.unique(labels):
        ours, own = labels == code, real[seen.codes == code]
        to_own[ours] = _nearest(rows[ours], own, left_out=is_real)
        k = max(1, min(K, len(own) - 1))
        usual = np.quantile(_nearest(own, own, left_out=True, k=k), USUAL)
        outside[ours] = _nearest(rows[ours], own, left_out=is_real, k=k) > usual
    apart = _nearest(real[seen.codes > 0], real, left_out=True)
    measure = float(np.median(apart)) or float(np.mean(apart)) or 1.0
    to_hidden = _nearest(rows, hidden_rows, left_out=False)
    far = float(np.median(_nearest(rows, real, left_out=is_real))) / measure
    shares = (to_hidden < to_own, votes == labels)
    figures = (len(rows), *(float(s.mean()) for s in shares), far, float(outside.mean()))
    return dict(zip(FIGURES, figures, strict=True))


def summarise_trust(records: Sequence[TrialRecord]) -> list[dict[str, Any]]:
    """Return the means over the draws, real rows first."""
    rows = []
    for strategy in dict.fromkeys(record.trial["strategy"] for record in records):
        draws = [record for record in records if record.trial["strategy"] == strategy]
        known = {n: [r.figures[n] for r in draws if n in r.figures] for n in FIGURES}
        means = {n: float(np.mean(found)) if found else None for n, found in known.items()}
        failed = next((record.error for record in draws if record.error), None)
        new = round(means["new"] or 0)
        rows.append({"strategy": strategy, **means, "new": new, "failed": failed})
    return rows


def trust_table(trust: Sequence[dict[str, Any]]) -> ResultTable:
    """Return the figures as a table to read."""
    rows = [
        [row["strategy"], str(row["new"])]
        + [ABSENT if row[name] is None else f"{row[name]:.3f}" for name in FIGURES[1:]]
        for row in trust
    ]
    heads = ("strategy", *(name.replace("_", " ") for name in FIGURES))
    return ResultTable("trust", "Trust in the new labels", heads, rows, (NOTE,))


def halves(table: ComparedTable, seed: int) -> tuple[Integers, Integers, Integers]:
    """Return the rows that a sampler sees, those that are hidden from it, and the other half."""
    splitter = StratifiedKFold(2, shuffle=True, random_state=seed)
    half, other = next(splitter.split(table.codes, table.codes))
    largest = half[table.codes[half] == 0]
    smaller = np.bincount(table.codes[half])[1:]
    most = (len(largest) - int(smaller.max())) // 2  # half of its lead over the second largest
    rng = np.random.default_rng(seed)
    hidden = rng.permutation(largest)[: max(1, min(most, int(smaller.mean())))]
    return np.setdiff1d(half, hidden), np.sort(hidden), other


def new_rows(
    plan: ComparisonPlan, strategy: str, seen: ComparedTable, preparation: TablePreparation
) -> tuple[Floats, Integers]:
    """Return the new rows that a sampler makes from ``seen``, prepared, with class codes."""
    parts = make_parts(plan, strategy, DEFAULT_CLASSIFIERS[0])
    X = seen.X if parts.before is None else parts.before.fit_transform(seen.X)
    made, y = parts.resampled.sampler.fit_resample(X, seen.y)
    labels = np.argsort(seen.order)[np.asarray(y, dtype=np.intp)]
    grown = np.bincount(labels, minlength=len(seen.classes)) - seen.counts
    # the last rows of each class, as many as it grew by
    places = [np.flatnonzero(labels == code)[-more:] for code, more in enumerate(grown) if more > 0]
    new = np.sort(np.concatenate(places)) if places else np.zeros(0, dtype=np.intp)
    if parts.before is None:
        rows = preparation.transform(made)
    else:
        rows = made if parts.before.one_hot else preparation.encoded(np.asarray(made, float))
    return rows[new], labels[new]


def _nearest(rows: Floats, others: Floats, *, left_out: bool, k: int = 1) -> Floats:
    """Return the distance to the k-th nearest row; with ``left_out`` without the row itself."""
    neighbours = min(k + left_out, len(others))
    distances, _ = NearestNeighbors(n_neighbors=neighbours).fit(others).kneighbors(rows)
    return np.asarray(distances[:, -1])
