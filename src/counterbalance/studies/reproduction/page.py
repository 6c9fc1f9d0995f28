"""The page of the reproduction (settings, verdict, every table, as markdown) and its figures."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import truncnorm

from counterbalance.datasets import SHAPES
from counterbalance.result_table import ResultTable, as_markdown
from counterbalance.search.draws import exact_normal, gibbs_normal, stream, uniform
from counterbalance.studies.canvas import NEW, new_figure, save_figure
from counterbalance.studies.reproduction import (
    areas,
    claims,
    data,
    methods,
    score_tables,
    sensitivity,
)
from counterbalance.studies.reproduction.settings import TABLE_IV
from counterbalance.trials import classifiers
from counterbalance.trials.classifiers import as_call, prepare
from counterbalance.trials.progress import duration
from counterbalance.trials.resamplers import expected_warnings

if TYPE_CHECKING:
    from counterbalance.studies.reproduction.settings import ReproductionSettings
    from counterbalance.trials.trial import TrialRecord

INTRODUCTION = """\
# Reproduction of the paper

Every table and figure of Section V of Luo and Liu, "Counterfactual-based minority
oversampling for imbalanced classification", computed by `counterbalance reproduce` and set
beside what the paper prints. This page is written by the command; the figures come from the
run described below. The paper publishes neither code nor settings, so a difference can
come from the method, the classifiers' settings, or the data."""

DEFINITIONS = """\
## How the figures are computed

- **G-mean**: geometric mean of the recalls of all classes. **F-measure**: of the minority class
  with two classes, mean over the classes (macro) with more. The paper draws the F-measure
  (Figure 5) but prints no numbers for it, so only its claim can be checked: that its method
  comes first everywhere.
- **Cross-validation**: stratified folds; the training part alone is resampled, imputed, encoded
  and scaled. Mean and standard deviation are over the folds of all runs. A fold can hold two
  or three rows of the rarest class of PBC, and one missed class makes a fold's G-mean zero, so
  a second table has the G-mean of all folds of a run together (its deviation is over the runs).
- **Missing cells and categories**: numbers are prepared by `{numbers}`, categories by
  `{categories}`, before a method that needs numbers; ours by its defaults and
  InteriorOverSampler get the table itself, and the same preparation comes after them.
- **Ranking agrees**: the four resampling methods stand in the same order as in the paper.

## How to read them

- **Runs**: the last column is the number of whole runs of the cross-validation that a row rests
  on: those of which every method of the table has every fold. Other folds do not count.
- **p, paired**: of the differences fold by fold, by the t test corrected for training parts that
  overlap (Nadeau and Bengio); for the folds of a run together, of the differences run by run, which
  only covers the chance of the split. It is two-sided and not corrected for the number of cells.
  The best of the others is picked by the same figures, which favours it.
- A classifier's seed belongs to the fold: every method gets the same ones. Tables of more than
  {wide} features go to the classifiers in single precision.
- **What was chosen, and by what**: ours has its defaults, the peers have theirs, but for what the
  list of methods says. The defaults of ours were chosen on a development suite of KEEL tables; it
  has WBC and PBC among them, in KEEL's form, which can flatter ours there. The two pairs of images,
  and once the signal of the simulated questionnaire, were chosen by the peers' figures alone, to be
  about as hard as the paper's tables; the section on the claims says how near they come, as far as
  they have been run.
- The simulated questionnaire is not the hospital's data: its figures stand beside the paper's and
  cannot confirm them.
- A data set of which only some rows are used has fewer minority rows than the paper's; then only
  the order of the methods can be compared."""


SECTIONS = {
    "g_mean_": "## Experiment II: G-mean, mean of the folds",
    "g_mean_pooled_": "## Experiment II: G-mean of a run's folds together",
    "f_measure_": "## Experiment II: F-measure",
}
SAMPLES = 20_000
# a factual in the middle of its feature's range, one near the edge, one at it; the
# bounds are in standard deviations of the feature
INTERVALS = {
    "in the middle of its range": (-2.0, 2.0),
    "near its edge": (-0.5, 3.0),
    "at its edge": (0.0, 2.5),
}

CAPTIONS = {
    "figure_1_boundaries": "Figure 1: the decision boundary of a support vector machine before "
    f"and after each method, synthetic data of the shape {areas.SHAPE}.",
    "figure_3_truncated_normal": f"The truncated normal (line) and {SAMPLES:,} "
    "samples from both ways of drawing.",
    "figure_4_areas": "Figure 4: where the methods put new samples, one row for each shape of the "
    "synthetic table; areas from the known densities.",
    "figure_5_f_measure": "Figure 5: F-measure of each method and classifier; whiskers are one "
    "standard deviation over folds.",
    "sensitivity": "Yield, distance and G-mean of ours over T, epsilon and f; whiskers are one "
    "standard deviation over synthetic tables.",
}


def page(
    tables: Sequence[ResultTable],
    settings: ReproductionSettings,
    left_out: Mapping[str, str],
    versions: Mapping[str, str],
    records: Sequence[TrialRecord],
    figures: str = ".",
) -> str:
    """Return the page; `figures` is the folder of the figures, seen from the page."""
    by_name = {table.name: table for table in tables}
    parts = [INTRODUCTION, _run(settings, left_out, versions, records)]
    found = claims.claims(score_tables.scores(records), settings.datasets, records)
    if found:
        parts.append("\n".join(["## What holds of the paper's claims", "", *_bullets(found)]))
    if "summary" in by_name:
        parts.append(as_markdown(by_name["summary"], "##").rstrip())
    parts += [
        _definitions(),
        _list("Methods", methods.descriptions(deep=settings.deep)),
        _list("Classifiers", classifiers.descriptions()),
        _list("Data sets", data.descriptions(settings)),
        "## Experiment I: where new samples fall",
        as_markdown(by_name["areas"]).rstrip(),
        _picture("figure_4_areas", figures),
        _picture("figure_1_boundaries", figures),
        _picture("figure_3_truncated_normal", figures),
    ]
    for prefix, heading in SECTIONS.items():
        named = [table for table in tables if table.name.removeprefix(prefix) in settings.datasets]
        if named:
            parts += [heading, *(as_markdown(table).rstrip() for table in named)]
    if settings.datasets:
        parts.append(_picture("figure_5_f_measure", figures))
    if "class_counts" in by_name:
        parts += ["## Counts by class", as_markdown(by_name["class_counts"]).rstrip()]
    parts += [
        "## Sensitivity",
        as_markdown(by_name["sensitivity"]).rstrip(),
        _picture("sensitivity", figures),
    ]
    return "\n\n".join(parts) + "\n"


def _definitions() -> str:
    steps = [as_call(pipeline) for _, pipeline, _ in prepare().transformers]
    named = dict(zip(("numbers", "categories"), steps, strict=True))
    return DEFINITIONS.format(**named, wide=methods.WIDE)


def _run(
    settings: ReproductionSettings,
    left_out: Mapping[str, str],
    versions: Mapping[str, str],
    records: Sequence[TrialRecord],
) -> str:
    failed = sum(record.state == "failed" for record in records)
    lines = [
        "## The run on this page",
        "",
        (
            f"- {settings.folds} folds (paper: 10); whole runs, of those asked for (paper: 100): "
            f"{_runs(settings, records)}"
        ),
        f"- {_rows(settings)}",
        (
            f"- {settings.splits} split{_s(settings.splits)} for the counts by class (paper: 10), "
            f"{settings.seeds} synthetic tables of each of {len(SHAPES)} shapes (paper: 1)"
        ),
        f"- {len(records) - failed:,} trials done, {failed:,} failed",
        *([f"- {_time(records)}"] if records else []),
        "- " + ", ".join(f"{name} {number}" for name, number in versions.items()),
    ]
    lines += [f"- left out, because the data are not on the machine: {name}" for name in left_out]
    return "\n".join(lines)


def _runs(settings: ReproductionSettings, records: Sequence[TrialRecord]) -> str:
    figures = score_tables.scores(records)[0]
    whole = {
        name: max(figures.count(name, method) for method in methods.METHODS)
        for name in settings.datasets
    }
    each = (f"{name} {count} of {settings.runs_of(name)}" for name, count in whole.items())
    return ", ".join(each) or "none"


def _time(records: Sequence[TrialRecord]) -> str:
    """Say how long the trials took, by data set and experiment."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for record in records:
        seconds[str(record.trial.get("data", record.trial["experiment"]))] += record.seconds
    each = ", ".join(f"{name} {duration(spent)}" for name, spent in seconds.items())
    return (
        f"the trials took {duration(sum(seconds.values()))} by the clock in processes of one "
        f"thread each, added up ({each}); on a machine with other work that is more than the "
        "computing alone"
    )


def _rows(settings: ReproductionSettings) -> str:
    """Say of which data sets only some rows are used, and how many."""
    names = {**{name: name for name in settings.datasets}, TABLE_IV: "PBC in Table IV"}
    cut = [f"{text} {settings.rows_of(n):,}" for n, text in names.items() if settings.rows_of(n)]
    if not cut:
        return "all rows of every data set"
    return f"a fixed stratified sample of at most this many rows: {', '.join(cut)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _list(title: str, descriptions: Mapping[str, str]) -> str:
    lines = [f"- **{name}**: {text}." for name, text in descriptions.items()]
    return "\n".join([f"### {title}", "", *lines])


def _bullets(sentences: Iterable[str]) -> list[str]:
    """Return markdown bullets, the verdict in bold."""
    marked = (re.sub(r"^([^:.]{3,20}):", r"**\1**:", sentence) for sentence in sentences)
    return [f"- {sentence}" for sentence in marked]


def _picture(name: str, folder: str) -> str:
    return f"![{CAPTIONS[name]}]({folder}/{name}.png)\n\n*{CAPTIONS[name]}*"


# --- figures --------------------------------------------------------------------------


def save_figures(
    records: Sequence[TrialRecord], datasets: Sequence[str], folder: Path
) -> list[Path]:
    """Draw every figure into a folder; return the paths."""
    with expected_warnings():
        drawn = {
            "figure_1_boundaries": areas.draw_boundaries(),
            "figure_3_truncated_normal": draw_truncated_normal(),
            "figure_4_areas": areas.draw_areas(),
            "sensitivity": sensitivity.draw_sensitivity(sensitivity.sensitivity_figures(records)),
        }
    if datasets:
        figures = score_tables.scores(records)[-1]
        drawn["figure_5_f_measure"] = score_tables.draw_f_measure(figures, datasets)
    return [
        path
        for name in CAPTIONS
        if name in drawn
        for path in save_figure(drawn[name], folder, name)
    ]


def draw_truncated_normal() -> Any:
    """Draw the truncated normal and what both ways of drawing give, one row for each."""
    figure, panels = new_figure(3, 2, width=3.4, height=2.6)
    ways = [(way, interval) for way in ("exact", "gibbs") for interval in INTERVALS.items()]
    for axes, (way, (place, (low, high))) in zip(panels, ways, strict=True):
        values = draws(way, low, high)
        axes.hist(values, bins=60, range=(low, high), density=True, color="#bfd7f5")
        z = np.linspace(low, high, 300)
        axes.plot(z, truncnorm.pdf(z, low, high), color=NEW, linewidth=1.5)
        axes.set_title(f"{way}: factual {place}", fontsize=9)
        axes.set(xlabel="step / standard deviation", ylabel="density")
    return figure


def draws(way: str, low: float, high: float, count: int = SAMPLES) -> Any:
    """Return truncated standard normals drawn as the sampler draws them."""
    state = stream(0, np.arange(count), 0)
    lower, upper = np.full(count, low), np.full(count, high)
    if way == "gibbs":
        return gibbs_normal(state, 0, 1, lower, upper)
    return exact_normal(uniform(state, 0), ndtr(lower), ndtr(upper) - ndtr(lower))
