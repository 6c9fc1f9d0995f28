"""The verdict: one headline, the evidence, the model to use, and caveats.

The model is the object that was compared, as lines of Python to paste. The lines are written from
the object, so that they make the same model. They expect X and y.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterbalance.compare.data import ComparedTable
from counterbalance.compare.evidence import (
    ERROR,
    LIKELY,
    POSSIBLE,
    ClassifierEvidence,
    Gain,
    State,
    find,
)
from counterbalance.compare.metrics import METRICS
from counterbalance.compare.models import HALF, TUNED, Imports, as_call, make_parts, smote_of
from counterbalance.compare.plan import ComparisonPlan
from counterbalance.compare.results import Results
from counterbalance.compare.strategies import BASELINE, COUNTERFACTUAL, known_strategies

FEWEST_MINORITY, FEWEST_IN_TEST = 20, 10
WIDE = 0.2  # an interval of this width allows no conclusion


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer: what to do, why, and how far to trust it."""

    headline: str  # one plain sentence
    scope: str = ""  # which rows were used, unless all
    sentences: tuple[str, ...] = ()  # the evidence
    caveats: tuple[str, ...] = ()  # what to be careful about
    code: str = ""  # lines of Python that make the model to use, where there is one


class Offer(NamedTuple):
    """A classifier with a strategy at a threshold, and its score."""

    classifier: str
    strategy: str
    threshold: str
    score: float


def decide(results: Results, setup: str = "") -> Verdict:
    """Say whether resampling helps; ``setup`` are lines of Python that make X and y."""
    findings, code = find(results), ""
    headline = "There is no verdict: no classifier could be fitted without resampling."
    sentences = [str(pair.failed) for pair in results.pairs.values() if not findings]
    if findings:
        headline, sentences = _headline(results, findings)
        offer = best_offer(results, findings)
        sentences.append(_best_supported(results, offer))
        if results.plan.table.counts.min() >= FEWEST_MINORITY:
            sentence, code = advise(results.plan, offer, setup)
            sentences.append(sentence)
    return Verdict(
        headline=headline,
        scope=scope(results.plan.table),
        sentences=tuple(dict.fromkeys(filter(None, sentences))),
        caveats=(*_about_rows(results, findings), *_about_trials(results)),
        code=code,
    )


def scope(table: ComparedTable) -> str:
    """Say which part of the table was used; return nothing if all of it was."""
    if not table.is_drawn:
        return ""
    counts = zip(table.classes, table.counts, table.counts_of_file, strict=True)
    each = [
        f"{'all' if kept == whole else f'{kept:,} of'} {whole:,} of class {label!r}"
        for label, kept, whole in counts
    ]
    how = f"{len(table.codes):,} of {table.counts_of_file.sum():,} rows are used, drawn at random: "
    return f"{how}{', '.join(each[::-1])}. --full (rows=0 from Python) uses every row."


def _headline(results: Results, findings: Sequence[ClassifierEvidence]) -> tuple[str, list[str]]:
    """Return the headline, and the sentences that follow it."""
    table, metric = results.plan.table, METRICS[results.plan.settings.metric]
    if table.counts.min() < FEWEST_MINORITY:
        return _too_few(table)
    move = "weigh the probabilities of the classes"
    if table.is_binary or metric.name == "brier":
        is_answer = metric.name != "brier"
        move = "move the decision threshold" if is_answer else "calibrate the probabilities"
    if helped := _in_state(findings, "helps"):
        text = "; ".join(f"{_family(gain)} helps {name}" for name, gain in helped.items())
        rest = [f.classifier for f in findings if f.classifier not in helped]
        tail = f"; nothing is shown to help {_listed(rest, 'or')}" if rest else ""
        return _capital(f"{text}{tail}."), []
    moved, maybe = (_moved(results, findings, least) for least in (LIKELY, POSSIBLE))
    sentences = [f"To do: {move} ({moved})."] if moved else []
    best = [finding.best for finding in findings if finding.best is not None]
    if probable := _in_state(findings, "probably"):
        named = "; ".join(f"{_family(gain)} for {name}" for name, gain in probable.items())
        text = f"{move}; nothing else is sure to help." if moved else "nothing is sure to help."
        return _capital(text), [*sentences, f"Worth another look: {named}."]
    sentences += [
        f"Nothing was compared for {finding.classifier}: there was no time."
        for finding in findings
        if finding.best is None and any(name == finding.classifier for _, name in results.late)
    ]
    if any(gain.better > ERROR and _width(gain) > WIDE for gain in best):
        sentences.append("The data are too few to rule a gain out.")
    if not best:
        return "No resampling was compared.", sentences
    if moved:
        return f"Do not resample: {move} instead.", sentences
    if maybe:
        return "Do not resample.", [f"At most, it might help to {move} ({maybe}).", *sentences]
    either = ", and no threshold either" if metric.is_tuned else ""
    tried = f"No strategy that was tried is shown to help{either}."
    return f"Nothing helps {metric.label}: leave the table as it is.", [tried, *sentences]


def _too_few(table: ComparedTable) -> tuple[str, list[str]]:
    """Say that there are too few rows: too few in the file, or too few of it used."""
    smallest = int(table.counts.argmin())
    label, fewest = table.classes[smallest], table.counts[smallest]
    if table.is_drawn:
        more = f"The file has {table.counts_of_file[smallest]:,} of them"
        sentences = [f"{more}: use more with --rows, or --full."]
        return f"Too few rows were used to tell: {fewest} of class {label!r}.", sentences
    sentences = ["Collect more before you choose a method; these scores are too uncertain."]
    return f"Too few data to tell: class {label!r} has {fewest} rows.", sentences


def _in_state(findings: Iterable[ClassifierEvidence], *states: State) -> dict[str, Gain]:
    """Return the classifiers in one of these states, each with the strategy to report."""
    return {f.classifier: f.best for f in findings if f.state in states and f.best is not None}


def _moved(results: Results, findings: Iterable[ClassifierEvidence], least: float) -> str:
    """Name the thresholds that help with at least this probability."""
    metric = results.plan.settings.metric
    found = [f.classifier for f in findings if f.moving and f.moving.better >= least]
    cuts = [results.pairs[BASELINE, name].thresholds(metric) for name in found]
    named = zip(found, cuts, strict=True)
    return ", ".join(f"{np.median(cut):.2g} for {c}" if len(cut) else c for c, cut in named)


def _named(results: Results, strategy: str, threshold: str) -> str:
    """Name a strategy, with its threshold where there is one."""
    name = "no resampling" if strategy == BASELINE else strategy
    if not METRICS[results.plan.settings.metric].is_tuned:
        return name
    return f"{name} at 0.5" if threshold == HALF else f"{name}, tuned"


def best_offer(results: Results, findings: Sequence[ClassifierEvidence]) -> Offer:
    """Return the best model that is supported: a strategy or a threshold counts if it helps."""
    offers = []
    for finding in findings:
        is_moved = finding.moving is not None and finding.moving.better >= POSSIBLE
        offers.append((finding.classifier, BASELINE, TUNED if is_moved else HALF))
        if finding.best is not None and finding.state == "helps":
            offers.append((finding.classifier, finding.best.strategy, finding.best.threshold))
    metric = METRICS[results.plan.settings.metric]
    scored = [Offer(*offer, _mean(results, *offer)) for offer in offers]
    return max(scored, key=lambda offer: (metric.sign * offer.score, *offer))


def _mean(results: Results, classifier: str, strategy: str, threshold: str) -> float:
    pair = results.pairs[strategy, classifier]
    return float(pair.values(results.plan.settings.metric, threshold).mean())


def _best_supported(results: Results, offer: Offer) -> str:
    """Name the best pair of classifier and strategy, which may be no resampling."""
    metric = METRICS[results.plan.settings.metric]
    named = _named(results, offer.strategy, offer.threshold)
    return f"Best supported by {metric.label}: {offer.classifier} with {named}, {offer.score:.3f}."


def advise(plan: ComparisonPlan, offer: Offer, setup: str = "") -> tuple[str, str]:
    """Return a sentence that names the model to use, and the lines that make it."""
    parts, is_tuned = make_parts(plan, offer.strategy, offer.classifier), offer.threshold == TUNED
    imports: Imports = set()
    head, arguments = as_call(parts.model(offer.threshold), imports)
    made = f"{head}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"
    fit = "X, y"
    if is_tuned and plan.table.groups is not None:
        fit += f", {'' if parts.before is None else 'resampledclassifier__'}groups=groups"
    modules: dict[str, list[str]] = {}
    for module, imported in sorted(imports):
        modules.setdefault(module, []).append(imported)
    lines = [f"from {module} import {', '.join(names)}" for module, names in modules.items()]
    what = "ResampledClassifier" if is_tuned else offer.classifier
    sentence = f"To use it on new rows: {what}, in the lines below."
    if not isinstance(parts.resampled.sampler, str):
        name = type(parts.resampled.sampler).__name__
        inside = ", inside ResampledClassifier," if is_tuned else ""
        sentence = f"To train on: the rows of {name}{inside} in the lines below."
    if offer.strategy == COUNTERFACTUAL:
        sentence += " Counterfactuals are made to be read: see counterbalance explain."
    return sentence, "\n".join([*lines, *filter(None, [setup]), f"model = {made}.fit({fit})"])


def _about_rows(results: Results, findings: Sequence[ClassifierEvidence]) -> Iterator[str]:
    """Yield caveats about rows, folds and the number of candidates."""
    plan, table = results.plan, results.plan.table
    fewest = int(np.mean([np.bincount(table.codes[fold.test]).min() for fold in plan.folds]))
    if fewest < FEWEST_IN_TEST:
        yield (
            f"A test fold has about {fewest} rows of class {table.classes[-1]!r}: read the "
            "intervals, not the means."
        )
    if table.class_weights is not None:
        here, there = (c[-1] / c.sum() for c in (table.counts, table.counts_of_file))
        yield (
            f"Class {table.classes[-1]!r} is {here:.1%} of the rows used and {there:.2%} of the "
            "file. Metrics and thresholds are weighted to the shares of the file, and "
            "probabilities corrected for them, but every method was tried on a milder imbalance."
        )
    many = [f for f in findings if len(f.gains) > 1]
    if many:
        yield (
            f"{len(many[0].gains)} candidates were tried, and the best of many looks better than "
            f"it is: a strategy helps only with a probability of at least {many[0].bar:.3f}."
        )
    if table.times is not None:
        yield "Folds follow the time: each block is tested with what was learned before it."
    elif table.groups is not None:
        yield "Folds keep every group whole."
    if "SMOTE" in plan.settings.strategies and smote_of(plan) != "SMOTE":
        yield f"The table has categories, so SMOTE is {smote_of(plan)}."


def _about_trials(results: Results) -> Iterator[str]:
    """Yield caveats about trials that were not computed or that failed."""
    planned, computed = len(results.pairs) * len(results.plan.folds), len(results.records)
    if computed < planned:
        late = ", ".join(f"{strategy} with {name}" for strategy, name in results.late)
        yield (
            f"{computed} of {planned} trials were enough; {planned - computed} were saved, because "
            f"more folds could not change the answer{f', or for lack of time: {late}' * bool(late)}"
            ". --full computes them all."
        )
    by_reason: dict[tuple[str, str], list[str]] = {}
    for pair in results.pairs.values():
        if pair.failed and pair.records:
            by_reason.setdefault((pair.classifier, pair.failed), []).append(pair.strategy)
    for (classifier, reason), strategies in by_reason.items():
        named = ", ".join(strategies)
        yield f"{named} failed with {classifier} on {reason}. Left out of the verdict."


def _family(gain: Gain) -> str:
    """Name a strategy with what it does."""
    if gain.strategy.lower().startswith("random "):
        return gain.strategy.lower()
    kind = known_strategies()[gain.strategy]
    does = {"under": "undersampling with", "weights": "using"}.get(kind, "oversampling with")
    return f"{does} {gain.strategy}"


def _width(gain: Gain) -> float:
    low, high = gain.belief.interval()
    return high - low


def _capital(text: str) -> str:
    """Begin a sentence; the user's own module:object stays as it is."""
    return text if ":" in text.partition(" ")[0] else text[0].upper() + text[1:]


def signed(value: float) -> str:
    """Write a difference.

    >>> signed(0.0123), signed(-0.0001)
    ('+0.012', '0.000')
    """
    text = f"{np.clip(value, -1, 1):+.3f}"
    return "0.000" if text in {"+0.000", "-0.000"} else text


def _listed(names: Sequence[str], word: str) -> str:
    """Join names: a, b and c."""
    return f" {word} ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]])
