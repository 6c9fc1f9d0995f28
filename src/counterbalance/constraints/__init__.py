"""Constraints: what changes make sense, said by the user and kept by every new row."""

from counterbalance.constraints.constraint import (
    Constraint,
    Decreasing,
    Follows,
    Immutable,
    Increasing,
    MaxChanged,
    OneOf,
    Range,
    Relation,
    as_constraints,
    compile_rules,
    tell_constraints,
)

__all__ = [
    "Constraint",
    "Decreasing",
    "Follows",
    "Immutable",
    "Increasing",
    "MaxChanged",
    "OneOf",
    "Range",
    "Relation",
    "as_constraints",
    "compile_rules",
    "tell_constraints",
]
