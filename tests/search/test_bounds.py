"""Bounds: what they leave out never inverts, so the kernel finds what numpy finds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.classifier.trees import read_trees
from counterbalance.search import compiled
from counterbalance.search.compiled import make_search
from counterbalance.search.inversions import COLUMNS
from counterbalance.search.nearest import search

needs_kernel = pytest.mark.skipif(
    not compiled.is_compiled(), reason="no kernel: install a C compiler, then make clean test"
)


def table(n_rows, n_features, seed=0):
    X, y = make_classification(
        n_rows, max(n_features, 4), n_redundant=0, weights=[0.75], random_state=seed
    )
    return X[:, :n_features], y


def trees(n_trees=11, n_leaves=20, seed=0):
    return ExtraTreesClassifier(
        n_trees, max_leaf_nodes=n_leaves, class_weight="balanced", random_state=seed
    )


def assert_same(X, y, f, *, everything=False, numbers=None, prior=False, **parameters):
    """Hold the kernel's winners against numpy's; ``everything`` is wanted of every row."""
    sampler = CounterfactualOverSampler(
        estimator=f, random_state=3, plausible=False, feature_order=np.arange(X.shape[1])[::-1]
    ).set_params(**parameters)
    prepared = sampler.prepare(X, y)
    problem, f = prepared.problem, prepared.f
    f = f.at_prior(problem.prior) if prior else f
    wanted = problem.pairs([0, 1])[problem.labels.codes]
    wanted = np.ones_like(wanted) if everything else wanted
    rows = np.flatnonzero(wanted.any(axis=1))
    effort = replace(problem.effort, draws=numbers or problem.effort.draws)
    x = problem.table.rows(rows)
    fast = make_search(problem.space, effort, f, problem.table)
    assert fast.func is not search, "the kernel was not used"
    found, _ = fast(x, rows, wanted[rows])
    expected, _ = search(problem.space, effort, f.on_candidates, x, rows, wanted[rows])
    for name in COLUMNS:
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
    return found


@needs_kernel
@given(
    seed=st.integers(0, 10**6),
    n_features=st.integers(1, 9),
    n_trees=st.integers(1, 20),
    n_leaves=st.integers(2, 64),
    decimals=st.integers(0, 3),
    size=st.sampled_from([1e-3, 1.0, 1e6]),
    missing=st.booleans(),
    turned=st.booleans(),
    narrow=st.booleans(),
)
def test_no_inversion_is_left_out_on_any_table(
    seed, n_features, n_trees, n_leaves, decimals, size, missing, turned, narrow
):
    X, y = table(90, n_features, seed)
    X = np.round(X, decimals) * size  # few values: distances, votes and cuts tie
    if missing:
        X[np.random.default_rng(seed).random(X.shape) < 0.15] = np.nan
    X, y = X.astype(np.float32) if narrow else X, 1 - y if turned else y
    assert_same(X, y, trees(n_trees, n_leaves, seed), n_draws=4, change_missing=missing)


@pytest.mark.slow
@needs_kernel
@pytest.mark.parametrize("n_features", [1, 20, 300])
@pytest.mark.parametrize("snap_to_grid", [False, True])
def test_no_inversion_is_left_out_in_tables_of_any_width(n_features, snap_to_grid):
    X, y = table(300, n_features)
    X = np.round(X, 1) if snap_to_grid else X
    assert len(assert_same(X, y, trees(30, 64), snap_to_grid=snap_to_grid))
    assert_same(X, y, trees(30, 64), snap_to_grid=snap_to_grid, epsilon=9.0)


@needs_kernel
def test_rows_of_the_class_and_rows_wanted_for_both_classes_are_searched_as_before():
    X, y = table(300, 6)
    assert len(assert_same(X, y, trees(), everything=True))
    assert len(assert_same(X, y, trees(), prior=True))
    assert len(assert_same(X, y, trees(), numbers=range(40, 43)))


@needs_kernel
def test_many_draws_at_the_ends_of_the_distribution_are_found():
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy(size=(400, 3))  # far cells: a cut is where rough quantiles end
    y = (np.abs(X).max(axis=1) > 8).astype(int)
    assert len(assert_same(X, y, trees(), n_draws=300))


@given(seed=st.integers(0, 10**6), n_leaves=st.integers(2, 64))
def test_ranked_sets_are_leaf_sets_with_the_largest_value_first(seed, n_leaves):
    X, y = make_classification(90, 4, random_state=seed)
    read = read_trees(trees(3, n_leaves, seed).fit(X, y))
    value = read.value[:, 1]
    plain, ranked = read.leaf_sets, read.ranked_sets(value)
    assert np.array_equal(plain.first, ranked.first)

    def nodes(sets, row, tree):
        return [sets.leaf[tree, bit] for bit in range(64) if int(sets.words[row, tree]) >> bit & 1]

    for row in range(0, len(plain.words), 7):
        for tree in range(3):
            found = nodes(ranked, row, tree)
            assert sorted(found) == sorted(nodes(plain, row, tree))
            assert np.all(np.diff(value[found]) <= 0)
