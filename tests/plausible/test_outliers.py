"""A row far from the real rows of a class scores above one, a row among them below."""

import numpy as np
import pandas as pd
import pytest

from counterbalance.plausible import outliers
from counterbalance.plausible.evidence import gather
from counterbalance.plausible.outliers import Outliers
from counterbalance.profile import profile_table
from counterbalance.table.table import read_table


def outliers_of(X, y):
    table = read_table(X)
    return Outliers.from_evidence(gather(table, y, 2), profile_table(table, y))


def test_scores_say_how_far_out_a_row_lies():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [100, 60])
    X = rng.normal(size=(160, 3)) + 8 * y[:, None]
    scores = outliers_of(X, y)
    rows = np.array([[0.0, 0, 0], [8, 8, 8], [4, 4, 4], [0, 0, 0]])
    near, also_near, between, other = scores.scores(rows, np.array([0, 1, 1, 1]))
    assert max(near, also_near) < 1 < between < other
    real = scores.scores(X[:100], y[:100])
    assert np.mean(real > 1) <= 0.06


def test_a_row_scores_the_same_in_any_batch():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(90, 4)), np.repeat([0, 1], 45)
    X[rng.random(X.shape) < 0.1] = np.nan
    scores = outliers_of(X, y)
    whole = scores.scores(X, y)
    one_by_one = [scores.scores(X[[k]], y[[k]])[0] for k in range(90)]
    assert whole.tobytes() == np.array(one_by_one).tobytes()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_class_of_few_rows_tells_little_and_never_fails(n):
    X, y = np.arange(20.0 + n)[:, None], np.repeat([0, 1], [20, n])
    score = outliers_of(X, y).scores(X[:2], np.array([1, 1]))
    assert np.isnan(score).all() if n == 1 else (score > 0).all()


def test_rows_that_are_all_alike_give_finite_scores():
    X, y = np.zeros((30, 2)), np.repeat([0, 1], 15)
    X[0] = 1
    assert np.isfinite(outliers_of(X, y).scores(X, y)).all()


@pytest.mark.skipif(
    outliers.kernel is None, reason="no kernel: install a C compiler, then make clean test"
)
@pytest.mark.parametrize("n_of_class", [2, 4, 17, 60])
def test_the_kernel_gives_the_scores_of_scipy(n_of_class, monkeypatch):
    rng = np.random.default_rng(n_of_class)
    y = np.repeat([0, 1], n_of_class)
    X = pd.DataFrame(rng.normal(size=(len(y), 6)))
    X = X.mask(rng.random(X.shape) < 0.1)
    for k in range(7):
        X[f"letter {k}"] = pd.Categorical(rng.choice(list("abc"), len(y)))
    for some in (X, X.iloc[:, :6].fillna(0.0), X.iloc[:, 6:]):
        scores, rows = outliers_of(some, y), read_table(some).rows(slice(None))
        fast = scores.scores(rows, 1 - y)
        with monkeypatch.context() as patch:
            patch.setattr(outliers, "kernel", None)
            assert scores.scores(rows, 1 - y).tobytes() == fast.tobytes()
