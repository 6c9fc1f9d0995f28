import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from counterbalance.methods import CFA, CounterfactualSMOTE, PeerFallbackWarning


def test_a_majority_row_adopts_the_difference_features_of_the_nearest_pair():
    # The pair is (0, 0, 0) and (0, 0, 9): they differ in the last feature alone.
    minority = [[0.0, 0.0, 9.0]]
    majority = [[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [3.0, 1.0, 2.0]]
    X, y = np.array(minority + majority), np.array([1, 0, 0, 0])
    sampler = CFA(max_differences=1, tolerance=0.0, random_state=0)
    X_new, y_new = sampler.fit_resample(X, y)
    new = {tuple(row) for row in X_new[4:]}
    assert new == {(1.0, 2.0, 9.0), (3.0, 1.0, 9.0)}
    assert (y_new[4:] == 1).all()


@pytest.mark.filterwarnings("ignore::counterbalance.methods.PeerFallbackWarning")
def test_every_value_occurs_in_its_column_of_the_table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(200, 5)).astype(float)
    y = np.repeat([1, 0], [30, 170])
    new = CFA(random_state=0).fit_resample(X, y)[0][200:]
    for column in range(5):
        assert np.isin(new[:, column], X[:, column]).all()


def test_a_majority_row_is_paired_with_its_nearest_minority_row():
    # (0, 0, 0) is nearer to (1, 1, 1), three differences, than to (0, 0, 9), one difference.
    X = np.array([[1.0, 1, 1], [0, 0, 9], [0, 0, 0], [2, 2, 4], [0, 1, 8], [3, 0, 2]])
    y = np.array([1, 1, 0, 0, 0, 0])
    sampler = CFA(tolerance=0.0, sampling_strategy={1: 4}, random_state=0)
    new = sampler.fit_resample(X, y)[0][6:]
    # The pair is (0, 1, 8) with (0, 0, 9): two differences.
    assert (new[:, 1:] == [0, 9]).all()
    assert set(new[:, 0]) <= {0.0, 2.0, 3.0}


def test_more_differences_are_admitted_with_a_warning():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(5, 1, (10, 4)), rng.normal(-5, 1, (30, 4))])
    X[:, 3] = rng.normal(size=40)
    with pytest.warns(PeerFallbackWarning, match="pairs with 3 differences"):
        CFA(sampling_strategy={1: 15}, random_state=0).fit_resample(X, np.repeat([1, 0], [10, 30]))


def test_each_majority_row_gives_at_most_one_row_and_copies_make_up_the_number():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.repeat([1, 0], [10, 50])
    with pytest.warns(PeerFallbackWarning, match="copies of minority rows were added"):
        new = CFA(sampling_strategy={1: 200}, random_state=0).fit_resample(X, y)[0][60:]
    is_copy = (new[:, None] == X[:10]).all(axis=2).any(axis=1)
    assert 0 < (~is_copy).sum() <= 50
    # A row that is no copy keeps at least one value of a majority row.
    assert (new[~is_copy][:, None] == X[10:]).any(axis=2).any(axis=1).all()


def tables_of_few_values():
    return st.tuples(st.integers(2, 4), st.integers(2, 5), st.integers(0, 2**32 - 1))


@given(tables_of_few_values())
@pytest.mark.filterwarnings("ignore::counterbalance.methods.PeerFallbackWarning")
def test_no_new_row_is_a_relabelled_majority_row(table):
    n_values, n_features, seed = table
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, size=(120, n_features)).astype(float)
    y = np.repeat([1, 0], [20, 100])
    ours = {tuple(row) for row in X[y == 1]}
    theirs = {tuple(row) for row in X[y == 0]}
    new = {tuple(row) for row in CFA(random_state=0).fit_resample(X, y)[0][120:]}
    # A row that both classes have is no majority row alone.
    assert not new & (theirs - ours)


def test_rows_within_the_tolerance_in_every_feature_are_not_a_pair():
    # The first majority row is the minority row but for 0.01: there is no difference to adopt.
    X = np.array([[0.0, 0.0], [0.01, 0.0], [3.0, 1.0], [3.0, 0.0], [9.0, 9.0], [8.0, 5.0]])
    y = np.array([1, 0, 0, 0, 0, 0])
    sampler = CFA(max_differences=1, tolerance=0.2, sampling_strategy={1: 4}, random_state=0)
    new = sampler.fit_resample(X, y)[0][6:]
    # What is left is the pair with (3, 0), which differs in the first feature.
    assert {tuple(row) for row in new} == {(0.0, 1.0), (0.0, 9.0), (0.0, 5.0)}


def test_warns_if_the_table_holds_every_combination_of_its_values():
    X = np.array([[a, b, c] for a in range(3) for b in range(3) for c in range(3)], dtype=float)
    y = (X.sum(axis=1) > 4).astype(int)
    with pytest.warns(PeerFallbackWarning, match="copies of minority rows"):
        new = CFA(random_state=0).fit_resample(X, y)[0][27:]
    assert len(new)
    assert (new.sum(axis=1) > 4).all()


def test_warns_if_the_classes_do_not_differ():
    X, y = np.ones((30, 2)), np.repeat([1, 0], [5, 25])
    with pytest.warns(PeerFallbackWarning, match="copies of minority rows"):
        X_new, _ = CFA(random_state=0).fit_resample(X, y)
    assert len(X_new) == 50


def test_every_new_row_is_predicted_minority(blobs):
    X, y = blobs
    new = CounterfactualSMOTE(random_state=0).fit_resample(X, y)[0][len(y) :]
    judged = KNeighborsClassifier(3).fit(X, y).predict(new)
    assert (judged == 1).all()


def test_new_rows_lie_just_across_the_boundary():
    # One neighbour as judge: between 0 and 10 the boundary is at 5.
    X = np.concatenate([[10.0, 10.0], np.zeros(12)])[:, None]
    y = np.repeat([1, 0], [2, 12])
    new = CounterfactualSMOTE(n_neighbors=1, n_steps=5, random_state=0).fit_resample(X, y)[0][14:]
    assert ((new >= 5) & (new <= 5 + 10 / 2**5)).all()


def test_warns_if_no_minority_row_is_safe():
    X = np.concatenate([[0.0, 10.0], np.linspace(-5, 15, 60)])[:, None]
    y = np.repeat([1, 0], [2, 60])
    with pytest.warns(PeerFallbackWarning, match="puts every minority row"):
        _, y_new = CounterfactualSMOTE(random_state=0).fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [60, 60])
