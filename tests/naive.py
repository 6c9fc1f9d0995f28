"""Algorithm 1 of the paper, line by line: plain loops, one ``predict`` per candidate.

The fast search must return the same winners to the last bit. Nothing here is
shared with it but the definitions that both take from the paper: even the
random numbers are computed anew, on Python's own integers.

Where the printed algorithm slips, the slip is mended and named: alpha and beta
of the inverse transform are swapped (alpha belongs to the lower bound); the
formula gives x', not the step, since it adds X_nm.
"""

import itertools
import math
from collections import Counter

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
    return ndtri(uniform(seed, row, draw, feature) * (ndtr(b) - ndtr(a)) + ndtr(a))


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


def perturb(x, statistics, deviation, feature, seed, row, draw, way="exact", *, whole=False):
    """x'_nm = X_nm + sigma z, with z from the normal truncated to the factual range."""
    lower, upper, _ = statistics[feature]
    sigma = deviation[feature]
    a, b = (lower - x[feature]) / sigma, (upper - x[feature]) / sigma
    z = NORMAL[way](seed, row, draw, feature, len(x), a, b)
    value = z * sigma + x[feature]
    if whole:
        value = float(np.rint(value)) + 0.0
    return min(max(value, lower), upper)


def minimum_inversion(
    predict, x, row, j, i, order, statistics, deviation, seed, n_draws, epsilon=math.inf, **cell
):
    """Lines 5 to 15 of Algorithm 1 for one factual; returns (distance, m, t, x') or None."""
    best = None
    order = [int(feature) for feature in order]
    if predict(x[None, :])[0] != j:
        return None
    for m in range(1, len(order) + 1):
        for t in range(n_draws):
            changed = x.copy()
            for k in range(m):
                feature = order[k]
                changed[feature] = perturb(x, statistics, deviation, feature, seed, row, t, **cell)
            distance = 0.0
            for feature in order:
                distance += abs(changed[feature] - x[feature]) / statistics[feature][2]
            if not distance < epsilon:
                continue
            if predict(changed[None, :])[0] == i and (best is None or distance < best[0]):
                best = (distance, m, t, changed)
    return best


def take_back(predict, x, changed, i, order, statistics):
    """Take changes back, the farthest first, until f needs every one; returns (distance, x')."""

    def far(feature, row):
        return abs(row[feature] - x[feature]) / statistics[feature][2]

    changed, going = changed.copy(), True
    least_important_first = [int(m) for m in order][::-1]
    tried = sorted(least_important_first, key=lambda m: -far(m, changed))
    while going:
        going = refused = False
        for feature in tried:
            if changed[feature] == x[feature]:
                continue
            trial = changed.copy()
            trial[feature] = x[feature]
            if predict(trial[None, :])[0] == i:
                changed, going = trial, going or refused
            else:
                refused = True
    distance = 0.0
    for feature in order:
        distance += far(feature, changed)
    return distance, changed


def all_counterfactuals(
    predict, X, y, order, statistics, deviation, seed, n_draws, *, minimal=False, **cell
):
    """Algorithm 1 for every pair N_i < N_j: (factual, i, distance, x') of each winner."""
    counts = {label: int(np.sum(y == label)) for label in sorted(set(y.tolist()))}
    found = []
    for i, count in counts.items():
        for row in range(len(X)):
            j = y[row].item()
            if not count < counts[j]:
                continue
            best = minimum_inversion(
                predict, X[row], row, j, i, order, statistics, deviation, seed, n_draws, **cell
            )
            if best is not None:
                distance, changed = best[0], best[3]
                if minimal:
                    distance, changed = take_back(predict, X[row], changed, i, order, statistics)
                found.append((row, i, distance, changed))
    return found


def nearest_of_a_linear_f(x, weight, intercept, statistics):
    """The distance to the half-space weight x' + intercept >= 0 within the ranges, by an LP.

    x' = x + up - down with up, down >= 0 minimises (up + down) / MAD.
    """
    lower, upper, mad = (np.array(part) for part in zip(*statistics, strict=True))
    result = linprog(
        np.concatenate([1 / mad, 1 / mad]),
        A_ub=[np.concatenate([-weight, weight])],
        b_ub=[weight @ x + intercept],
        bounds=[(0, step) for step in np.concatenate([upper - x, x - lower])],
    )
    return result.fun if result.status == 0 else None


def nearest_of_a_forest(forest, x, target, statistics):
    """The distance to the nearest row that the forest calls ``target``: every cell is asked.

    The thresholds of all trees cut each range into pieces; the point of a cell next to x is
    next to it in every feature.
    """
    options = []
    for m, (lower, upper, mad) in enumerate(statistics):
        cuts = {
            float(cut)
            for tree in forest.estimators_
            for feature, cut in zip(tree.tree_.feature, tree.tree_.threshold, strict=True)
            if feature == m
        }
        values = {float(x[m])}
        for cut in cuts:
            below = np.float32(cut)
            if float(below) > cut:
                below = np.nextafter(below, np.float32(-np.inf))
            values |= {float(below), float(np.nextafter(below, np.float32(np.inf)))}
        inside = [value for value in values if lower <= value <= upper]
        options.append([(abs(value - x[m]) / mad, value) for value in inside])
    cells = list(itertools.product(*options))
    rows = np.array([[value for _, value in cell] for cell in cells])
    far = np.array([sum(share for share, _ in cell) for cell in cells])
    called = forest.predict(rows) == target
    return far[called].min() if called.any() else None


def agreement(boosting, table, codes, weights, nominal, rows, targets):
    """The mean of what boosting and a logistic regression say of each row, cell by cell."""

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

    logistic = LogisticRegression(max_iter=300).fit([placed(row) for row in table], codes, weights)
    scores = []
    for row, target in zip(rows, targets, strict=True):
        asked = ((boosting, row), (logistic, placed(row)))
        said = [f.predict_proba([x])[0, f.classes_.tolist().index(target)] for f, x in asked]
        scores.append(sum(said) / 2)
    return scores


def draw_by_agreement(found, n, seed, power):
    """Draw n of (factual, draw, target, score) one by one, by weights score ** power.

    Efraimidis and Spirakis: it is the n smallest of an exponential time divided by the weight.
    """
    times = []
    for factual, draw, target, score in found:
        u = uniform(seed, factual, draw, 2**40 + target)
        times.append((-math.log(u) / score**power, factual, draw))
    return sorted((factual, draw) for _, factual, draw in sorted(times)[:n])
