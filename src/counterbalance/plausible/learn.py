"""Learn: find in the rows of a table the rules for its new rows.

    evidence -> relations, values that stand together, values of each number -> rules

``plausible=False`` learns nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.constraints import Follows, GoesWith, as_constraints, compile_rules
from counterbalance.constraints import Relation as RelationConstraint
from counterbalance.constraints.relations import Relation, quoted
from counterbalance.constraints.rules import Rules
from counterbalance.constraints.together import Together
from counterbalance.errors import ConstraintError
from counterbalance.plausible.evidence import Evidence
from counterbalance.plausible.relations import FoundRelation, find_relations
from counterbalance.plausible.values import values_of_number
from counterbalance.profile import Profile
from counterbalance.table.dummies import Group, group_text
from counterbalance.table.table import Table, dates, identifiers

Plausible = Literal["auto"] | bool


@dataclass(frozen=True)
class Learned:
    """The regularities found in a table."""

    evidence: Evidence
    relations: tuple[FoundRelation, ...] = ()
    together: Together | None = None
    values: dict[int, Floats] | None = None  # allowed values of some numbers
    fixed: dict[int, str] = field(default_factory=dict)  # columns that do not change, and why


def learn(
    evidence: Evidence, table: Table, profile: Profile, plausible: Plausible, unwanted: Any
) -> Learned:
    """Find what new rows must keep."""
    fixed = {m: f"{different:,} different values" for m, different, _ in identifiers(table)}
    fixed |= dict.fromkeys(dates(table), "dates")
    if plausible is False:
        return Learned(evidence, fixed=fixed)
    groups = [_found_group(group, table.names) for group in table.groups]
    in_group = [m for group in table.groups for m in group.columns]
    names = [None if m in in_group else name for m, name in enumerate(table.names)]
    ignored = _read_ignored(unwanted, table)
    found = [
        one
        for one in find_relations(names, table.kinds, profile, evidence.sample, fixed)
        if " ".join(one.text.split()) not in ignored[0]
    ]
    together = Together.learn(table.kinds, evidence.rows)
    wanted = np.ones((len(table.names),) * 2, dtype=bool)
    for m, other in ignored[1]:
        wanted[m, other] = wanted[other, m] = False
    together = together.only(wanted)
    pairs = list(found_pairs(together, table, len(evidence.rows)))
    values = {
        m: levels
        for m, kind in enumerate(table.kinds)
        if not kind.has_levels
        and (levels := values_of_number(evidence.rows[:, m], table.grid.resolution[m])) is not None
    }
    for m in together.levels.unchecked:
        fixed.setdefault(int(m), "too many categories to check")
    return Learned(evidence, (*groups, *found, *pairs), together, values, fixed)


def _read_ignored(texts: Any, table: Table) -> tuple[set[str], set[tuple[int, int]]]:
    """Return the relations that the user ignores, as texts and as pairs of columns."""
    given = [texts] if isinstance(texts, str) else list(texts or ())
    rules = Rules.none(len(table.names))
    for text in given:
        if " goes with " in text:
            for constraint in as_constraints(text):
                constraint.apply(rules, table)
    return {" ".join(str(text).split()) for text in given}, rules.pairs


def _found_group(group: Group, names: list[Any]) -> FoundRelation:
    """Return the relation that dummy columns keep."""
    text = group_text(group, names)
    listed = ", ".join(str(names[m]) for m in group.columns)
    description = f"{listed}: {'one of them' if group.exactly else 'at most one of them'}"
    return FoundRelation(RelationConstraint(text), text, group.kept, description)


def found_pairs(together: Together, table: Table, n_rows: int) -> Iterator[FoundRelation]:
    """Yield for each column its pairs, with the most significant missing pair."""
    levels, n = together.levels, len(together.levels.features)
    first = levels.first[:-1]
    missed = np.where(together.proven, together.expected - together.count, 0.0)
    by_column = np.zeros((n, n))
    if n:
        by_column = np.maximum.reduceat(np.maximum.reduceat(missed, first, 0), first, 1)
    broken = np.where(together.proven, together.count, 0)
    unnamed = {m for group in table.groups for m in group.columns if m != group.first}
    named = [isinstance(table.names[m], str) and m not in unnamed for m in levels.features]
    for k in range(n):
        others = [j for j in range(k + 1, n) if by_column[k, j] > 0 and named[k] and named[j]]
        if not others:
            continue
        others.sort(key=lambda j: -by_column[k, j])
        own = slice(levels.first[k], levels.first[k + 1])
        inside = np.isin(levels.column, others)
        kept = 1 - float(broken[own][:, inside].sum()) / n_rows
        d, e = np.unravel_index(np.argmax(np.where(inside, missed[own], 0)), missed[own].shape)
        d = int(d) + own.start
        constraint = GoesWith(
            table.names[levels.features[k]], *(table.names[levels.features[j]] for j in others)
        )
        example = f"{_level(together, table, d)} with {_level(together, table, int(e))}"
        description = (
            f"{constraint.text}; for example, {together.count[d, e]:,} real rows have {example} "
            f"({together.expected[d, e]:,.0f} would by chance)"
        )
        yield FoundRelation(constraint, constraint.text, kept, description)


def _level(together: Together, table: Table, d: int) -> str:
    """Return the text of a level: the column and its value."""
    levels = together.levels
    k = int(levels.column[d])
    m, value = int(levels.features[k]), levels.value[d]
    name = table.names[m]
    if levels.is_number[k]:
        other = f"other than {', '.join(f'{v:g}' for v in _shared(levels, k))}"
        return (
            f"{name} {'missing' if d - levels.first[k] == 1 else other}"
            if np.isnan(value)
            else f"{name} {value:g}"
        )
    if np.isnan(value):
        return f"{name} missing"
    for group in table.groups:
        if m == group.first:
            ones = np.flatnonzero(group.patterns[int(value)])
            listed = " and ".join(str(table.names[group.columns[c]]) for c in ones)
            return listed or f"none of {', '.join(str(table.names[c]) for c in group.columns)}"
    codes = {code: cell for cell, code in table.codes_of_levels(m).items()}
    return f"{name} {codes.get(float(value))!r}"


def _shared(levels: Any, k: int) -> Floats:
    own: Floats = levels.value[levels.first[k] : levels.first[k + 1]]
    return own[~np.isnan(own)]


def make_rules(constraints: Any, table: Table, learned: Learned | None) -> Rules:
    """Compile the user's constraints, then the learned ones that do not contradict them."""
    if learned is None:
        return compile_rules(constraints, table)
    sample, rows = learned.evidence.sample, learned.evidence.rows
    rules = compile_rules(constraints, table, rows)
    for found in learned.relations:
        if isinstance(found.constraint, Follows):
            # The user's formula has priority.
            with suppress(ConstraintError):
                found.constraint.apply(rules, table, sample)
                rules.usual += _tolerated(found, table)
        elif not isinstance(found.constraint, GoesWith):
            rules.usual += compile_rules([found.constraint], table).relations
    for group in table.groups:
        if len(group.allowed) < len(group.patterns):
            own = rules.levels.get(group.first, np.arange(len(group.patterns)))
            rules.levels[group.first] = np.intersect1d(own, group.allowed).astype(np.float64)
    if learned.together is not None:
        own_pairs = rules.together
        rules.together = learned.together
        if own_pairs is not None:  # requested by a constraint although ignored
            rules.together = own_pairs.joined(learned.together)
        if not rules.together.says:
            rules.together = None
    _steer(rules, learned.values or {})
    return rules


def _steer(rules: Rules, values: dict[int, Floats]) -> None:
    """Restrict draws to the values of numeric columns, if the user allows these values."""
    following = {follower.column for follower in rules.followers}
    for m, levels in values.items():
        inside = levels[(levels >= rules.low[m]) & (levels <= rules.high[m])]
        if m in rules.levels or m in following or len(inside) == 0:
            continue
        rules.levels[m] = inside
        rules.steered.add(m)
        if len(inside) < len(levels):
            rules.low[m], rules.high[m] = inside[0], inside[-1]


def _tolerated(found: FoundRelation, table: Table) -> list[Relation]:
    """Return the bounds of a follower's deviation: large changes must not exceed them."""
    if found.within is None or not isinstance(found.constraint, Follows):
        return []
    off = f"{quoted(found.constraint.column)} - ({found.constraint.formula})"
    texts = [f"{off} <= {found.within!r}", f"0 - ({off}) <= {found.within!r}"]
    return compile_rules(texts, table).relations


def free(rules: Rules, order: Integers) -> Integers:
    """Return the features of an order that do not follow others."""
    following = [follower.column for follower in rules.followers]
    return np.asarray(order[~np.isin(order, following)])
