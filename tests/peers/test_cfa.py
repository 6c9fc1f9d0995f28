import numpy as np
import pytest

from counterbalance.peers import CFA, PeerFallbackWarning


def test_a_majority_row_takes_over_what_differs_in_the_nearest_pair():
    # The pair is (0, 0, 0) and (0, 0, 9): they differ in the last feature alone.
    minority = [[0.0, 0.0, 9.0]]
    majority = [[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [3.0, 1.0, 2.0]]
    X, y = np.array(minority + majority), np.array([1, 0, 0, 0])
    X_new, y_new = CFA(max_differences=1, tolerance=0.0, random_state=0).fit_resample(X, y)
    new = {tuple(row) for row in X_new[4:]}
    assert new == {(1.0, 2.0, 9.0), (3.0, 1.0, 9.0)}
    assert (y_new[4:] == 1).all()


def test_every_value_occurs_in_its_column_of_the_table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(200, 5)).astype(float)
    y = np.repeat([1, 0], [30, 170])
    new = CFA(random_state=0).fit_resample(X, y)[0][200:]
    for column in range(5):
        assert np.isin(new[:, column], X[:, column]).all()


def test_more_differences_are_let_in_with_a_warning():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(5, 1, (10, 4)), rng.normal(-5, 1, (30, 4))])
    with pytest.warns(PeerFallbackWarning, match="pairs with 4 differences"):
        CFA(random_state=0).fit_resample(X, np.repeat([1, 0], [10, 30]))
