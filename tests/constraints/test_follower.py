"""A column that is made of others moves along, and keeps what its row was off by."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import Follows, as_constraints, compile_rules
from counterbalance.errors import ConstraintError
from counterbalance.table.table import read_table

rng = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "a": rng.uniform(1, 9, 80),
        "b": rng.uniform(1, 9, 80),
        "town": pd.Categorical(rng.choice(["Bonn", "Köln", "Lyon"], 80)),
    }
)
TABLE["sum"] = TABLE["a"] + TABLE["b"]
TABLE["the product"] = TABLE["a"] * TABLE["b"] * 1.1
TABLE["country"] = TABLE["town"].astype(str).map({"Bonn": "D", "Köln": "D", "Lyon": "F"})
TABLE["twice"] = 2 * TABLE["sum"]


def rules_of(*texts):
    return compile_rules(list(texts), read_table(TABLE))


def moved(rules, **cells):
    """Change cells of the first row; return it, completed, by name."""
    old = read_table(TABLE).rows(slice(1))
    new = old.copy()
    for name, value in cells.items():
        new[0, list(TABLE.columns).index(name)] = value
    return dict(zip(TABLE.columns, rules.complete(new, old)[0], strict=True)), old[0]


@given(st.floats(1, 9), st.floats(1, 9))
def test_a_sum_keeps_its_difference_and_a_product_its_ratio(a, b):
    rules = rules_of("sum follows a + b", "`the product` follows a * b")
    new, old = moved(rules, a=a, b=b)
    assert new["sum"] == pytest.approx(a + b)
    assert new["the product"] == pytest.approx(1.1 * a * b)
    assert new["twice"] == old[list(TABLE.columns).index("twice")]


def test_a_ratio_of_columns_is_followed():
    new, old = moved(rules_of("a follows `the product` / b"), b=4.0)
    assert new["a"] == pytest.approx(old[0] * old[1] / 4)


def test_a_category_takes_what_goes_with_it():
    codes = read_table(TABLE).rows(slice(None))
    names = list(TABLE.columns)
    for town in range(3):
        new, _ = moved(rules_of("country follows town"), town=float(town))
        expected = codes[codes[:, names.index("town")] == town][0, names.index("country")]
        assert new["country"] == expected


def test_what_follows_a_follower_comes_after_it():
    new, _ = moved(rules_of("twice follows 2 * sum", "sum follows a + b"), a=3.0, b=5.0)
    assert new["twice"] == pytest.approx(16)


def test_a_row_whose_sources_stay_is_left_as_it_is():
    rules = rules_of("sum follows a + b", "`the product` follows a * b", "country follows town")
    rows = read_table(TABLE).rows(slice(None))
    assert rules.complete(rows, rows).tobytes() == rows.tobytes()


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["sum follows a + b", "sum follows a"], "second formula"),
        (["sum follows a + b", "a follows sum - b"], "follow itself"),
        (["a follows a + b"], "follow itself"),
        (["sum follows a + nothing"], "nothing"),
        (["sum follows a +"], "cannot be read"),
        (["sum follows 3"], "names no column"),
        (["sum follows a <= b"], "does not belong"),
    ],
)
def test_a_formula_that_cannot_be_is_refused(texts, says):
    with pytest.raises(ConstraintError, match=says):
        rules_of(*texts)


def test_the_text_of_a_follower_reads_back():
    (read,) = as_constraints("`the product` follows a * b")
    assert read == Follows("the product", "a * b")
    assert as_constraints(read.text) == [read]


def test_a_user_can_write_it_and_every_new_row_keeps_it():
    y = (TABLE["a"] + rng.normal(0, 1, 80) > 7).to_numpy()
    sampler = CounterfactualOverSampler(
        sampling_strategy="all",
        constraints=["sum follows a + b", "twice follows 2 * sum"],
        plausible=False,
        random_state=0,
    )
    X, _ = sampler.fit_resample(TABLE, y)
    assert len(X) > 90
    assert np.allclose(X["sum"], X["a"] + X["b"])
    assert np.allclose(X["twice"], 2 * X["sum"])
