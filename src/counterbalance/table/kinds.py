"""Kinds: what a column can hold (the table in ``columns`` says what follows from it)."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a column holds."""

    CONTINUOUS = "continuous"
    INTEGER = "integer"
    ORDINAL = "ordinal"
    NOMINAL = "nominal"
    BOOLEAN = "boolean"

    @property
    def has_levels(self) -> bool:
        """Whether the cells come from a fixed set, to be looked up and never computed."""
        return self in {Kind.ORDINAL, Kind.NOMINAL, Kind.BOOLEAN}

    @property
    def has_order(self) -> bool:
        """Whether there is a more and a less."""
        return self not in {Kind.NOMINAL, Kind.BOOLEAN}
