"""The verdict in plain words: one headline, the evidence, and what to be careful about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from counterbalance.experiments.comparison.caveats import FEWEST_MINORITY, caveats
from counterbalance.experiments.comparison.evidence import (
    EVEN,
    LIKELY,
    Finding,
    Gain,
    State,
    find,
)
from counterbalance.experiments.comparison.metrics import CORRECTED, METRICS
from counterbalance.experiments.comparison.results import Results
from counterbalance.experiments.comparison.strategies import BASELINE, known_strategies

WIDE = 0.1  # an interval wider than this leaves everything open
SURE = 0.995  # beyond this a probability is written as "above 0.99"
FAMILIES = {
    "ours": "oversampling with",
    "over": "oversampling with",
    "under": "undersampling with",
    "weights": "using",
}


@dataclass(frozen=True)
class Verdict:
    """The answer: what to do, why, and how far to trust it."""

    headline: str
    sentences: tuple[str, ...]
    caveats: tuple[str, ...]


def judge(results: Results) -> Verdict:
    """Say whether resampling helps on this table."""
    findings = find(results)
    if not findings:
        reasons = {pair.failed for pair in results.pairs.values() if pair.failed}
        return Verdict(
            "There is no verdict: no classifier could be fitted without resampling.",
            tuple(sorted(reasons)),
            tuple(caveats(results, findings)),
        )
    sentences = [_sentence(results, finding) for finding in findings]
    sentences += _best_of_all(results, findings)
    sentences += _probabilities(results, findings)
    return Verdict(
        _headline(results, findings), tuple(sentences), tuple(caveats(results, findings))
    )


def _headline(results: Results, findings: Sequence[Finding]) -> str:
    table, fewest = results.plan.table, int(results.plan.table.counts.min())
    if fewest < FEWEST_MINORITY:
        return (
            f"Too few data to tell: class {table.classes[-1]!r} has {fewest} rows. Collect more "
            "before you choose a method; the figures below are leads, not results."
        )
    helped = _in_state(findings, "helps")
    hopeful = _in_state(findings, "probably", "unclear")
    if helped:
        text = "; ".join(f"{_family(gain)} helps {name}" for name, gain in helped.items())
        rest = [f.classifier for f in findings if f.classifier not in helped]
        tail = f"; nothing is shown to help {_listed(rest, 'or')}" if rest else ""
        return f"{text[0].upper()}{text[1:]}{tail}."
    if hopeful:
        named = "; ".join(f"{_family(gain)} for {name}" for name, gain in hopeful.items())
        if max(map(_width, hopeful.values())) > WIDE:
            return f"Too few data to tell: the intervals are wide. Worth another look: {named}."
        return f"Nothing is sure to help. It might: {named}."
    return _without_resampling(results, findings)


def _without_resampling(results: Results, findings: Sequence[Finding]) -> str:
    """Say what to do where no strategy helps."""
    metric = METRICS[results.plan.settings.metric].label
    thresholds = {
        least: ", ".join(
            f"{finding.threshold[0]:.2g} for {finding.classifier}"
            for finding in findings
            if finding.moving and finding.threshold and finding.moving.better >= least
        )
        for least in (LIKELY, EVEN)
    }
    if thresholds[LIKELY]:
        return f"Do not resample: move the decision threshold instead ({thresholds[LIKELY]})."
    if thresholds[EVEN]:
        return f"Do not resample. At most another threshold might help ({thresholds[EVEN]})."
    if any(finding.moving for finding in findings):
        return (
            f"Nothing helps {metric}: no resampling, no weights, no threshold. Leave it as it is."
        )
    return f"Nothing helps {metric}: no resampling and no weights. Leave the table as it is."


def _in_state(findings: Iterable[Finding], *states: State) -> dict[str, Gain]:
    """Return the classifiers in one of these states, each with the strategy to speak of."""
    return {f.classifier: f.best for f in findings if f.state in states and f.best is not None}


def _sentence(results: Results, finding: Finding) -> str:
    """Say what was found for one classifier."""
    settings = results.plan.settings
    metric = METRICS[settings.metric].label
    name = finding.classifier[0].upper() + finding.classifier[1:]
    parts = []
    if finding.moving is not None and finding.threshold is not None:
        cut, low, high = finding.threshold
        how = _chance(finding.moving.better, f"{metric} rises by more than {settings.rope:g}")
        does = "takes" if finding.threshold_helps else "would take"
        parts.append(
            f"a threshold of {cut:.2g} (from {low:.2g} to {high:.2g} over the folds) {does} "
            f"{metric} from {finding.moving.score:.3f} to {finding.reference:.3f} without any "
            f"resampling: {how}"
        )
    else:
        parts.append(f"without resampling {metric} is {finding.reference:.3f}")
    parts.append(_added(finding, settings.rope))
    worse = [gain.strategy for gain in finding.gains if gain.worse >= LIKELY]
    if worse:
        parts.append(f"worse than that: {_listed(worse, 'and')}")
    return f"{name}: " + "; ".join(parts) + "."


def _added(finding: Finding, rope: float) -> str:
    gain = finding.best
    if gain is None:
        return "nothing else could be compared"
    low, high = gain.belief.interval()
    evidence = (
        f"{_signed(gain.belief.mean)} (95 % interval {_signed(low)} to {_signed(high)}, "
        f"{_chance(gain.better, f'the gain is above {rope:g}')})"
    )
    match finding.state:
        case "helps":
            return f"{gain.strategy} adds {evidence}"
        case "probably":
            return (
                f"{gain.strategy} probably adds to it, {evidence}, but of {len(finding.gains)} "
                f"strategies tried one may look so by chance (the bar is {finding.bar:.3f})"
            )
        case "unclear":
            return f"{gain.strategy} may or may not add to it, {evidence}"
        case _:
            return f"nothing adds to it; the nearest is {gain.strategy}, {evidence}"


def _best_of_all(results: Results, findings: Sequence[Finding]) -> list[str]:
    """Name the best pair of classifier and strategy, which may be one that needs nothing."""
    if len(findings) == 1:
        return []
    settings = results.plan.settings
    sign = 1 if METRICS[settings.metric].higher_is_better else -1
    offers = []
    for finding in findings:
        offers.append((sign * finding.reference, finding.classifier, BASELINE, finding))
        if finding.best is not None and finding.state == "helps":
            helped = (sign * finding.best.score, finding.classifier, finding.best.strategy, finding)
            offers.append(helped)
    score, classifier, strategy, finding = max(offers, key=lambda offer: offer[0])
    how = "no resampling" if strategy == BASELINE else strategy
    if finding.threshold is not None:
        pair = results.pairs[strategy, classifier]
        cut = float(sorted(pair.thresholds(settings.metric))[len(pair.done) // 2])
        how += f" and a threshold of {cut:.2g}"
    return [
        (
            f"Best of all by {METRICS[settings.metric].label}: {classifier} with {how}, "
            f"{sign * score:.3f}."
        )
    ]


def _probabilities(results: Results, findings: Sequence[Finding]) -> list[str]:
    """Say what resampling does to the probabilities, by the first classifier."""
    classifier = findings[0].classifier
    base = results.pairs[BASELINE, classifier].score("brier")
    spoiled = []
    for strategy in results.plan.settings.strategies:
        pair = results.pairs[strategy, classifier]
        raw, mended = pair.score("brier"), pair.score(f"brier{CORRECTED}")
        if strategy != BASELINE and base and raw and mended and raw.mean > base.mean * 1.1:
            spoiled.append((raw.mean, mended.mean, strategy))
    if not spoiled or base is None:
        return []
    raw_mean, mended_mean, strategy = max(spoiled)
    text = (
        f"Probabilities: {_listed([name for *_, name in spoiled], 'and')} spoil those of "
        f"{classifier}; the worst is {strategy}, with a Brier score of {raw_mean:.3f} against "
        f"{base.mean:.3f} (lower is better), {mended_mean:.3f} after prior correction. If you use "
        "the probabilities and not only the answers, correct them or do not resample."
    )
    return [text]


def _family(gain: Gain) -> str:
    """Name a strategy with what it does."""
    family = FAMILIES[known_strategies()[gain.strategy]]
    if gain.strategy.lower().startswith("random "):
        return gain.strategy.lower()
    return f"{family} {gain.strategy}"


def _width(gain: Gain) -> float:
    low, high = gain.belief.interval()
    return high - low


def _chance(probability: float, what: str) -> str:
    """Write a probability with two digits, never as a certainty."""
    if probability > SURE:
        return f"probability above 0.99 that {what}"
    if probability < 1 - SURE:
        return f"probability below 0.01 that {what}"
    return f"probability {probability:.2f} that {what}"


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return "0.000" if text in {"+0.000", "-0.000"} else text


def _listed(names: Sequence[str], word: str) -> str:
    """Join names: a, b and c."""
    if len(names) < 2:  # noqa: PLR2004 - one name needs no comma
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"
