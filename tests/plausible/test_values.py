"""A column of numbers takes the values that the table shows: codes, steps, endings, no gaps."""

import numpy as np
import pandas as pd
import pytest

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.plausible.values import values_of_number

RNG = np.random.default_rng(0)
SAMPLERS = [CounterfactualOverSampler, InteriorOverSampler]
pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


def test_codes_take_seen_values_only():
    cells = RNG.choice([1.0, 2, 5, 7, 10, 39], 300)
    assert values_of_number(cells, 1.0).tolist() == [1, 2, 5, 7, 10, 39]


def test_a_scale_without_a_gap_needs_no_list():
    assert values_of_number(RNG.integers(1, 11, 300).astype(float), 1.0) is None


@pytest.mark.parametrize("step", [5, 25, 10_000])
def test_a_step_is_found_and_a_dirty_value_is_no_value(step):
    cells = RNG.integers(0, 900, 1000) * float(step)
    cells[0] = 3.0
    values = values_of_number(cells, 1.0)
    assert (values % step == 0).all()
    assert len(values) > 880


def test_prices_end_as_those_of_the_table():
    cells = RNG.integers(1, 900, 1000) + RNG.choice([0.99, 0.49], 1000)
    values = values_of_number(np.round(cells, 2), 100.0)
    assert set(np.rint(values * 100).astype(int) % 100) == {99, 49}


def test_a_gap_between_zero_and_the_least_grade_is_kept():
    cells = np.where(RNG.random(500) < 0.2, 0.0, RNG.uniform(10, 19, 500))
    values = values_of_number(cells, 0.0)
    assert not ((values > 0) & (values < 10)).any()
    rounded = values_of_number(np.round(cells, 4), 1e4)
    assert not ((rounded > 0) & (rounded < 10)).any()


@pytest.mark.parametrize(
    "cells", [RNG.normal(size=400), RNG.lognormal(size=400), RNG.integers(0, 400, 400) * 1.0]
)
def test_measurements_are_free(cells):
    assert values_of_number(cells, 1.0 if (cells % 1 == 0).all() else 0.0) is None


def test_few_rows_and_one_value_say_nothing():
    assert values_of_number(np.arange(20.0) * 5, 1.0) is None
    assert values_of_number(np.ones(100), 1.0) is None
    assert values_of_number(np.full(100, np.nan), 0.0) is None


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_new_rows_keep_codes_steps_endings_and_gaps(sampler):
    n = 600
    y = (RNG.random(n) < 0.2).astype(int)
    grade = np.where(RNG.random(n) < 0.2, 0.0, RNG.uniform(10, 19, n))
    X = pd.DataFrame(
        {
            "code": RNG.choice([1, 2, 5, 7, 39], n),
            "limit": RNG.integers(1, 500, n) * 10_000 + 50_000 * y,
            "price": np.round(RNG.integers(1, 500, n) + 0.99, 2),
            "grade": grade + (grade > 0) * y,
            "size": RNG.normal(size=n) + y,
        }
    )
    new = sampler(random_state=0).fit_resample(X, y)[0].iloc[n:]
    assert set(new["code"]) <= {1, 2, 5, 7, 39}
    assert (new["limit"] % 10_000 == 0).all()
    assert (np.rint(new["price"] * 100) % 100 == 99).all()
    assert not new["grade"].between(0, 10, inclusive="neither").any()
    assert new["size"].nunique() > 200
