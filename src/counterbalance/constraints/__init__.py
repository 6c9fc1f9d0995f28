"""Constraints: which changes the user allows; every new row keeps them.

    from counterbalance.constraints import Immutable, Increasing, Range
    CounterfactualOverSampler(constraints=[
        Immutable("sex"),                # stays what it is
        Increasing("age"),               # nobody gets younger
        Range("dose", 0, 40),            # stays within bounds
        OneOf("ward", ["A", "B"]),       # takes one of these
        MaxChanged(3),                   # at most three features differ
        AtLeast("income", 100),          # smaller changes do not count
        Cost("age", 5),                  # a change of it counts five times
        Transitions("degree", {"MSc": ["PhD"]}),  # which category may become which
        "word_unique <= word_count",     # a relation between columns
        "total follows price * number",  # a column that moves along with others
    ])

They apply to each pair of a factual and the row made from it, for new rows of every origin.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.constraints.constraint import (
    AtLeast,
    Constraint,
    Cost,
    Decreasing,
    Follows,
    GoesWith,
    Immutable,
    Increasing,
    MaxChanged,
    OneOf,
    Range,
    Relation,
    Transitions,
)
from counterbalance.constraints.rules import Rules
from counterbalance.constraints.together import Together
from counterbalance.errors import ConstraintError
from counterbalance.table.table import Table

__all__ = [
    "AtLeast",
    "Constraint",
    "Cost",
    "Decreasing",
    "Follows",
    "GoesWith",
    "Immutable",
    "Increasing",
    "MaxChanged",
    "OneOf",
    "Range",
    "Relation",
    "Transitions",
    "as_constraints",
    "compile_rules",
    "tell_constraints",
]

_NAME = r"(?:`[^`]+`|[^\W\d][\w.]*)"
_TEXT = re.compile(rf"\s*(?P<column>{_NAME})\s+(?P<verb>follows|goes with)\b\s*(?P<of>.*)")
_NAMES = re.compile(rf"{_NAME}(?:\s*,\s*{_NAME})*\s*")


def compile_rules(constraints: Any, table: Table, sample: Floats | None = None) -> Rules:
    """Compile a list of constraints (a string is a relation) into rules for ``table``.

    ``sample`` holds encoded rows from which lookups are learned; by default all rows.
    """
    rules = Rules.none(len(table.names))
    for constraint in as_constraints(constraints):
        if isinstance(constraint, Follows):
            constraint.apply(rules, table, sample)
        else:
            constraint.apply(rules, table)
    if rules.pairs:
        x = table.rows(slice(None)) if sample is None else sample
        wanted = np.zeros((len(table.names),) * 2, dtype=bool)
        for m, other in rules.pairs:
            wanted[m, other] = wanted[other, m] = True
        rules.together = Together.learn(table.kinds, x).only(wanted)
    return rules


def as_constraints(constraints: Any) -> list[Constraint]:
    """Return the constraints as objects."""
    if constraints is None:
        return []
    result: list[Constraint] = []
    for item in [constraints] if isinstance(constraints, (str, Constraint)) else constraints:
        constraint = _read(item) if isinstance(item, str) else item
        if not isinstance(constraint, Constraint):
            raise ConstraintError(
                f"constraints must hold constraints or texts, got {item!r}; "
                "see counterbalance.constraints"
            )
        result.append(constraint)
    return result


def _read(text: str) -> Constraint:
    match = _TEXT.fullmatch(text)
    if match is None:
        return Relation(text)
    column = match["column"].strip("`")
    if match["verb"] == "follows":
        return Follows(column, match["of"].strip())
    if not _NAMES.fullmatch(match["of"]):
        raise ConstraintError(
            f"{text!r} must name columns behind 'goes with', as 'a goes with b, c'"
        )
    return GoesWith(column, *(name.strip("`") for name in re.findall(_NAME, match["of"])))


def tell_constraints(constraints: Any) -> str:
    """Return a sentence on what every new row keeps, empty without constraints.

    >>> tell_constraints([Immutable("sex"), Range("dose", 0, 40), "low <= high"])
    'Kept in every new row: sex never changes; dose stays between 0 and 40; low <= high.'
    """
    descriptions = [constraint.description for constraint in as_constraints(constraints)]
    return f"Kept in every new row: {'; '.join(descriptions)}." if descriptions else ""
