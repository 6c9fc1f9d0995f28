"""Plan: everything up to the search, learned on one worker by the steps of a table in memory.

    part      rows that one task works on: a partition of a Dask dataframe, or rows of a file
    id        the position of a row in the whole table; all random numbers depend on it
    labels    the target column, read first: so the rows of every sample are known by their ids
    scan      one pass over all rows: the kind and grid of each column, rows that show its levels or
              its least and largest number, and the rows of the samples
    sample    what profile and f are learned from: all rows if a worker can hold them, otherwise the
              first ones by a number that belongs to the id, some of each class, and what is shown
    sketch    rows that show every level. A part is read with the sketch on top of it, so its levels
              get the codes of the whole table and the in-memory table class serves unchanged

With the plan, a task gives the same result for a part as for the whole table.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import dask
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.arrays import Floats, Integers
from counterbalance.classifier.fit import check_takes
from counterbalance.classifier.predict import wrap_classifier
from counterbalance.classifier.second_opinion import SecondOpinion, draw_sample
from counterbalance.distributed.cluster import Engine
from counterbalance.errors import ClassifierError, TableError
from counterbalance.prepare import (
    Prepared,
    draw_seed,
    make_classifier,
    make_random_state,
    prepare,
)
from counterbalance.profile import Profile
from counterbalance.rows.interior import ClassSample, sample_ranks
from counterbalance.samplers.counterfactual import find_references
from counterbalance.samplers.interior import check_scores
from counterbalance.search.draws import sample_number, sample_of_classes
from counterbalance.search.inversions import is_every
from counterbalance.search.minimum import MOST_CANDIDATES, MOST_REFERENCES
from counterbalance.table.dummies import group_dummies, with_groups
from counterbalance.table.kinds import Grid
from counterbalance.table.labels import Labels, plain, read_labels
from counterbalance.table.table import Columns, Table, read_table
from counterbalance.user_warnings import warn_user

OurSampler = CounterfactualOverSampler | InteriorOverSampler
# The class code of a row of the sketch: it has no class, and f never predicts this code.
NO_CLASS = -2
# A column with more levels identifies rows; a target with more is not a class.
MOST_LEVELS, MOST_CLASSES = 10_000, 1_000
# The share of a worker's memory for the rows that profile and f are learned from, and the bytes
# that a cell of them takes with all that is computed from it.
SHARE_FOR_FIT, BYTES_PER_CELL = 0.25, 64
# The share of scikit-learn's working memory that a task uses for its cells: f predicts many rows in
# little more time than a few.
SHARE_OF_MEMORY = 1 / 10
# Classifiers that are fitted by all workers at once.
OF_CLUSTERS = ("lightgbm.dask", "xgboost.dask")


@dataclass(frozen=True)
class Source:
    """A table in parts."""

    frames: Callable[[list[Any]], list[Any]]  # tasks for the parts, with only these columns
    names: list[str]  # of the parts, for messages
    columns: list[Any]
    target: Any


def check_sampler(sampler: Any) -> OurSampler:
    """Check the sampler and its parameters; return a copy."""
    if not isinstance(sampler, (CounterfactualOverSampler, InteriorOverSampler)):
        raise TableError(
            "sampler must be CounterfactualOverSampler or InteriorOverSampler on Dask, got "
            f"{type(sampler).__name__}, which needs all rows at once and cannot be spread over "
            "partitions; balance a sample of the rows with it in memory, or pass one of the two"
        )
    own = with_parameters(sampler)
    own._validate_params()  # noqa: SLF001  (scikit-learn's own check)
    if type(own.estimator).__module__.startswith(OF_CLUSTERS):
        raise ClassifierError(
            f"estimator is {type(own.estimator).__name__}, which only a whole cluster can fit; fit "
            "it first, and pass the local model that it leaves in a sklearn.frozen.FrozenEstimator"
        )
    return own


def with_parameters(sampler: OurSampler, **parameters: Any) -> OurSampler:
    """Return a copy of the sampler with some parameters replaced."""
    return type(sampler)(**sampler.get_params(deep=False) | parameters)


@dataclass(frozen=True)
class Rows:
    """The classes of all rows of the whole table."""

    classes: NDArray[Any]
    examples: pd.Series[Any]  # a cell of the target for each class
    codes: NDArray[np.uint16]  # the class of every row
    by_part: Integers  # rows of each class in each part, (parts, classes)

    @property
    def counts(self) -> Integers:
        """The rows of each class."""
        return np.asarray(self.by_part.sum(axis=0))

    @property
    def first(self) -> Integers:
        """The id of the first row of each part."""
        lengths = self.by_part.sum(axis=1)
        return np.asarray(np.cumsum(lengths) - lengths)

    @property
    def labels(self) -> Labels:
        """The labels that the warnings of a sampler need: classes and counts."""
        return Labels(None, self.classes, self.classes, np.arange(0), self.counts)


def read_part_labels(
    frame: pd.DataFrame, target: Any, name: str
) -> tuple[pd.Series[Any], NDArray[np.uint16]]:
    """Return the different labels of a part, and the label of each row."""
    cells = frame[target]
    gone = int(cells.isna().sum())
    if gone:
        raise TableError(
            f"{name}: the target {target!r} has {gone} missing label{'s' * (gone > 1)}; drop these "
            "rows or give them a class of their own"
        )
    try:
        codes, labels = pd.factorize(cells)
    except TypeError as error:
        raise TableError(
            f"{name}: the target {target!r} holds no labels ({error}); make them whole numbers or "
            "texts"
        ) from None
    if len(labels) > MOST_CLASSES:
        raise TableError(
            f"{name}: the target {target!r} has more than {MOST_CLASSES} different labels; "
            "name a column of classes"
        )
    return pd.Series(labels), codes.astype(np.uint16)


def read_rows(engine: Engine, source: Source) -> Rows:
    """Read the target column of all parts."""
    tasks = [
        dask.delayed(read_part_labels)(frame, source.target, name)
        for frame, name in zip(source.frames([source.target]), source.names, strict=True)
    ]
    labels, codes = zip(*engine.compute(tasks, "labels"), strict=True)
    shown = [own for own in labels if len(own)]
    if not shown:
        raise TableError("the table has no rows; it needs at least one of each of two classes")
    together = pd.concat(shown, ignore_index=True)
    known = read_labels(pd.concat([together] * 3))  # unique labels look like quantities
    places = known.codes[: len(together)]
    by_label = np.split(places.astype(np.uint16), np.cumsum(list(map(len, labels)))[:-1])
    by_row = [own[code] for own, code in zip(by_label, codes, strict=True)]
    examples = together.iloc[np.unique(places, return_index=True)[1]].reset_index(drop=True)
    by_part = np.array([np.bincount(own, minlength=len(known.classes)) for own in by_row])
    return Rows(known.classes, examples, np.concatenate(by_row), by_part)


def count_requested(sampler: OurSampler, rows: Rows) -> dict[int, int]:
    """Return how many new rows each class code is to get.

    imbalanced-learn counts the labels of rows, so it gets their codes, two bytes a row. A callable
    gets the labels, sorted by class.
    """
    strategy, labels = sampler.sampling_strategy, [plain(label) for label in rows.classes]
    if callable(strategy):
        strategy = strategy(np.repeat(rows.classes, rows.counts))
    if isinstance(strategy, dict):
        strange = [label for label in strategy if label not in labels]
        if strange:
            raise TableError(
                f"sampling_strategy names the class {strange[0]!r}, which the target does not "
                f"have; its classes are {labels}"
            )
        strategy = {labels.index(label): n for label, n in strategy.items()}
    codes = Labels(None, rows.codes, np.arange(len(labels)), rows.codes.astype(np.intp))
    own = with_parameters(sampler, sampling_strategy=strategy)
    requested = own._strategy(codes)  # noqa: SLF001  (the same function as in memory)
    return {int(code): int(n) for code, n in requested.items() if n}


@dataclass(frozen=True)
class Samples:
    """Which rows are gathered on one worker, by their ids."""

    fit: Integers | None  # what profile and f are learned from; None for all
    opinion: tuple[Integers, Floats]  # what the second model is fitted to, and the weights
    class_samples: dict[int, Integers]  # the rows of each class that new ones are made with
    ranks: dict[int, Integers]  # of these in the class

    def of_parts(self, first: Integers) -> list[Integers | None]:
        """Return the sampled rows of each part, ascending; None for all of its rows."""
        if self.fit is None:
            return [None] * len(first)
        ids = np.unique(np.concatenate([self.fit, self.opinion[0], *self.class_samples.values()]))
        return list(np.split(ids, np.searchsorted(ids, first[1:])))


def choose_samples(
    sampler: OurSampler, rows: Rows, requested: dict[int, int], seed: int, fit_rows: int
) -> Samples:
    """Choose the rows that are gathered."""
    n, fit = len(rows.codes), None
    if n > fit_rows:
        number = sample_number(np.arange(n))
        fit = np.flatnonzero(sample_of_classes(number, rows.codes, fit_rows, MOST_REFERENCES))
    opinion = np.zeros(0, dtype=np.intp), np.zeros(0)
    searches = isinstance(sampler, CounterfactualOverSampler)
    if searches and not is_every(sampler.sampling_strategy):
        opinion = draw_sample(rows.codes.astype(np.intp), seed)
    within = list(requested) if not searches or sampler.on_shortfall == "fill" else []
    ranks = {target: sample_ranks(int(rows.counts[target]), seed, target) for target in within}
    class_samples = {
        target: np.flatnonzero(rows.codes == target)[ranks[target]] for target in within
    }
    return Samples(fit, opinion, class_samples, ranks)


@dataclass(frozen=True)
class PartScan:
    """The result of scanning a part."""

    name: str
    rows: pd.DataFrame  # those of the samples, and those that show levels and ends
    ids: Integers
    resolution: Floats  # points of each grid per unit, nan where no cell is known


def shown_rows(table: Columns) -> dict[Any, Integers]:
    """Return for each column the first rows that show its levels, or least and largest number."""
    found = {}
    for column in table.columns:
        known = np.flatnonzero(~np.isnan(column.codes))
        cells = column.codes[known]
        if column.kind.has_levels:
            found[column.name] = known[np.unique(cells, return_index=True)[1]]
        else:
            found[column.name] = known[[cells.argmin(), cells.argmax()] if known.size else []]
    return found


def read_frame(X: pd.DataFrame, nominal: Any) -> Columns:
    """Read rows; ``nominal`` are the columns that the user declared nominal."""
    table = read_table(X, categorical_features=nominal)
    assert isinstance(table, Columns)  # noqa: S101  (a frame is never one block)
    return table


def scan_part(
    frame: pd.DataFrame, name: str, first: int, chosen: Integers | None, target: Any, nominal: Any
) -> PartScan:
    """Scan every row of a part; ``chosen`` are the ids of the rows to return, None for all."""
    places = np.arange(len(frame))
    if not len(frame):
        return PartScan(name, frame, places, np.full(frame.shape[1] - 1, np.nan))
    try:
        table = read_frame(frame.drop(columns=target), nominal)
    except TableError as error:
        raise TableError(f"{name}: {error}") from error
    shown = shown_rows(table)
    for column, rows in shown.items():
        if len(rows) > MOST_LEVELS:
            raise TableError(
                f"{name}: column {column!r} has more than {MOST_LEVELS} categories; drop it if it "
                "identifies rows, or turn it into numbers"
            )
    if chosen is not None:
        places = np.unique(np.concatenate([chosen - first, *shown.values()]))
    known = [len(rows) > 0 for rows in shown.values()]
    resolution = np.where(known, table.grid.resolution, np.nan)
    return PartScan(name, frame.iloc[places], first + places, resolution)


@dataclass(frozen=True)
class Plan:
    """All that determines the new rows of a part, apart from its rows."""

    sampler: OurSampler
    names: list[Any]  # of the columns, target included
    target: Any
    rows: Rows  # without those of single rows
    requested: dict[int, int]  # new rows for each class code
    sketch: pd.DataFrame
    grid: Grid
    prepared: Prepared  # of the rows that were gathered, without them
    references: list[Floats]  # rows that f puts into each class
    opinion: SecondOpinion | None
    class_samples: dict[int, ClassSample]
    members: dict[int, tuple[pd.DataFrame, Integers]]  # all rows of small classes, and their ids

    @property
    def features(self) -> list[Any]:
        """The names of the columns without the target."""
        return [name for name in self.names if name != self.target]

    def of_part(self, frame: pd.DataFrame, first: int = 0) -> Prepared:
        """Return a part, ready to be searched; its first row has the id ``first``."""
        n, classes, known = len(self.sketch), self.rows.classes, self.prepared
        rows = pd.concat([self.sketch, frame], ignore_index=True) if n else frame
        part = read_frame(rows[self.features], self.sampler.categorical_features)
        part.grid = self.grid
        table = with_groups(part, known.table.groups)
        own = read_codes(frame[self.target], classes)
        codes = np.concatenate([np.full(n, NO_CLASS), own])
        ends = np.array([known.profile.lower, known.profile.upper], f"f{self.grid.width.max()}")
        if any(kind.has_levels for kind in table.kinds):
            ends = np.full_like(ends, np.nan)  # codes have no ends
        is_own = self.sampler.estimator is None
        return replace(
            known,
            table=table,
            labels=Labels(None, codes, classes, codes, self.rows.counts),
            space=replace(known.space, first_row=first - n),
            f=wrap_classifier(known.estimator, table, classes, own=is_own, ends=ends),
            n_jobs=1,
            memory_share=SHARE_OF_MEMORY,
        )

    def whole(self, x: pd.DataFrame, codes: Integers) -> pd.DataFrame:
        """Put the target beside the features, in the order of the user's columns."""
        columns = {name: x[name].array for name in self.features}
        columns[self.target] = self.rows.examples.iloc[codes].array
        return pd.DataFrame(columns)[self.names]


def read_codes(cells: pd.Series[Any], classes: NDArray[Any]) -> Integers:
    """Return the class code of every row."""
    codes, labels = pd.factorize(cells)
    known = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([known[plain(label)] for label in labels], dtype=np.intp)[codes]


def make_plan(
    scans: list[PartScan],
    sampler: OurSampler,
    names: list[Any],
    target: Any,
    rows: Rows,
    samples: Samples,
    requested: dict[int, int],
    profile: Profile | None,
) -> tuple[Plan, list[Any]]:
    """Learn the plan from the gathered rows; return it with the warnings."""
    found = [scan for scan in scans if len(scan.rows)]
    _check_alike(found)
    frame = pd.concat([scan.rows for scan in found], ignore_index=True)
    ids = np.concatenate([scan.ids for scan in found])
    X, nominal = frame.drop(columns=target), sampler.categorical_features
    gathered = read_frame(X, nominal)
    table: Table = gathered
    shown, fit = shown_rows(gathered), np.arange(len(ids))
    if samples.fit is not None:
        fit = np.unique(np.concatenate([np.searchsorted(ids, samples.fit), *shown.values()]))
        table = read_frame(X.iloc[fit], nominal)
        table.grid = Grid(_join_grids(scans), gathered.grid.width)
    grid = table.grid
    groups: tuple[Any, ...] = ()
    if sampler.plausible is not False and profile is None:
        groups = group_dummies(gathered, sampler.ignore_relations).groups
    table, rows_of = with_groups(table, groups), with_groups(gathered, groups)
    labels = read_labels(frame[target].iloc[fit])
    if sampler.estimator is not None:
        check_takes(make_classifier(sampler, table), table)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        prepared = prepare(sampler, table, labels, None, profile=profile, ids=ids[fit])
    references: list[Floats] = []
    if isinstance(sampler, CounterfactualOverSampler):
        references = find_references(prepared, prepared.predict(), list(requested), ids[fit])
    else:
        check_scores(prepared.f.f)
    opinion, (drawn, weight) = None, samples.opinion
    if len(drawn):
        at = np.searchsorted(ids, drawn)
        codes = read_codes(frame[target].iloc[at], rows.classes)
        opinion = SecondOpinion.fit(rows_of.rows(at), codes, weight, rows_of.nominal)
    class_samples, members = {}, {}
    for code, own in samples.class_samples.items():
        at = np.searchsorted(ids, own)
        class_samples[code] = ClassSample(
            rows_of.rows(at), samples.ranks[code], int(rows.counts[code])
        )
        if class_samples[code].are_all:
            members[code] = frame.iloc[at], own
    first = with_groups(read_frame(X[:1], nominal), groups)
    prepared = replace(prepared, table=first, labels=rows.labels)
    levels = [shown[column.name] for column in gathered.columns if column.kind.has_levels]
    sketch = frame.iloc[np.unique(np.concatenate([fit[:0], *levels]))]
    given, learned = (
        (sampler, names, target, rows, requested),
        (references, opinion, class_samples, members),
    )
    plan = Plan(*given, sketch, grid, prepared, *learned)
    return plan, [one.message for one in warned]


def _check_alike(scans: list[PartScan]) -> None:
    """Raise for parts whose columns have other dtypes than those of the first."""
    first = scans[0]
    for scan in scans[1:]:
        pairs = zip(scan.rows.columns, scan.rows.dtypes, first.rows.dtypes, strict=True)
        for name, own, expected in pairs:
            if own != expected:
                raise TableError(
                    f"{scan.name} has the column {name!r} as {own}, {first.name} as {expected}; "
                    "give every partition the same dtypes (and categories)"
                )


def _join_grids(scans: list[PartScan]) -> Floats:
    """Return the grid of each column: they are nested, and no grid at all is the finest."""
    points = np.array([scan.resolution for scan in scans])
    finest = np.nan_to_num(np.fmax.reduce(points))
    return np.where((points == 0).any(axis=0), 0.0, finest)


def learn_plan(
    engine: Engine,
    source: Source,
    sampler: OurSampler,
    profile: Profile | None,
    fit_rows: int | None,
) -> tuple[Rows, Plan]:
    """Read the labels, scan the table, and learn the plan of the search from its rows."""
    n_features = len(source.columns) - 1
    if profile is not None and len(profile.lower) != n_features:
        raise TableError(
            f"profile must be of the {n_features} features of the table, got one of "
            f"{len(profile.lower)}; pass the profile_ of a sampler fitted to it, or None"
        )
    rows = read_rows(engine, source)
    requested = count_requested(sampler, rows)
    state = make_random_state(sampler.random_state)
    sampler = with_parameters(sampler, random_state=deepcopy(state))
    if fit_rows is None:
        fit_rows = int(engine.memory * SHARE_FOR_FIT) // (BYTES_PER_CELL * len(source.columns))
    fit_rows = max(fit_rows, MOST_CANDIDATES)
    samples = choose_samples(sampler, rows, requested, draw_seed(state), fit_rows)
    columns, target = source.columns, source.target
    parts = source.frames(columns), source.names, rows.first.tolist(), samples.of_parts(rows.first)
    scans = [
        dask.delayed(scan_part)(*part, target, sampler.categorical_features)
        for part in zip(*parts, strict=True)
    ]
    scans = engine.keep(scans, "scan")
    engine.compute([dask.delayed(len)(scan.ids) for scan in scans], "scan")
    known = replace(rows, codes=rows.codes[:0])
    task = dask.delayed(make_plan)(
        scans, sampler, columns, target, known, samples, requested, profile
    )
    plan, warned = engine.compute([task], "fit f")[0]
    for warning in warned:
        warn_user(warning)
    return rows, plan
