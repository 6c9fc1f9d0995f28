"""Prepare: everything up to the search, in passes over the partitions.

scan -> layout -> sample -> profile -> evidence -> plan, f

The plan is all that a task needs to search a block of rows as the whole table would be searched.
It is made once, on the client, by the steps that prepare a table in memory: the order of the
features, the rules, the seed, how many samples each class is to get.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from imblearn.utils import check_sampling_strategy

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.arrays import Integers
from counterbalance.classifier.judge import Classifier, judge
from counterbalance.distributed.engine import BYTES_PER_CELL, DaskEngine
from counterbalance.distributed.fit import (
    SHARE_FOR_FIT,
    Sample,
    fit_f,
    fit_judges,
    is_trainer,
    local_of,
    make_rates,
    sample_partition,
    train,
)
from counterbalance.distributed.inputs import Partition, Place, blocks, places
from counterbalance.distributed.scan import (
    ColumnSettings,
    TableLayout,
    join_scans,
    make_layout,
    scan_partition,
)
from counterbalance.distributed.statistics import (
    ColumnGuides,
    gather_statistics,
    join_columns,
    join_statistics,
    profile_in_passes,
)
from counterbalance.errors import TableError
from counterbalance.plausible.evidence import Evidence, make_levels
from counterbalance.plausible.learn import learn, learns_pairs
from counterbalance.plausible.outliers import Outliers
from counterbalance.plausible.relations import Found
from counterbalance.prepare import draw_seed, make_random_state, make_space
from counterbalance.profile import Profile
from counterbalance.rows.shortfall import Policy, Search
from counterbalance.samplers.interior import WeightedDraw, check_scores
from counterbalance.search.nearest import Effort, Space
from counterbalance.search.problem import Problem
from counterbalance.search.selection import Ranking, is_every, most_inversions

# A column is gathered on one worker if this many bytes a row fit into half its memory.
BYTES_PER_GATHERED_CELL = 96

Statistics = Literal["auto", "gathered", "passes"] | Profile
OurSampler = CounterfactualOverSampler | InteriorOverSampler


@dataclass(frozen=True)
class IndexLabels:
    """The index labels of new rows; none equals an old one (see ``table.containers``)."""

    first: int | None  # follows the last label of an integer index; None for a text index
    prefix: str = "new-"

    def of(self, start: int, n: int) -> pd.Index[Any]:
        """Return the labels of ``n`` new rows from the ``start``-th on."""
        if self.first is not None:
            return pd.RangeIndex(self.first + start, self.first + start + n)
        return pd.Index([f"{self.prefix}{start + k}" for k in range(n)])


@dataclass(frozen=True)
class SearchPlan:
    """All that determines the new rows of a block, apart from f and the rows themselves."""

    layout: TableLayout
    space: Space
    effort: Effort
    search: Search  # how the first pass finds its inversions
    ranking: Ranking
    pooling: tuple[Policy, ...]  # how a pool to choose from is filled
    asked: dict[int, int]  # new rows for each class code
    size: int  # rows of a block
    own: bool  # whether f is the sampler's own, fitted to the codes of the table
    outliers: Outliers
    relations: tuple[Found, ...] = ()  # that new rows keep
    draw: WeightedDraw | None = None  # of the interior sampler, which does not search

    def problem(self, block: pd.DataFrame, first: int) -> Problem:
        """Return a block, ready to be searched; its first row has the id ``first``."""
        layout = self.layout
        space = replace(self.space, first_row=first - len(layout.sketch))
        table, labels = layout.table(block), layout.labels(block)
        return Problem(table, labels, space, self.effort, ranking=self.ranking)

    def blocks(self, partition: Partition, place: Place) -> Iterator[tuple[int, Problem]]:
        """Yield the blocks of a partition, each with the id of its first row."""
        first = place.first
        for block in blocks(partition, self.size):
            yield first, self.problem(block, first)
            first += len(block)

    def classifier(self, f: Any, problem: Problem) -> Classifier:
        """Wrap f for a block; a linear f is screened by the ranges of the whole table."""
        layout, profile = self.layout, self.space.perturbation.profile
        ends = np.array([profile.lower, profile.upper], dtype=f"f{layout.grid.width.max()}")
        if any(kind.has_levels for kind in layout.kinds):
            ends = np.full_like(ends, np.nan)  # codes that stand for something else: no screen
        return judge(f, problem.table, layout.classes, own=self.own, ends=ends)


def check_sampler(sampler: Any) -> OurSampler:
    """Check the sampler and its parameters; return a copy."""
    if type(sampler) not in {CounterfactualOverSampler, InteriorOverSampler}:
        raise TableError(cannot_be_spread("sampler", type(sampler).__name__))
    copy = with_parameters(sampler)
    copy._validate_params()  # noqa: SLF001  (scikit-learn's own check)
    return copy


def cannot_be_spread(parameter: str, name: str) -> str:
    """Say that a method needs the whole table at once, and what to do."""
    return (
        f"{parameter} must be CounterfactualOverSampler or InteriorOverSampler on Dask, got "
        f"{name}, which needs all rows at once and cannot be spread over partitions; balance a "
        "sample of the rows with it in memory, or pass one of the two"
    )


def with_parameters(sampler: OurSampler, **parameters: Any) -> OurSampler:
    """Return a copy of the sampler with some parameters replaced."""
    return type(sampler)(**sampler.get_params(deep=False) | parameters)


def make_asked(sampler: OurSampler, layout: TableLayout) -> dict[int, int]:
    """Return how many new rows each class code is to get.

    imbalanced-learn counts the labels of rows, so it gets their codes, a byte or two a row.
    A callable gets the labels, sorted by class.
    """
    strategy, labels = sampler.sampling_strategy, layout.classes.tolist()
    if is_every(strategy) and isinstance(sampler, CounterfactualOverSampler):
        return most_inversions(layout.counts)
    codes = {label: code for code, label in enumerate(labels)}
    small = np.min_scalar_type(len(labels))
    y = np.repeat(np.arange(len(labels), dtype=small), layout.counts)
    if callable(strategy):
        strategy = strategy(np.repeat(layout.classes, layout.counts))
    if isinstance(strategy, dict):
        strange = [label for label in strategy if label not in codes]
        if strange:
            raise TableError(
                f"sampling_strategy names the class {strange[0]!r}, which the target does not "
                f"have; its classes are {labels}"
            )
        strategy = {codes[label]: n for label, n in strategy.items()}
    asked = check_sampling_strategy(strategy, y, "over-sampling")
    return {int(code): int(n) for code, n in asked.items()}


def make_plan(
    sampler: OurSampler,
    layout: TableLayout,
    profile: Profile,
    seed: int,
    size: int,
    cells_at_once: int,
    evidence: Evidence,
) -> SearchPlan:
    """Make the plan with the steps that prepare a table in memory.

    ``cells_at_once`` is what the workers have room for.
    """
    choices, table = sampler.choices(), layout.sketch_table
    learned = learn(evidence, table, profile, choices.plausible, choices.ignore_relations)
    room = max(choices.effort.cells_at_once, cells_at_once)
    searches = isinstance(sampler, CounterfactualOverSampler)
    return SearchPlan(
        layout,
        make_space(table, profile, seed, choices, learned),
        replace(choices.effort, cells_at_once=room),
        sampler.search if searches else "perturb",
        Ranking(sampler.ranks_by) if searches else Ranking(),
        sampler.pooling() if searches else (),
        make_asked(sampler, layout),
        size,
        own=False,
        outliers=Outliers.of(evidence, profile),
        relations=learned.relations,
        draw=None if searches else sampler.draw,
    )


@dataclass(frozen=True)
class PartitionedTable:
    """A table in partitions, which are tasks or rows of files."""

    parts: list[Any]
    names: list[str]  # of the partitions, for messages
    columns: list[Any]
    target: Any
    # Returns the partitions with only these columns.
    only: Callable[[list[Any]], list[Any]]


@dataclass(frozen=True)
class PreparedTable:
    """What the search needs."""

    places: list[Place]
    plan: SearchPlan
    f: Any
    policies: tuple[Policy, ...]
    index_labels: IndexLabels
    counts: Integers  # (partitions, classes)

    @property
    def n_rows(self) -> int:
        """The rows of the whole table."""
        return sum(place.n_rows for place in self.places)


def prepare(
    engine: DaskEngine,
    source: PartitionedTable,
    sampler: OurSampler,
    statistics: Statistics,
    fit_rows: int | None,
) -> PreparedTable:
    """Scan the table, measure its features, and fit f."""
    policies = sampler.policies() if isinstance(sampler, CounterfactualOverSampler) else ()
    _check_order(policies)
    size = engine.block_rows(len(source.columns))
    settings = ColumnSettings(
        sampler.categorical_features, sampler.integer_features, sampler.snap_to_grid
    )
    scans = engine.compute(
        [
            engine.task(scan_partition, part, name, source.target, settings, size)
            for part, name in zip(source.parts, source.names, strict=True)
        ],
        "scan",
    )
    where = places(source.names, [scan.n_rows for scan in scans])
    scan = join_scans(scans, where)
    layout = make_layout(scan, source.columns, source.target, settings)
    random_state = make_random_state(sampler.random_state)
    seed = draw_seed(random_state)
    if fit_rows is None:
        fit_rows = rows_for_fit(engine, source)
    mode = _mode(statistics, engine, layout)
    agrees = isinstance(sampler, CounterfactualOverSampler) and sampler.ranks_by == "agreement"
    sampled = agrees or not (sampler.prefit or is_trainer(sampler.estimator))
    rates = make_rates(layout, fit_rows, fit=sampled, statistics=mode == "passes")
    shared_layout = engine.constant(layout)
    levels = None
    if learns_pairs(sampler.plausible, layout.kinds):
        levels = make_levels(layout.sketch_table, int(layout.counts.sum()))
    tasks = [
        engine.task(sample_partition, part, place, shared_layout, rates, seed, size, levels)
        for part, place in zip(source.parts, where, strict=True)
    ]
    drawn = engine.keep(tasks, "sample")
    samples = [one[0] for one in drawn]
    evidence = engine.joined([one[1] for one in drawn], Evidence.joined, "sample")
    profile = _profile(engine, source, layout, shared_layout, samples, mode, statistics, size)
    plan = make_plan(sampler, layout, profile, seed, size, engine.cells_at_once, evidence)
    if is_trainer(sampler.estimator) and not sampler.prefit:
        parts = [(part, place.n_rows) for part, place in zip(source.parts, where, strict=True)]
        f, own = train(engine, parts, sampler.estimator, layout, random_state, size), True
    else:
        f, own = _f(engine, samples, sampler, layout, random_state)
    if agrees:
        task = engine.task(fit_judges, samples, shared_layout, rates, seed)
        judges = engine.compute([task], "fit judges")[0]
        plan = replace(plan, ranking=replace(plan.ranking, judges=judges))
    dashes = "-" * (scan.dashes + 1)
    last = scan.last_label
    index_labels = IndexLabels(None if last is None else last + 1, f"new{dashes}")
    if plan.draw is not None:
        check_scores(f)
    counts = np.array([layout.count(one.labels) for one in scans])
    return PreparedTable(where, replace(plan, own=own), f, policies, index_labels, counts)


def rows_for_fit(engine: DaskEngine, source: PartitionedTable) -> int:
    """Return how many rows f is fitted to: as many as a worker can hold."""
    cells = int(engine.memory * SHARE_FOR_FIT) // BYTES_PER_CELL
    return max(1, cells // len(source.columns))


def _check_order(policies: tuple[Policy, ...]) -> None:
    behind = policies[policies.index("interior") + 1 :] if "interior" in policies else ()
    searches = [policy for policy in behind if policy in {"minimum", "redraw", "threshold"}]
    if searches:
        raise TableError(
            f"on_shortfall has {searches[0]!r} behind 'interior', which the distributed engine "
            "cannot do; put 'interior' behind the policies that search"
        )


def _mode(statistics: Statistics, engine: DaskEngine, layout: TableLayout) -> str:
    """Return how the features are measured."""
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
            f"{statistics!r}; 'auto' gathers single columns if they fit into a worker's memory"
        )
    if statistics != "auto":
        return statistics
    fits = int(layout.counts.sum()) * BYTES_PER_GATHERED_CELL <= engine.memory / 2
    return "gathered" if fits else "passes"


def _profile(
    engine: DaskEngine,
    source: PartitionedTable,
    layout: TableLayout,
    shared_layout: Any,
    samples: list[Any],
    mode: str,
    statistics: Statistics,
    size: int,
) -> Profile:
    if isinstance(statistics, Profile):
        return statistics
    if mode == "gathered":
        tasks = [
            engine.task(
                gather_statistics, source.only([name, source.target]), shared_layout, m, size
            )
            for m, name in enumerate(layout.features)
        ]
        return join_statistics(engine.compute(tasks, "statistics"))
    codes = engine.compute([engine.task(_codes, samples)], "sample")[0]

    def run(a_pass: Callable[..., list[Any]], guides: ColumnGuides) -> list[Any]:
        shared = engine.constant(guides)
        tasks = [engine.task(a_pass, part, shared_layout, shared, size) for part in source.parts]
        return list(engine.joined(tasks, join_columns, "statistics"))

    return profile_in_passes(layout, codes, run)


def _codes(samples: list[Sample]) -> Any:
    return Sample.join(samples).codes


def _f(
    engine: DaskEngine,
    samples: list[Any],
    sampler: OurSampler,
    layout: TableLayout,
    random_state: np.random.RandomState,
) -> tuple[Any, bool]:
    """Return f, and whether it takes the codes of the table as they are."""
    if sampler.prefit:
        f = sampler.choices().check_prefit(len(layout.features))
        return (local_of(f) if is_trainer(f) else f), False
    task = engine.task(fit_f, samples, engine.constant(sampler.choices()), layout, random_state)
    f, complete = engine.compute([task], "fit f")[0]
    return f, sampler.estimator is None and complete
