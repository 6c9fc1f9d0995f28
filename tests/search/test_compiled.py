"""Compiled: the kernel and the numpy path give the same winners, to the last bit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import same_winners
from counterbalance import CounterfactualOverSampler
from counterbalance.classifier import trees
from counterbalance.classifier.judge import judge
from counterbalance.constraints import Decreasing, Increasing, MaxChanged, OneOf, Range
from counterbalance.search import compiled
from counterbalance.search.compiled import make_search, make_take_back
from counterbalance.search.inversions import COLUMNS
from counterbalance.search.minimal import take_back
from counterbalance.search.nearest import search
from counterbalance.table.labels import read_labels
from counterbalance.table.table import read_table

needs_kernel = pytest.mark.skipif(
    not compiled.is_compiled(), reason="no kernel: install a C compiler, then make clean test"
)


@pytest.fixture(params=["leaf sets", "walks"])
def either_way(request, monkeypatch):
    """Judge small trees by leaf sets, and once as if they were too large for that."""
    if request.param == "walks":
        monkeypatch.setattr(trees, "MOST_WORDS", 0)


def table(n_rows=300, n_features=6, n_classes=2, seed=0):
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


def both(X, y, f=None, *, prior=None, first_row=0, numbers=None, **parameters):
    """Return what the kernel and the numpy path find, and how many rows were searched."""
    sampler = CounterfactualOverSampler(estimator=f, random_state=3, **parameters)
    prepared = sampler.prepare(X, y)
    problem, classifier = prepared.problem, prepared.f
    if prior:
        classifier = classifier.at_prior(problem.prior)
    labels = problem.labels
    wanted = problem.pairs(list(range(len(labels.classes))))[labels.codes]
    rows = np.flatnonzero(problem.right(problem.judged(classifier)) & wanted.any(axis=1))
    space = replace(problem.space, first_row=first_row)
    effort = replace(problem.effort, draws=numbers or problem.effort.draws)
    fast = make_search(space, effort, classifier, problem.table)
    x = problem.table.rows(rows)
    found, _ = fast(x, rows, wanted[rows])
    ask, insight = classifier.on_candidates, classifier.insight
    expected, _ = search(space, effort, ask, x, rows, wanted[rows], insight)
    return fast, found, expected


def assert_same(X, y, f=None, *, finds=True, **more):
    fast, found, expected = both(X, y, f, **more)
    assert fast.func is not search, "the kernel was not used"
    assert bool(len(expected)) == finds
    for name in COLUMNS:
        left, right = (getattr(part, name) for part in (found, expected))
        assert left.tobytes() == right.tobytes(), name


FORESTS = {
    "own": None,
    "random forest": RandomForestClassifier(20, random_state=0),
    "whole votes that tie": RandomForestClassifier(4, max_depth=2, random_state=0),
    "extra trees": ExtraTreesClassifier(7, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
}


@needs_kernel
@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", FORESTS)
def test_the_kernel_finds_what_numpy_finds(name, n_classes):
    assert_same(*table(n_classes=n_classes), FORESTS[name])


@needs_kernel
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "f",
    [
        LogisticRegression(),
        RidgeClassifier(),
        make_pipeline(StandardScaler(), LinearSVC()),
    ],
    ids=str,
)
def test_the_kernel_finds_what_numpy_finds_for_a_linear_f(f, n_classes, dtype):
    X, y = table(n_classes=n_classes)
    X = (10 * StandardScaler().fit_transform(X)).astype(dtype)
    f = f if isinstance(f, Pipeline) else make_pipeline(StandardScaler(), f)
    assert_same(X, y, f)
    assert_same(X, y, f, constraints=[Increasing(0), Range(1, -10, 10)])
    assert_same(X, y, f, constraints=MaxChanged(2))
    assert_same(X, y, f, epsilon=2.0)


@needs_kernel
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_the_kernel_finds_what_numpy_finds_in_columns_of_few_digits_where_distances_tie(dtype):
    X, y = table()
    assert_same((10 * (X - X.min())).astype(dtype), y)


@needs_kernel
def test_the_kernel_finds_what_numpy_finds_on_a_grid():
    X, y = table()
    assert_same(np.round(X, 1), y, snap_to_grid=True)


@needs_kernel
@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("change_missing", [False, True])
def test_the_kernel_finds_what_numpy_finds_among_missing_cells(change_missing):
    X, y = table(400)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    assert_same(X, y, change_missing=change_missing)
    assert_same(X, y, RandomForestClassifier(9, random_state=0), change_missing=change_missing)


@needs_kernel
@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("change_missing", [False, True])
def test_the_kernel_finds_what_numpy_finds_in_a_frame_of_all_kinds(change_missing):
    X, y = table(400)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["whole"] = np.rint(3 * X[:, 0]).astype(int)
    frame["name"] = pd.cut(X[:, 1], 5, labels=list("vwxyz")).astype(str)
    frame["level"] = pd.cut(X[:, 2], 4)  # ordered
    frame["yes"] = X[:, 3] > 0
    frame.loc[::7, "name"] = None
    frame.loc[::5, "a"] = np.nan
    assert_same(frame, y, change_missing=change_missing, plausible=False)
    assert_same(frame, y, change_missing=change_missing, plausible="pairs")


@needs_kernel
def test_the_kernel_finds_what_numpy_finds_with_one_feature():
    X, y = table(200, 4)
    assert_same(X[:, :1], y)


@pytest.mark.slow
@needs_kernel
@pytest.mark.parametrize("f", [None, RandomForestClassifier(10, max_depth=3, random_state=0)])
def test_the_kernel_finds_what_numpy_finds_with_300_features(f):
    assert_same(*table(120, 300), f)


@needs_kernel
@pytest.mark.parametrize("n_leaves", [2, 63, 64, 65, 2000])
def test_the_kernel_finds_what_numpy_finds_in_trees_of_any_size(n_leaves):
    X, y = make_classification(6000, 5, n_redundant=0, flip_y=0.4, weights=[0.6], random_state=0)
    f = RandomForestClassifier(3, max_leaf_nodes=n_leaves, random_state=0).fit(X, y)
    assert_same(X[:400], y[:400], f, prefit=True)


@needs_kernel
@pytest.mark.usefixtures("either_way")
def test_the_kernel_finds_what_numpy_finds_under_constraints():
    X, y = table()
    assert_same(X, y, constraints=[Increasing(0), Decreasing(1)])
    assert_same(X, y, constraints=[Range(0, -1, 1), Range(5, 0.5, 3)])
    assert_same(X, y, constraints=MaxChanged(2))
    assert_same(X, y, epsilon=3.0)
    assert_same(X, y, feature_order=[4, 1])


@needs_kernel
@pytest.mark.usefixtures("either_way")
def test_the_kernel_finds_what_numpy_finds_with_a_moved_threshold():
    assert_same(*table(n_classes=3), prior=True)


@needs_kernel
def test_the_kernel_finds_what_numpy_finds_in_a_later_pass_of_a_block():
    assert_same(*table(), numbers=range(30, 33), first_row=12345)


@needs_kernel
@given(
    n_features=st.integers(2, 9),
    n_trees=st.integers(1, 12),
    depth=st.none() | st.integers(1, 6),
    decimals=st.integers(0, 3),
    seed=st.integers(0, 10**6),
)
def test_the_kernel_finds_what_numpy_finds_on_any_table(n_features, n_trees, depth, decimals, seed):
    X, y = table(90, n_features, seed=seed)
    X = np.round(X, decimals)
    f = RandomForestClassifier(n_trees, max_depth=depth, random_state=seed)
    _, found, expected = both(X, y, f, n_draws=4)
    for name in COLUMNS:
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes()


@needs_kernel
@given(
    n_features=st.integers(2, 9),
    n_classes=st.integers(2, 3),
    decimals=st.integers(0, 3),
    dtype=st.sampled_from([np.float64, np.float32]),
    size=st.sampled_from([1e-3, 1.0, 1e6]),
    seed=st.integers(0, 10**6),
)
def test_the_kernel_finds_and_takes_back_what_numpy_does_with_a_linear_f(
    n_features, n_classes, decimals, dtype, size, seed
):
    X, y = table(120, max(4, n_features), n_classes, seed=seed)
    X = (np.round(X, decimals) * size).astype(dtype)
    f = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))
    _, found, expected = both(X, y, f, n_draws=4)
    for name in COLUMNS:
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes()
    assert_minimal_as_numpy(X, y, f)


def assert_minimal_as_numpy(X, y, f, **parameters):
    """Hold minimal inversions and their rows against those that are made without the kernel."""
    sampler = CounterfactualOverSampler(
        estimator=f, n_draws=4, on_shortfall="accept", random_state=3, **parameters
    )
    both_ways = []
    for kernel in (compiled.kernel, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiled, "kernel", kernel)
            prepared = sampler.prepare(X, y)
            problem, f_of_codes = prepared.problem, prepared.f
            targets = list(range(1, len(np.unique(y))))
            found = problem.find(problem.judged(f_of_codes), 0, targets)
            both_ways.append([getattr(found, name) for name in (*COLUMNS, "taken_back")])
            both_ways[-1].append(problem.rebuild(found))
    for ours, theirs in zip(*both_ways, strict=True):
        assert np.array_equal(ours, theirs)
    return both_ways[0]


@needs_kernel
def test_where_rounding_decides_a_linear_f_is_asked():
    rng = np.random.default_rng(0)
    # Whole numbers and weights: many candidates lie on the border itself, where f decides.
    X = rng.integers(-3, 4, size=(300, 5)).astype(np.float64)
    y = (X.sum(axis=1) > 3).astype(int)
    f = LogisticRegression(random_state=0).fit(X, y)
    f.coef_, f.intercept_ = np.array([[1.0, 2.0, -1.0, 1.0, 0.0]]), np.array([-4.0])
    for constraints in (None, Range(0, -2, 2)):
        parameters = {"prefit": True, "constraints": constraints}
        found = assert_minimal_as_numpy(X, y, f, **parameters)
        assert len(found[0])
    problem = CounterfactualOverSampler(estimator=f, prefit=True).prepare(X, y)
    on_border = np.flatnonzero(problem.f.screen.certain(X) < 0)
    assert on_border.size
    asked = problem.f(X, np.arange(len(X)))
    assert np.array_equal(asked, f.predict(X))


@needs_kernel
def test_a_linear_f_on_a_frame_of_numbers_is_screened_as_on_an_array():
    X, y = table(200)
    X[:, 0] = np.round(X[:, 0])
    frame = pd.DataFrame(X, columns=list("abcdef")).astype({"a": np.int64})
    on_frame = assert_minimal_as_numpy(frame, y, LogisticRegression())
    sampler = CounterfactualOverSampler(estimator=LogisticRegression())
    assert sampler.prepare(frame, y).f.screen is not None
    assert len(on_frame[0])


@pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")
def test_a_linear_f_on_numbers_that_stand_for_categories_is_not_screened_by_their_codes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 0] = rng.choice([3.0, 40.0, 90.0], 300)
    y = (X[:, 1] + X[:, 0] / 30 + rng.normal(size=300) * 0.3 > 3.6).astype(int)

    class Unknown(LogisticRegression):
        """The same f, of which nothing is known."""

        def predict(self, X):
            return super().predict(X)

    rows = []
    for f in (LogisticRegression(max_iter=2000), Unknown(max_iter=2000)):
        sampler = CounterfactualOverSampler(
            estimator=f, categorical_features=[0], n_draws=3, on_shortfall="accept", random_state=0
        )
        rows.append(sampler.fit_resample(X, y)[0])
    assert len(rows[0]) > len(X)
    assert np.array_equal(*rows)


@needs_kernel
def test_the_kernel_is_given_what_it_knows_and_nothing_else():
    X, y = table()

    def search_of(f=None, X=X, **parameters):
        return both(X, y, f, **parameters)[0].func

    assert search_of() is not search
    assert search_of(draws="gibbs") is search
    assert search_of(constraints="x0 <= x1") is search
    assert search_of(constraints=OneOf(0, [0.0, 1.0])) is search
    assert search_of(KNeighborsClassifier(3)) is search
    assert search_of(X=X.astype(np.float16)) is search
    assert search_of(RandomForestClassifier(3, random_state=0), X=pd.DataFrame(X)) is search

    class Contrary(RandomForestClassifier):
        def predict(self, X):
            return 1 - super().predict(X)

    assert search_of(Contrary(3, random_state=0)) is search


def test_any_number_of_jobs_gives_the_same_bytes_with_and_without_the_kernel(monkeypatch):
    X, y = table(900)

    def balanced(n_jobs):
        return CounterfactualOverSampler(n_jobs=n_jobs, random_state=0).fit_resample(X, y)[0]

    once = balanced(1).tobytes()
    assert balanced(3).tobytes() == once
    monkeypatch.setattr(compiled, "kernel", None)
    assert balanced(2).tobytes() == once


@needs_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_kernel_finds_what_the_papers_loops_find(n_classes, monkeypatch):
    X, y = table(150, n_classes=n_classes)
    f = RandomForestClassifier(10, random_state=0).fit(X, y)

    def by_kernel(space, effort, answer, x, rows, wanted, insight):
        del answer, insight
        classifier = judge(f, read, read_labels(y).classes)
        return make_search(space, effort, classifier, read)(x, rows, wanted)

    read = read_table(X)
    monkeypatch.setattr(same_winners, "search", by_kernel)
    same_winners.assert_same_winners(f, X, y, 0, list(range(1, n_classes)))


def taken_back(X, y, f=None, *, prior=False, **parameters):
    """Return how the kernel takes back what is drawn, its rows and those of numpy."""
    sampler = CounterfactualOverSampler(estimator=f, random_state=3, minimal=False, **parameters)
    prepared = sampler.prepare(X, y)
    problem, f = prepared.problem, prepared.f
    f = f.at_prior(problem.prior) if prior else f
    targets = list(range(len(problem.labels.classes)))
    found = problem.find(problem.judged(f), 0, targets)
    x, drawn = problem.table.rows(found.factual), problem.rebuild(found)
    fast = make_take_back(problem.space, f, problem.table)
    asked = (x, drawn, found.target, found.factual)
    return fast, fast(*asked), take_back(problem.space, f.on_candidates, *asked)


def assert_same_back(X, y, f=None, *, whole=True, **parameters):
    fast, rows, expected = taken_back(X, y, f, **parameters)
    assert (fast.func is not take_back) == whole
    assert len(expected)
    assert rows.tobytes() == expected.tobytes()


@needs_kernel
@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", FORESTS)
def test_the_kernel_takes_back_what_numpy_takes_back(name, n_classes):
    X, y = table(n_classes=n_classes)
    assert_same_back(X, y, FORESTS[name])
    assert_same_back(np.round(X), y, FORESTS[name], prior=True)
    # f is asked by the kernel, and what it is asked about is found by numpy.
    assert_same_back(X, y, FORESTS[name], whole=False, constraints=Range(0, -1, 1))


@needs_kernel
@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("plausible", [False, "pairs"])
def test_the_kernel_takes_back_what_numpy_takes_back_in_a_mixed_table(plausible):
    X, y = table(400)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["name"] = pd.cut(X[:, 1], 5, labels=list("vwxyz")).astype(str)
    frame.loc[::5, "a"] = np.nan
    for change_missing in (False, True):
        assert_same_back(
            frame, y, whole=not plausible, plausible=plausible, change_missing=change_missing
        )


@needs_kernel
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_kernel_takes_back_what_numpy_takes_back_for_a_linear_f(n_classes, dtype):
    X, y = table(n_classes=n_classes)
    X = (10 * X).astype(dtype)
    assert_same_back(X, y, make_pipeline(StandardScaler(), LogisticRegression()))
    assert_same_back(X, y, make_pipeline(StandardScaler(), RidgeClassifier()))


@needs_kernel
def test_a_linear_f_is_asked_where_its_scores_tie():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (300, 4)).astype(float)
    y = (X.sum(axis=1) > 0).astype(int)
    f = LogisticRegression().fit(X, y)
    f.coef_, f.intercept_ = np.array([[1.0, 1.0, 1.0, 1.0]]), np.array([-1.0])
    assert_same_back(X, y, f, prefit=True, integer_features=range(4))


@needs_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("share", [0.0, 0.2, 1e3])
def test_the_rows_are_the_same_however_often_a_linear_f_is_asked_for_one(share, n_classes):
    X, y = table(n_classes=n_classes)
    sampler = CounterfactualOverSampler(
        estimator=LogisticRegression(), random_state=0, minimal=False
    )
    prepared = sampler.prepare(X, y)
    problem, f = prepared.problem, prepared.f
    spread = np.ptp(f.screen.scores(X))
    f = replace(f, screen=replace(f.screen, slack=max(f.screen.slack, share * spread)))
    found = problem.find(problem.judged(prepared.f), 0, list(range(n_classes)))
    x, drawn = problem.table.rows(found.factual), problem.rebuild(found)
    asked = (x, drawn, found.target, found.factual)
    rows = make_take_back(problem.space, f, problem.table)(*asked)
    assert rows.tobytes() == take_back(problem.space, f.on_candidates, *asked).tobytes()


@needs_kernel
@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("n_cuts", [1, 2, 40])
def test_the_kernel_judges_cells_on_and_beside_every_cut_as_f_does(n_cuts):
    X, y = table(n_features=4)
    X = X**5  # cuts that lie close to each other, and far apart
    f = ExtraTreesClassifier(3, max_leaf_nodes=n_cuts + 1, random_state=0).fit(X, y)
    read = read_table(X)
    classifier = judge(f, read, read_labels(y).classes)
    rows = []
    for m in range(X.shape[1]):
        cuts = classifier.trees.cuts_of(m)
        beside = [np.nextafter(cuts.astype(np.float32), np.float32(to)) for to in (-9e9, 9e9)]
        cells = np.concatenate([cuts, *beside, [-3e38, 3e38, np.nan]])
        some = np.repeat(X[:1], len(cells), axis=0)
        some[:, m] = cells
        rows.append(some)
    rows = np.concatenate(rows)
    ids = np.zeros(len(rows), dtype=np.intp)
    expected = classifier.on_candidates(rows, ids)
    np.testing.assert_array_equal(
        compiled._judge(compiled._as_forest(classifier, read), rows, ids),
        expected,
    )
