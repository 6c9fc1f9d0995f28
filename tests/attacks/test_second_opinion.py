"""Tables and classifiers that leave f, or the second opinion, little to go by."""

import os
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import Immutable
from counterbalance.errors import CounterbalanceError, ShortfallWarning

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning"),
]
N = 2000 if os.environ.get("COUNTERBALANCE_ATTACK") else 120
RNG = np.random.default_rng(0)
Y = np.where(np.arange(N) % 10 == 0, 1, 0)
X = RNG.normal(size=(N, 3)) + 1.5 * Y[:, None]


def two(labels):
    """Two rows only are of the class."""
    return np.where(np.cumsum(labels) <= 2, labels, 0)


def with_column(column):
    return np.column_stack([X, column])


TABLES = {
    "two rows of the class": (X, two(Y)),
    "one row of the class": (X, np.where(np.arange(N) == 0, 1, 0)),
    "two rows of each of two classes": (X, two(Y) + 2 * two(np.roll(Y, 1))),
    "three classes": (X + (np.arange(N) % 3 == 1)[:, None], Y + 2 * (np.arange(N) % 7 == 1)),
    "constant columns": (np.column_stack([X[:, 0], np.full((N, 5), 0.1)]), Y),
    "three hundred features": (np.hstack([X, RNG.normal(size=(N, 297))]), Y),
    "missing cells": (np.where(RNG.random(X.shape) < 0.3, np.nan, X), Y),
    "a column that is missing": (with_column(np.full(N, np.nan)), Y),
    "a column too large to square": (with_column(np.where(np.arange(N) % 2, 1e200, -1e200)), Y),
    "a column too small to square": (with_column(np.arange(N) * 5e-324), Y),
    "a category of many levels": (
        pd.DataFrame(X).assign(town=[f"town {k % 50}" for k in range(N)]).rename(columns=str),
        Y,
    ),
    "a category that only one row has": (
        pd.DataFrame(X).assign(odd=np.where(np.arange(N) == 3, "yes", "no")).rename(columns=str),
        Y,
    ),
    "rows that are all alike but for their class": (np.round(X / 9) + Y[:, None], Y),
}


@pytest.mark.filterwarnings("ignore::counterbalance.errors.IdentifierWarning")
@pytest.mark.parametrize("search", ["minimum", "perturb"])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_tells_little_is_balanced_all_the_same(name, search):
    rows, y = TABLES[name]
    sampler = CounterfactualOverSampler(n_draws=3, search=search, random_state=0)
    X_new, y_new = sampler.fit_resample(rows, y)
    assert len(set(Counter(y_new.tolist()).values())) == 1
    by_f = sampler.provenance_["origin"] == "inversion"
    new = sampler.provenance_["sample"][by_f]
    said = sampler.estimator_.predict(X_new)
    assert (np.asarray(said)[new] == np.asarray(y_new)[new]).all()
    again = CounterfactualOverSampler(n_draws=3, search=search, n_jobs=2, random_state=0)
    with config_context(working_memory=1):
        other, _ = again.fit_resample(rows, y)
    pd.testing.assert_frame_equal(pd.DataFrame(other), pd.DataFrame(X_new), check_exact=True)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_weights_that_are_mostly_zero_leave_something_to_fit(share):
    weight = np.where(np.arange(N) % 4 == 0, 1.0, 0.0)
    sampler = CounterfactualOverSampler(sampling_strategy=share, random_state=0)
    _, y_new = sampler.fit_resample(X, Y, sample_weight=weight)
    assert (y_new == 1).sum() == int(share * (Y == 0).sum())


def test_a_class_that_f_never_says_is_filled_within():
    f = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, np.where(X[:, 0] > 0, 0, 2))
    f.classes_ = np.array([0, 1])  # says 1 for low values, where the class is not
    rare = np.where(np.arange(N) == int(np.argmax(X[:, 0])), 1, 0)
    sampler = CounterfactualOverSampler(estimator=FrozenEstimator(f), epsilon=1e-9, random_state=0)
    with pytest.warns(ShortfallWarning, match="0 inversions found"):
        sampler.fit_resample(X, rare)
    assert set(sampler.provenance_["origin"]) <= {"interior", "copy"}


def test_an_f_that_always_says_the_same_is_refused():
    sampler = CounterfactualOverSampler(estimator=DummyClassifier(), random_state=0)
    with pytest.raises(CounterbalanceError, match="every row"):
        sampler.fit_resample(X, Y)


def test_a_fitted_f_is_asked_and_the_second_opinion_is_fitted_to_the_table():
    f = DecisionTreeClassifier(max_depth=3, class_weight="balanced", random_state=0).fit(X, Y)
    sampler = CounterfactualOverSampler(
        estimator=FrozenEstimator(f), sampling_strategy=0.2, random_state=0
    )
    X_new, y_new = sampler.fit_resample(X, Y)
    assert sampler.estimator_.estimator is f
    by_f = sampler.provenance_["origin"] == "inversion"
    assert by_f.any()
    assert (f.predict(X_new[N:][by_f]) == y_new[N:][by_f]).all()


def test_constraints_that_forbid_everything_are_refused_and_do_not_hang():
    sampler = CounterfactualOverSampler(constraints=[Immutable(m) for m in range(3)])
    with pytest.raises((CounterbalanceError, ValueError), match="change"):
        sampler.fit_resample(X, Y)


def test_constraints_that_hardly_allow_anything_leave_few_inversions_and_that_is_said():
    sampler = CounterfactualOverSampler(
        constraints=[Immutable(0), Immutable(1)], epsilon=0.2, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sampler.fit_resample(X, Y)
    origin = Counter(sampler.provenance_["origin"].tolist())
    found = origin["inversion"]
    assert origin["interior"]
    assert any(f"{found} inversions found under the constraints" in str(w.message) for w in caught)


@pytest.mark.parametrize("cell", [np.inf, -np.inf])
def test_an_infinite_cell_is_refused_before_any_model_sees_it(cell):
    rows = X.copy()
    rows[3, 1] = cell
    with pytest.raises(ValueError, match=r"infinit|finite"):
        CounterfactualOverSampler(random_state=0).fit_resample(rows, Y)
