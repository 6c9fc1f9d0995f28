"""The verdict in plain words: one headline, the evidence, and what to be careful about."""

from collections.abc import Iterable, Sequence

import numpy as np

from counterbalance.compare.advice import FEWEST_MINORITY, Offer, advise, caveats, scope
from counterbalance.compare.evidence import (
    ERROR,
    HOPE,
    LIKELY,
    Evidence,
    Gain,
    State,
    find,
    is_fragile,
)
from counterbalance.compare.metrics import CORRECTED, METRICS
from counterbalance.compare.records import Verdict
from counterbalance.compare.results import HALF, TUNED, Results
from counterbalance.compare.strategies import BASELINE, known_strategies

WIDE, VERY_WIDE = 0.1, 0.2  # widths of intervals that leave a good sign, or anything, open
SPOILED = 1.1  # a Brier score so many times as large is worth a sentence
SURE = 0.995  # beyond this a probability is written as "above 0.99"
FAMILIES = {
    "ours": "oversampling with",
    "over": "oversampling with",
    "under": "undersampling with",
    "weights": "using",
}


def judge(results: Results) -> Verdict:
    """Say whether resampling helps on this table."""
    findings, code = find(results), ""
    if findings:
        headline, sentences = _headline(results, findings)
        sentences += [_sentence(results, finding) for finding in findings]
        sentences.append(_best_supported(results, findings))
        sentences.append(_probabilities(results, findings))
        if results.plan.table.counts.min() >= FEWEST_MINORITY:
            sentence, code = advise(results, _best_offer(results, findings))
            sentences.append(sentence)
    else:
        headline = "There is no verdict: no classifier could be fitted without resampling."
        sentences = sorted({pair.failed for pair in results.pairs.values() if pair.failed})
    return Verdict(
        scope=scope(results.plan.table),
        headline=headline,
        sentences=tuple(filter(None, sentences)),
        caveats=tuple(caveats(results, findings)),
        code=code,
    )


def _headline(results: Results, findings: Sequence[Evidence]) -> tuple[str, list[str]]:
    """Return one plain sentence, and what has to be said right after it."""
    fewest = int(results.plan.table.counts.min())
    if fewest < FEWEST_MINORITY:
        return _too_few(results, fewest)
    if helped := _in_state(findings, "helps"):
        text = "; ".join(f"{_family(gain)} helps {name}" for name, gain in helped.items())
        rest = [f.classifier for f in findings if f.classifier not in helped]
        tail = f"; nothing is shown to help {_listed(rest, 'or')}" if rest else ""
        return f"{text[0].upper()}{text[1:]}{tail}.", []
    moved, move = _moved(results, findings, LIKELY), _move(results)
    details = [f"To do: {move} ({moved})."] if moved else []
    if hopeful := _in_state(findings, "probably", "unclear"):
        named = "; ".join(f"{_family(gain)} for {name}" for name, gain in hopeful.items())
        is_wide = max(map(_width, hopeful.values())) > WIDE
        text = _perhaps(move if moved else "", is_wide=is_wide)
        return text, [*details, f"Worth another look: {named}."]
    if any(finding.gains for finding in findings):
        text, more = _not_resampling(results, findings)
        return text, [*details, *more]
    if moved:
        return f"{_capital(move)}; no resampling was compared.", details
    return "No other threshold is shown to help, and no resampling was compared.", []


def _perhaps(move: str, *, is_wide: bool) -> str:
    """Say that something might help; ``move`` is what does help already, if anything does."""
    if is_wide and move:
        return f"{_capital(move)}; the data are too few to tell whether anything adds to that."
    if is_wide:
        return "The data are too few to tell whether resampling helps."
    return (
        f"{_capital(move)}; nothing else is sure to help." if move else "Nothing is sure to help."
    )


def _not_resampling(results: Results, findings: Sequence[Evidence]) -> tuple[str, list[str]]:
    """Say that nothing is shown to help, or nothing but another threshold."""
    move, metric = _move(results), METRICS[results.plan.settings.metric]
    is_open = ["The data are too few to rule a gain out."] if _is_open(findings) else []
    if _moved(results, findings, LIKELY):
        return f"Do not resample: {move} instead.", is_open
    if maybe := _moved(results, findings, HOPE):
        return "Do not resample.", [f"At most, it might help to {move} ({maybe}).", *is_open]
    more = ", and no threshold either" if metric.needs_threshold else ""
    tried = f"No strategy that was tried is shown to help{more}."
    return f"Nothing helps {metric.label}: leave the table as it is.", [tried, *is_open]


def _too_few(results: Results, fewest: int) -> tuple[str, list[str]]:
    """Say that there are too few rows; those that our own cut left out need no collecting."""
    table = results.plan.table
    label = table.classes[int(table.counts.argmin())]
    drawn, smallest = table.subsample, int(table.counts.argmin())
    left_out = 0 if drawn is None else int(drawn.whole[smallest]) - fewest
    if left_out:
        return (
            f"Too few rows were used to tell: {fewest} of class {label!r}.",
            [f"The file has {left_out + fewest:,} of them: use more with --rows, or --full."],
        )
    return (
        f"Too few data to tell: class {label!r} has {fewest} rows.",
        ["Collect more before you choose a method; the figures below are leads, not results."],
    )


def _is_open(findings: Iterable[Evidence]) -> bool:
    """Say whether some gain is neither shown nor ruled out, because intervals are very wide."""
    best = [finding.best for finding in findings if finding.best is not None]
    return any(gain.better > ERROR and _width(gain) > VERY_WIDE for gain in best)


def _move(results: Results) -> str:
    """Say what is to be done to the decisions."""
    if results.plan.table.is_binary:
        return "move the decision threshold"
    return "divide the probabilities by the class shares"


def _moved(results: Results, findings: Iterable[Evidence], least: float) -> str:
    """Name the thresholds that help with at least this probability."""
    share = float(results.plan.table.shares[-1])
    return ", ".join(
        f"{f.threshold[0]:.2g}{_flag(f, share)} for {f.classifier}" if f.threshold else f.classifier
        for f in findings
        if f.moving is not None and f.moving.better >= least
    )


def _flag(finding: Evidence, share: float) -> str:
    """Mark a threshold that a caveat warns of."""
    is_marked = finding.threshold is not None and is_fragile(finding.threshold, share)
    return " (fragile)" if is_marked else ""


def _in_state(findings: Iterable[Evidence], *states: State) -> dict[str, Gain]:
    """Return the classifiers in one of these states, each with the strategy to speak of."""
    return {f.classifier: f.best for f in findings if f.state in states and f.best is not None}


def _sentence(results: Results, finding: Evidence) -> str:
    """Say what was found for one classifier."""
    settings = results.plan.settings
    metric = METRICS[settings.metric].label
    flag = _flag(finding, results.plan.table.shares[-1])
    parts = [_free(finding, metric, settings.rope, flag), _added(results, finding)]
    fine = {gain.strategy for gain in finding.gains if gain.worse < LIKELY}
    worse = sorted({gain.strategy for gain in finding.gains} - fine)
    if worse:
        parts.append(f"worse than that at either threshold: {_listed(worse, 'and')}")
    return f"{_capital(finding.classifier)}: " + "; ".join(parts) + "."


def _free(finding: Evidence, metric: str, rope: float, flag: str) -> str:
    """Say what can be had without resampling."""
    if finding.moving is None:
        return f"without resampling {metric} is {finding.reference:.3f}"
    how = "dividing the probabilities by the class shares"
    if finding.threshold is not None:
        cut, low, high = finding.threshold
        over = f" (from {low:.2g} to {high:.2g} over the folds)" if low < high else ""
        how = f"a threshold of {cut:.2g}{flag}{over}"
    plain = finding.moving.score - finding.moving.belief.mean
    if finding.moving.belief.mean <= 0:
        return f"as it is {metric} is {plain:.3f}; {how} gives {finding.moving.score:.3f}"
    does = "takes" if finding.threshold_helps else "would take"
    chance = _chance(finding.moving.better, f"{metric} rises by more than {rope:g}")
    return (
        f"{how} {does} {metric} from {plain:.3f} to {finding.moving.score:.3f} without any "
        f"resampling: {chance}"
    )


def _added(results: Results, finding: Evidence) -> str:
    """Say what the best candidate adds to that."""
    gain = finding.best
    if gain is None:
        return "there is nothing to compare it with"
    low, high = np.clip(gain.belief.interval(), -1, 1)
    evidence = (
        f"{_signed(gain.belief.mean)} (95 % interval {_signed(low)} to {_signed(high)}, "
        f"{_chance(gain.better, f'the gain is above {gain.rope:g}')})"
    )
    what = gain.strategy + _at(results, finding.classifier, gain.strategy, gain.threshold)
    match finding.state:
        case "helps":
            return f"{what} adds {evidence}"
        case "probably":
            return (
                f"{what} probably adds to it, {evidence}, but of {len(finding.gains)} candidates "
                f"one may look so by chance (the bar is {finding.bar:.3f})"
            )
        case "unclear":
            return f"{what} may or may not add to it, {evidence}"
        case _:
            no = "nothing adds" if gain.better < ERROR else "nothing is shown to add"
            return f"{no} to it; the nearest is {what}, {evidence}"


def _at(results: Results, classifier: str, strategy: str, threshold: str) -> str:
    """Say at which threshold a candidate is meant; nothing where there is none."""
    metric = METRICS[results.plan.settings.metric]
    if not metric.needs_threshold:
        return ""
    if not results.plan.table.is_binary:
        return "" if threshold == HALF else ", divided by the class shares"
    if threshold == HALF:
        return " at 0.5"
    cut = float(np.median(results.pairs[strategy, classifier].thresholds(metric.name)))
    return f" at a threshold of {cut:.2g}"


def _best_offer(results: Results, findings: Sequence[Evidence]) -> Offer:
    """Return the best classifier, with what, and its score; a strategy counts if it helps."""
    sign = 1 if METRICS[results.plan.settings.metric].higher_is_better else -1
    offers = []
    for finding in findings:
        name, best = finding.classifier, finding.best
        is_moved = finding.moving is not None and finding.moving.belief.mean > 0
        threshold = TUNED if is_moved else HALF
        offers.append(Offer(name, BASELINE, threshold, finding.reference))
        if best is not None and finding.state == "helps":
            offers.append(Offer(name, best.strategy, best.threshold, best.score))
    return max(offers, key=lambda offer: (sign * offer.score, offer.classifier, offer.strategy))


def _best_supported(results: Results, findings: Sequence[Evidence]) -> str:
    """Name the best pair of classifier and strategy, which may be one that needs nothing."""
    metric = METRICS[results.plan.settings.metric]
    sign = 1 if metric.higher_is_better else -1
    classifier, strategy, threshold, score = _best_offer(results, findings)
    how = "no resampling" if strategy == BASELINE else strategy
    how += _at(results, classifier, strategy, threshold)
    best = f"Best supported by {metric.label}: {classifier} with {how}, {score:.3f}."
    others = [(sign * gain.score, f.classifier, gain) for f in findings for gain in f.gains]
    top, name, gain = max(others, key=lambda other: other[0], default=(-np.inf, "", None))
    if gain is None or round(top, 3) <= round(sign * score, 3):
        return best if len(findings) > 1 else ""
    what = gain.strategy + _at(results, name, gain.strategy, gain.threshold)
    return (
        f"{best} The tables show a better mean, {sign * top:.3f} for {name} with {what}, but it is "
        "not shown to be more than the luck of these folds: a strategy counts here only where it "
        "helps its own classifier beyond a threshold."
    )


def _probabilities(results: Results, findings: Sequence[Evidence]) -> str:
    """Say what resampling does to the probabilities, by the first classifier."""
    classifier = findings[0].classifier
    base = results.pairs[BASELINE, classifier].mean("brier")
    spoiled = []
    for strategy in results.plan.settings.strategies:
        pair = results.pairs[strategy, classifier]
        raw, mended = pair.mean("brier"), pair.mean(f"brier{CORRECTED}")
        if base and raw and mended and raw > base * SPOILED:
            spoiled.append((raw, mended, strategy))
    if not spoiled:
        return ""
    raw, mended, strategy = max(spoiled)
    names = _listed([name for *_, name in spoiled], "and")
    return (
        f"Probabilities of {classifier} suffer from {names}: the Brier score, which is good when "
        f"low, goes from {base:.3f} to {raw:.3f} with {strategy}, and back to {mended:.3f} after "
        "prior correction. If you use the probabilities and not only the answers, correct them or "
        "do not resample."
    )


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


def _capital(text: str) -> str:
    """Begin a sentence with a name; the user's own module:object stays as it is."""
    return text if ":" in text else text[0].upper() + text[1:]


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return "0.000" if text in {"+0.000", "-0.000"} else text


def _listed(names: Sequence[str], word: str) -> str:
    """Join names: a, b and c."""
    if len(names) < 2:  # noqa: PLR2004 - one name needs no comma
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"
