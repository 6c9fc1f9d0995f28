"""Which of the paper's claims hold on these figures, which do not, which cannot be told.

Every sentence comes from the figures. A cell is a data set and a classifier; it is *ahead* or
*behind* where the paired difference is beyond chance (p below `LEVEL`), else *open*. Of many cells
one is behind by chance, so a claim about n cells is judged at `LEVEL` / n. It

    holds             if ours is first as often as in the paper, and behind in no cell
    does not hold     if ours is behind in a cell
    cannot be told    otherwise, and where there are too few figures for a test
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.studies.reproduction import class_counts, published
from counterbalance.studies.reproduction.groups import gather, has_failed
from counterbalance.studies.reproduction.methods import CONTROL, INTERIOR, OURS, PRINTED, RESAMPLING
from counterbalance.studies.reproduction.score_tables import (
    LEVEL,
    Difference,
    MeasureScores,
    paired,
)
from counterbalance.trials.classifiers import CLASSIFIERS

if TYPE_CHECKING:
    from counterbalance.trials.trial import TrialRecord

Cell = tuple[str, str]
HOLDS, FAILS, OPEN = "Holds", "Does not hold", "Cannot be told"
# Data sets of the paper that anyone can get; ILC is a simulation here, FMN2 not the paper's.
PUBLIC = ("WBC", "PBC", "FMN")
# Chosen here, and the table of the paper that each stands for.
STAND_INS = {"FMN": "FMN", "FMN2": "FMN", "ILC": "ILC"}
PEERS = tuple(method for method in RESAMPLING if method != OURS)
LEAST_GAIN, MOST_GAIN = 0.05, 0.15  # "about 5 % - 15 %"


def claims(
    every: Sequence[MeasureScores], datasets: Sequence[str], records: Sequence[TrialRecord]
) -> list[str]:
    """Return a sentence or two for each claim, the verdict first."""
    fold_mean, pooled, f_measures = every
    public = [(data, c) for data in datasets if data in PUBLIC for c in CLASSIFIERS]
    return [
        *_first(fold_mean, public, "Table III, G-mean, public data sets"),
        *_first(pooled, public, "The same with the folds of a run together"),
        *_gain(fold_mean, public),
        *_first(f_measures, public, "Figure 5, F-measure, public data sets", in_paper=len(public)),
        *_oversampling(fold_mean, public),
        *_control(fold_mean, public),
        *_own_figures(fold_mean, public),
        *_variants(fold_mean, public),
        *_class_counts(records),
        *_simulated(fold_mean, datasets),
        *_difficulty(fold_mean, datasets),
    ]


def _first(
    figures: MeasureScores, cells: Iterable[Cell], title: str, *, in_paper: int | None = None
) -> list[str]:
    """Say whether ours is first of the four."""
    known = [cell for cell in cells if figures.ranking(*cell)]
    if not known:
        return []
    first = sum(figures.ranking(*cell)[0] == OURS for cell in known)
    paper = in_paper
    if paper is None:
        paper = sum(figures.published_ranking(*cell)[:1] == (OURS,) for cell in known)
    found = [figures.difference(d, OURS, str(figures.best_other(d, c)), c) for d, c in known]
    shared = [difference for difference in found if difference is not None]
    tally = _tally(shared)
    verdict = _verdict(shared, is_reached=first >= paper)
    return [
        (
            f"{verdict}: ours comes first of the four ({title}; paper {paper} of {len(known)} "
            f"cells). Here it is first in {first}; against the best of the other three it is "
            f"{_counted(tally)}."
        )
    ]


def _gain(figures: MeasureScores, cells: Sequence[Cell]) -> list[str]:
    """Say whether ours is better by 5 % to 15 %."""
    found = {peer: _differences(figures, cells, OURS, peer) for peer in PEERS}
    known = {peer: fmean(d.mean for d in each) for peer, each in found.items() if each}
    if not known:
        return []
    is_less = any(
        gain < LEAST_GAIN and _beyond(_differences(figures, cells, OURS, peer, LEAST_GAIN), -1)
        for peer, gain in known.items()
    )
    is_reached = min(known.values()) >= LEAST_GAIN
    verdict = HOLDS if is_reached else FAILS if is_less else OPEN
    each = ", ".join(f"{peer} {gain:+.3f}" for peer, gain in known.items())
    return [
        (
            f"{verdict}: ours is more accurate by about {LEAST_GAIN:.0%} to {MOST_GAIN:.0%}. Mean "
            f"difference of the G-mean over the public cells, ours minus each: {each}. In the "
            f"paper's own Table III it is {_printed_gains(cells)}."
        )
    ]


def _printed_gains(cells: Iterable[Cell]) -> str:
    cells = list(cells)
    gains = []
    for peer in PEERS:
        pairs = [(published.g_mean(d, OURS, c), published.g_mean(d, peer, c)) for d, c in cells]
        known = [mine[0] - other[0] for mine, other in pairs if mine and other]
        gains.append(f"{peer} {fmean(known):+.3f}")
    return ", ".join(gains)


def _oversampling(figures: MeasureScores, cells: Iterable[Cell]) -> list[str]:
    """Say whether the oversamplers beat the undersampling of CUSBoost."""
    parts, behind, ahead = [], False, True
    for method in (peer for peer in RESAMPLING if peer != "CUSBoost"):
        found = _differences(figures, cells, method, "CUSBoost")
        if found:
            behind, ahead = behind or _beyond(found, -1), ahead and _beyond(found, 1)
            mean = fmean(d.mean for d in found)
            parts.append(f"{method} {mean:+.3f} ({_counted(_tally(found))})")
    if not parts:
        return []
    verdict = FAILS if behind else HOLDS if ahead else OPEN
    return [
        (
            f"{verdict}: oversampling beats the undersampling of CUSBoost. Mean difference of the "
            f"G-mean over the public cells: {'; '.join(parts)}."
        )
    ]


def _control(figures: MeasureScores, cells: Iterable[Cell]) -> list[str]:
    """Say what plain SMOTE means for the claim."""
    found = _differences(figures, cells, OURS, CONTROL)
    if not found:
        return []
    mean, tally = fmean(d.mean for d in found), _tally(found)
    if mean > 0 and _beyond(found, 1):
        meaning = "what ours gains over the peers is more than plain interpolation gives"
    else:
        better = mean < 0 and _beyond(found, -1)
        meaning = (
            f"{'plain interpolation is better' if better else 'no gain over it can be shown'}: "
            "what ours gains over the three peers of the paper is no evidence that "
            "counterfactuals are the reason"
        )
    return [
        (
            f"The control: against plain {CONTROL}, which the paper leaves out, ours is "
            f"{_counted(tally)} over the public cells (G-mean), {mean:+.3f} on the mean. "
            f"So {meaning}."
        )
    ]


def _own_figures(figures: MeasureScores, cells: Iterable[Cell]) -> list[str]:
    """Say where ours reaches the paper's own figures, and where not."""
    above, below, known = 0, [], 0
    for data, classifier in cells:
        gaps = {m: _to_paper(figures, data, m, classifier) for m in RESAMPLING}
        mine = gaps.pop(OURS)
        if mine is None:
            continue
        known += 1
        above += mine > 0
        theirs = [gap for gap in gaps.values() if gap is not None]
        if mine <= 0:
            peers = f", its peers by {fmean(theirs):+.3f}" if theirs else ""
            below.append(f"{data} {classifier} by {mine:+.3f}{peers}")
    if not known:
        return []
    text = f"Ours is above the paper's own figure in {above} of {known} public cells."
    if below:
        text += (
            f" Below in {'; '.join(below)}. Where the peers differ from their printed figures by "
            "about as much, the data or the classifiers' settings are the reason, not the method."
        )
    return [text]


def _variants(figures: MeasureScores, cells: Iterable[Cell]) -> list[str]:
    parts = []
    for method in (PRINTED, INTERIOR):
        found = _differences(figures, cells, method, OURS)
        if found:
            mean = fmean(d.mean for d in found)
            parts.append(f"{method} {mean:+.3f} ({_counted(_tally(found))})")
    if not parts:
        return []
    return [f"Against ours by its defaults, over the public cells (G-mean): {'; '.join(parts)}."]


def _class_counts(records: Sequence[TrialRecord]) -> list[str]:
    """Say whether ours classifies the most rows of the small classes."""
    groups = gather(class_counts.of_whole_splits(records), ["method"])
    named = ("none", *RESAMPLING)
    members = {method: groups.get((method,), []) for method in named}
    if any(not group or has_failed(group) for group in members.values()):
        return []
    best, won, paper_won, found = [], 0, 0, []
    for place, (label, name) in enumerate(published.CLASS_NAMES.items()):
        if place == 0:
            continue  # the majority
        counts = {method: _correct(group, label) for method, group in members.items()}
        means = {method: float(right.mean()) for method, right in counts.items()}
        top = max(means.values())
        leaders = [method for method, mean in means.items() if mean == top]
        won += OURS in leaders
        found.append(paired(counts[OURS] - counts[leaders[0]], class_counts.RATIO))
        printed = {method: published.CORRECT[method][place] for method in named}
        paper_won += printed[OURS] == max(printed.values())
        best.append(f"{name} {' and '.join(leaders)} ({top:.1f}, ours {means[OURS]:.1f})")
    return [
        (
            f"{_verdict(found, is_reached=won >= paper_won)}: ours classifies the most rows of the "
            f"small classes of PBC (Table IV; paper, ties counted: {paper_won} of {len(best)} "
            f"classes). Here it does in {won}; most rows right: {', '.join(best)}. Beyond chance "
            f"it is behind in {_tally(found)['behind']}."
        )
    ]


def _correct(members: Sequence[TrialRecord], label: str) -> Floats:
    """Return how many rows of a class are right, split by split."""
    ordered = sorted(members, key=lambda record: int(record.trial["split"]))
    return np.array([record.figures[f"correct {label}"] for record in ordered])


def _difficulty(figures: MeasureScores, datasets: Sequence[str]) -> list[str]:
    """Say how near the tables that were chosen come to the paper's, by the peers alone."""
    parts = []
    for data in (name for name in STAND_INS if name in datasets):
        gaps = {peer: _gaps_to_paper(figures, data, peer) for peer in PEERS}
        each = [f"{peer} {fmean(known):+.3f}" for peer, known in gaps.items() if known]
        if each:
            parts.append(f"{data} {', '.join(each)}")
    if not parts:
        return []
    return [
        (
            "How hard the tables are that the paper does not name or publish: its three peers "
            f"differ from its own G-means, on the mean of the classifiers, by {'; '.join(parts)}. "
            "Below zero, they score lower here than in the paper."
        )
    ]


def _gaps_to_paper(figures: MeasureScores, data: str, peer: str) -> list[float]:
    gaps = [_to_paper(figures, data, peer, c, STAND_INS[data]) for c in CLASSIFIERS]
    return [gap for gap in gaps if gap is not None]


def _simulated(figures: MeasureScores, datasets: Sequence[str]) -> list[str]:
    if "ILC" not in datasets:
        return []
    known = [c for c in CLASSIFIERS if figures.ranking("ILC", c)]
    first = sum(figures.ranking("ILC", c)[0] == OURS for c in known)
    seen = f"; on the simulated stand-in ours is first in {first} of {len(known)}" if known else ""
    return [f"{OPEN}: every claim about ILC, whose data are private{seen}."]


# --- differences ----------------------------------------------------------------------


def _differences(
    figures: MeasureScores, cells: Iterable[Cell], method: str, other: str, margin: float = 0.0
) -> list[Difference]:
    found = [figures.difference(data, method, other, c, margin) for data, c in cells]
    return [difference for difference in found if difference is not None]


def _to_paper(
    figures: MeasureScores, data: str, method: str, classifier: str, printed_as: str | None = None
) -> float | None:
    figure = figures[data, method, classifier]
    printed = published.g_mean(printed_as or data, method, classifier)
    return None if figure is None or printed is None else figure.mean - printed[0]


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


def _counted(tally: Counter[str]) -> str:
    return (
        f"ahead beyond chance (p < {LEVEL}) in {tally['ahead']} of {tally.total()} cells, behind "
        f"in {tally['behind']}, and in {tally['open']} it cannot be told"
    )
