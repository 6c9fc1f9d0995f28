"""Relations: columns computed from others, and orders, found in a sample of the rows.

    follows     a column made of others: their sum, product or ratio, a multiple of one of them, or
                the value of a category; new rows compute it
    order       one column is never above another; a candidate that breaks it is rejected
    kept        the share of the rows that keep a relation, at least KEPT
    tolerance   how far a row may be off: for a column of numbers TOLERANCE times its MAD
    varied      the rows in which the column or its formula is not the most frequent value

A relation is accepted if a share VARIED of the varied rows also keeps it, and both sides vary in
ENOUGH rows; an order, if chance alone keeps it with a probability of at most CHANCE / (number of
tested pairs).

Variances of the columns and of their logarithms show at once which of many thousand sums and
products can be near a column; only those are tested row by row. The result is a list of
constraints, which a user can read, shorten or pass explicitly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtrc

from counterbalance.arrays import Floats, Integers
from counterbalance.constraints import Constraint, Follows, Relation
from counterbalance.constraints.relations import quoted
from counterbalance.constraints.together import CHANCE
from counterbalance.plausible.evidence import FEWEST_ROWS, KEPT
from counterbalance.plausible.lookups import MOST_VALUES, lookup_accuracy
from counterbalance.profile import Profile
from counterbalance.table.kinds import Kind
from counterbalance.user_warnings import renamed

TOLERANCE = 0.25
# Besides the tolerance for nearly all rows: half of them are this near.
TYPICAL = 0.05
# Differences below this, in MADs, are rounding.
EXACT = 1e-3
# Factors this near to one are one.
NEARLY_ONE = 0.02
HALF = 0.5
VARIED, ENOUGH = 0.95, 10
# A column of fewer values has no sums and products, and of fewer than three no order.
FEWEST_VALUES, FEWEST_ORDERED = 5, 3
# If there are more columns, only the most important ones are tested.
MOST_COLUMNS = 60
# Squares of larger numbers, or of closer numbers, are not reliable.
LARGEST, FINEST = 1e100, 1e-100
# The least correlation of a column with its multiple, without the outermost values.
CORRELATED = 0.7
# The most unexplained variance for which a sum or product is tested row by row.
SCREEN = 0.3
MOST_SCREENED = 100
# The most deviation of a formula of two columns, as a share of that of one of them alone.
BETTER = 0.5
# Orders that this many rows would keep by chance are ignored.
MOST_CHANCE = 0.9
MOST_ORDERS = 40


@dataclass(frozen=True)
class FoundRelation:
    """One relation."""

    constraint: Constraint
    text: str
    kept: float
    description: str
    within: float | None = None  # how far nearly all rows are off, at most; None for exact ones

    @property
    def words(self) -> str:
        """The former name of ``description``."""
        return str(renamed(self, "words", "description"))


@dataclass(frozen=True)
class _Columns:
    """The columns of a sample that a formula can name."""

    names: list[Any]
    x: Floats
    scale: Floats
    numbers: Integers
    categories: Integers
    fixed: frozenset[int]

    def name(self, m: int) -> str:
        return quoted(self.names[m])


def find_relations(
    names: list[Any],
    kinds: list[Kind],
    profile: Profile,
    sample: Floats,
    fixed: Iterable[int] = (),
) -> list[FoundRelation]:
    """Return the relations that nearly all rows of the sample keep.

    Columns that are ``fixed`` are used only as the source of a lookup.
    """
    if len(sample) < FEWEST_ROWS:
        return []
    once = [isinstance(n, str) and "`" not in n and names.count(n) == 1 for n in names]
    usable = np.array(once, dtype=bool) & profile.varies & (np.isnan(sample).mean(axis=0) < HALF)
    has_levels = np.array([kind.has_levels for kind in kinds], dtype=bool)
    has_levels[list(fixed)] = True
    large = np.maximum(np.abs(profile.lower), np.abs(profile.upper)) > LARGEST
    usable &= has_levels | ~(large | (profile.scale < FINEST))
    usable &= [_varies(sample[:, m]) for m in range(len(names))]
    ranked = np.argsort(-profile.importance, kind="stable")
    ranked = ranked[usable[ranked]]
    numbers = np.sort(ranked[~has_levels[ranked]][:MOST_COLUMNS])
    categories = np.sort(ranked[has_levels[ranked]][:MOST_COLUMNS])
    columns = _Columns(names, sample, profile.scale, numbers, categories, frozenset(fixed))
    found: dict[int, FoundRelation] = {}
    sources: dict[int, set[int]] = {}
    for m, made_of, relation in _formulas(columns):
        if m not in found and not _leads_to(sources, made_of, m):
            found[m], sources[m] = relation, set(made_of)
    return [*found.values(), *_orders(columns, sources)]


def _commonest(cells: Floats) -> float:
    values, count = np.unique(cells[~np.isnan(cells)], return_counts=True)
    return float(values[count.argmax()]) if len(values) else np.nan


def _varies(cells: Floats) -> bool:
    known = cells[~np.isnan(cells)]
    return bool(np.count_nonzero(known != _commonest(known)) >= ENOUGH)


def _leads_to(sources: dict[int, set[int]], start: set[int], m: int) -> bool:
    """Return whether one of the columns is computed from ``m``, directly or through others."""
    waiting, visited = list(start), set()
    while waiting:
        column = waiting.pop()
        if column == m:
            return True
        if column not in visited:
            visited.add(column)
            waiting.extend(sources.get(column, ()))
    return False


def _formulas(columns: _Columns) -> Iterator[tuple[int, set[int], FoundRelation]]:
    """Yield (column, its sources, relation), the simplest relations first."""
    multiples = set()
    for m, source, found in _multiples(columns) if len(columns.numbers) > 1 else ():
        multiples.add(m)
        yield m, {source}, found
    wide = np.array([len(np.unique(columns.x[:, m])) for m in columns.numbers])
    some = columns.numbers[(wide >= FEWEST_VALUES) & ~np.isin(columns.numbers, list(multiples))]
    if len(some) > 2:  # noqa: PLR2004  (formulas of two others)
        yield from _sums(columns, some)
        yield from _products(columns, some)
    yield from _lookups(columns)


def _kept(columns: _Columns, m: int, made: Floats) -> tuple[float, float] | None:
    """Return the share of rows near to a column's formula, and how near nearly all rows are."""
    own = columns.x[:, m]
    known = np.isfinite(made) & ~np.isnan(own)
    own, made = own[known], made[known]
    off = np.abs(own - made) / columns.scale[m]
    if len(own) < FEWEST_ROWS or np.median(off) > TYPICAL:
        return None
    near = off <= TOLERANCE
    here, there = own != _commonest(own), made != _commonest(made)
    if near.mean() < KEPT or near[here | there].mean() < VARIED or (here & there).sum() < ENOUGH:
        return None
    return float(near.mean()), float(np.quantile(off, KEPT))


def _follows(columns: _Columns, m: int, formula: str, kept: float, near: float) -> FoundRelation:
    constraint = Follows(columns.names[m], formula)
    within = None if near < EXACT else float(near * columns.scale[m])
    how = "" if within is None else f", within {within:.3g}"
    description = f"{columns.names[m]} is {formula}{how}; it moves along"
    return FoundRelation(constraint, constraint.text, kept, description, within)


def _multiples(columns: _Columns) -> Iterator[tuple[int, int, FoundRelation]]:
    """Find columns that are another one, or a multiple of it with or without an offset."""
    x, numbers = columns.x, columns.numbers
    cells = _filled(x[:, numbers])
    with np.errstate(all="ignore"):
        correlated = np.abs(np.corrcoef(cells, rowvar=False)) > CORRELATED
    for i, j in np.argwhere(np.tril(correlated, -1)):
        m, source = int(numbers[i]), int(numbers[j])
        known = ~np.isnan(x[:, m]) & ~np.isnan(x[:, source])
        factor, offset = _line(x[known, source], x[known, m])
        for k, d in _neat(factor, offset):
            kept = _kept(columns, m, k * x[:, source] + d) if k else None
            if kept is not None:
                text = columns.name(source) if k == 1 else f"{abs(k):.6g} * {columns.name(source)}"
                text = f"0 - {text}" if k < 0 else text
                text += f" {'+' if d > 0 else '-'} {abs(d):.6g}" if d else ""
                yield m, source, _follows(columns, m, text, *kept)
                break


def _neat(factor: float, offset: float) -> Iterator[tuple[float, float]]:
    """Yield lines to test, the simplest first."""
    yield 1.0, 0.0
    for digits in (2, 3, 6):
        yield float(f"{factor:.{digits}g}"), 0.0
    for digits in (2, 3, 6):
        yield float(f"{factor:.{digits}g}"), float(f"{offset:.{digits}g}")


def _line(a: Floats, c: Floats) -> tuple[float, float]:
    """Return factor and offset of the line through two columns."""
    spread = np.var(a) if len(a) else 0.0
    factor = float(np.mean((a - a.mean()) * (c - c.mean())) / spread) if spread > 0 else 0.0
    return factor, float(c.mean() - factor * a.mean()) if len(a) else 0.0


def _sums(columns: _Columns, some: Integers) -> Iterator[tuple[int, set[int], FoundRelation]]:
    """Find columns that are the sum of two or three others."""
    x = columns.x
    for m, pair in _screened(_filled(x[:, some]), some):
        parts = [int(some[k]) for k in pair]
        kept = _kept(columns, m, x[:, parts].sum(axis=1))
        if kept is not None and _all_needed(columns, m, parts, kept[1]):
            text = " + ".join(columns.name(p) for p in parts)
            yield m, set(parts), _follows(columns, m, text, *kept)


def _products(columns: _Columns, some: Integers) -> Iterator[tuple[int, set[int], FoundRelation]]:
    """Find products and ratios of two columns; the last column of the table is the follower."""
    x = columns.x
    positive, rows = _with_logarithms(x, some)
    logs = np.log(x[np.ix_(rows, positive)])
    for c, pair in _screened(logs, positive, n_most=2):
        a, b = (int(positive[k]) for k in pair)
        last = max(a, b, c)
        other = a if b == last else b
        with np.errstate(all="ignore"):
            made = x[:, a] * x[:, b] if last == c else x[:, c] / x[:, other]
            ratio = x[:, last] / made
        ratio = ratio[np.isfinite(ratio)]
        factor = float(np.median(ratio)) if len(ratio) else np.nan
        factor = 1.0 if abs(factor - 1) < NEARLY_ONE else float(f"{factor:.6g}")
        kept = _kept(columns, last, factor * made)
        parts = [a, b] if last == c else [c, other]
        if kept is None or not _all_needed(columns, last, parts, kept[1]):
            continue
        sign = "*" if last == c else "/"
        text = f"{columns.name(parts[0])} {sign} {columns.name(parts[1])}"
        text = text if factor == 1 else f"{factor:.6g} * {text}"
        yield last, set(parts), _follows(columns, last, text, *kept)


def _with_logarithms(x: Floats, some: Integers) -> tuple[Integers, Integers]:
    """Return columns, and rows that are positive in all of them: not too few of either."""
    positive = x[:, some] > 0
    some, positive = some[positive.mean(axis=0) > HALF], positive[:, positive.mean(axis=0) > HALF]
    while len(some) and positive.all(axis=1).sum() < max(FEWEST_ROWS, len(x) // 3):
        sparsest = int(np.argmin(positive.mean(axis=0)))
        some, positive = np.delete(some, sparsest), np.delete(positive, sparsest, axis=1)
    return some, np.flatnonzero(positive.all(axis=1))


def _filled(cells: Floats) -> Floats:
    """Put the median into missing cells, and clip outlying cells."""
    low, middle, high = np.nanquantile(cells, (0.01, 0.5, 0.99), axis=0)
    return np.clip(np.where(np.isnan(cells), middle, cells), low, high)


def _screened(
    cells: Floats, features: Integers, n_most: int = 3
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield (column, positions of others whose sum is near it), the nearest first.

    Var(c - a - b) = V_c + V_a + V_b - 2 C_ca - 2 C_cb + 2 C_ab, for all triples at once.
    """
    p = len(features)
    if p < 3:  # noqa: PLR2004  (few columns have logarithms)
        return
    cov = np.cov(cells, rowvar=False)
    var = np.diag(cov)
    i, j = np.triu_indices(p, 1)
    of_pair = var[i] + var[j] + 2 * cov[i, j]
    left = var[:, None] + of_pair - 2 * (cov[:, i] + cov[:, j])
    share = left / np.where(var > 0, var, np.inf)[:, None]
    for c in range(p):
        share[c, (i == c) | (j == c) | (var[i] == 0) | (var[j] == 0)] = np.inf
    share[var == 0] = np.inf
    ranked = np.argsort(share, axis=None, kind="stable")[:MOST_SCREENED]
    for c, at in zip(*np.unravel_index(ranked, share.shape), strict=True):
        if share[c, at] > SCREEN:
            break
        yield int(features[c]), (int(i[at]), int(j[at]))
    if n_most > 2:  # noqa: PLR2004  (a third term)
        yield from _triples(cells, features)


def _triples(cells: Floats, features: Integers) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield sums of three: columns that all others together explain with weights of one."""
    centred = cells - cells.mean(axis=0)
    spread = np.where(centred.std(axis=0) > 0, centred.std(axis=0), 1.0)
    scaled = centred / spread  # columns of all scales have the same weight
    cov = scaled.T @ scaled / len(cells)
    for c in range(len(features)):
        others = np.delete(np.arange(len(features)), c)
        weight = np.linalg.lstsq(cov[np.ix_(others, others)], cov[others, c], rcond=None)[0]
        weight *= spread[c] / spread[others]
        parts = others[np.abs(weight - 1) < 0.05]  # noqa: PLR2004  (weights of one)
        if len(parts) != 3:  # noqa: PLR2004
            continue
        left = centred[:, c] - centred[:, parts].sum(axis=1)
        if np.mean(left**2) <= SCREEN * np.mean(centred[:, c] ** 2):
            yield int(features[c]), tuple(map(int, parts))


def _all_needed(columns: _Columns, m: int, parts: Any, near: float) -> bool:
    """Return whether the column is much farther from each of the terms alone."""
    for part in parts:
        known = ~np.isnan(columns.x[:, m]) & ~np.isnan(columns.x[:, part])
        factor, offset = _line(columns.x[known, part], columns.x[known, m])
        off = np.abs(columns.x[known, m] - factor * columns.x[known, part] - offset)
        if near > BETTER * np.quantile(off / columns.scale[m], KEPT):
            return False
    return True


def _lookups(columns: _Columns) -> Iterator[tuple[int, set[int], FoundRelation]]:
    """Find columns that one other column predicts: categories, and numbers of a category."""
    categories = set(columns.categories.tolist())
    every = [*categories, *map(int, columns.numbers)] if categories else []
    values = {m: np.unique(columns.x[~np.isnan(columns.x[:, m]), m]) for m in every}
    places = {m: np.searchsorted(values[m], columns.x[:, m]) for m in every}
    for m in (m for m in every if m not in columns.fixed):
        for source in every:
            n, n_source = len(values[m]), len(values[source])
            if (
                m == source
                or not {m, source} & categories
                or not 1 < n <= min(n_source, MOST_VALUES)
            ):
                continue
            if n == n_source and m < source:  # each predicts the other: the later column follows
                continue
            known = (places[m] < n) & (places[source] < n_source)  # a missing cell sorts last
            pairs = np.bincount(
                places[source][known] * n + places[m][known], minlength=n * n_source
            )
            kept = lookup_accuracy(
                pairs.reshape(n_source, n),
                number=source not in categories,
                n_tests=len(every) * len(categories),
            )
            if kept is not None:
                constraint = Follows(columns.names[m], columns.name(source))
                description = (
                    f"{columns.names[m]} goes with {columns.names[source]}; it moves along"
                )
                yield m, {source}, FoundRelation(constraint, constraint.text, kept, description)


def _orders(columns: _Columns, sources: dict[int, set[int]]) -> list[FoundRelation]:
    """Find pairs in which one column is never above the other, except followers."""
    x = columns.x
    several = [len(np.unique(x[:, m])) >= FEWEST_ORDERED for m in columns.numbers]
    numbers = columns.numbers[np.array(several, dtype=bool)]
    known = ~np.isnan(x)
    found: list[tuple[float, float, int, int]] = []
    for a in map(int, numbers):
        kept_by = (x[:, [a]] <= x[:, numbers]).sum(axis=0)
        both_known = (known[:, [a]] & known[:, numbers]).sum(axis=0)
        good = (both_known >= FEWEST_ROWS) & (kept_by >= KEPT * both_known)
        for b, n, kept in zip(numbers[good], both_known[good], kept_by[good], strict=True):
            both = known[:, a] & known[:, b]
            below, above = x[both, a], np.sort(x[both, b])
            if a == b or b in sources.get(a, ()) or a in sources.get(int(b), ()):
                continue
            if np.mean(below == x[both, b]) >= KEPT:
                continue
            chance = 1 - float(np.searchsorted(above, below).mean()) / n
            luck = bdtrc(kept - 1, n, min(chance, 1.0))
            if chance <= MOST_CHANCE and luck * len(numbers) ** 2 < CHANCE:
                found.append((chance, float(kept / n), a, int(b)))
    pairs = {(a, b) for *_, a, b in found}
    plain = [
        one
        for one in sorted(found)
        if not any((one[2], c) in pairs and (c, one[3]) in pairs for c in map(int, numbers))
    ]
    result = []
    for _, share, a, b in plain[:MOST_ORDERS]:
        text = f"{columns.name(a)} <= {columns.name(b)}"
        description = f"{columns.names[a]} is never above {columns.names[b]}"
        result.append(FoundRelation(Relation(text), text, share, description))
    return result
