"""Second opinion: a logistic regression unlike f, each row by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import naive
from counterbalance.classifier import second_opinion
from counterbalance.classifier.second_opinion import SecondOpinion, draw_sample


def fitted(X, y, weight=None, nominal=None):
    weight = np.ones(len(X)) if weight is None else weight
    nominal = np.zeros(X.shape[1], dtype=bool) if nominal is None else nominal
    return SecondOpinion.fit(X, y, weight, nominal)


def mixed(n_rows, n_classes, seed, n_levels=30):
    """Numbers, numbers with holes, whole numbers, levels of a category with holes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, 4)) + y[:, None]
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = rng.integers(0, n_levels, n_rows)
    X[:, [1, 3]] = np.where(rng.random((n_rows, 2)) < 0.1, np.nan, X[:, [1, 3]])
    return X, y, np.array([False, False, False, True])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_scores_are_those_of_the_plain_version(n_classes):
    X, y, nominal = mixed(150, n_classes, 0)
    weight = np.random.default_rng(1).random(150)
    opinion = fitted(X, y, weight, nominal)
    rows, targets = X[:12] + np.array([0.3, -0.4, 90.0, 0.0]), y[:12][::-1]
    theirs = naive.second_opinion(X, y, weight, nominal, rows, targets)
    np.testing.assert_allclose(opinion.scores(rows, targets), theirs, rtol=1e-9, atol=1e-12)


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(2, 60),
    n_classes=st.integers(2, 4),
    size=st.integers(1, 30),
)
def test_a_row_gets_the_same_bits_in_any_company(seed, n_rows, n_classes, size):
    X, y, nominal = mixed(max(n_rows, n_classes), n_classes, seed, n_levels=4)
    rng = np.random.default_rng(seed)
    opinion = fitted(X, y, rng.random(len(X)), nominal)
    target = rng.integers(0, n_classes, len(X))
    once = opinion.scores(X, target)
    parts = [opinion.scores(X[k : k + size], target[k : k + size]) for k in range(0, len(X), size)]
    assert np.concatenate(parts).tobytes() == once.tobytes()
    assert ((once >= 0) & (once <= 1)).all()


def test_the_scores_of_all_classes_are_shares():
    X, y, nominal = mixed(90, 3, 4)
    opinion = fitted(X, y, None, nominal)
    total = sum(opinion.scores(X, np.full(len(X), code)) for code in range(3))
    np.testing.assert_allclose(total, 1)


def test_threads_never_change_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 100))  # so large that two threads share a product
    y = (X[:, 1] + X[:, 2] * X[:, 3] + rng.normal(size=len(X)) > 1.3).astype(int)
    weights = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            none = np.zeros(X.shape[1], dtype=bool)
            weights.append(SecondOpinion.fit(X, y, np.ones(len(X)), none).weight.tobytes())
    assert weights[0] == weights[1]


def test_of_a_large_table_a_sample_of_every_class_stands_for_it(monkeypatch):
    monkeypatch.setattr(second_opinion, "MOST_ROWS", 3000)
    codes = np.repeat([0, 1, -1, 2], [6000, 3000, 50, 20])
    rows, weight = draw_sample(codes, 7)
    assert len(rows) < 4000
    assert not (codes[rows] < 0).any()
    counts = [weight[codes[rows] == c].sum() for c in range(3)]
    np.testing.assert_allclose(counts, [6000, 3000, 20])
    again, _ = draw_sample(codes, 7)
    np.testing.assert_array_equal(rows, again)


def test_a_row_without_weight_has_no_say_in_it():
    X, y, nominal = mixed(80, 2, 2)
    weight = np.ones(80)
    weight[:20] = 0
    other = y.copy()
    other[:20] = 1 - other[:20]
    slopes = [SecondOpinion.fit(X, codes, weight, nominal).weight for codes in (y, other)]
    np.testing.assert_allclose(*slopes, atol=1e-3)
    assert abs(SecondOpinion.fit(X, other, np.ones(80), nominal).weight - slopes[0]).max() > 0.1


@pytest.mark.parametrize(
    "column",
    [
        np.full(40, 0.1),
        np.full(40, np.nan),
        np.where(np.arange(40) % 2, 1e308, -1e308),
        np.where(np.arange(40) == 7, 1e200, 0.0),
        np.arange(40) * 5e-324,
    ],
    ids=["constant", "missing", "too large to square", "one far away", "too small to square"],
)
def test_a_column_that_cannot_be_scaled_takes_the_others_nothing(column):
    X, y, _ = mixed(40, 2, 3)
    X[:, 3] = column
    opinion = fitted(X, y)
    scores = opinion.scores(X, y)
    assert np.isfinite(scores).all()
    assert scores.mean() > 0.6


def test_a_class_without_any_weight_is_hardly_ever_likely():
    X, y, nominal = mixed(60, 3, 6)
    opinion = fitted(X, y, (y != 2).astype(float), nominal)
    assert opinion.scores(X, np.full(60, 2)).max() < 0.05
