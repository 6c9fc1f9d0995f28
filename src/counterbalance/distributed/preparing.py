"""Preparing: everything up to the search, in passes over the partitions.

survey -> layout -> sample -> profile -> plan, f
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from counterbalance import CounterfactualOverSampler
from counterbalance.distributed.building import Numbering
from counterbalance.distributed.engine import BYTES_PER_CELL, Engine
from counterbalance.distributed.fitting import (
    SHARE_FOR_FIT,
    Sample,
    fit_f,
    make_rates,
    sample_partition,
)
from counterbalance.distributed.layout import Layout
from counterbalance.distributed.partitions import Place, places
from counterbalance.distributed.plan import Plan, make_plan
from counterbalance.distributed.profiles import (
    Guides,
    gathered_figures,
    join_figures,
    profile_in_passes,
)
from counterbalance.distributed.scan import Reading, join_surveys, make_layout, survey_partition
from counterbalance.distributed.statistics import join_columns
from counterbalance.distributed.training import is_trainer, local_of, train
from counterbalance.errors import TableError
from counterbalance.prepare import draw_seed, make_random_state
from counterbalance.profile import Profile
from counterbalance.rows.shortfall import DEFAULT, Policy

# A column is gathered on one worker if so many bytes for each row fit into half its memory.
BYTES_PER_GATHERED_CELL = 96

Statistics = Literal["auto", "gathered", "passes"] | Profile


@dataclass(frozen=True)
class Source:
    """The partitions, as tasks or as rows of files, and what is known of them."""

    parts: list[Any]
    names: list[str]  # of the partitions
    columns: list[Any]
    target: Any
    # Returns the partitions with these columns only.
    only: Callable[[list[Any]], list[Any]]


@dataclass(frozen=True)
class Prepared:
    """What the search needs."""

    places: list[Place]
    plan: Plan
    f: Any
    policies: tuple[Policy, ...]
    numbering: Numbering

    @property
    def n_rows(self) -> int:
        """The rows of the whole table."""
        return sum(place.n_rows for place in self.places)


def prepare(
    engine: Engine,
    source: Source,
    sampler: CounterfactualOverSampler,
    statistics: Statistics,
    fit_rows: int | None,
) -> Prepared:
    """Look at the table, measure it, and fit f."""
    policies = _policies(sampler)
    _check_order(policies)
    size = engine.block_rows(len(source.columns))
    reading = Reading(sampler.categorical_features, sampler.integer_features, sampler.snap_to_grid)
    surveys = engine.compute(
        [
            engine.task(survey_partition, part, name, source.target, reading, size)
            for part, name in zip(source.parts, source.names, strict=True)
        ],
        "survey",
    )
    where = places(source.names, [survey.n_rows for survey in surveys])
    survey = join_surveys(surveys, where)
    layout = make_layout(survey, source.columns, source.target, reading)
    random_state = make_random_state(sampler.random_state)
    seed = draw_seed(random_state)
    if fit_rows is None:
        fit_rows = rows_for_fit(engine, source)
    how = _way(statistics, engine, layout)
    sampled = not (sampler.prefit or is_trainer(sampler.estimator))
    rates = make_rates(layout, fit_rows, fit=sampled, statistics=how == "passes")
    laid = engine.constant(layout)
    samples = [
        engine.task(sample_partition, part, place, laid, rates, seed, size)
        for part, place in zip(source.parts, where, strict=True)
    ]
    if rates.statistics and rates.fit.any():
        samples = engine.keep(samples, "sample")
    profile = _profile(engine, source, layout, laid, samples, how, statistics, size)
    plan = make_plan(sampler, layout, profile, seed, size)
    if is_trainer(sampler.estimator) and not sampler.prefit:
        parts = [(part, place.n_rows) for part, place in zip(source.parts, where, strict=True)]
        f, own = train(engine, parts, sampler.estimator, layout, random_state, size), True
    else:
        f, own = _f(engine, samples, sampler, layout, random_state)
    dashes = "-" * (survey.dashes + 1)
    last = survey.last_label
    numbering = Numbering(None if last is None else last + 1, f"new{dashes}")
    return Prepared(where, replace(plan, own=own), f, policies, numbering)


def rows_for_fit(engine: Engine, source: Source) -> int:
    """Return how many rows f is fitted to: what a worker can hold."""
    cells = int(engine.memory * SHARE_FOR_FIT) // BYTES_PER_CELL
    return max(1, cells // len(source.columns))


def _policies(sampler: CounterfactualOverSampler) -> tuple[Policy, ...]:
    """Return what is done about a shortfall; the minimum search is not distributed."""
    policies = sampler.policies()
    asked = "search" if sampler.search == "minimum" else "on_shortfall"
    if asked == "search" or ("minimum" in policies and policies != DEFAULT):
        raise TableError(
            f"{asked} has 'minimum', which the distributed engine does not do; leave it out, or "
            "use the sampler in memory"
        )
    return tuple(policy for policy in policies if policy != "minimum")


def _check_order(policies: tuple[Policy, ...]) -> None:
    behind = policies[policies.index("interior") + 1 :] if "interior" in policies else ()
    searches = [policy for policy in behind if policy in {"redraw", "threshold"}]
    if searches:
        raise TableError(
            f"on_shortfall has {searches[0]!r} behind 'interior', which the distributed engine "
            "does not do; put 'interior' behind the policies that search"
        )


def _way(statistics: Statistics, engine: Engine, layout: Layout) -> str:
    """Return how the profile is made."""
    if isinstance(statistics, Profile):
        if len(statistics.lower) != len(layout.features):
            raise TableError(
                f"statistics is a profile of {len(statistics.lower)} features, but the table has "
                f"{len(layout.features)}; pass the profile of this table, or 'auto'"
            )
        return "given"
    if statistics not in {"auto", "gathered", "passes"}:
        raise TableError(
            "statistics must be 'auto', 'gathered', 'passes' or a Profile, got "
            f"{statistics!r}; 'auto' gathers single columns where they fit a worker"
        )
    if statistics != "auto":
        return statistics
    fits = int(layout.counts.sum()) * BYTES_PER_GATHERED_CELL <= engine.memory / 2
    return "gathered" if fits else "passes"


def _profile(
    engine: Engine,
    source: Source,
    layout: Layout,
    laid: Any,
    samples: list[Any],
    how: str,
    statistics: Statistics,
    size: int,
) -> Profile:
    if isinstance(statistics, Profile):
        return statistics
    if how == "gathered":
        tasks = [
            engine.task(gathered_figures, source.only([name, source.target]), laid, m, size)
            for m, name in enumerate(layout.features)
        ]
        return join_figures(engine.compute(tasks, "statistics"))
    codes = engine.compute([engine.task(_codes, samples)], "sample")[0]

    def run(a_pass: Callable[..., list[Any]], guides: Guides) -> list[Any]:
        shared = engine.constant(guides)
        tasks = [engine.task(a_pass, part, laid, shared, size) for part in source.parts]
        return list(engine.joined(tasks, join_columns, "statistics"))

    return profile_in_passes(layout, codes, run)


def _codes(samples: list[Sample]) -> Any:
    return Sample.join(samples).codes


def _f(
    engine: Engine,
    samples: list[Any],
    sampler: CounterfactualOverSampler,
    layout: Layout,
    random_state: np.random.RandomState,
) -> tuple[Any, bool]:
    """Return f, and whether it takes the codes of the table as they are."""
    if sampler.prefit:
        f = sampler.choices().check_prefit(len(layout.features))
        return (local_of(f) if is_trainer(f) else f), False
    task = engine.task(fit_f, samples, engine.constant(sampler.choices()), layout, random_state)
    f, complete = engine.compute([task], "fit f")[0]
    return f, sampler.estimator is None and complete
