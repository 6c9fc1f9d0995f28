"""Plan: what every task needs to search a block of rows as the whole table would be searched.

The plan is made once, on the client, by the sampler's own steps: the order of the
features, the rules, the seed, how many samples each class is to get.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from imblearn.utils import check_sampling_strategy

from counterbalance import CounterfactualOverSampler
from counterbalance.arrays import Floats, Integers
from counterbalance.classifier.judge import Classifier, judge
from counterbalance.classifier.linear import Screen, linear_screen
from counterbalance.distributed.layout import Layout
from counterbalance.distributed.partitions import Partition, Place, blocks
from counterbalance.errors import TableError
from counterbalance.prepare import make_space
from counterbalance.profile import Profile
from counterbalance.search.nearest import Effort, Space
from counterbalance.search.problem import Problem
from counterbalance.search.selection import Selection, is_every, most_inversions


@dataclass(frozen=True)
class Plan:
    """Everything that decides the new rows of a block, except f and the rows themselves."""

    layout: Layout
    space: Space
    effort: Effort
    selection: Selection
    asked: dict[int, int]  # new rows for each class code
    size: int  # rows of a block
    own: bool  # whether f is the sampler's own, fitted to the codes of the table

    def problem(self, block: pd.DataFrame, first: int) -> Problem:
        """Return a block, ready to be searched; its first row has the id ``first``."""
        layout = self.layout
        space = replace(self.space, first_row=first - len(layout.sketch))
        return Problem(layout.table(block), layout.labels(block), space, self.effort)

    def blocks(self, partition: Partition, place: Place) -> Iterator[tuple[int, Problem]]:
        """Yield the blocks of a partition, each with the id of its first row."""
        first = place.first
        for block in blocks(partition, self.size):
            yield first, self.problem(block, first)
            first += len(block)

    def classifier(self, f: Any, problem: Problem) -> Classifier:
        """Wrap f for a block; a linear f is screened by the ranges of the whole table."""
        wrapped = judge(f, problem.table, self.layout.classes, own=self.own)
        if self.own:
            return wrapped
        decode = self._floats if self.layout.only_floats else wrapped.decode
        return replace(wrapped, screen=self._screen(f), decode=decode)

    def _floats(self, x: Floats, rows: Integers) -> pd.DataFrame:
        """Decode a table of plain floats at once; column by column takes a third of the search.

        In memory the array lies as it does behind a frame of single columns, so that f adds
        up in the same order.
        """
        del rows  # a missing float is missing in one way only
        return pd.DataFrame(np.asfortranarray(x), columns=self.layout.sketch.columns, copy=False)

    def _screen(self, f: Any) -> Screen | None:
        layout, profile = self.layout, self.space.perturbation.profile
        if any(kind.has_levels for kind in layout.kinds):
            return None
        dtype = f"f{layout.grid.width.max()}"  # of the matrix that f makes of a frame
        ends = np.array([profile.lower, profile.upper], dtype=dtype)
        return linear_screen(f, ends, layout.classes)


def check_sampler(sampler: Any) -> CounterfactualOverSampler:
    """Return a copy of the sampler, its parameters checked."""
    if type(sampler) is not CounterfactualOverSampler:
        raise TableError(
            "sampler must be a CounterfactualOverSampler, the only one that is distributed, got "
            f"{sampler!r}; pass CounterfactualOverSampler(...)"
        )
    copy = CounterfactualOverSampler(**sampler.get_params(deep=False))
    copy._validate_params()  # noqa: SLF001  (scikit-learn's own check)
    return copy


def make_asked(sampler: CounterfactualOverSampler, layout: Layout) -> dict[int, int]:
    """Return how many new rows each class code is to get.

    imbalanced-learn counts labels of rows: it gets the codes, a byte or two for each row.
    A callable gets labels, sorted by class.
    """
    strategy, labels = sampler.sampling_strategy, layout.classes.tolist()
    if is_every(strategy):
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
    asked = check_sampling_strategy(strategy, y, sampler._sampling_type)  # noqa: SLF001
    return {int(code): int(n) for code, n in asked.items()}


def make_plan(
    sampler: CounterfactualOverSampler,
    layout: Layout,
    profile: Profile,
    seed: int,
    size: int,
) -> Plan:
    """Make the plan with the steps that prepare a table in memory."""
    choices = sampler.choices()
    return Plan(
        layout,
        make_space(layout.sketch_table, profile, seed, choices),
        choices.effort,
        sampler.selection,
        make_asked(sampler, layout),
        size,
        own=False,
    )
