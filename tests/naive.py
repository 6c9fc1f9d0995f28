"""Algorithm 1 of the paper, line by line: plain loops over rows, draws, rounds and features.

The fast search must find the same inversions. It shares no code with this module, only the
definitions of the paper: even the random numbers are recomputed, with Python's integers.

Two errors of the printed algorithm are corrected: alpha and beta of the inverse transform are
swapped (alpha belongs to the lower bound); the formula gives x', not the step, since it adds X_nm.
"""

import itertools
import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.special import ndtr, ndtri
from sklearn.linear_model import LogisticRegression

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


def splitmix64(state):
    state ^= state >> 30
    state = state * 0xBF58476D1CE4E5B9 & _MASK
    state ^= state >> 27
    state = state * 0x94D049BB133111EB & _MASK
    return state ^ state >> 31


def stream(seed, row, draw):
    state = splitmix64(seed + _GOLDEN & _MASK)
    state = splitmix64(state + (row + 1) * _GOLDEN & _MASK)
    return splitmix64(state + (draw + 1) * _GOLDEN & _MASK)


def uniform(seed, row, draw, counter):
    state = splitmix64(stream(seed, row, draw) + (counter + 1) * _GOLDEN & _MASK)
    return ((state >> 12) + 0.5) * 2.0**-52


def exact_normal(seed, row, draw, feature, n_features, a, b):
    del n_features
    u = uniform(seed, row, draw, feature)
    if a > 0:  # a rule puts the cell above where it is: the mirror image has the digits
        return -ndtri(u * (ndtr(-a) - ndtr(-b)) + ndtr(-b))
    return ndtri(u * (ndtr(b) - ndtr(a)) + ndtr(a))


def gibbs_normal(seed, row, draw, feature, n_features, a, b, sweeps=5):
    z = 0.0
    for sweep in range(1, sweeps + 1):
        height = uniform(seed, row, draw, feature + (2 * sweep - 1) * n_features)
        reach = np.sqrt(z * z - 2 * np.log(height))
        left, right = max(a, -reach), min(b, reach)
        z = left + uniform(seed, row, draw, feature + 2 * sweep * n_features) * (right - left)
    return z


NORMAL = {"exact": exact_normal, "gibbs": gibbs_normal}


def feature_statistics(column):
    """X-_m, X+_m, sigma_m and MAD_m; the MAD falls back where it is zero."""
    values = sorted(float(value) for value in column)
    lower, upper = values[0], values[-1]
    median = np.median(values)
    away = [abs(value - median) for value in values]
    mad = float(np.median(away)) or float(np.mean(away)) or upper - lower
    return lower, upper, mad


@dataclass(frozen=True)
class Feature:
    """X-_m, X+_m, MAD_m and sigma_m of a column, and what its cells can be."""

    lower: float
    upper: float
    mad: float
    deviation: float
    per_unit: float = 0.0  # points of the grid, 0 for none
    single: bool = False  # a float32
    shares: tuple[float, ...] | None = None  # of the categories
    rising: bool = False  # a rule: it never falls
    falling: bool = False

    @classmethod
    def from_column(cls, column, *, nominal=False, **more):
        """Measure a column of floats; a nominal one holds codes of categories."""
        known = [float(cell) for cell in column if not math.isnan(cell)]
        if nominal:
            counts = Counter(known)
            shares = [counts[code] / len(known) for code in range(int(max(known)) + 1)]
            return cls(0.0, 0.0, 1.0, 1.0, shares=tuple(shares))
        return cls(*feature_statistics(known), float(np.std(known)), **more)

    def perturb(self, cell, feature, n_features, seed, row, draw, way="exact"):
        """x'_nm = X_nm + sigma z, with z from the normal truncated to the factual range."""
        if math.isnan(cell):
            return cell
        if self.shares is not None:
            return self.other_category(int(cell), uniform(seed, row, draw, feature))
        lower = max(self.lower, cell) if self.rising else self.lower
        upper = min(self.upper, cell) if self.falling else self.upper
        a, b = (lower - cell) / self.deviation, (upper - cell) / self.deviation
        value = NORMAL[way](seed, row, draw, feature, n_features, a, b) * self.deviation + cell
        if self.per_unit:
            value = float(np.rint(value * self.per_unit)) / self.per_unit + 0.0
        if self.single:
            value = float(np.float32(value))
        return min(max(value, lower), upper)

    def other_category(self, own, u):
        """Choose one of the other categories by its share among them."""
        left = u * (sum(self.shares) - self.shares[own])
        for code, share in enumerate(self.shares):
            if code != own:
                left -= share
                if left < 0:
                    return float(code)
        return float(max(code for code, share in enumerate(self.shares) if share and code != own))

    def share(self, old, new):
        """Return what a change adds to the distance."""
        if math.isnan(old):
            return 0.0 if math.isnan(new) else 1.0
        if self.shares is not None:
            return float(old != new)
        return abs(new - old) / self.mad


def distance(x, changed, order, features):
    far = 0.0
    for m in order:
        far += features[m].share(x[m], changed[m])
    return far


def perturbed(x, row, draw, m, order, features, seed, way="exact"):
    """x' of round m: the first m features of the order are those of the draw."""
    changed = x.copy()
    for k in order[:m]:
        changed[k] = features[k].perturb(x[k], k, len(x), seed, row, draw, way)
    return changed


def minimum_inversion(
    predict, x, row, j, i, order, features, seed, n_draws, epsilon=math.inf, way="exact"
):
    """Lines 5 to 15 of Algorithm 1 for one factual; returns (distance, m, t, x') or None."""
    best, order = None, [int(m) for m in order]
    if predict(x[None, :])[0] != j:
        return None
    for m in range(1, len(order) + 1):
        for t in range(n_draws):
            changed = perturbed(x, row, t, m, order, features, seed, way)
            far = distance(x, changed, order, features)
            if not far < epsilon:
                continue
            if predict(changed[None, :])[0] == i and (best is None or far < best[0]):
                best = (far, m, t, changed)
    return best


def first_inversions(
    predict, x, row, targets, order, features, seed, n_draws, epsilon=math.inf, way="exact"
):
    """The first round of each draw that f puts into each class: {(t, i): (distance, m, x')}."""
    found, order = {}, [int(m) for m in order]
    for t in range(n_draws):
        rounds = [
            perturbed(x, row, t, m, order, features, seed, way) for m in range(1, len(order) + 1)
        ]
        called = predict(np.array(rounds)).tolist()
        for m, (changed, i) in enumerate(zip(rounds, called, strict=True), start=1):
            far = distance(x, changed, order, features)
            moved = features[order[m - 1]].share(x[order[m - 1]], changed[order[m - 1]]) > 0
            if moved and i in targets and (t, i) not in found and far < epsilon:
                found[t, i] = (far, m, changed)
    return found


def prune(predict, x, changed, i, order, features):
    """Undo changes, the farthest first, until f needs the rest; returns (distance, x')."""

    def far(m):
        return features[m].share(x[m], changed[m])

    changed, going = changed.copy(), True
    least_important_first = [int(m) for m in order][::-1]
    tried = sorted(least_important_first, key=lambda m: -far(m))
    while going:
        going = refused = False
        for m in tried:
            if not far(m):
                continue
            trial = changed.copy()
            trial[m] = x[m]
            if predict(trial[None, :])[0] == i:
                changed, going = trial, going or refused
            else:
                refused = True
    return distance(x, changed, order, features), changed


def all_counterfactuals(predict, X, y, order, features, seed, n_draws):
    """Algorithm 1 for every pair N_i < N_j: (factual, i, distance, x') of each winner."""
    counts = {label: int(np.sum(y == label)) for label in sorted(set(y.tolist()))}
    found = []
    for row, x in enumerate(X):
        j = y[row].item()
        smaller = [i for i, count in counts.items() if count < counts[j]]
        if not smaller or predict(x[None, :])[0] != j:
            continue
        first = first_inversions(predict, x, row, smaller, order, features, seed, n_draws)
        for i in smaller:
            pruned = [
                prune(predict, x, changed, i, order, features)
                for (_, to), (_, _, changed) in sorted(first.items(), key=lambda one: one[0])
                if to == i
            ]
            if pruned:
                found.append((row, i, *min(pruned, key=lambda one: one[0])))
    return found


def nearest_of_a_linear_f(x, weight, intercept, statistics):
    """The distance to the half-space weight x' + intercept >= 0 within the ranges, by an LP.

    x' = x + up - down with up, down >= 0 minimises (up + down) / MAD.
    """
    lower, upper, mad = (np.array(part) for part in zip(*statistics, strict=True))
    least = np.maximum(np.concatenate([lower - x, x - upper]), 0)  # x may lie outside the range
    most = np.maximum(np.concatenate([upper - x, x - lower]), 0)
    result = linprog(
        np.concatenate([1 / mad, 1 / mad]),
        A_ub=[np.concatenate([-weight, weight])],
        b_ub=[weight @ x + intercept],
        bounds=list(zip(least, most, strict=True)),
    )
    return result.fun if result.status == 0 else None


def nearest_of_a_forest(forest, x, target, statistics, decimals=9):
    """The distance to the nearest row that the forest puts into ``target``, by trying every cell.

    The thresholds of all trees cut each range into pieces; the point of a cell next to x is
    nearest to it in every feature. With fewer than nine ``decimals`` it lies on their grid.
    """
    options = []
    for m, (lower, upper, mad) in enumerate(statistics):
        cuts = {
            float(cut)
            for tree in forest.estimators_
            for feature, cut in zip(tree.tree_.feature, tree.tree_.threshold, strict=True)
            if feature == m
        }
        values = {min(max(float(x[m]), lower), upper)}
        for cut in cuts:
            below = np.float32(cut)
            if float(below) > cut:
                below = np.nextafter(below, np.float32(-np.inf))
            beside = [float(below), float(np.nextafter(below, np.float32(np.inf)))]
            if decimals < 9:
                scaled = math.floor(beside[0] * 10**decimals)
                beside = [round((scaled + step) / 10**decimals, decimals) for step in (-1, 0, 1, 2)]
            values |= set(beside)
        inside = [value for value in values if lower <= value <= upper]
        options.append([(abs(value - x[m]) / mad, value) for value in inside])
    cells = list(itertools.product(*options))
    rows = np.array([[value for _, value in cell] for cell in cells])
    far = np.array([sum(share for share, _ in cell) for cell in cells])
    called = forest.predict(rows) == target
    return far[called].min() if called.any() else None


def distance_of_mixed_rows(row, others, scale):
    """The distance from a row of two numbers, a category and an ordered one to other rows."""
    degree = others["d"].cat.categories.get_loc(row["d"])
    return (
        np.abs(others["a"] - row["a"]) / scale[0]
        + np.abs(others["b"] - row["b"]) / scale[1]
        + (others["c"] != row["c"]) / scale[2]
        + np.abs(others["d"].cat.codes - degree) / scale[3]
    ).to_numpy()


def keeps(rules, row, others):
    """Return for each row whether it may be made from ``row``, constraint by constraint."""
    good = np.ones(len(others), dtype=bool)
    for rule in rules:
        name = type(rule).__name__
        column = getattr(rule, "column", None)
        if name == "AtLeast":
            change = np.abs(others[column] - row[column])
            good &= ((change == 0) | (change >= rule.step)).to_numpy()
        elif name == "Transitions":
            allowed = dict(rule.allowed)
            if row[column] in allowed:
                after = [row[column], *allowed[row[column]]]
                good &= others[column].isin(after).to_numpy()
        elif name == "Increasing":
            old = others[column].cat.categories.get_loc(row[column])
            good &= (others[column].cat.codes >= old).to_numpy()
        elif name == "Immutable":
            for frozen in rule.columns:
                good &= (others[frozen] == row[frozen]).to_numpy()
        elif name == "Range":
            good &= others[column].between(rule.low, rule.high).to_numpy()
        elif name == "MaxChanged":
            changed = sum((others[one] != row[one]).to_numpy().astype(int) for one in others)
            good &= changed <= rule.count
        else:
            assert name == "Cost"
    return good


def second_opinion(table, codes, weights, nominal, rows, targets):
    """Return the probability of each row by a logistic regression, computed cell by cell."""

    def placed(row):
        columns = []
        for m, cell in enumerate(row):
            known = [value for value in table[:, m] if not math.isnan(value)]
            if nominal[m]:
                frequent = Counter(sorted(known)).most_common(20)
                columns += [
                    float(cell == level) for level in sorted(level for level, _ in frequent)
                ]
            else:
                far = 0.0 if math.isnan(cell) else (cell - np.mean(known)) / np.std(known)
                columns.append(min(max(far, -20.0), 20.0))
            if len(known) < len(table):
                columns.append(float(math.isnan(cell)))
        return columns

    f = LogisticRegression(max_iter=300).fit([placed(row) for row in table], codes, weights)
    return [
        f.predict_proba([placed(row)])[0, f.classes_.tolist().index(target)]
        for row, target in zip(rows, targets, strict=True)
    ]


def draw_by_score(found, n, seed, power):
    """Draw n of (factual, draw, target, score) one by one, by weights score ** power.

    Efraimidis and Spirakis: take the n smallest exponential variables divided by the weight.
    """
    times = []
    for factual, draw, target, score in found:
        u = uniform(seed, factual, draw, 2**40 + target)
        times.append((-math.log(u) / score**power, factual, draw))
    return sorted((factual, draw) for _, factual, draw in sorted(times)[:n])
