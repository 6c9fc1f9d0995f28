"""Numbers that could mislead the compiled search with a linear f: what f says is found."""

import os

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import Increasing, MaxChanged, Range
from counterbalance.search import algorithm_1
from counterbalance.search.algorithm_1 import first_inversions
from counterbalance.search.structure import read_structure

N_SEEDS = 40 if os.environ.get("COUNTERBALANCE_ATTACK") else 2
pytestmark = [
    pytest.mark.slow,
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


def hostile(column, seed):
    """Return a table with a hostile column, and a linear f with hostile weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 4))
    X[:, 1] = COLUMNS[column](X[:, 1])
    X[:, 2] = np.rint(3 * X[:, 2])
    size = np.abs(X).max(axis=0)
    y = (X[:, 0] + 0.5 * X[:, 1] / size[1] + rng.normal(size=150) > 1).astype(int)
    f = LogisticRegression().fit(X / size, y)
    # A weight of nothing, and one that outweighs all others.
    f.coef_ = f.coef_ / size * [1.0, 1.0, 0.0 if seed % 2 else 1e3, 1.0]
    return X, y, f


@pytest.mark.parametrize("search", ["minimum", "perturb"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("column", COLUMNS)
def test_hostile_numbers_give_inversions_that_keep_the_rules(column, rule, search):
    n_new = 0
    for seed in range(N_SEEDS):
        X, y, f = hostile(column, seed)
        for epsilon in (None, 0.5):
            sampler = CounterfactualOverSampler(
                estimator=FrozenEstimator(f),
                search=search,
                constraints=RULES[rule],
                epsilon=epsilon,
                n_draws=4,
                on_shortfall="accept",
                random_state=seed,
            )
            new = sampler.fit_resample(X, y)[0][len(X) :]
            n_new += len(new)
            if not len(new):
                continue
            assert (f.predict(new) == 1).all()
            assert (new >= X.min(axis=0)).all()
            assert (new <= X.max(axis=0)).all()
            if epsilon is not None:
                assert sampler.provenance_["distance"].max() < epsilon
    assert n_new


@pytest.mark.skipif(
    algorithm_1.kernel is None, reason="no kernel: install a C compiler, then make clean test"
)
@pytest.mark.parametrize("rule", ["none", "upwards"])
@pytest.mark.parametrize("column", COLUMNS)
def test_the_kernel_is_not_misled_by_hostile_numbers(column, rule):
    for seed in range(N_SEEDS):
        X, y, f = hostile(column, seed)
        for epsilon in (None, 0.5):
            prepared = CounterfactualOverSampler(
                estimator=FrozenEstimator(f),
                constraints=RULES[rule],
                epsilon=epsilon,
                n_draws=4,
                random_state=seed,
            ).prepare(X, y)
            known = read_structure(prepared.space, prepared.f, prepared.table)
            rows = np.flatnonzero((y == 0) & (prepared.predict() == 0))
            wanted = np.tile([False, True], (len(rows), 1))
            given = X[rows], rows, wanted
            asked = algorithm_1._by_asking(
                prepared.space,
                lambda x, _, s=known.screen: s.certain(x),
                *given,
                any_draw=False,
                rules=None,
            )
            np.testing.assert_array_equal(first_inversions(prepared.space, known, *given), asked)
