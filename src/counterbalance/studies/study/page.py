"""The page of a study, ``docs/results.md``: tables, pictures, and where ours loses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterbalance.result_table import ResultTable, as_markdown
from counterbalance.studies.study.methods import OURS, OURS_DESCRIBED, PAPER
from counterbalance.studies.study.scores import StudyScores, standing
from counterbalance.studies.study.settings import StudySettings
from counterbalance.studies.study.tables import CAPTION
from counterbalance.studies.study.trials import FEWEST_KEPT, METRICS
from counterbalance.trials.classifiers import (
    CLASSIFIERS,
    as_call,
    descriptions,
    f_of,
    make_classifier,
)

INTRODUCTION = """\
# Does it help? The study

Data sets x methods x {classifiers} classifiers x folds, computed and written by
`counterbalance study`.
Every method has one configuration for all data sets. The training folds alone are resampled,
imputed, encoded and scaled. Our samplers were developed on the *development* suite, so its
figures flatter them; the *final* suite holds KEEL tables that no choice was made on. The *field*
suites are 28 tables of other people's studies, most of them mixed, some with holes
([datasets.md](datasets.md)): the open half may be looked at while a choice is made, the held half
is for the end.

The other methods take numbers without gaps, and most of them measure distances, so all of them get
the same preparation, learned inside the training fold: missing numbers become the median, numbers
are scaled to unit variance, categories become one column each, and so does a missing category.
Where there are categories SMOTE is SMOTENC. Ours take the table as it is. Of a large table rows are
drawn by class share, but a class keeps {fewest} rows or all that it has: the rows that resampling
is about must not be the first to go."""


@dataclass(frozen=True, eq=False)
class Part:
    """What came out for one suite, or for a part of one."""

    name: str
    settings: StudySettings
    scores: StudyScores
    tables: tuple[ResultTable, ...]

    @property
    def slug(self) -> str:
        """The name in a form that fits into a file name."""
        return re.sub(r"[^a-z0-9]+", "_", self.name.lower())


def page(parts: Sequence[Part], versions: Mapping[str, str], figures: str) -> str:
    """Write the page from one part for each suite; the pictures are in the folder ``figures``."""
    introduction = INTRODUCTION.format(classifiers=len(CLASSIFIERS), fewest=FEWEST_KEPT)
    lines = [introduction, "", "## Ours", ""]
    lines += [
        f"- **{name}**: {text} {_settings(OURS[name]())}" for name, text in OURS_DESCRIBED.items()
    ]
    lines += ["", "## The classifiers", ""]
    lines += [
        f"- **{name}**: {text}{_without_brier(name)}"
        for name, text in descriptions(small=True).items()
    ]
    for part in parts:
        lines += [
            "",
            f"## {part.name.capitalize()}",
            "",
            sizes(part),
            "",
            *statements(part.scores),
        ]
        lines += ["", f"![mean ranks]({figures}/study_{part.slug}.png)", "", CAPTION, ""]
        lines += [as_markdown(table) for table in part.tables]
    lines += ["", "## Versions", ""]
    lines += [f"- {name} {version}" for name, version in versions.items()]
    return "\n".join(lines).rstrip() + "\n"


def _without_brier(name: str) -> str:
    has_probabilities = hasattr(make_classifier(name, 0, small=True), "predict_proba")
    return "" if has_probabilities else "; it has no probabilities, so no Brier score"


def _settings(sampler: Any) -> str:
    """Say how a sampler is set, and what it takes as f, read from the objects themselves."""
    return f"Settings: `{as_call(sampler)}`; f on a table of numbers: `{as_call(f_of(sampler))}`."


def statements(scores: StudyScores) -> list[str]:
    """Say in plain words where ours leads and where it loses."""
    return [f"- {_statement(scores, ours)}" for ours in scores.ours]


def _statement(scores: StudyScores, ours: str) -> str:
    groups = {
        "every other method": [m for m in scores.methods if m not in scores.ours],
        "every method that the paper compares with": [m for m in scores.methods if m in PAPER],
    }
    sentences = []
    for group, others in groups.items():
        won: list[str] = []
        lost: list[str] = []
        for metric, label in METRICS.items() if others else ():
            found = standing(scores, metric, ours, others)
            text = (
                f"{label} ({found.rank:.2f}; {found.best} {found.rank_of_best:.2f}; "
                f"probability {found.probability:.2f})"
            )
            (won if found.leads else lost).append(text)
        if won:
            sentences.append(f"It has a better mean rank than {group} on {', '.join(won)}.")
        if lost:
            sentences.append(f"It does not rank before {group} on {', '.join(lost)}.")
    return f"**{ours}**: {' '.join(sentences)}"


def sizes(part: Part) -> str:
    """Say how much was computed."""
    settings = part.settings
    rows = f"at most {settings.rows:,} rows of a table" if settings.rows else "all rows"
    shuffles = ", ".join(map(str, settings.repeats))
    return (
        f"{len(part.scores.datasets)} data sets, {len(part.scores.methods)} methods, "
        f"{settings.folds} folds, shuffles {shuffles}, {rows}. A probability is that of being "
        "better than the named best other method on a further data set."
    )
