"""Minimum: the nearest inversion of each factual, by the structure of f."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import naive
import naive_minimum
from boosters import lightgbm, needed, xgboost
from counterbalance import CounterfactualOverSampler
from counterbalance.classifier import trees
from counterbalance.constraints import (
    Decreasing,
    Immutable,
    Increasing,
    MaxChanged,
    OneOf,
    Range,
)
from counterbalance.constraints.rules import differs
from counterbalance.prepare import Prepared
from counterbalance.samplers.counterfactual import find_references
from counterbalance.search import minimum
from counterbalance.search.algorithm_1 import nearest_of_each_draw, which_invert
from counterbalance.search.inversions import Inversions
from counterbalance.search.minimum import MOST_REFERENCES, Minimum, choose_references
from counterbalance.search.structure import read_structure

needs_kernel = pytest.mark.skipif(
    minimum.kernel is None, reason="no kernel: install a C compiler, then make clean test"
)
BALANCED = LogisticRegression(class_weight="balanced")
CLASSIFIERS = {
    "own": None,
    "forest": RandomForestClassifier(10, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=20, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5),
    "linear": BALANCED,
    "scaled": make_pipeline(StandardScaler(), RidgeClassifier(class_weight="balanced")),
    "svc": SVC(class_weight="balanced"),
    "k-NN": KNeighborsClassifier(3),
    "net": make_pipeline(
        StandardScaler(),
        MLPClassifier((8,), solver="lbfgs", alpha=1.0, max_iter=2000, random_state=0),
    ),
}
# Scores that differ by less may tie by rounding.
TIE = 1e-7


def table(n_rows=200, n_features=6, n_classes=2, seed=1):
    return make_classification(
        n_rows,
        n_features,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        weights=[0.7, 0.2, 0.1][:n_classes],
        class_sep=0.7,
        random_state=seed,
    )


def mixed_frame(n_rows=300):
    X, y = table(n_rows)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["whole"] = np.rint(3 * X[:, 0]).astype(int)
    frame["name"] = pd.cut(X[:, 1], 5, labels=list("vwxyz")).astype(str)
    frame["level"] = pd.cut(X[:, 2], 4)  # ordered
    frame["yes"] = X[:, 3] > 0
    frame.loc[::7, "name"] = None
    frame.loc[::5, "a"] = np.nan
    return frame, y


@dataclass(frozen=True)
class Solved:
    """The nearest inversions of all factuals of a table, whether or not a draw inverts them."""

    prepared: Prepared
    minimum: Minimum
    factuals: np.ndarray
    found: Inversions
    old: np.ndarray
    new: np.ndarray

    @property
    def f(self):
        return self.prepared.f

    @property
    def inverted(self):
        return len(np.unique(self.found.factual)) / len(self.factuals)

    def accepted(self, rows, places):
        """Say which of other rows for those at ``places`` keep the rules and are of the class."""
        rules, old = self.prepared.space.rules, self.old[places]
        good = rules.allow(rows, old)
        good &= ~((rows < old) & rules.rising).any(axis=1)
        good &= ~((rows > old) & rules.falling).any(axis=1)
        if rules.most_changed is not None:
            good &= differs(rows, old).sum(axis=1) <= rules.most_changed
        ids, target = self.found.factual[places], self.found.target[places]
        scores = self.f.scores(rows, ids)
        if scores is not None:
            of_class = scores[np.arange(len(rows)), target]
            scores[np.arange(len(rows)), target] = -np.inf
            good &= of_class - scores.max(axis=1) > TIE
        return good & (self.f.predict_codes(rows, ids) == target)

    def assert_inversions(self):
        assert (self.f.predict_codes(self.new, self.found.factual) == self.found.target).all()
        assert self.prepared.space.rules.kept(self.new, self.old)

    def assert_shortest(self, nearer):
        """Try each change undone, and at ``nearer(m, old, new)``; f accepts none of them."""
        tried = []
        for place, m in np.argwhere(differs(self.new, self.old) & self.prepared.space.changes):
            old, new = self.old[place, m], self.new[place, m]
            tried += [(place, m, value) for value in (old, *nearer(m, old, new))]
        assert tried
        places, features, values = (np.array(part) for part in zip(*tried, strict=True))
        rows = self.new[places]
        rows[np.arange(len(rows)), features] = values
        rules = self.prepared.space.rules
        rows = rules.complete(rows, self.old[places])
        wrong = np.flatnonzero(self.accepted(rows, places))
        assert not wrong.size, [tried[one] for one in wrong[:3]]

    def beside_cuts(self, m, old, new):
        """Return the values on and beside all cuts that are nearer to ``old`` than ``new`` is."""
        if self.prepared.profile.nominal[m]:  # all other categories are as far
            return np.zeros(0)
        read = self.prepared.f.trees
        grid = self.prepared.space.grid
        cuts = read.cuts_of(m).astype(read.cell)
        per_unit = grid.resolution[m]
        if per_unit:
            whole = np.floor(cuts.astype(float) * per_unit)
            values = np.concatenate([(whole + step) / per_unit for step in (-1, 0, 1, 2)])
        else:
            values = np.concatenate([cuts, np.nextafter(cuts, read.cell(np.inf))]).astype(float)
        values = grid.snap(values[:, None], np.array([m]))[:, 0]
        return values[np.abs(values - old) < np.abs(new - old) * (1 - 1e-9)]

    def a_step_back(self, m, old, new):
        """Return the next value towards ``old``: on the grid, or a little."""
        per_unit = self.prepared.space.grid.resolution[m]
        step = 1 / per_unit if per_unit else 1e-5 * self.prepared.profile.scale[m]
        back = new - np.copysign(step, new - old)
        if abs(new - old) <= step * (1 + 1e-9):
            return np.zeros(0)
        return np.array([np.rint(back * per_unit) / per_unit if per_unit else back])

    def half_way(self, m, old, new):
        """Return the value between ``old`` and ``new``, if there is any."""
        if self.prepared.profile.nominal[m]:
            return np.zeros(0)
        middle = np.array([[old + (new - old) / 2]])
        self.prepared.space.snap(middle, np.array([m]))
        value = middle[0]
        return value[(value != old) & (value != new)]


def solve(X, y, f=None, *, everything=False, **parameters):
    parameters = {"random_state": 0, "plausible": False} | parameters
    prepared = CounterfactualOverSampler(estimator=f, **parameters).prepare(X, y)
    labels, answers = prepared.labels, prepared.predict()
    wanted = labels.counts[:, None] > labels.counts
    if everything:
        wanted = ~np.eye(len(labels.classes), dtype=bool)
    targets = np.flatnonzero(wanted.any(axis=0)).tolist()
    wanted = wanted[labels.codes]
    rows = np.flatnonzero((answers == labels.codes) & wanted.any(axis=1))
    structure = read_structure(prepared.space, prepared.f, prepared.table)
    minimum = Minimum(prepared.space, structure, find_references(prepared, answers, targets))
    found = minimum.find(prepared.table.rows(rows), rows, wanted[rows])
    old = prepared.table.rows(found.factual)
    return Solved(prepared, minimum, rows, found, old, found.rows(old))


# --- what every f has in common --------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_factual_is_inverted_whatever_f_is(name, n_classes):
    X, y = table(n_classes=n_classes)
    some = solve(X, y, CLASSIFIERS[name])
    some.assert_inversions()
    assert some.inverted == 1
    assert len(some.found) >= len(some.factuals)
    assert (some.new.min(axis=0) >= X.min(axis=0)).all()
    assert (some.new.max(axis=0) <= X.max(axis=0)).all()
    assert (some.found.draw == -1).all()
    assert (some.found.round == 0).all()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_its_rows_are_nearer_than_those_of_the_draws(name):
    X, y = table()
    some = solve(X, y, CLASSIFIERS[name])
    wanted = np.tile([False, True], (len(some.factuals), 1))
    drawn = nearest_of_each_draw(
        some.prepared.space, some.minimum.structure, X[some.factuals], some.factuals, wanted
    )
    assert len(drawn) > 20
    solved = some.found.distance[np.searchsorted(some.found.factual, drawn.factual)]
    assert np.median(solved) < 0.95 * np.median(drawn.distance)
    if name not in {"svc", "k-NN", "net"}:
        assert np.mean(solved <= drawn.distance * (1 + 1e-9)) > 0.95


@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.parametrize("name", ["own", "linear", "k-NN"])
def test_the_sampler_gives_one_row_for_each_factual_that_a_draw_inverts(name):
    X, y = table()
    sampler = CounterfactualOverSampler(
        estimator=CLASSIFIERS[name], sampling_strategy="all", plausible=False, random_state=0
    )
    X_new, _ = sampler.fit_resample(X, y)
    some = solve(X, y, CLASSIFIERS[name])
    wanted = np.tile([False, True], (len(some.factuals), 1))
    inverting = which_invert(
        some.prepared.space, some.minimum.structure, X[some.factuals], some.factuals, wanted
    )[:, 1]
    assert 0 < inverting.sum() < len(some.factuals)
    np.testing.assert_array_equal(sampler.provenance_["factual"], some.factuals[inverting])
    np.testing.assert_array_equal(X_new[len(X) :], some.new[inverting])


@pytest.mark.parametrize("name", ["forest", "boosting", "linear"])
def test_every_container_gives_the_same_numbers(name):
    X, y = table()
    expected = solve(X, y, CLASSIFIERS[name]).new
    frame = solve(pd.DataFrame(X), y, CLASSIFIERS[name]).new
    np.testing.assert_allclose(frame, expected)  # f itself may differ by a bit
    np.testing.assert_allclose(solve(sparse.csr_array(X), y, CLASSIFIERS[name]).new, expected)
    frozen = FrozenEstimator(CLASSIFIERS[name].fit(X, y))
    assert solve(X, y, frozen).new.tobytes() == expected.tobytes()


CONSTRAINTS = {
    "immutable": [Immutable(0)],
    "directions": [Increasing(0), Decreasing(1)],
    "ranges": [Range(0, -1, 1), Range(5, 0.5, 3)],
    "few changes": [MaxChanged(2)],
    "a relation": ["x0 <= x1 + 2"],
    "levels": [OneOf(0, [-1.0, 0.0, 1.0])],
}


@pytest.mark.parametrize("name", ["own", "histogram", "linear", "k-NN"])
@pytest.mark.parametrize("rule", CONSTRAINTS)
def test_every_constraint_is_kept(rule, name):
    X, y = table()
    some = solve(np.round(X), y, CLASSIFIERS[name], constraints=CONSTRAINTS[rule])
    some.assert_inversions()
    assert some.inverted > 0.5


def test_a_frame_of_all_kinds_keeps_its_levels_and_its_holes():
    some = solve(*mixed_frame())
    some.assert_inversions()
    assert some.inverted > 0.99
    np.testing.assert_array_equal(np.isnan(some.new), np.isnan(some.old))
    nominal = some.prepared.profile.nominal
    assert differs(some.new, some.old)[:, nominal].any()
    for m in np.flatnonzero(nominal):
        known = np.unique(some.prepared.table.column(m))
        assert np.isin(some.new[~np.isnan(some.new[:, m]), m], known).all()


@pytest.mark.parametrize("name", ["own", "boosting", "histogram", "linear", "k-NN"])
@pytest.mark.parametrize("kind", ["whole", "tenths", "single"])
def test_values_lie_on_the_grid_of_their_column(name, kind):
    X, y = table()
    X = {"whole": np.rint(4 * X), "tenths": np.round(X, 1), "single": X.astype(np.float32)}[kind]
    some = solve(X, y, CLASSIFIERS[name])
    some.assert_inversions()
    assert some.inverted == 1
    on_grid = {"whole": np.rint, "tenths": lambda new: np.round(new, 1), "single": np.float32}
    np.testing.assert_array_equal(on_grid[kind](some.new), some.new)


@pytest.mark.parametrize("name", ["own", "linear", "k-NN"])
def test_inversions_at_epsilon_or_farther_do_not_count(name):
    X, y = table()
    far = solve(X, y, CLASSIFIERS[name]).found
    limit = float(np.sort(far.distance)[len(far) // 2])
    near = solve(X, y, CLASSIFIERS[name], epsilon=limit).found
    assert near.distance.max() < limit
    np.testing.assert_array_equal(near.factual, far.factual[far.distance < limit])
    np.testing.assert_array_equal(near.distance, far.distance[far.distance < limit])


def test_where_no_row_can_be_found_there_is_none():
    X, y = table()
    f = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    assert solve(X, y, FrozenEstimator(f)).inverted == 1
    held = Immutable(int(f.tree_.feature[0]))
    assert solve(X, y, FrozenEstimator(f), constraints=held).inverted == 0


# --- how near it is --------------------------------------------------------------------


# A cell may lie outside of its range: then it moves into it.
RANGES = {"free": {}, "bounded": {0: (-0.3, 0.3), 1: (-0.5, 2.0)}}


def statistics(X, ranges=None):
    """Return the range and the MAD of each column; a range that was given bounds its own."""
    found = [naive.feature_statistics(column) for column in X.T]
    for m, (low, high) in (ranges or {}).items():
        lower, upper, mad = found[m]
        found[m] = max(low, lower), min(high, upper), mad
    return found


def as_rules(ranges):
    return [Range(m, low, high) for m, (low, high) in ranges.items()]


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("f", [BALANCED, LinearSVC(class_weight="balanced"), "scaled"], ids=str)
def test_the_minimum_of_a_linear_f_is_that_of_a_linear_program(f, name):
    X, y = table()
    some = solve(
        X, y, CLASSIFIERS[f] if isinstance(f, str) else f, constraints=as_rules(RANGES[name])
    )
    fitted = some.prepared.estimator
    weight, intercept = np.zeros(X.shape[1]), float(fitted.decision_function(X[:1] * 0)[0])
    for m in range(X.shape[1]):
        unit = np.zeros((1, X.shape[1]))
        unit[0, m] = 1
        weight[m] = fitted.decision_function(unit)[0] - intercept
    ranges = statistics(X, RANGES[name])
    for place in range(0, len(some.found), 7):
        least = naive.nearest_of_a_linear_f(some.old[place], weight, intercept, ranges)
        assert some.found.distance[place] == pytest.approx(least, rel=1e-6, abs=1e-6)


@needs_kernel
@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("decimals", [1, 9])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_rows_of_a_forest_are_near_the_nearest_of_all_cells(n_classes, decimals, name):
    gaps = []
    for seed in range(3):
        X, y = table(120, 4, n_classes, seed)
        X = np.round(X[:, :3], decimals)
        f = RandomForestClassifier(4, max_leaf_nodes=5, random_state=seed).fit(X, y)
        some = solve(X, y, FrozenEstimator(f), constraints=as_rules(RANGES[name]))
        ranges = statistics(X, RANGES[name])
        for place in range(0, len(some.found), 9):
            least = naive.nearest_of_a_forest(
                f, some.old[place], some.found.target[place], ranges, decimals
            )
            gaps.append(some.found.distance[place] / least)
    assert len(gaps) >= 12
    assert min(gaps) > 1 - 1e-6, "nearer than the nearest of all cells"
    assert np.mean(np.array(gaps) < 1 + 1e-6) > 0.85
    assert np.mean(gaps) < (1.05 if n_classes == 2 else 1.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "f",
    [
        CLASSIFIERS["boosting"],
        CLASSIFIERS["histogram"],
        pytest.param(lightgbm(n_estimators=20, num_leaves=15), marks=needed),
        pytest.param(xgboost(n_estimators=20, max_depth=4), marks=needed),
    ],
    ids=["boosting", "histogram", "LightGBM", "XGBoost"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_structure_of_boosting_leads_nearer_than_questions_do(f, n_classes, monkeypatch):
    X, y = table(500, n_classes=n_classes, seed=2)
    by_structure = solve(X, y, f)
    assert by_structure.inverted == 1
    monkeypatch.setattr(minimum, "kernel", None)
    by_questions = solve(X, y, f)
    assert by_questions.inverted == 1
    assert by_structure.found.distance.mean() < 0.95 * by_questions.found.distance.mean()


@needs_kernel
def test_a_search_without_some_of_the_changes_leads_nearer(monkeypatch):
    X, y = table(400)
    f = RandomForestClassifier(10, random_state=0)
    again = solve(X, y, f).found.distance
    monkeypatch.setattr(minimum, "N_LEFT_OUT", 0)
    once = solve(X, y, f).found.distance
    assert (again <= once + 1e-9).all()
    assert again.mean() < 0.99 * once.mean()


# --- no change can be undone or shortened ----------------------------------------------


@needs_kernel
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 3),
    n_leaves=st.integers(2, 64) | st.none(),
    decimals=st.integers(0, 2) | st.just(9),
    single=st.booleans(),
    constraints=st.sampled_from([None, *list(CONSTRAINTS)[:3], "levels"]),
    everything=st.booleans(),
)
def test_no_change_of_a_forests_row_can_be_undone_or_shortened(
    seed, n_classes, n_leaves, decimals, single, constraints, everything
):
    X, y = table(50, 6, n_classes, seed)
    X = np.round(X, decimals).astype(np.float32 if single else np.float64)
    assume(constraints != "levels" or (X[:, 0].min() <= -1 and X[:, 0].max() >= 1))
    f = RandomForestClassifier(5, max_leaf_nodes=n_leaves, random_state=seed)
    rules = None if constraints is None else CONSTRAINTS[constraints]
    some = solve(X, y, f, constraints=rules, everything=everything)
    assume(len(some.found))
    some.assert_inversions()
    some.assert_shortest(some.beside_cuts if constraints != "levels" else nearer_levels(some))


@needs_kernel
@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 3))
def test_no_change_beside_missing_cells_can_be_undone_or_shortened(seed, n_classes):
    X, y = table(70, 6, n_classes, seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    some = solve(X, y, RandomForestClassifier(5, random_state=seed))
    some.assert_inversions()
    some.assert_shortest(some.beside_cuts)


def nearer_levels(some):
    """Try the levels of the first feature that are nearer, and thresholds of the others."""

    def nearer(m, old, new):
        if m:
            return some.beside_cuts(m, old, new)
        levels = np.array([-1.0, 0.0, 1.0])
        return levels[np.abs(levels - old) < np.abs(new - old)]

    return nearer


@needs_kernel
@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 3), decimals=st.integers(0, 2))
def test_no_change_of_boosting_can_be_undone_or_shortened(seed, n_classes, decimals):
    X, y = table(80, 4, n_classes, seed)
    X = np.round(X, decimals)
    f = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=8, min_samples_leaf=4)
    some = solve(X, y, f)
    assume(len(some.found))
    some.assert_inversions()
    some.assert_shortest(some.beside_cuts)


@needs_kernel
def test_no_change_in_a_frame_of_all_kinds_can_be_undone_or_shortened():
    some = solve(*mixed_frame(), constraints=[Increasing("b"), Decreasing("whole")])
    some.assert_inversions()
    some.assert_shortest(some.beside_cuts)


FOLLOWERS = {
    "sum": ["sum follows a + b", "low <= c"],
    "product": ["sum follows a + b", "product follows a * c"],
    "ratio": ["ratio follows b / d"],
}


def frame_with_followers(n_rows, seed, decimals):
    X, y = table(n_rows, seed=seed)
    frame = pd.DataFrame(X[:, :4], columns=list("abcd")).round(decimals)
    frame["d"] = np.abs(frame["d"]) + 0.5
    frame["sum"] = frame["a"] + frame["b"]
    frame["product"] = frame["a"] * frame["c"]
    frame["ratio"] = frame["b"] / frame["d"]
    frame["low"] = frame["c"] - np.abs(X[:, 4])
    return frame.round(decimals), y


def test_no_change_that_others_follow_can_be_undone_or_halved_for_any_f():
    rules = FOLLOWERS["sum"]
    frame, y = frame_with_followers(200, 1, 9)
    some = solve(frame, y, CLASSIFIERS["k-NN"], constraints=rules, plausible=True)
    some.assert_inversions()
    assert differs(some.new, some.old)[:, 4].any()
    some.assert_shortest(some.half_way)


@needs_kernel
@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(list(FOLLOWERS)),
    decimals=st.sampled_from([1, 9]),
    plausible=st.booleans(),
)
def test_no_change_that_others_follow_can_be_undone_or_shortened(seed, name, decimals, plausible):
    frame, y = frame_with_followers(150, seed, decimals)
    some = solve(frame, y, constraints=FOLLOWERS[name], plausible=plausible)
    assume(len(some.found))
    some.assert_inversions()
    rng = np.random.default_rng(seed)

    def nearer(m, old, new):
        """Return the thresholds of the column itself, and values anywhere in between."""
        between = old + (new - old) * rng.random((10, 1)) * (1 - 1e-6)
        between = some.prepared.space.grid.snap(between, np.array([m]))[:, 0]
        between = between[np.abs(between - old) < np.abs(new - old) * (1 - 1e-6)]
        return np.concatenate([some.beside_cuts(m, old, new), between])

    some.assert_shortest(nearer)


MIXED_RULES = {
    "none": [],
    "directions": [Increasing("a"), Decreasing("c")],
    "a range and a formula": [Range("b", -1, 1), "product follows a * c"],
}


@needs_kernel
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(list(MIXED_RULES)))
def test_no_change_beside_categories_dummies_and_followers_can_be_undone_or_shortened(seed, name):
    frame, y = frame_with_followers(180, seed, 9)
    rng = np.random.default_rng(seed)
    frame["town"] = rng.choice(list("xyz"), len(frame))
    shade = rng.choice(3, len(frame))
    for place, column in enumerate(["red", "green", "blue"]):
        frame[column] = (shade == place).astype(int)
    some = solve(frame, y, constraints=MIXED_RULES[name], plausible=True)
    assert some.prepared.table.groups, "the dummy columns are one category"
    assume(len(some.found))
    some.assert_inversions()
    some.assert_shortest(some.beside_cuts)


@given(
    seed=st.integers(0, 10**6),
    decimals=st.integers(0, 2) | st.just(9),
    constraints=st.sampled_from([None, *list(CONSTRAINTS)[:3]]),
    scaled=st.booleans(),
)
def test_no_change_of_a_linear_f_can_be_undone_or_shortened(seed, decimals, constraints, scaled):
    X, y = table(70, 6, seed=seed)
    f = make_pipeline(StandardScaler(), BALANCED) if scaled else BALANCED
    rules = None if constraints is None else CONSTRAINTS[constraints]
    some = solve(np.round(X, decimals), y, f, constraints=rules)
    assume(len(some.found))
    some.assert_inversions()
    some.assert_shortest(some.a_step_back)
    share = np.abs(some.new - some.old) / some.prepared.profile.scale
    assert share[share > 0].min() > 1e-9, "a change that only rounding needs"


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 3),
    decimals=st.integers(0, 2) | st.just(9),
    constraints=st.sampled_from([None, *CONSTRAINTS]),
    name=st.sampled_from(["k-NN", "svc", "forest", "linear"]),
)
def test_no_change_that_was_asked_for_can_be_undone_or_halved(
    seed, n_classes, decimals, constraints, name
):
    X, y = table(70, 6, n_classes, seed)
    rules = None if constraints is None else CONSTRAINTS[constraints]
    with pytest.MonkeyPatch.context() as patch:  # whatever is known of f
        patch.setattr(minimum, "kernel", None)
        patch.setattr(Minimum, "by_weights", None)
        some = solve(np.round(X, decimals), y, CLASSIFIERS[name], constraints=rules)
    assume(len(some.found))
    some.assert_inversions()
    some.assert_shortest(some.half_way)


# --- the walk in trees, against its plain version --------------------------------------


@pytest.fixture(params=["leaf sets", "walks"])
def either_way(request, monkeypatch):
    """Look around by leaf sets, and once as if trees were too large for that."""
    if request.param == "walks":
        monkeypatch.setattr(trees, "MOST_BITSETS", 0)


def assert_as_plain(X, y, f=None, **parameters):
    """Hold the walk of the kernel against the plain one; return how many rows were found."""
    compiled = solve(X, y, f, **parameters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minimum, "kernel", naive_minimum)
        plain = solve(X, y, f, **parameters)
    np.testing.assert_array_equal(compiled.found.factual, plain.found.factual)
    assert compiled.new.tobytes() == plain.new.tobytes()
    assert compiled.found.distance.tobytes() == plain.found.distance.tobytes()
    return len(plain.found)


FEW_TREES = {
    "extra trees": ExtraTreesClassifier(5, min_samples_leaf=2, random_state=0),
    "forest": RandomForestClassifier(4, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=3, learning_rate=0.9, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=3, learning_rate=0.9, min_samples_leaf=4),
}


@needs_kernel
@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", FEW_TREES)
def test_the_kernel_walks_as_the_plain_version_does(name, n_classes):
    assert assert_as_plain(*table(36, 4, n_classes=n_classes), FEW_TREES[name])


@needs_kernel
@pytest.mark.parametrize("n_leaves", [2, 3, 64, 65, 300])
def test_the_kernel_walks_as_the_plain_version_does_in_trees_of_any_size(n_leaves):
    X, y = make_classification(1500, 5, n_redundant=0, flip_y=0.4, weights=[0.6], random_state=0)
    f = RandomForestClassifier(3, max_leaf_nodes=n_leaves, random_state=0).fit(X, y)
    assert assert_as_plain(X[:30], y[:30], FrozenEstimator(f))


@pytest.mark.slow
@needs_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_trees", [63, 64, 65, 130])
def test_the_kernel_walks_as_the_plain_version_does_in_many_trees(n_trees, n_classes):
    X, y = table(40, n_classes=n_classes)
    f = RandomForestClassifier(n_trees, max_leaf_nodes=5, random_state=0).fit(X, y)
    assert trees.read_trees(f).leaf_sets is not None
    assert assert_as_plain(X, y, FrozenEstimator(f))


@needs_kernel
@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_features=st.integers(1, 5),
    n_classes=st.integers(2, 3),
    n_leaves=st.none() | st.integers(2, 9),
    missing=st.booleans(),
    constraints=st.sampled_from([None, [Increasing(0)], [Range(0, -0.5, 0.5)]]),
)
def test_the_kernel_walks_as_the_plain_version_does_on_any_table(
    seed, n_features, n_classes, n_leaves, missing, constraints
):
    X, y = table(24, 5, n_classes, seed)
    X = np.round(X[:, :n_features], 1)
    if missing:
        X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    # Whole votes: changes of several trees cancel out, and margins tie.
    f = RandomForestClassifier(4, max_leaf_nodes=n_leaves, random_state=seed)
    assert_as_plain(X, y, f, constraints=constraints)


@needs_kernel
def test_the_kernel_walks_as_the_plain_version_does_in_a_frame_of_all_kinds():
    frame, y = mixed_frame()
    rules = [Increasing("b"), OneOf("level", frame["level"][:2])]
    assert assert_as_plain(frame.iloc[:30], y[:30], constraints=rules)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["own", "forest", "histogram"])
def test_without_a_compiler_every_factual_is_inverted_by_asking(name, n_classes, monkeypatch):
    monkeypatch.setattr(minimum, "kernel", None)
    monkeypatch.setattr("counterbalance.search.structure.kernel", None)
    monkeypatch.setattr("counterbalance.search.algorithm_1.kernel", None)
    some = solve(*table(100, n_classes=n_classes), CLASSIFIERS[name])
    assert some.minimum.by_trees is None
    some.assert_inversions()
    assert some.inverted == 1
    some.assert_shortest(some.half_way)


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 3),
    n_leaves=st.integers(2, 31),
    missing=st.booleans(),
)
def test_every_factual_of_histogram_boosting_is_inverted(seed, n_classes, n_leaves, missing):
    X, y = table(80, 4, n_classes, seed)
    X = np.round(X, 1)
    if missing:
        X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    f = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=n_leaves, min_samples_leaf=4)
    f.fit(X, y)
    assume(len(np.unique(f.predict(X))) == n_classes)
    some = solve(X, y, FrozenEstimator(f))
    some.assert_inversions()
    if not missing:  # a missing cell stays, so that a row may have no way to the class
        assert some.inverted == 1


def test_boosting_that_splits_categories_is_asked():
    frame, y = mixed_frame(400)
    frame = frame[["b", "c", "level"]].assign(level=frame["level"].cat.codes.astype("category"))
    f = HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype")
    some = solve(frame, y, f)
    assert some.minimum.by_trees is None
    some.assert_inversions()
    assert some.inverted == 1


# --- rows of the class that a search may start from ------------------------------------


def test_references_are_chosen_by_their_ids_alone():
    ids = np.arange(3 * MOST_REFERENCES)
    chosen = ids[choose_references(ids)]
    assert len(chosen) == MOST_REFERENCES
    cut = [part[choose_references(part)] for part in np.split(ids, [100, MOST_REFERENCES + 900])]
    joined = np.concatenate(cut)
    np.testing.assert_array_equal(joined[choose_references(joined)], chosen)
    few = ids[:MOST_REFERENCES]
    assert choose_references(few).all()


@needs_kernel
def test_a_row_that_no_move_brings_nearer_starts_in_a_cell_of_the_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = ((X > 0.5).sum(axis=1) == 2).astype(int)  # one feature alone never tells
    f = ExtraTreesClassifier(3, max_features=None, random_state=0).fit(X, y)
    some = solve(X, y, FrozenEstimator(f))
    some.assert_inversions()
    assert some.inverted == 1
    both = (X[some.factuals] < 0).all(axis=1)
    assert (some.found.count[both] == 2).all()
