"""Relations that nearly all rows keep are found, and those that say nothing are not."""

import numpy as np
import pandas as pd
import pytest

from counterbalance.plausible.relations import find_relations
from counterbalance.profile import profile_table
from counterbalance.table.table import read_table


def found(frame):
    table = read_table(frame)
    profile = profile_table(table, np.arange(len(frame)) % 2)
    return find_relations(table.names, table.kinds, profile, table.rows(slice(None)))


def texts(frame):
    return [one.text for one in found(frame)]


@pytest.fixture
def frame():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "months": rng.integers(1, 73, 500),
            "monthly": rng.uniform(18, 120, 500).round(2),
            "parts": rng.lognormal(3, 1, 500),
        }
    )


def test_a_product_is_found_although_it_is_only_near(frame):
    noise = np.random.default_rng(2).normal(1, 0.02, 500)
    frame["total"] = frame["months"] * frame["monthly"] * noise
    assert texts(frame) == ["total follows months * monthly"]
    assert found(frame)[0].kept >= 0.99


def test_a_ratio_follows_its_parts_if_it_comes_behind_them(frame):
    frame["each day"] = frame["monthly"] / frame["parts"]
    assert texts(frame) == ["`each day` follows monthly / parts"]


def test_a_sum_is_found_whatever_the_order_of_the_columns(frame):
    frame.insert(0, "total", frame["monthly"] + frame["parts"])
    assert "total follows monthly + parts" in texts(frame)


def test_a_sum_of_three_is_found(frame):
    frame["total"] = frame["monthly"] + frame["parts"] + frame["months"]
    assert "total follows months + monthly + parts" in texts(frame)


def test_a_copy_and_a_multiple_with_an_offset_are_found(frame):
    frame["again"] = frame["parts"]
    frame["fahrenheit"] = 1.8 * frame["monthly"] + 32
    assert {"again follows parts", "fahrenheit follows 1.8 * monthly + 32"} <= set(texts(frame))


def test_a_falling_multiple_reads_back(frame):
    frame["left"] = 100 - 2 * frame["monthly"]
    assert "left follows 0 - 2 * monthly + 100" in texts(frame)


def test_an_order_is_found_and_not_what_follows_from_two_others(frame):
    rng = np.random.default_rng(3)
    frame["middle"] = frame["parts"] + rng.exponential(9, 500)
    frame["most"] = frame["middle"] + rng.exponential(9, 500)
    assert set(texts(frame)) == {"parts <= middle", "middle <= most"}


def test_an_order_that_chance_would_give_is_none():
    rng = np.random.default_rng(3)
    assert not texts(pd.DataFrame({"age": rng.uniform(0, 90, 300), "pay": rng.normal(1e4, 9, 300)}))


def test_columns_without_relations_have_none(frame):
    frame["town"] = np.random.default_rng(4).choice(list("abc"), 500)
    assert not texts(frame)


def test_bands_and_categories_that_another_column_tells_are_found(frame):
    frame["band"] = pd.cut(frame["months"], [0, 12, 24, 72]).astype(str)
    frame["town"] = np.random.default_rng(4).choice(list("abcd"), 500)
    frame["country"] = frame["town"].map({"a": "x", "b": "x", "c": "y", "d": "y"})
    frame["fee"] = frame["town"].map({"a": 1.0, "b": 2.5, "c": 2.5, "d": 7.0})
    assert {"band follows months", "country follows town", "fee follows town"} <= set(texts(frame))


@pytest.mark.parametrize("n", [60, 200, 500])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.5])
def test_a_number_with_a_value_for_every_row_does_not_tell_a_column_of_chance(n, share):
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.normal(size=(n, 12)), columns=list("abcdefghijkl"))
    for name in ("flag", "other", "third"):
        frame[name] = np.where(rng.random(n) < share, "yes", "no")
    assert not texts(frame)


def test_a_number_with_a_value_for_every_row_tells_its_bands(frame):
    frame["size"] = pd.cut(frame["parts"], [0, 8, 20, 60, np.inf]).astype(str)
    frame["huge"] = np.where(frame["parts"] > frame["parts"].quantile(0.97), "yes", "no")
    assert frame["parts"].is_unique
    assert {"size follows parts", "huge follows parts"} <= set(texts(frame))


def test_a_number_that_mostly_tells_a_category_does_not(frame):
    noise = np.random.default_rng(7).normal(0, 3, 500)
    frame["large"] = np.where(frame["parts"] + noise > 20, "yes", "no")
    assert not texts(frame)


def test_a_code_tells_a_category_and_a_number_that_names_a_person_does_not(frame):
    rng = np.random.default_rng(9)
    kind = rng.choice(["house", "flat"], 20)
    code = rng.integers(0, 20, 500)
    person = rng.integers(0, 120, 500)
    frame["code"], frame["kind"] = code * 10, kind[code]
    frame["beauty"] = rng.normal(size=120)[person]
    frame["gender"] = rng.choice(["f", "m"], 120)[person]
    assert texts(frame) == ["kind follows code"]


def test_levels_of_one_row_each_prove_nothing(frame):
    town = np.random.default_rng(8).choice(list("abcd"), 500).astype(object)
    town[:60] = [f"t{i}" for i in range(60)]
    frame["town"], frame["flag"] = town, np.where(np.arange(500) < 30, "yes", "no")
    assert not texts(frame)


def test_a_hundredth_of_the_rows_may_break_a_relation_and_a_tenth_may_not(frame):
    frame["total"] = frame["monthly"] + frame["parts"]
    few, many = frame.copy(), frame.copy()
    few.loc[:3, "total"] *= 9
    many.loc[:49, "total"] *= 9
    assert "total follows monthly + parts" in texts(few)
    assert not any("follows" in text for text in texts(many))


def test_few_rows_tell_nothing(frame):
    frame["again"] = frame["parts"]
    assert not texts(frame.head(40))


def test_names_that_no_relation_can_have_are_left_out(frame):
    frame[7] = frame["parts"]
    frame["a `quoted` name"] = frame["parts"]
    assert not texts(frame)
