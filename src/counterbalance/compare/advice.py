"""Advice: the object to use, as lines of Python to paste; and how far the verdict can be trusted.

    our samplers     ResampledClassifier(make_pipeline(TablePreparation(), f), sampler)
    other samplers   make_pipeline(TablePreparation(), ResampledClassifier(f, sampler))
    a threshold      the same with "passthrough" in place of a sampler
    nothing          make_pipeline(TablePreparation(), f)

That is what was compared, to be fitted to the whole table: the same preparation, classifier and
sampler, the threshold tuned inside. The object is made first and written from what it is, so
that the lines give it again. They expect X and y.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import make_pipeline

from counterbalance.compare.code import Imports, as_call
from counterbalance.compare.data import ComparedTable
from counterbalance.compare.evidence import Evidence, is_fragile
from counterbalance.compare.metrics import METRICS
from counterbalance.compare.plan import fold_count
from counterbalance.compare.results import HALF, Results
from counterbalance.compare.strategies import (
    BASELINE,
    WEIGHTS,
    known_strategies,
    make_sampler,
    new_classifier,
    smote_of,
)
from counterbalance.estimators.resampled import ResampledClassifier
from counterbalance.table.encoder import TablePreparation


class Offer(NamedTuple):
    """A classifier with a strategy at a threshold, and its score."""

    classifier: str
    strategy: str
    threshold: str
    score: float


def advise(results: Results, offer: Offer) -> tuple[str, str]:
    """Return a sentence that names the object to use, and the lines that make it."""
    model = make_model(results, offer)
    imports: Imports = set()
    head, arguments = as_call(model, imports)
    text = f"{head}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"
    found = {name for _, name in imports}
    what = "ResampledClassifier" if "ResampledClassifier" in found else offer.classifier
    sentence = f"To use it on new rows: {what}, in the lines below; they take the table as it is."
    modules: dict[str, list[str]] = {}
    for module, imported in sorted(imports):
        modules.setdefault(module, []).append(imported)
    lines = [f"from {module} import {', '.join(names)}" for module, names in modules.items()]
    return sentence, "\n".join([*lines, f"model = {text}.fit(X, y)"])


def make_model(results: Results, offer: Offer) -> Any:
    """Return what an offer is, unfitted."""
    settings, table = results.plan.settings, results.plan.table
    metric = METRICS[settings.metric]
    kind = known_strategies()[offer.strategy]
    f, preparation = new_classifier(offer.classifier, settings.seed), TablePreparation()
    is_plain = kind == "none" and (offer.threshold == HALF or not metric.needs_threshold)
    threshold = metric.name if metric.needs_threshold and not is_plain else None
    if offer.strategy == WEIGHTS:
        names = [name for name in f.get_params() if name.endswith("class_weight")]
        f.set_params(**dict.fromkeys(names, "balanced"))
    if is_plain:
        return make_pipeline(preparation, f)
    rest: dict[str, Any] = {"threshold": threshold, "calibration": "sigmoid"}
    rest["random_state"] = settings.seed
    if kind in {"none", "weights"}:
        return ResampledClassifier(make_pipeline(preparation, f), "passthrough", **rest)
    sampler = make_sampler(offer.strategy, table.codes, settings.seed)
    if kind == "ours":
        return ResampledClassifier(make_pipeline(preparation, f), sampler, **rest)
    return make_pipeline(preparation, ResampledClassifier(f, sampler, **rest))


FEWEST_MINORITY = 20
FEWEST_IN_TEST = 10
MUCH, MUCH_OF = 5, 0.01  # a gain of so many times the rope is worth knowing of
MEANINGS = {
    "ShortfallWarning": "Fewer counterfactuals than asked for were found, the rest made otherwise",
    "PeerFallbackWarning": "A method could not follow its paper and did something close to it",
    "ConvergenceWarning": "A classifier stopped before it had converged, with",
}


def caveats(results: Results, findings: Sequence[Evidence]) -> list[str]:
    """Return what to be careful about."""
    said = [
        _too_few(results),
        _subsampled(results),
        _fragile(results, findings),
        _wide(results, findings),
        _many_tried(findings),
        *_how_judged(results),
        *_failures(results),
        *_warnings(results),
    ]
    return [text for text in said if text]


def _too_few(results: Results) -> str:
    table, folds = results.plan.table, results.plan.folds
    tested = [int(np.bincount(table.codes[fold.test]).min()) for fold in folds]
    fewest = int(np.mean(tested))
    if fewest >= FEWEST_IN_TEST:
        return ""
    return (
        f"A test fold has about {fewest} rows of class {table.classes[-1]!r}: one row more or less "
        f"that is recognised moves its recall by {1 / max(fewest, 1):.2f}. Read the intervals, "
        "not the means."
    )


def scope(table: ComparedTable) -> str:
    """Say which part of the table was compared on; nothing where it was all of it."""
    drawn = table.subsample
    if drawn is None:
        return ""
    each = ", ".join(
        f"{'all' if kept == whole else f'{kept:,} of'} {whole:,} of class {label!r}"
        for label, kept, whole in zip(
            reversed(table.classes), drawn.kept[::-1], drawn.whole[::-1], strict=True
        )
    )
    how = f"{len(table.codes):,} of {drawn.whole.sum():,} rows are used, drawn at random: "
    return f"{how}{each}. --full (rows=0 from Python) uses every row."


def _subsampled(results: Results) -> str:
    table = results.plan.table
    if table.subsample is None or not table.subsample.shifts:
        return ""
    here, there = table.counts[-1] / len(table.codes), table.shares[-1]
    return (
        f"Class {table.classes[-1]!r} is {here:.1%} of the rows used and {there:.2%} of the file, "
        "so that enough of it is left to learn from. Rows are weighted to restore the shares of "
        "the file in F1, average precision, Brier score, calibration and tuned thresholds, and "
        "probabilities are moved to them; G-mean and balanced accuracy do not depend on them. But "
        "every method was tried on a milder imbalance than that of the file."
    )


def _fragile(results: Results, findings: Sequence[Evidence]) -> str:
    share = float(results.plan.table.shares[-1])
    found = [
        f"{finding.threshold[0]:.2g} for {finding.classifier} (from {finding.threshold[1]:.2g} to "
        f"{finding.threshold[2]:.2g} over the folds)"
        for finding in findings
        if finding.threshold is not None and is_fragile(finding.threshold, share)
    ]
    if not found:
        return ""
    return (
        f"Do not copy the threshold of {', '.join(found)}: class "
        f"{results.plan.table.classes[-1]!r} is {share:.2g} of the rows, and so far from that, or "
        "where folds disagree so much, probabilities hardly tell rows apart. Calibrate the "
        "probabilities first, or tune the threshold again on rows of your own."
    )


def _wide(results: Results, findings: Sequence[Evidence]) -> str:
    """Say which gains the data cannot rule out, where nothing is shown to help."""
    open_ones = [
        f"{min(high, 1):+.2f} with {finding.best.strategy} for {finding.classifier}"
        for finding in findings
        if finding.best is not None
        and finding.state != "helps"
        and (high := finding.best.belief.interval()[1]) > MUCH * max(finding.best.rope, MUCH_OF)
    ]
    if not open_ones:
        return ""
    more = "More rows" if results.plan.table.subsample is None else "More rows of the file (--full)"
    return (
        f"The data cannot rule out a gain of up to {', '.join(open_ones)}: that is how wide the "
        f"intervals are. {more} would tell; more repeats narrow them a little."
    )


def _many_tried(findings: Sequence[Evidence]) -> str:
    tried = [finding for finding in findings if finding.chosen_gain is not None]
    if not tried or max(len(finding.gains) for finding in tried) == 1:
        return ""
    each = "; ".join(
        f"{finding.classifier} {finding.gains[0].belief.mean:+.3f} with hindsight, "
        f"{finding.chosen_gain:+.3f} without"
        for finding in tried
    )
    return (
        f"The best of {len(tried[0].gains)} candidates looks better than it is. Gain of the best "
        "with hindsight, and on each fold of the one that was best on the other folds: "
        f"{each}. For the same reason a candidate has to reach a "
        f"probability of {tried[0].bar:.3f} before it is said to help."
    )


def _how_judged(results: Results) -> list[str]:
    plan, table = results.plan, results.plan.table
    settings = plan.settings
    lines = []
    if table.times is not None:
        lines.append(
            f"Folds follow the time: {len(plan.folds)} blocks, each tested with what was learned "
            "before it. They differ in size, and there is no repeat."
        )
    elif table.groups is not None:
        lines.append("Folds keep every group whole.")
    asked = settings.folds * (1 if table.times is not None else settings.repeats)
    if len(plan.folds) < asked:
        count = fold_count(table, settings.folds)
        lines.append(
            f"{len(plan.folds)} folds are used where {asked} were asked for (at most {count} can "
            "be cut); a fold needs rows of every class both in training and in test."
        )
    if not table.is_binary:
        lines.append(
            "With more than two classes there is no threshold to tune: the answer is the most "
            "probable class, or (in place of a tuned threshold) the one with the largest "
            "probability over its share in training. F1, ROC AUC, average precision and "
            "calibration are means over the classes, each against the rest."
        )
    if "SMOTE" in settings.strategies and smote_of(table) != "SMOTE":
        lines.append(
            f"The table has categories, so SMOTE is {smote_of(table)}; other samplers but ours "
            "work on one column for each category and may put values between 0 and 1 there."
        )
    if METRICS[settings.metric].name == "brier":
        lines.append("The Brier score of the verdict is the one after prior correction.")
    return lines


def _failures(results: Results) -> list[str]:
    by_reason: dict[tuple[str, str], list[str]] = {}
    for pair in results.pairs.values():
        if pair.failed:
            by_reason.setdefault((pair.classifier, pair.failed), []).append(pair.strategy)
    lines = [
        f"{', '.join(strategies)} failed with {classifier} on {reason}. Left out of the verdict."
        for (classifier, reason), strategies in by_reason.items()
    ]
    lost = [
        name for name in results.plan.settings.classifiers if results.pairs[BASELINE, name].failed
    ]
    if lost:
        named = ", ".join(lost)
        lines.append(f"There is no verdict on {named}: it failed even without resampling (none).")
    return lines


def _warnings(results: Results) -> list[str]:
    by_kind: dict[str, dict[str, int]] = {}
    for strategy, counts in results.warned().items():
        for kind, count in counts.items():
            by_kind.setdefault(kind, {})[strategy] = count
    return [
        f"{MEANINGS[kind]}: {', '.join(f'{name} ({n} trials)' for name, n in found.items())}."
        for kind, found in by_kind.items()
    ]
