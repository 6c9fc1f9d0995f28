"""Numbers that could mislead the bounds of the compiled search with a linear f: the same rows."""

import os

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import Increasing, MaxChanged, Range
from counterbalance.search import compiled

N_SEEDS = 40 if os.environ.get("COUNTERBALANCE_ATTACK") else 2
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not compiled.is_compiled(), reason="no kernel: install a C compiler, then make clean test"
    ),
    pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning"),
]

# What happens to a column of standard normals.
COLUMNS = {
    "tiny": lambda x: x * 1e-290,
    "huge": lambda x: x * 1e290,
    "far from zero": lambda x: x + 1e9,
    "past the grid of a float": lambda x: np.rint(x * 1e15),
    "two values": lambda x: np.where(x > 0, 1.0, 0.0),
    "one outlier": lambda x: np.append(x[1:], 1e12),
    "all but one the same": lambda x: np.append(np.zeros(len(x) - 1), 1.0),
    "halves": lambda x: np.rint(2 * x) / 2,
}
RULES = {
    "none": None,
    "off the grid": Range(2, -2.3, 3.7),
    "upwards": [Increasing(0), Increasing(1)],
    "one change": MaxChanged(1),
}


def rows(X, y, f, seed, rule, epsilon):
    sampler = CounterfactualOverSampler(
        estimator=f,
        prefit=True,
        constraints=rule,
        epsilon=epsilon,
        n_draws=4,
        snap_to_grid=True,
        on_shortfall="accept",
        random_state=seed,
    )
    return sampler.fit_resample(X, y)[0]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("column", COLUMNS)
def test_hostile_numbers_give_the_rows_that_they_give_without_the_kernel(column, rule, monkeypatch):
    n_new = 0
    for seed in range(N_SEEDS):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(150, 4))
        X[:, 1] = COLUMNS[column](X[:, 1])
        X[:, 2] = np.rint(3 * X[:, 2])
        size = np.abs(X).max(axis=0)
        y = (X[:, 0] + 0.5 * X[:, 1] / size[1] + rng.normal(size=150) > 1).astype(int)
        f = LogisticRegression().fit(X / size, y)
        # A weight of nothing, and one that outweighs all others.
        f.coef_ = f.coef_ / size * [1.0, 1.0, 0.0 if seed % 2 else 1e3, 1.0]
        for epsilon in (None, 0.5):
            ours = rows(X, y, f, seed, RULES[rule], epsilon)
            with monkeypatch.context() as patch:
                patch.setattr(compiled, "kernel", None)
                theirs = rows(X, y, f, seed, RULES[rule], epsilon)
            assert np.array_equal(ours, theirs)
            n_new += len(ours) - len(X)
    assert n_new
