"""Landscape and trees: what the arrays say of a forest is what the forest says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from counterbalance.classifier.trees import read_trees
from counterbalance.constraints.rules import Rules
from counterbalance.profile import profile_table
from counterbalance.search.draws import Space
from counterbalance.search.structure import Landscape
from counterbalance.table.table import read_table


def landscape(X, y, f, *, levels=None):
    table = read_table(X)
    rules = Rules.none(X.shape[1])
    rules.levels.update(levels or {})
    space = Space(profile_table(table, y), table.grid, rules, np.arange(X.shape[1]), seed=0)
    return Landscape.from_trees(read_trees(f), space), space


def leaves(trees, bins):
    """Walk every tree, for each row by itself."""
    found = np.empty((len(bins), len(trees.roots)), dtype=int)
    for r, row in enumerate(bins):
        for k, node in enumerate(trees.roots):
            while trees.nodes[node, 0] >= 0:
                feature, cut, left, right = trees.nodes[node]
                goes_left = row[feature] <= cut
                if row[feature] < 0:
                    goes_left = trees.missing_left[node]
                node = left if goes_left else right  # noqa: PLW2901 (a walk)
            found[r, k] = node
    return found


@given(seed=st.integers(0, 10**6), decimals=st.integers(0, 3), missing=st.booleans())
def test_bins_lead_to_the_leaves_of_the_forest(seed, decimals, missing):
    X, y = make_classification(60, 4, n_informative=3, n_redundant=0, random_state=seed)
    X = np.round(X, decimals)
    if missing:
        X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
    f = ExtraTreesClassifier(3, random_state=seed).fit(X, y)
    trees = read_trees(f)
    expected = f.apply(X) + trees.roots
    np.testing.assert_array_equal(leaves(trees, trees.bins(X)), expected)


def leaves_of(sets, words):
    """Return the nodes of the leaves in the sets of all trees."""
    return [
        {int(nodes[bit]) for bit in range(64) if int(word) >> bit & 1}
        for nodes, word in zip(sets.leaf, words, strict=True)
    ]


@given(seed=st.integers(0, 10**6), n_leaves=st.integers(2, 64), missing=st.booleans())
def test_leaf_sets_hold_the_leaf_of_a_row_and_those_that_one_feature_leads_to(
    seed, n_leaves, missing
):
    X, y = make_classification(90, 4, n_informative=3, n_redundant=0, random_state=seed)
    if missing:
        X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
    f = ExtraTreesClassifier(3, max_leaf_nodes=n_leaves, random_state=seed).fit(X, y)
    trees = read_trees(f)
    sets = trees.leaf_sets
    bins = trees.bins(X[:5])
    words = sets.bitsets[sets.first + 1 + bins][..., : len(sets.leaf)]  # (rows, features, trees)
    for row, expected in zip(words, leaves(trees, bins), strict=True):
        found = leaves_of(sets, np.bitwise_and.reduce(row))
        assert found == [{leaf} for leaf in expected.tolist()]
    for m in range(4):
        every = np.arange(len(trees.cuts_of(m)) + 1)
        moved = np.repeat(bins[:1], len(every), axis=0)
        moved[:, m] = every
        reached = leaves(trees, moved)
        others = np.bitwise_and.reduce(np.delete(words[0], m, axis=0))
        for k, found in enumerate(leaves_of(sets, others)):
            if bins[0, m] >= 0:  # a missing cell may lead to leaves that no bin does
                assert found == set(reached[:, k].tolist())
            for leaf in set(reached[:, k].tolist()):
                bit = int(np.flatnonzero(sets.leaf[k] == leaf)[-1])
                assert sets.lowest[k, m, bit] == every[reached[:, k] == leaf].min()


def test_trees_of_more_leaves_than_a_word_has_bits_have_no_leaf_sets():
    X, y = make_classification(600, 4, flip_y=0.5, random_state=0)
    small, large = (
        read_trees(ExtraTreesClassifier(2, max_leaf_nodes=n, random_state=0).fit(X, y))
        for n in (64, 65)
    )
    assert small.leaf_sets is not None
    assert large.leaf_sets is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
@pytest.mark.parametrize("decimals", [0, 1, 6])
def test_the_ends_of_a_bin_lie_in_it_and_on_the_grid_and_nothing_of_the_column_is_beyond(
    dtype, decimals
):
    X, y = make_classification(200, 3, n_informative=3, n_redundant=0, random_state=0)
    X = np.round(10 * X, decimals).astype(dtype)
    f = RandomForestClassifier(8, random_state=0).fit(X, y)
    land, space = landscape(X, y, f)
    if dtype is np.float64:
        assert (space.grid.resolution == {0: 1, 1: 10, 6: 0}[decimals]).all()
    for m in range(3):
        bins = slice(land.first_bin[m], land.first_bin[m + 1])
        least, most = land.least[bins], land.most[bins]
        assert (least[1:] >= least[:-1]).all()
        assert (most[1:] >= most[:-1]).all()
        for ends in (least, most):
            held = least <= most
            rows = np.tile(X[:1].astype(float), (held.sum(), 1))
            rows[:, m] = ends[held]
            np.testing.assert_array_equal(land.trees.bins(rows)[:, m], np.flatnonzero(held))
            snapped = space.grid.snap(ends[held][:, None].copy(), np.array([m]))[:, 0]
            np.testing.assert_array_equal(snapped, ends[held])
        place = land.trees.bins(X.astype(float))[:, m]
        rounding = np.abs(X[:, m].astype(float)) * 1e-7  # a float64 may round into the bin
        assert (X[:, m] >= least[place] - rounding).all()
        assert (X[:, m] <= most[place] + rounding).all()


def test_bins_without_an_allowed_level_are_stepped_over():
    X, y = make_classification(200, 3, n_informative=3, n_redundant=0, random_state=0)
    X = np.rint(3 * X)
    f = RandomForestClassifier(8, random_state=0).fit(X, y)
    levels = np.array([-4.0, 1.0, 2.0])
    land, _ = landscape(X, y, f, levels={1: levels})
    bins = slice(land.first_bin[1], land.first_bin[2])
    least, most = land.least[bins], land.most[bins]
    holds = np.flatnonzero(least <= most)
    assert set(least[holds]) | set(most[holds]) == set(levels)
    for place in range(len(least)):
        above, below = holds[holds >= place], holds[holds <= place]
        assert land.next_up[bins][place] == (above[0] if above.size else -1)
        assert land.next_down[bins][place] == (below[-1] if below.size else -1)


def test_every_row_of_a_cell_shares_its_leaves():
    X, y = make_classification(300, 4, n_informative=3, n_redundant=0, random_state=0)
    f = RandomForestClassifier(8, random_state=0).fit(X, y)
    land, _ = landscape(X, y, f)
    bins = land.trees.bins(X)
    lowest, highest = land.cells(bins)
    expected = leaves(land.trees, bins)
    for corner in (lowest, highest):
        np.testing.assert_array_equal(leaves(land.trees, corner), expected)
    for m in range(4):  # one bin further is another cell, wherever there is one
        beyond = lowest.copy()
        beyond[:, m] -= 1
        inside = beyond[:, m] >= 0
        assert (leaves(land.trees, beyond) != expected).any(axis=1)[inside].all()
