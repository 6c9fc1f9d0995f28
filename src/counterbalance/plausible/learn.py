"""Learn: from the rows of a table to what its new rows must be like.

    evidence -> relations, pairs seen together -> rules

``plausible`` says whether it is learned: ``"auto"`` where the table has categories, ``True``
always, ``False`` never.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from counterbalance.arrays import Integers
from counterbalance.constraints import Follows, compile_rules
from counterbalance.constraints import Relation as RelationConstraint
from counterbalance.constraints.relations import Relation, quoted
from counterbalance.constraints.rules import Rules
from counterbalance.errors import ConstraintError
from counterbalance.plausible.evidence import Evidence
from counterbalance.plausible.relations import Found, find_relations, without
from counterbalance.profile import Profile
from counterbalance.table.dummies import Group, group_text
from counterbalance.table.kinds import Kind, is_mixed
from counterbalance.table.table import Table

Plausible = Literal["auto"] | bool


@dataclass(frozen=True)
class Learned:
    """What a table tells of what goes together."""

    evidence: Evidence
    relations: tuple[Found, ...] = ()


def learns(plausible: Plausible, kinds: Sequence[Kind]) -> bool:
    """Say whether new rows must be like those of the table."""
    return plausible is True or (plausible == "auto" and is_mixed(kinds))


def learn(
    evidence: Evidence, table: Table, profile: Profile, plausible: Plausible, unwanted: Any
) -> Learned:
    """Find the relations of a table in its evidence."""
    if plausible is False:
        return Learned(evidence)
    groups = [_found_group(group, table.names) for group in table.groups]
    if not learns(plausible, table.kinds):
        return Learned(evidence, tuple(groups))
    dummies = [m for group in table.groups for m in group.columns]
    names = [None if m in dummies else name for m, name in enumerate(table.names)]
    found = find_relations(names, table.kinds, profile, evidence.sample)
    return Learned(evidence, (*groups, *without(found, unwanted)))


def _found_group(group: Group, names: list[Any]) -> Found:
    """Return the relation that dummy columns keep."""
    text = group_text(group, names)
    listed = ", ".join(str(names[m]) for m in group.columns)
    words = f"{listed}: {'one of them' if group.exactly else 'at most one of them'}"
    return Found(RelationConstraint(text), text, group.kept, words)


def make_rules(constraints: Any, table: Table, learned: Learned | None) -> Rules:
    """Compile what the user says, and then what was learned and does not contradict it."""
    if learned is None:
        return compile_rules(constraints, table)
    sample = learned.evidence.sample
    rules = compile_rules(constraints, table, sample)
    for found in learned.relations:
        if isinstance(found.constraint, Follows):
            # A formula of the user's comes first.
            with suppress(ConstraintError):
                found.constraint.apply(rules, table, sample)
                rules.usual += _tolerated(found, table)
        else:
            rules.usual += compile_rules([found.constraint], table).relations
    for group in table.groups:
        if len(group.allowed) < len(group.patterns):
            own = rules.levels.get(group.first, np.arange(len(group.patterns)))
            rules.levels[group.first] = np.intersect1d(own, group.allowed).astype(np.float64)
    rules.together = learned.evidence.together
    return rules


def _tolerated(found: Found, table: Table) -> list[Relation]:
    """Return the bounds of how far a follower may be off: a large one may not carry it farther."""
    if found.within is None or not isinstance(found.constraint, Follows):
        return []
    off = f"{quoted(found.constraint.column)} - ({found.constraint.formula})"
    texts = [f"{off} <= {found.within!r}", f"0 - ({off}) <= {found.within!r}"]
    return compile_rules(texts, table).relations


def free(rules: Rules, order: Integers) -> Integers:
    """Return the features of an order that do not follow others."""
    following = [follower.column for follower in rules.followers]
    return np.asarray(order[~np.isin(order, following)])
