"""Yields: what each pair of classes gave, in the first pass and in the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from counterbalance.rows.shortfall import SEARCHED, NewRows
from counterbalance.search.inversions import Inversions
from counterbalance.search.problem import Judged, Problem, Yield
from counterbalance.table.labels import Labels, plain


def count_yields(
    asked: Iterable[int], found: Inversions, problem: Problem, judged: Judged
) -> dict[tuple[Any, Any], Yield]:
    """Count for each pair (larger class, smaller class) what the first pass gave."""
    labels, right = problem.labels, problem.right(judged)
    table = {}
    for target in asked:
        of_target = found.factual[found.target == target]
        for source in np.flatnonzero(problem.pairs([target])[:, target]):
            here = labels.codes == source
            pair = (labels.classes[source], labels.classes[target])
            table[tuple(map(plain, pair))] = Yield(
                rows=int(here.sum()),
                factuals=int((here & right).sum()),
                inversions=int(here[of_target].sum()),
                used=0,
                origins={},
            )
    return table


def count_by_origin(
    yields: dict[tuple[Any, Any], Yield], classes: list[NewRows], labels: Labels
) -> dict[tuple[Any, Any], Yield]:
    """Note with each yield the new rows that came of the pair in the end, by origin."""
    codes = {plain(label): code for code, label in enumerate(labels.classes)}
    rows_of = {rows.target: rows for rows in classes}

    def count(source: int, target: int) -> dict[str, int]:
        made = dict.fromkeys(SEARCHED, 0)
        for origin, found in rows_of[target].parts:
            made[origin] += int(np.count_nonzero(labels.codes[found.factual] == source))
        return made

    def counted(pair: tuple[Any, Any], got: Yield) -> Yield:
        source, target = (codes[label] for label in pair)
        origins = count(source, target)
        return got._replace(used=origins["inversion"], origins=origins)

    return {pair: counted(pair, got) for pair, got in yields.items()}
