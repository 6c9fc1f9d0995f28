"""Which of the paper's claims hold on these figures, which do not, which are undecided.

Every sentence comes from the figures. A cell is a data set and a classifier; it is *ahead* or
*behind* where the paired difference is beyond chance (p below `LEVEL`), else *open*. Of many cells
one is behind by chance, so a claim about n cells is judged at `LEVEL` / n. It

    holds             if ours is first as often as in the paper, and behind in no cell
    does not hold     if ours is behind in a cell
    undecided         otherwise, and where there are too few figures for a test
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

import numpy as np

from paper.classifiers import CLASSIFIERS
from paper.reproduction import class_counts, published
from paper.reproduction.methods import CONTROL, INTERIOR, OURS, PRINTED, RESAMPLING
from paper.reproduction.scores import LEVEL, Difference, Scores, paired
from paper.trials import ERROR, Frame

Cell = tuple[str, str]
HOLDS, FAILS, OPEN = "Holds", "Does not hold", "Undecided"
# Data sets of the paper that anyone can get; ILC is a simulation here, FMN2 not the paper's.
PUBLIC = ("WBC", "PBC", "FMN")
# Chosen here, and the table of the paper that each stands for.
STAND_INS = {"FMN": "FMN", "FMN2": "FMN", "ILC": "ILC"}
PEERS = tuple(method for method in RESAMPLING if method != OURS)
VARIANTS = "Against ours by its defaults, over the public cells (G-mean)"
LEAST_GAIN, MOST_GAIN = 0.05, 0.15  # "about 5 % - 15 %"


def claims(every: Sequence[Scores], datasets: Sequence[str], counted: Frame) -> list[str]:
    """Return a sentence or two for each claim, the verdict first.

    every     the figures of each measure
    counted   the trials of Table IV
    """
    fold_mean, pooled, f_measures = every
    cells = [(data, c) for data in datasets if data in PUBLIC for c in CLASSIFIERS]
    variants = _compared(fold_mean, cells, [(PRINTED, OURS), (INTERIOR, OURS)])
    said = (
        _first(fold_mean, cells, "Table III, G-mean, public data sets"),
        _first(pooled, cells, "The same with the folds of a run together"),
        _gain(fold_mean, cells),
        _first(f_measures, cells, "Figure 5, F-measure, public data sets", in_paper=len(cells)),
        _oversampling(fold_mean, cells),
        _control(fold_mean, cells),
        _own_figures(fold_mean, cells),
        f"{VARIANTS}: {variants}." if variants else "",
        _class_counts(counted),
        _simulated(fold_mean, datasets),
        _difficulty(fold_mean, datasets),
    )
    return [text for text in said if text]


def _first(
    scores: Scores, cells: Iterable[Cell], title: str, *, in_paper: int | None = None
) -> str:
    """Say whether ours is first of the four."""
    known = [cell for cell in cells if scores.ranking(*cell)]
    if not known:
        return ""
    first = sum(scores.ranking(*cell)[0] == OURS for cell in known)
    paper = in_paper
    if paper is None:
        paper = sum(scores.published_ranking(*cell)[:1] == (OURS,) for cell in known)
    found = [scores.difference(d, OURS, str(scores.best_other(d, c)), c) for d, c in known]
    shared = [difference for difference in found if difference is not None]
    return (
        f"{_verdict(shared, is_reached=first >= paper)}: ours comes first of the four "
        f"({title}; paper {paper} of {len(known)} cells). Here it is first in {first}; against "
        f"the best of the other three it is {_counted(shared)}."
    )


def _gain(scores: Scores, cells: Sequence[Cell]) -> str:
    """Say whether ours is better by 5 % to 15 %."""
    gains = _means(scores, cells, [(OURS, peer) for peer in PEERS])
    if not gains:
        return ""
    is_less = any(
        gain < LEAST_GAIN and _beyond(_differences(scores, cells, *pair, LEAST_GAIN), -1)
        for pair, gain in gains.items()
    )
    is_reached = min(gains.values()) >= LEAST_GAIN
    verdict = HOLDS if is_reached else FAILS if is_less else OPEN
    each = ", ".join(f"{peer} {gain:+.3f}" for (_, peer), gain in gains.items())
    printed = ", ".join(f"{peer} {_printed_gain(peer, cells):+.3f}" for peer in PEERS)
    return (
        f"{verdict}: ours is more accurate by about {LEAST_GAIN:.0%} to {MOST_GAIN:.0%}. Mean "
        f"difference of the G-mean over the public cells, ours minus each: {each}. In the "
        f"paper's own Table III it is {printed}."
    )


def _printed_gain(peer: str, cells: Iterable[Cell]) -> float:
    pairs = [(published.g_mean(d, OURS, c), published.g_mean(d, peer, c)) for d, c in cells]
    return fmean(mine[0] - other[0] for mine, other in pairs if mine and other)


def _oversampling(scores: Scores, cells: Sequence[Cell]) -> str:
    """Say whether the oversamplers beat the undersampling of CUSBoost."""
    pairs = [(peer, "CUSBoost") for peer in RESAMPLING if peer != "CUSBoost"]
    found = [d for pair in pairs if (d := _differences(scores, cells, *pair))]
    if not found:
        return ""
    behind, ahead = any(_beyond(d, -1) for d in found), all(_beyond(d, 1) for d in found)
    verdict = FAILS if behind else HOLDS if ahead else OPEN
    return (
        f"{verdict}: oversampling beats the undersampling of CUSBoost. Mean difference of the "
        f"G-mean over the public cells: {_compared(scores, cells, pairs)}."
    )


def _control(scores: Scores, cells: Iterable[Cell]) -> str:
    """Say what plain SMOTE means for the claim."""
    found = _differences(scores, cells, OURS, CONTROL)
    if not found:
        return ""
    mean = fmean(d.mean for d in found)
    if mean > 0 and _beyond(found, 1):
        meaning = "what ours gains over the peers is more than plain interpolation gives"
    else:
        better = mean < 0 and _beyond(found, -1)
        meaning = (
            f"{'plain interpolation is better' if better else 'no gain over it can be shown'}: "
            "what ours gains over the three peers of the paper is no evidence that "
            "counterfactuals are the reason"
        )
    return (
        f"The control: against plain {CONTROL}, which the paper leaves out, ours is "
        f"{_counted(found)} over the public cells (G-mean), {mean:+.3f} on the mean. "
        f"So {meaning}."
    )


def _own_figures(scores: Scores, cells: Iterable[Cell]) -> str:
    """Say where ours reaches the paper's own figures, and where not."""
    above, below = 0, []
    for data, classifier in cells:
        mine = _to_paper(scores, data, OURS, classifier)
        above += mine > 0
        if mine <= 0:
            theirs = [_to_paper(scores, data, peer, classifier) for peer in PEERS]
            known = [gap for gap in theirs if not np.isnan(gap)]
            peers = f", its peers by {fmean(known):+.3f}" if known else ""
            below.append(f"{data} {classifier} by {mine:+.3f}{peers}")
    if not above and not below:
        return ""
    text = f"Ours is above the paper's own figure in {above} of {above + len(below)} public cells."
    if below:
        text += (
            f" Below in {'; '.join(below)}. Where the peers differ from their printed figures by "
            "about as much, the data or the classifiers' settings are the reason, not the method."
        )
    return text


def _class_counts(counted: Frame) -> str:
    """Say whether ours classifies the most rows of the small classes."""
    ran = class_counts.of_whole_splits(counted).sort_values("split")
    named = ("none", *RESAMPLING)
    ran = ran[ran["method"].isin(named)]
    if ran["method"].nunique() < len(named) or ran[ERROR].notna().any():
        return ""
    best, won, paper_won, found = [], 0, 0, []
    for place, (label, name) in list(enumerate(published.CLASS_NAMES.items()))[1:]:
        right = ran.pivot_table(f"correct {label}", "split", "method")[list(named)]
        means = right.mean()
        leaders = [method for method in named if means[method] == means.max()]
        won += OURS in leaders
        found.append(paired((right[OURS] - right[leaders[0]]).to_numpy(), class_counts.RATIO))
        printed = {method: published.CORRECT[method][place] for method in named}
        paper_won += printed[OURS] == max(printed.values())
        best.append(f"{name} {' and '.join(leaders)} ({means.max():.1f}, ours {means[OURS]:.1f})")
    return (
        f"{_verdict(found, is_reached=won >= paper_won)}: ours classifies the most rows of the "
        f"small classes of PBC (Table IV; paper, ties counted: {paper_won} of {len(best)} "
        f"classes). Here it does in {won}; most rows right: {', '.join(best)}. Beyond chance "
        f"it is behind in {_tally(found)['behind']}."
    )


def _simulated(scores: Scores, datasets: Sequence[str]) -> str:
    if "ILC" not in datasets:
        return ""
    known = [ranking for c in CLASSIFIERS if (ranking := scores.ranking("ILC", c))]
    first = sum(ranking[0] == OURS for ranking in known)
    seen = f"; on the simulated stand-in ours is first in {first} of {len(known)}" if known else ""
    return f"{OPEN}: every claim about ILC, whose data are private{seen}."


def _difficulty(scores: Scores, datasets: Sequence[str]) -> str:
    """Say how near the tables that were chosen come to the paper's, by the peers alone."""
    parts = []
    for data in (name for name in STAND_INS if name in datasets):
        gaps = {p: [_to_paper(scores, data, p, c) for c in CLASSIFIERS] for p in PEERS}
        each = [f"{p} {np.nanmean(gap):+.3f}" for p, gap in gaps.items() if not np.isnan(gap).all()]
        if each:
            parts.append(f"{data} {', '.join(each)}")
    if not parts:
        return ""
    return (
        "How hard the tables are that the paper does not name or publish: its three peers "
        f"differ from its own G-means, on the mean of the classifiers, by {'; '.join(parts)}. "
        "Below zero, they score lower here than in the paper."
    )


# --- differences ----------------------------------------------------------------------


def _differences(
    scores: Scores, cells: Iterable[Cell], method: str, other: str, margin: float = 0.0
) -> list[Difference]:
    found = [scores.difference(data, method, other, c, margin) for data, c in cells]
    return [difference for difference in found if difference is not None]


def _means(
    scores: Scores, cells: Sequence[Cell], pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], float]:
    """Return the mean difference of each pair of methods that have run."""
    found = {pair: _differences(scores, cells, *pair) for pair in pairs}
    return {pair: fmean(d.mean for d in each) for pair, each in found.items() if each}


def _compared(scores: Scores, cells: Sequence[Cell], pairs: Sequence[tuple[str, str]]) -> str:
    """Say of each pair of methods by how much the first differs, and in how many cells."""
    return "; ".join(
        f"{pair[0]} {mean:+.3f} ({_counted(_differences(scores, cells, *pair))})"
        for pair, mean in _means(scores, cells, pairs).items()
    )


def _to_paper(scores: Scores, data: str, method: str, classifier: str) -> float:
    """Return a figure minus the paper's, nan where one of them is missing."""
    printed = published.g_mean(STAND_INS.get(data, data), method, classifier)
    return scores.mean(data, method, classifier) - printed[0] if printed else np.nan


def _verdict(differences: Sequence[Difference], *, is_reached: bool) -> str:
    """Judge a claim by ours minus the best other, cell by cell."""
    if _beyond(differences, -1):
        return FAILS
    is_tested = any(d.p is not None for d in differences)
    return HOLDS if is_reached and is_tested else OPEN


def _tally(differences: Iterable[Difference]) -> Counter[str]:
    return Counter(difference.verdict for difference in differences)


def _beyond(differences: Sequence[Difference], sign: int) -> bool:
    """Tell whether a difference of this sign is beyond chance, given how many there are."""
    level = LEVEL / max(len(differences), 1)
    return any(d.p is not None and d.p < level and d.mean * sign > 0 for d in differences)


def _counted(differences: Sequence[Difference]) -> str:
    tally = _tally(differences)
    return (
        f"ahead beyond chance (p < {LEVEL}) in {tally['ahead']} of {tally.total()} cells, behind "
        f"in {tally['behind']}, and in {tally['open']} it is undecided"
    )
