import numpy as np
import pytest

from counterbalance.methods import SMOTEIPF, PeerFallbackWarning
from counterbalance.methods.smote import noise_by_partitions, stratified_partitions


def two_clouds(rng):
    X = np.vstack([rng.normal(8, 1, (40, 2)), rng.normal(0, 1, (160, 2))])
    return X, np.repeat([1, 0], [40, 160])


def test_a_mislabelled_row_is_removed_and_clean_rows_stay():
    rng = np.random.default_rng(0)
    X, y = two_clouds(rng)
    y = y.copy()
    y[100] = 1  # in the middle of class 0
    X[100] = 0.0
    sampler = SMOTEIPF(random_state=0)
    X_new, y_new = sampler.fit_resample(X, y)
    assert not ((X_new == X[100]).all(axis=1) & (y_new == 1)).any()
    assert sampler.n_removed_[1] >= 1
    originals = np.delete(X, 100, axis=0)
    kept = sum((row == X_new).all(axis=1).any() for row in originals)
    assert kept >= len(originals) - 2


def test_clean_classes_end_up_balanced():
    X, y = two_clouds(np.random.default_rng(1))
    sampler = SMOTEIPF(random_state=0)
    _, y_new = sampler.fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [160, 160])
    assert sampler.n_removed_ == {0: 0, 1: 0}


def test_consensus_removes_no_more_than_majority():
    rng = np.random.default_rng(2)
    rows, codes = rng.normal(size=(300, 2)), rng.integers(2, size=300)
    noise = [
        noise_by_partitions(rows, codes, 9, voting, np.random.default_rng(0))
        for voting in ("consensus", "majority")
    ]
    assert noise[0].sum() < noise[1].sum()
    assert not (noise[0] & ~noise[1]).any()


def test_warns_if_the_filter_removes_much():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 2)), np.repeat([1, 0], [40, 260])
    with pytest.warns(PeerFallbackWarning, match="n_removed_"):
        SMOTEIPF(random_state=0).fit_resample(X, y)


def test_partitions_hold_every_class_in_equal_shares():
    codes = np.repeat([0, 1, 2], [90, 46, 9])
    parts = stratified_partitions(codes, 9, np.random.default_rng(0))
    shares = np.array([np.bincount(parts[codes == c], minlength=9) for c in range(3)])
    np.testing.assert_array_equal(shares[0], 10)
    assert set(shares[1]) <= {5, 6}
    np.testing.assert_array_equal(shares[2], 1)


def test_a_row_that_only_the_tree_of_its_own_partition_misclassifies_stays():
    # Pure noise: eight of nine trees have seen a row and most of them repeat its class, while
    # the tree of its own partition guesses. More than half must miss a row *and* that tree.
    rng = np.random.default_rng(2)
    rows, codes = rng.normal(size=(300, 2)), rng.integers(2, size=300)
    noise = noise_by_partitions(rows, codes, 9, "majority", np.random.default_rng(0))
    assert noise.mean() < 0.12


def test_overlapping_classes_lose_few_rows(blobs):
    X, y = blobs
    sampler = SMOTEIPF(random_state=0)
    sampler.fit_resample(X, y)
    assert sum(sampler.n_removed_.values()) <= 0.03 * 600
