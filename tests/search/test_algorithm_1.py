"""Algorithm 1: the kernel, the questions to f and the paper's loops find the same inversions."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
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
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import naive
from counterbalance import CounterfactualOverSampler
from counterbalance.classifier import trees
from counterbalance.classifier.trees import RankedSets
from counterbalance.constraints import Decreasing, Immutable, Increasing, MaxChanged, OneOf, Range
from counterbalance.constraints.rules import Rules, differs
from counterbalance.profile import profile_table
from counterbalance.search import algorithm_1
from counterbalance.search.algorithm_1 import (
    build,
    first_inversions,
    nearest_of_each_draw,
    prune,
    which_invert,
)
from counterbalance.search.draws import Space, stream, uniform
from counterbalance.search.structure import Structure, read_structure
from counterbalance.table.table import read_table

needs_kernel = pytest.mark.skipif(
    algorithm_1.kernel is None, reason="no kernel: install a C compiler, then make clean test"
)
# Scores that differ by less tie: rounding decides.


def table(n_rows=120, n_features=6, n_classes=2, seed=0):
    return make_classification(
        n_rows,
        n_features,
        n_informative=min(4, n_features),
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        weights=[0.7, 0.2, 0.1][:n_classes],
        class_sep=0.7,
        random_state=seed,
    )


def mixed(n_rows=160, seed=0):
    """Return a frame with numbers, whole numbers, categories, levels, booleans and holes."""
    X, y = table(n_rows, seed=seed)
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    frame["whole"] = np.rint(3 * X[:, 0]).astype(int)
    frame["tenth"] = np.round(X[:, 4], 1)
    frame["name"] = pd.cut(X[:, 1], 5, labels=list("vwxyz")).astype(str)
    frame["level"] = pd.cut(X[:, 2], 4)  # ordered
    frame["yes"] = X[:, 3] > 0
    frame.loc[::7, "name"] = None
    frame.loc[::5, "a"] = np.nan
    return frame, y


@dataclass(frozen=True)
class Searched:
    """The factuals of a table, and all that a search for their inversions is given."""

    space: Space
    structure: Structure
    x: np.ndarray
    ids: np.ndarray
    wanted: np.ndarray
    every: np.ndarray  # all rows of the table, encoded

    @property
    def given(self):
        return self.space, self.structure, self.x, self.ids, self.wanted

    def predict(self, rows, ids=None):
        """Say what f says, -1 where two classes tie, for the kernel counts no such answer."""
        ids = np.zeros(len(rows), dtype=np.intp) if ids is None else ids
        said, screen = self.structure.f.predict_codes(rows, ids), self.structure.screen
        if screen is not None:
            certain = screen.certain(rows)
            assert ((certain == said) | (certain < 0)).all()
            return certain
        return said

    def rounds(self, **more):
        return first_inversions(*self.given, **more)

    def rounds_by_asking(self, predict=None, **more):
        given = {"any_draw": False, "rules": None} | more
        ask = self.predict if predict is None else predict
        return algorithm_1._by_asking(self.space, ask, *self.given[2:], **given)

    def features(self):
        """Return what the paper's loops know of each column."""
        grid, rules = self.space.grid, self.space.rules
        nominal = self.space.profile.nominal
        found = []
        for m, column in enumerate(self.every.T):
            one = naive.Feature.from_column(
                column,
                nominal=nominal[m],
                **({} if nominal[m] else {"per_unit": grid.resolution[m]}),
                **({} if nominal[m] else {"single": grid.width[m] == 4}),
            )
            found.append(
                replace(
                    one,
                    lower=max(one.lower, rules.low[m]),
                    upper=min(one.upper, rules.high[m]),
                    rising=bool(rules.rising[m]),
                    falling=bool(rules.falling[m]),
                )
            )
        return found


def searched(X, y, f=None, *, everything=False, first_row=0, **parameters):
    """Prepare the search of all factuals; ``everything`` is wanted of every row."""
    sampler = CounterfactualOverSampler(
        estimator=f, **{"random_state": 3, "n_draws": 5, "plausible": False} | parameters
    )
    prepared = sampler.prepare(X, y)
    labels, answers = prepared.labels, prepared.predict()
    wanted = (labels.counts[:, None] > labels.counts)[labels.codes]
    rows = np.flatnonzero((answers == labels.codes) & wanted.any(axis=1))
    if everything:
        rows = np.arange(len(labels.codes))
        wanted = np.arange(len(labels.classes)) != answers[:, None]
    space = replace(prepared.space, first_row=first_row)
    structure = read_structure(space, prepared.f, prepared.table)
    every = prepared.table.rows(slice(None))
    return Searched(space, structure, every[rows], rows, wanted[rows], every)


@pytest.fixture
def kernel_only(monkeypatch):
    """See that the kernel serves; f itself is asked about rows with a tie only."""
    used = []
    for name in ("first_inversions", "first_inversions_linear"):
        real = getattr(algorithm_1.kernel, name)

        def record(*given, real=real):
            used.append(1)
            return real(*given)

        monkeypatch.setattr(algorithm_1.kernel, name, record)
    yield
    assert used, "the kernel was not used"


@pytest.fixture(params=["leaf sets", "walks"])
def either_way(request, monkeypatch):
    """Follow draws by leaf sets, and once as if all trees were too large for that."""
    if request.param == "walks":
        monkeypatch.setattr(trees, "MOST_BITSETS", 0)


def spread(places, n):
    """Return some of the places, evenly spread."""
    return places[:: max(1, len(places) // n)]


def assert_as_printed(some, *, n_rows=6):
    """Hold rounds and pruned rows against those of the paper's loops."""
    space, features = some.space, some.features()
    rounds, found = some.rounds(), nearest_of_each_draw(*some.given)
    rows = found.rows(some.x[np.searchsorted(some.ids, found.factual)])
    compared, inverting = 0, np.flatnonzero(rounds.any(axis=(1, 2)))
    for place in {*spread(np.arange(len(some.ids)), n_rows), *spread(inverting, n_rows)}:
        row, x = int(some.ids[place]), some.x[place]
        targets = set(np.flatnonzero(some.wanted[place]).tolist())
        expected = naive.first_inversions(
            some.predict,
            x,
            row + space.first_row,
            targets,
            space.order,
            features,
            space.seed,
            space.n_draws,
            space.epsilon,
            space.method,
        )
        printed = np.zeros(rounds.shape[1:], dtype=int)
        seen = set()
        for (t, i), (_, m, changed) in sorted(expected.items()):
            printed[t, i] = m
            far, pruned = naive.prune(some.predict, x, changed, i, space.order, features)
            at = np.flatnonzero((found.factual == row) & (found.draw == t) & (found.target == i))
            alike = i, (np.round(pruned, 9) + 0.0).tobytes()
            if alike in seen:
                assert not at.size, "an equal row comes twice"
                continue
            seen.add(alike)
            np.testing.assert_allclose(rows[at], [pruned], rtol=1e-7, atol=1e-7)
            np.testing.assert_allclose(found.distance[at], [far], rtol=1e-7)
            assert found.round[at] == [m]
            assert found.count[at] == [differs(pruned, x).sum()]
            compared += 1
        np.testing.assert_array_equal(rounds[place], printed)
    assert compared > 0
    assert np.isin(found.factual, some.ids).all()


# --- against the paper's loops ---------------------------------------------------------

FORESTS = {
    "own": None,
    "random forest": RandomForestClassifier(9, max_leaf_nodes=20, random_state=0),
    "whole votes that tie": RandomForestClassifier(4, max_depth=2, random_state=0),
    "extra trees": ExtraTreesClassifier(7, max_leaf_nodes=30, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
}
BOOSTING = {
    "boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5),
}
LINEAR = {
    "logistic": LogisticRegression(class_weight="balanced"),
    "scaled ridge": make_pipeline(StandardScaler(), RidgeClassifier(class_weight="balanced")),
}


@needs_kernel
@pytest.mark.usefixtures("kernel_only")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", [*FORESTS, *BOOSTING, *LINEAR])
def test_the_kernel_finds_what_the_papers_loops_find(name, n_classes):
    X, y = table(n_classes=n_classes)
    some = searched(X, y, {**FORESTS, **BOOSTING, **LINEAR}[name])
    if name in FORESTS:
        assert some.structure.ensemble.has_sets
    assert_as_printed(some)


def large_forest(n_classes=2):
    """Return a fitted forest of trees with more than 64 leaves, and a table for it."""
    X, y = table(1500, n_classes=n_classes)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.3, 0, y)
    f = RandomForestClassifier(5, class_weight="balanced", random_state=0).fit(X, y)
    assert min(tree.get_n_leaves() for tree in f.estimators_) > 64
    return X[:150], y[:150], FrozenEstimator(f)


@needs_kernel
@pytest.mark.usefixtures("kernel_only")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_kernel_finds_what_the_papers_loops_find_in_large_trees(n_classes):
    some = searched(*large_forest(n_classes))
    assert not some.structure.ensemble.has_sets
    assert_as_printed(some)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("draws", ["exact", "gibbs"])
def test_any_f_is_asked_what_the_papers_loops_ask(n_classes, draws):
    X, y = table(n_classes=n_classes)
    some = searched(X, y, KNeighborsClassifier(3), draws=draws)
    assert (some.structure.ensemble, some.structure.screen) == (None, None)
    assert_as_printed(some)


MODELS = {
    "own": None,
    "many trees": RandomForestClassifier(70, max_leaf_nodes=9, random_state=0),
    "linear": LINEAR["logistic"],
    "any": KNeighborsClassifier(3),
}


@pytest.mark.parametrize("name", MODELS)
def test_inversions_at_epsilon_or_farther_do_not_count(name):
    X, y = table()
    every = searched(X, y, MODELS.get(name))
    far = nearest_of_each_draw(*every.given).distance
    some = searched(X, y, MODELS.get(name), epsilon=float(np.median(far)) * (1 + 1e-6))
    assert_as_printed(some)
    assert (some.rounds() > 0).sum() < (every.rounds() > 0).sum()


@pytest.mark.parametrize("name", [*MODELS, "walks"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, "tenths"])
def test_values_are_put_on_their_grid_before_f_is_asked(name, dtype, monkeypatch):
    if name == "walks":
        monkeypatch.setattr(trees, "MOST_BITSETS", 0)
    X, y = table()
    X = np.round(X, 1) if dtype == "tenths" else (4 * X).astype(dtype)
    some = searched(X, y, MODELS.get(name))
    assert_as_printed(some)
    rounds = some.rounds()
    row, draw, target = np.nonzero(rounds)
    new = build(some.space, some.x, some.ids, row, draw, rounds[row, draw, target].astype(np.intp))
    if dtype == "tenths":
        np.testing.assert_array_equal(np.round(new, 1), new)
    else:
        np.testing.assert_array_equal(new.astype(dtype), new)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("name", ["own", "histogram"])
def test_a_missing_cell_stays_missing(name):
    X, y = table(200)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    some = searched(X, y, BOOSTING.get(name))
    assert_as_printed(some)
    found = nearest_of_each_draw(*some.given)
    old = some.x[np.searchsorted(some.ids, found.factual)]
    np.testing.assert_array_equal(np.isnan(found.rows(old)), np.isnan(old))


@pytest.mark.usefixtures("either_way")
def test_categories_levels_and_booleans_are_drawn_as_the_loops_draw_them():
    some = searched(*mixed())
    assert some.space.profile.nominal.sum() == 2
    assert_as_printed(some, n_rows=15)
    assert_as_printed(searched(*mixed(), epsilon=3.0), n_rows=15)


@pytest.mark.parametrize("name", [*MODELS, "walks"])
def test_rules_of_direction_bound_the_draws(name, monkeypatch):
    if name == "walks":
        monkeypatch.setattr(trees, "MOST_BITSETS", 0)
    X, y = table()
    rules = [Increasing(0), Decreasing(1), Increasing(2), Immutable(3)]
    some = searched(X, y, MODELS.get(name), constraints=rules)
    assert_as_printed(some)
    found = nearest_of_each_draw(*some.given)
    old = some.x[np.searchsorted(some.ids, found.factual)]
    new = found.rows(old)
    assert (new[:, [0, 2]] >= old[:, [0, 2]]).all()
    assert (new[:, 1] <= old[:, 1]).all()
    assert (new[:, 3] == old[:, 3]).all()


@pytest.mark.parametrize("name", MODELS)
def test_a_cell_outside_of_its_range_is_drawn_into_it(name):
    X, y = table()
    some = searched(X, y, MODELS.get(name), constraints=[Range(0, 0.5, 1.5), Range(1, -9, 0)])
    assert (some.x[:, 0] < 0.5).any()
    features, rounds = some.features(), some.rounds()
    for place in range(0, len(some.ids), 15):
        expected = naive.first_inversions(
            some.predict,
            some.x[place],
            int(some.ids[place]),
            {1},
            some.space.order,
            features,
            some.space.seed,
            some.space.n_draws,
        )
        printed = [expected.get((t, 1), (0, 0))[1] for t in range(some.space.n_draws)]
        assert rounds[place, :, 1].tolist() == printed


@pytest.mark.parametrize("f", [DecisionTreeClassifier(max_depth=1), KNeighborsClassifier(20)])
def test_where_votes_tie_it_counts_what_f_says(f):
    X = np.repeat([[0.0], [1.0], [2.0], [3.0]], [20, 20, 10, 10], axis=0)
    y = np.repeat([1, 1, 0, 1], [20, 20, 10, 10])  # half of all rows above 1.5: f says 0
    some = searched(X, y, f, n_draws=20)
    assert some.structure.f.predict_codes(np.array([[3.0]]), np.zeros(1, dtype=np.intp)) == [0]
    features, inverting = some.features(), which_invert(*some.given)[:, 0]
    expected = [
        bool(
            naive.first_inversions(
                lambda rows: some.structure.f.predict_codes(
                    rows, np.zeros(len(rows), dtype=np.intp)
                ),
                x,
                int(row),
                {0},
                some.space.order,
                features,
                some.space.seed,
                some.space.n_draws,
            )
        )
        for x, row in zip(some.x, some.ids, strict=True)
    ]
    assert any(expected)
    assert inverting.tolist() == expected


def test_the_nearest_first_inversion_of_all_draws_is_the_minimum_of_the_printed_loops():
    X, y = table(90)
    f = RandomForestClassifier(3, max_leaf_nodes=8, random_state=0).fit(X, y)
    some = searched(X, y, FrozenEstimator(f))
    features, order = some.features(), some.space.order
    for place in range(0, len(some.ids), 9):
        given = (order, features, some.space.seed, some.space.n_draws)
        row, x = int(some.ids[place]), some.x[place]
        best = naive.minimum_inversion(f.predict, x, row, 0, 1, *given)
        first = naive.first_inversions(f.predict, x, row, {1}, *given)
        if best is None:
            assert not first
        else:
            assert best[0] == min(far for far, _, _ in first.values())


# --- the kernel against questions ------------------------------------------------------


@needs_kernel
@given(
    seed=st.integers(0, 10**6),
    n_features=st.integers(1, 9),
    n_classes=st.integers(2, 3),
    n_leaves=st.integers(2, 64) | st.none(),
    decimals=st.integers(0, 3),
    size=st.sampled_from([1e-3, 1.0, 1e6]),
    single=st.booleans(),
    missing=st.booleans(),
    turned=st.booleans(),
    epsilon=st.none() | st.floats(0.5, 20),
    directions=st.booleans(),
)
def test_the_kernel_finds_and_prunes_what_questions_to_a_forest_do(
    seed,
    n_features,
    n_classes,
    n_leaves,
    decimals,
    size,
    single,
    missing,
    turned,
    epsilon,
    directions,
):
    X, y = table(90, max(4, n_features), n_classes, seed)
    X = np.round(X[:, :n_features], decimals) * size  # few values: distances, votes, cuts tie
    if missing:
        X[np.random.default_rng(seed).random(X.shape) < 0.15] = np.nan
    X, y = X.astype(np.float32) if single else X, -y if turned else y
    f = ExtraTreesClassifier(5, max_leaf_nodes=n_leaves, class_weight="balanced", random_state=seed)
    some = searched(
        X, y, f, epsilon=epsilon, constraints=Increasing(0) if directions else None, n_draws=4
    )
    assert_as_asked(some)


@needs_kernel
@given(
    seed=st.integers(0, 10**6),
    n_features=st.integers(1, 9),
    n_classes=st.integers(2, 3),
    decimals=st.integers(0, 3),
    single=st.booleans(),
    size=st.sampled_from([1e-3, 1.0, 1e6]),
    epsilon=st.none() | st.floats(0.5, 20),
    directions=st.booleans(),
)
def test_the_kernel_finds_what_questions_to_a_linear_f_do(
    seed, n_features, n_classes, decimals, single, size, epsilon, directions
):
    X, y = table(120, max(4, n_features), n_classes, seed)
    X = (np.round(X[:, :n_features], decimals) * size).astype(np.float32 if single else np.float64)
    f = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))
    some = searched(
        X, y, f, epsilon=epsilon, constraints=Increasing(0) if directions else None, n_draws=4
    )
    assert some.structure.screen is not None
    assert_as_asked(some)


def assert_as_asked(some):
    asked = some.rounds_by_asking()
    rounds = some.rounds()
    np.testing.assert_array_equal(rounds, asked)
    any_draw = some.rounds(any_draw=True)
    inverting = (rounds > 0).any(axis=1)
    np.testing.assert_array_equal((any_draw > 0).any(axis=1), inverting)
    np.testing.assert_array_equal(any_draw[any_draw > 0], rounds[any_draw > 0])
    np.testing.assert_array_equal(which_invert(*some.given), inverting)
    asked_for_any = some.rounds_by_asking(any_draw=True)
    np.testing.assert_array_equal((asked_for_any > 0).any(axis=1), inverting)
    row, draw, target = np.nonzero(rounds)
    reached = rounds[row, draw, target].astype(np.intp)
    new = build(some.space, some.x, some.ids, row, draw, reached)
    drawn = some.space.drawn(some.x[row], some.ids[row], draw, reached)
    np.testing.assert_allclose(new, drawn, rtol=1e-7, atol=1e-8 * np.nanmax(np.abs(some.x)))
    if some.structure.ensemble is not None:
        pruned = prune(some.space, some.structure, some.x[row], new, target, some.ids[row])
        order = some.space.order.tolist()
        features = some.features()
        for place in spread(np.arange(len(row)), 8):
            expected = naive.prune(
                some.predict, some.x[row[place]], new[place], target[place], order, features
            )[1]
            np.testing.assert_array_equal(pruned[place], expected)


@needs_kernel
@pytest.mark.usefixtures("either_way")
def test_rows_of_every_class_are_followed_to_every_other_class():
    assert_as_asked(searched(*table(n_classes=2), FORESTS["random forest"], everything=True))
    assert_as_asked(searched(*table(n_classes=3), FORESTS["random forest"], everything=True))
    assert_as_asked(searched(*table(n_classes=3), LINEAR["logistic"], everything=True))


@needs_kernel
@pytest.mark.usefixtures("either_way")
def test_the_rows_of_a_block_have_the_draws_of_their_ids():
    X, y = table()
    whole, part = searched(X, y, FORESTS["tree"]), searched(X, y, FORESTS["tree"], first_row=12345)
    assert_as_asked(part)
    moved = replace(whole, ids=whole.ids + 12345)
    np.testing.assert_array_equal(moved.rounds(), part.rounds())
    assert (whole.rounds() != part.rounds()).any()


@needs_kernel
@pytest.mark.parametrize("n_leaves", [2, 63, 64, 65, 400])
def test_the_kernel_finds_what_questions_find_in_trees_of_any_size(n_leaves):
    X, y = make_classification(3000, 5, n_redundant=0, flip_y=0.4, weights=[0.6], random_state=0)
    f = RandomForestClassifier(3, max_leaf_nodes=n_leaves, random_state=0).fit(X, y)
    some = searched(X[:200], y[:200], FrozenEstimator(f))
    assert some.structure.ensemble.has_sets == (n_leaves <= 64)
    assert_as_asked(some)


@pytest.mark.slow
@needs_kernel
@pytest.mark.parametrize("n_features", [20, 300])
@pytest.mark.parametrize("name", ["own", "many trees", "linear"])
def test_the_kernel_finds_what_questions_find_in_wide_tables(n_features, name):
    X, y = table(200, n_features)
    assert_as_asked(searched(X, y, MODELS.get(name)))
    assert_as_asked(searched(X, y, MODELS.get(name), epsilon=9.0))


@needs_kernel
def test_many_draws_at_the_ends_of_the_distribution_are_found():
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy(size=(300, 3))  # far cells
    y = (np.abs(X).max(axis=1) > 8).astype(int)
    some = searched(X, y, ExtraTreesClassifier(11, max_leaf_nodes=20, random_state=0), n_draws=100)
    assert (some.rounds() > 0).any()
    assert_as_asked(some)


@needs_kernel
def test_a_linear_f_counts_as_reached_where_no_rounding_can_undo_it():
    rng = np.random.default_rng(0)
    # Whole numbers and weights: many candidates lie on the border itself.
    X = rng.integers(-3, 4, size=(300, 5)).astype(np.float64)
    y = (X.sum(axis=1) > 3).astype(int)
    f = LogisticRegression(random_state=0).fit(X, y)
    f.coef_, f.intercept_ = np.array([[1.0, 2.0, -1.0, 1.0, 0.0]]), np.array([-4.0])
    some = searched(X, y, FrozenEstimator(f))
    screen = some.structure.screen
    assert (screen.certain(X) < 0).any()
    rounds = some.rounds()
    asked = some.rounds_by_asking(lambda rows, _: screen.certain(rows))
    np.testing.assert_array_equal(rounds, asked)
    found = nearest_of_each_draw(*some.given)
    assert len(found)
    new = found.rows(some.x[np.searchsorted(some.ids, found.factual)])
    assert (f.predict(new) == 1).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", LINEAR)
def test_hardly_any_answer_of_a_linear_f_is_left_to_rounding(name, dtype):
    X, y = table(n_classes=3)
    some = searched(X.astype(dtype), y, LINEAR[name])
    spread = np.ptp(some.structure.screen.scores(some.every), axis=0)
    assert some.structure.screen.slack < 1e-4 * spread.min()


@needs_kernel
def test_the_kernel_is_given_what_it_knows_and_nothing_else(monkeypatch):
    X, y = table()
    used = []
    by_asking = algorithm_1._by_asking
    monkeypatch.setattr(
        algorithm_1, "_by_asking", lambda *given: used.append(1) or by_asking(*given)
    )

    def asks(f=FORESTS["tree"], X=X, *, checked=False, **parameters):
        used.clear()
        searched(X, y, f, **parameters).rounds(checked=checked)
        return bool(used)

    class Contrary(RandomForestClassifier):
        def predict(self, X):
            return 1 - super().predict(X)

    assert not asks()
    assert not asks(X=pd.DataFrame(X))
    assert not asks(X=pd.DataFrame(X.astype(np.float32)))
    assert not asks(constraints=[Increasing(0), Range(1, -1, 1)])
    assert not asks(constraints="x0 <= x1")
    assert asks(constraints="x0 <= x1", checked=True)
    assert not asks(constraints=OneOf(0, [0.0, 1.0]))
    assert asks(constraints=MaxChanged(2))
    assert asks(draws="gibbs")
    assert asks(KNeighborsClassifier(3))
    assert asks(X=X.astype(np.float16))
    assert asks(Contrary(3, random_state=0))


@pytest.mark.parametrize("name", ["own", "linear", "any"])
def test_without_a_compiler_the_search_finds_what_the_papers_loops_find(name, monkeypatch):
    monkeypatch.setattr(algorithm_1, "kernel", None)
    monkeypatch.setattr("counterbalance.search.structure.kernel", None)
    X, y = table()
    some = searched(X, y, MODELS.get(name))
    assert some.structure.ensemble is None
    assert_as_printed(some)


# --- rules of whole rows ---------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_what_is_returned_keeps_every_rule_and_needs_every_change(name):
    X, y = table(200)
    rules = ["x0 <= x1 + 1", Range(2, -1, 1), MaxChanged(4)]
    some = searched(X, y, MODELS.get(name), constraints=rules, n_draws=10)
    found = nearest_of_each_draw(*some.given)
    assert len(found)
    old = some.x[np.searchsorted(some.ids, found.factual)]
    new = found.rows(old)
    assert some.space.rules.kept(new, old)
    assert (some.structure.f.predict_codes(new, found.factual) == found.target).all()
    for place in range(len(new)):
        for m in np.flatnonzero(new[place] != old[place]):
            tried = new[[place]]
            tried[0, m] = old[place, m]
            allowed = some.space.rules.allow(tried, old[[place]])[0]
            assert not (
                allowed and some.structure.f.predict_codes(tried, found.factual[[place]])[0] == 1
            )


def test_which_factuals_invert_is_asked_of_cells_and_not_of_whole_rows():
    X, y = table()
    plain = searched(X, y, FORESTS["tree"])
    bound = searched(X, y, FORESTS["tree"], constraints="x0 <= x1 - 1")
    np.testing.assert_array_equal(which_invert(*plain.given), which_invert(*bound.given))
    assert (bound.rounds(checked=True) > 0).sum() < (bound.rounds() > 0).sum()


# --- the draws themselves --------------------------------------------------------------


@needs_kernel
def test_the_quantiles_of_the_kernel_are_those_of_scipy():
    n = 300_000
    x = np.linspace(-40.0, 40.0, 3)[:, None]
    read = read_table(x)
    profile = replace(profile_table(read, np.array([0, 1, 0])), deviation=np.ones(1))
    space = Space(profile, _no_grid(read.grid), Rules.none(1), np.array([0]), seed=7)
    draw = np.arange(n)
    row, once = np.zeros(n, dtype=np.intp), np.ones(n, dtype=np.intp)
    z = build(space, np.zeros((1, 1)), np.array([5]), row, draw, once)[:, 0]
    u = uniform(stream(7, 5, draw), 0)
    assert u.min() < 1e-4 < 1 - 1e-4 < u.max()
    error = np.abs(z - ndtri(u))
    assert error.max() < 2e-9
    assert np.median(error) < 1e-12


def _no_grid(grid):
    return replace(grid, resolution=np.zeros_like(grid.resolution))


@needs_kernel
@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("n_cuts", [1, 2, 40])
def test_the_kernel_judges_cells_on_and_beside_every_cut_as_f_does(n_cuts):
    X, y = table(n_features=4)
    X = X**5  # cuts that lie close to each other, and far apart
    f = ExtraTreesClassifier(3, max_leaf_nodes=n_cuts + 1, random_state=0).fit(X, y)
    some = searched(X, y, FrozenEstimator(f))
    rows = []
    for m in range(X.shape[1]):
        cuts = some.structure.land.trees.cuts_of(m)
        beside = [np.nextafter(cuts.astype(np.float32), np.float32(to)) for to in (-9e9, 9e9)]
        cells = np.concatenate([cuts, *beside, [-3e38, 3e38, np.nan]])
        beside_x = np.repeat(X[:1], len(cells), axis=0)
        beside_x[:, m] = cells
        rows.append(beside_x)
    rows = np.concatenate(rows)
    ids = np.zeros(len(rows), dtype=np.intp)
    np.testing.assert_array_equal(
        some.structure.predict(rows, ids), some.structure.f.predict_codes(rows, ids)
    )


@given(seed=st.integers(0, 10**6), n_leaves=st.integers(2, 64))
def test_ranked_sets_are_leaf_sets_with_the_largest_value_first(seed, n_leaves):
    X, y = make_classification(90, 4, random_state=seed)
    f = ExtraTreesClassifier(3, max_leaf_nodes=n_leaves, random_state=seed).fit(X, y)
    read = trees.read_trees(f)
    value = np.rint(read.value[:, 1] * 2**40).astype(np.int64)
    plain = read.leaf_sets
    ranked = RankedSets.from_nodes(read.nodes, read.roots, read.missing_left, read.first_cut, value)
    assert np.array_equal(plain.first, ranked.first)

    def nodes(sets, row, tree):
        return [
            sets.leaf[tree, bit] for bit in range(64) if int(sets.bitsets[row, tree]) >> bit & 1
        ]

    for row in range(0, len(plain.bitsets), 7):
        for tree in range(3):
            found = nodes(ranked, row, tree)
            assert sorted(found) == sorted(nodes(plain, row, tree))
            assert np.all(np.diff(value[found]) <= 0)
