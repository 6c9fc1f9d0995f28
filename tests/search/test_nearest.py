"""Search: the fast search and the paper's loops give the same winners, to the last bit."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from counterbalance.classifier.judge import judge
from counterbalance.search import nearest as module
from counterbalance.search.nearest import search
from counterbalance.table.table import read_table
from same_winners import assert_same_winners, fast, space_of

SEED = 20260101


def net(random_state=0):
    layers = MLPClassifier(
        (8,), solver="lbfgs", alpha=1.0, max_iter=2000, random_state=random_state
    )
    return make_pipeline(StandardScaler(), layers)


CLASSIFIERS = {
    "linear model": LogisticRegression(),
    "forest": RandomForestClassifier(20, random_state=0),
    "neural net": net(),
    "k-NN": KNeighborsClassifier(3),
}


def problem(n_classes=2, n_features=6, n_rows=150, *, whole=False):
    X, y = make_classification(
        n_rows,
        n_features,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        weights=[0.7, 0.2, 0.1][:n_classes],
        class_sep=0.7,
        random_state=1,
    )
    return (np.rint(2 * X).astype(np.int64) if whole else X), y


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_winners_are_the_naive_ones(name):
    X, y = problem()
    assert_same_winners(CLASSIFIERS[name].fit(X, y), X, y, 0, [1])


def test_winners_are_the_naive_ones_with_three_classes():
    X, y = problem(n_classes=3)
    f = RandomForestClassifier(10, random_state=0).fit(X, y)
    assert_same_winners(f, X, y, 0, [1, 2])
    assert_same_winners(f, X, y, 1, [2])


def test_winners_are_the_naive_ones_with_gibbs_draws():
    X, y = problem()
    assert_same_winners(LogisticRegression().fit(X, y), X, y, 0, [1], way="gibbs", n_rows=6)


def test_winners_are_the_naive_ones_on_whole_numbers_where_distances_tie():
    X, y = problem(whole=True)
    assert_same_winners(RandomForestClassifier(10, random_state=0).fit(X, y), X, y, 0, [1])


def test_winners_are_the_naive_ones_within_epsilon():
    X, y = problem()
    f = LogisticRegression().fit(X, y)
    _, _, found, _ = fast(f, X, y, 0, [1])
    assert_same_winners(f, X, y, 0, [1], epsilon=float(np.median(found.distance)))


def test_winners_are_the_naive_ones_beyond_the_first_window():
    X, y = problem(n_features=module.FIRST_WINDOW * 2 + 3, n_rows=60)
    f = LogisticRegression(C=1e-3, class_weight="balanced").fit(X, y)
    assert_same_winners(f, X, y, 0, [1], n_draws=3, n_rows=4)


def test_blocks_of_any_size_give_the_same_winners():
    X, y = problem(n_features=40)
    f = LogisticRegression(class_weight="balanced").fit(X, y)
    _, _, whole, _ = fast(f, X, y, 0, [1])
    for cells in (1, 97, 5000):
        _, _, cut, _ = fast(f, X, y, 0, [1], cells_at_once=cells)
        for name in whole.__annotations__:
            np.testing.assert_array_equal(getattr(whole, name), getattr(cut, name))


def test_f_sees_at_most_half_more_than_any_exact_search_must():
    X, y = problem(n_rows=400)
    f = LogisticRegression().fit(X, y)
    table, (space, effort), found, judged = fast(f, X, y, 0, [1], n_draws=20)
    rows = np.flatnonzero((y == 0) & (f.predict(X) == 0))
    limit = np.full(len(y), np.inf)
    limit[found.factual] = found.distance
    window = module._Window.of(space.order)
    candidates = module._Candidates.draw(space, effort.draws, table.rows(rows), rows, window)
    distance = np.where(candidates.worthy, candidates.distance, np.inf).reshape(len(rows), -1)
    nearer = np.count_nonzero(distance < limit[rows, None])
    assert judged <= 1.5 * nearer


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "f", [LogisticRegression(C=0.1), RidgeClassifier(), LinearSVC(), "scaled"], ids=str
)
def test_the_screen_of_a_linear_f_changes_nothing_and_spares_most_calls(f, n_classes, dtype):
    X, y = problem(n_classes=n_classes, n_rows=300)
    X = (X * 10.0 ** np.arange(-3, 3)).astype(dtype)
    if f == "scaled" or n_classes == 3 or dtype == np.float32:
        f = make_pipeline(StandardScaler(), LogisticRegression() if f == "scaled" else f)
    else:
        X = StandardScaler().fit_transform(X)
    f = f.fit(X, y)
    _, _, screened, few = fast(f, X, y, 0, [1, 2][: n_classes - 1])
    rows = np.flatnonzero((y == 0) & (f.predict(X) == 0))
    table, space, effort = space_of(X, y)
    answer = judge(f, table, np.unique(y))
    assert answer.screen is not None
    wanted = np.arange(n_classes)[None, :].repeat(len(rows), axis=0) > 0
    plain, many = search(space, effort, answer.on_candidates, table.rows(rows), rows, wanted)
    for name in plain.__annotations__:
        np.testing.assert_array_equal(getattr(plain, name), getattr(screened, name))
    assert few < many / 3


def test_a_classifier_that_is_not_known_as_linear_is_not_screened():
    X, y = problem()

    class Contrary(LogisticRegression):
        def predict(self, X):
            return 1 - super().predict(X)

    assert judge(Contrary().fit(X, y), read_table(X), np.unique(y)).screen is None
    assert judge(net().fit(X, y), read_table(X), np.unique(y)).screen is None


def test_the_walk_through_a_forest_gives_its_predictions():
    X, y = problem(n_classes=3, n_rows=400)
    rows = np.random.default_rng(0).normal(size=(5000, X.shape[1]))
    for n_trees, depth in [(1, None), (7, 2), (50, None), (100, 1), (101, 3)]:
        f = RandomForestClassifier(n_trees, max_depth=depth, random_state=0).fit(X, y)
        answer = judge(f, read_table(X), np.unique(y))
        np.testing.assert_array_equal(answer(rows, np.arange(5000)), f.predict(rows))


def test_the_walk_through_a_forest_keeps_its_ties():
    X = np.arange(40.0)[:, None]
    y = np.arange(40) % 2
    f = RandomForestClassifier(20, max_depth=1, bootstrap=False, random_state=0).fit(X, y)
    answer = judge(f, read_table(X), np.unique(y))
    np.testing.assert_array_equal(answer(X, np.arange(40)), f.predict(X))


@pytest.mark.parametrize("n_features", [30, 300])
def test_features_that_no_tree_asks_about_are_not_judged(n_features):
    X, y = problem(n_features=n_features, n_rows=60)
    f = ExtraTreesClassifier(3, min_samples_leaf=3, random_state=0).fit(X, y)
    answer = judge(f, read_table(X), np.unique(y))
    table, space, effort = space_of(X, y)
    rows = np.flatnonzero((y == 0) & (f.predict(X) == 0))
    wanted = np.isin([0, 1], [1])[None, :].repeat(len(rows), axis=0)
    shown = space, effort, answer.on_candidates, table.rows(rows), rows, wanted
    whole = search(*shown)
    few = search(*shown, answer.insight)
    for name in ("factual", "target", "draw", "round", "distance"):
        assert getattr(whole[0], name).tobytes() == getattr(few[0], name).tobytes()
    assert len(few[0])
    assert few[1] <= answer.insight.asked.sum() * len(effort.draws) * len(rows)
    assert few[1] < whole[1]
