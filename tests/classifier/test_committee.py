"""Committee: three members, asked row by row or all at once, with the kernel and without."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from counterbalance.classifier import committee
from counterbalance.classifier.cells import FARTHEST, MOST_LEVELS, lay_out, read_cells
from counterbalance.classifier.committee import Committee, Sums

NOMINAL = (False, False, True, True)


def table(n_rows=150, n_classes=2, seed=0):
    """Two columns of numbers, one with holes, and two of levels, one of them with many."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    levels = rng.integers(0, (3, 40), (n_rows, 2))
    X = np.column_stack([rng.normal(size=(n_rows, 2)) + y[:, None], levels]).astype(float)
    X[rng.random(n_rows) < 0.2, 1] = np.nan
    X[rng.random(n_rows) < 0.2, 2] = np.nan
    return X, y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_sums_are_the_logits_of_the_members(n_classes):
    X, y = table(n_classes=n_classes)
    cells = read_cells(X, np.array(NOMINAL))
    rows = lay_out(cells, X)
    regression = LogisticRegression().fit(rows, y)
    net = MLPClassifier((5,), max_iter=20, random_state=0)
    with pytest.warns(UserWarning, match="converged"):
        net.fit(rows, y)
    logits = Sums.of(cells, regression, net).logits(X)
    np.testing.assert_allclose(logits[0].squeeze(), regression.decision_function(rows))
    share = committee._probability(logits[1])
    np.testing.assert_allclose(share, net.predict_proba(rows), rtol=1e-9)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 3), size=st.integers(1, 40))
def test_a_row_gets_the_same_bits_in_any_company_and_without_the_kernel(seed, n_classes, size):
    X, y = table(80, n_classes, seed)
    X[0] = [np.inf, -np.inf, np.nan, 99.0]  # as no row that it is fitted to
    f = Committee(NOMINAL, random_state=seed).fit(X[1:], y[1:])
    once = f.predict_proba(X[1:])
    cut = range(1, len(X), size)
    parts = np.concatenate([f.predict_proba(X[start : start + size]) for start in cut])
    assert parts.tobytes() == once.tobytes()
    sums = f.sums_.logits(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committee, "kernel", None)
        for ours, theirs in zip(f.sums_.logits(X), sums, strict=True):
            assert ours.tobytes() == theirs.tobytes()


def test_the_seed_decides_every_member_and_the_weights_reach_them():
    X, y = table()
    one, same = (Committee(NOMINAL, random_state=0).fit(X, y).predict_proba(X) for _ in range(2))
    assert one.tobytes() == same.tobytes()
    other = Committee(NOMINAL, random_state=1).fit(X, y).predict_proba(X)
    assert other.tobytes() != one.tobytes()
    heavy = Committee(NOMINAL, random_state=0).fit(X, y, np.where(y == 1, 20.0, 1.0))
    assert heavy.predict_proba(X)[:, 1].mean() > one[:, 1].mean() + 0.1


def test_of_a_large_table_the_regression_and_the_net_see_a_sample_of_the_right_shares(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [5000, 2000])
    X = rng.normal(size=(7000, 1))  # of no use: the shares are all that can be learned
    monkeypatch.setattr(committee, "MOST_ROWS", 2500)
    f = Committee(random_state=0).fit(X, y)
    shares = [committee._probability(part)[:, 1].mean() for part in f.sums_.logits(X)]
    assert shares[0] == pytest.approx(2 / 7, abs=0.03)
    assert shares[1] == pytest.approx(2 / 7, abs=0.06)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class only"):
        Committee().fit(np.zeros((4, 1)), np.zeros(4))


def test_cells_that_tell_nothing_are_laid_out_as_zeros():
    X = np.column_stack([np.full(5, 3.0), np.full(5, np.nan), [1e308, -1e308, 0, 0, 0]])
    laid = lay_out(read_cells(X, np.zeros(3, dtype=bool)), X)
    np.testing.assert_array_equal(laid, [[0, 0, 1, 0]] * 5)


def test_numbers_far_away_and_rare_levels_are_bounded():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=500), np.arange(500) % 60])
    cells = read_cells(X, np.array([False, True]))
    assert cells[1].width == MOST_LEVELS
    laid = lay_out(cells, np.array([[1e9, 59.0], [-np.inf, np.nan]]))
    assert laid[:, 0].tolist() == [FARTHEST, -FARTHEST]
    assert not laid[:, 1:].any()
