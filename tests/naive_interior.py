"""The interior sampler, line by line: one candidate at a time, one cell at a time.

    base       the row of the class that a candidate starts from
    sample     all rows of the class, or 10,000 of them
    partner    one of its five nearest sampled rows
    a, b       any two sampled rows
    h          Silverman's bandwidth for n rows and d features that may change, times ``spread``

    between    base + step (partner - base)          with the chance ``between``
    around     base + h (a - b) / sqrt(2)            otherwise

Eight candidates are made for each requested row. The rows are drawn from them without replacement,
with weights ``score ** agreement``: those with the largest ``log(u) / weight`` (Efraimidis and
Spirakis, 2006). The fast sampler must return the same rows to the last bit. It shares no code with
this module: random numbers, statistics and neighbours are recomputed. Cells are codes: numbers as
they are, levels by their place, nan where they are missing.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

import naive

NEAREST = 5
CANDIDATES = 8
LEAST_SCORE = 1e-6
IDS_PER_CLASS = 2**40


@dataclass
class Feature:
    """One column: its cells over the whole table, and what a new cell of it may be."""

    cells: list
    nominal: bool = False
    per_unit: int = 0  # points of the grid in a unit; 0 is no grid
    single: bool = False  # 32 bits wide
    frozen: bool = False
    rising: bool = False
    low: float = -math.inf
    high: float = math.inf
    levels: tuple = ()  # the only numbers that are allowed, if any

    def __post_init__(self):
        known = [cell for cell in self.cells if not math.isnan(cell)]
        self.varies = len(set(known)) > 1
        self.lower, self.upper, self.mad = naive.feature_statistics(known)


@dataclass
class Settings:
    """Parameters of the sampler."""

    spread: float = 1.2
    between: float = 0.3
    agreement: float = 1.5
    most_changed: int | None = None
    most_sampled: int = 10_000
    relation: object = field(default=lambda row: True)  # noqa: ARG005 - allows every row


def resample(features, rows, target, n_requested, seed, score, settings):
    """Return the new rows of a class, each with the row of the table that it started from.

    ``rows`` are the positions of the class in the table, ``target`` is its code, and ``score``
    returns the probability of the class for a candidate.
    """
    own = [[feature.cells[row] for feature in features] for row in rows]
    n, total = len(own), CANDIDATES * n_requested
    # Larger classes are sampled: one row of each of so many equal stretches.
    places = range(n)
    if n > settings.most_sampled:
        places = [
            stretch(
                k, settings.most_sampled, n, naive.uniform(seed, target * IDS_PER_CLASS + k, 4, 0)
            )
            for k in range(settings.most_sampled)
        ]
    sample = [own[place] for place in places]
    partners = [nearest(features, own[place], sample, places, place) for place in range(n)]
    d = sum(feature.varies and not feature.frozen for feature in features)
    h = settings.spread * (4 / ((d + 2) * n)) ** (1 / (d + 4))
    keyed = []
    for number in range(total):
        sample_id = target * IDS_PER_CLASS + number
        u = naive.uniform(seed, sample_id, 0, 0)
        base = int(u * n) if len(sample) == n else stretch(number, total, n, u)
        if naive.uniform(seed, sample_id, 3, 0) < settings.between and partners[base]:
            new = between(features, own[base], sample, partners[base], seed, sample_id)
        else:
            new = around(features, own[base], sample, h, seed, sample_id)
        new = at_most(settings.most_changed, new, own[base], seed, sample_id)
        if same(new, own[base]) or not allowed(features, new) or not settings.relation(new):
            continue
        weight = min(max(score(new, rows[base]), LEAST_SCORE), 1.0) ** settings.agreement
        keyed.append(
            (np.log(naive.uniform(seed, sample_id, 2, 0)) / weight, sample_id, new, rows[base])
        )
    keyed.sort(key=lambda candidate: (-candidate[0], candidate[1]))
    drawn = sorted(keyed[:n_requested], key=lambda candidate: candidate[1])
    return [new for _, _, new, _ in drawn], [row for _, _, _, row in drawn]


def stretch(number, n_stretches, n, u):
    """Return a position within one of the equal stretches of ``n`` positions."""
    start, stop = number * n // n_stretches, (number + 1) * n // n_stretches
    return start + int(u * max(1, stop - start))


def nearest(features, row, sample, places, place):
    """Return the sampled rows nearest to a row, the nearest first, without itself.

    ``places`` are the positions of the sample in their class, ``place`` is that of the row.
    """
    others = [other for other in range(len(sample)) if places[other] != place]
    far = {other: distance(features, sample, row, sample[other]) for other in others}
    ordered = sorted(others, key=far.get)
    steps = [far[b] - far[a] for a, b in pairwise(ordered[: NEAREST + 1])]
    assert all(step > 1e-12 for step in steps), "ties have no order: give rows that have none"
    return ordered[: min(NEAREST, len(sample) - 1)]


def distance(features, own, first, second):
    """Sum |difference| / MAD; another level counts 1, a missing one half on either side."""
    total = 0.0
    for m, feature in enumerate(features):
        pair = first[m], second[m]
        if feature.nominal:
            missing = [math.isnan(cell) for cell in pair]
            if any(missing):
                total += 0.0 if all(missing) else 0.5
            else:
                total += 0.0 if pair[0] == pair[1] else 1.0
            continue
        known = [row[m] for row in own if not math.isnan(row[m])]
        x, z = (float(np.median(known)) if math.isnan(cell) else cell for cell in pair)
        total += abs(x - z) / (feature.mad if feature.varies else 1.0)
    return total


def between(features, start, sample, partners, seed, sample_id):
    """Move a step towards a partner; a level is that of the nearer of the two."""
    end = sample[partners[int(naive.uniform(seed, sample_id, 0, 1) * len(partners))]]
    step = naive.uniform(seed, sample_id, 0, 2)
    new = []
    for m, feature in enumerate(features):
        if feature.nominal:
            value = start[m] if step < 0.5 else end[m]
        else:
            value = start[m] + step * (end[m] - start[m])
        limits = min(start[m], end[m]), max(start[m], end[m])
        new.append(settle(feature, start[m], value, *limits))
    return new


def around(features, start, sample, h, seed, sample_id):
    """Add h times the difference of two rows; h is the chance that a level is the first one's."""
    a, b = (sample[int(naive.uniform(seed, sample_id, 0, k) * len(sample))] for k in (1, 2))
    state = naive.stream(seed, sample_id, 0)
    new = []
    for m, feature in enumerate(features):
        if feature.nominal:
            taken = naive.uniform(seed, state, 1, m) < h and not math.isnan(a[m])
            value = a[m] if taken else start[m]
        else:
            value = start[m] + h * (a[m] - b[m]) / math.sqrt(2)
        new.append(settle(feature, start[m], value, feature.lower, feature.upper))
    return new


def settle(feature, start, value, lower, upper):
    """Round a value to its grid and clip it to its limits; a frozen cell stays."""
    if math.isnan(start) or math.isnan(value) or feature.frozen or not feature.varies:
        return start
    if feature.nominal:
        return value
    if feature.per_unit:
        value = float(np.rint(value * feature.per_unit)) / feature.per_unit + 0.0
    if feature.single:
        value = float(np.float32(value))
    if feature.levels:
        value = min(feature.levels, key=lambda level: (abs(level - value), level))
    lower, upper = max(lower, feature.low), min(upper, feature.high)
    if feature.rising:
        lower = max(lower, start)
    return start if lower > upper else min(max(value, lower), upper)


def at_most(most, new, start, seed, sample_id):
    """Keep at most ``most`` changes, chosen at random; undo the others."""
    changed = [m for m in range(len(new)) if differs(new[m], start[m])]
    changed.sort(key=lambda m: naive.uniform(seed, sample_id, 0, 3 + m))
    restored = changed[most:] if most is not None else []
    return [start[m] if m in restored else new[m] for m in range(len(new))]


def allowed(features, row):
    """Return whether a row keeps the bounds and the levels."""
    for feature, cell in zip(features, row, strict=True):
        if cell < feature.low or cell > feature.high:
            return False
        if feature.levels and not math.isnan(cell) and cell not in feature.levels:
            return False
    return True


def differs(first, second):
    return first != second and not (math.isnan(first) and math.isnan(second))


def same(first, second):
    return not any(differs(x, z) for x, z in zip(first, second, strict=True))
