"""Origins: new rows are counted, counterfactuals first, and said for what they are."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler
from counterbalance.errors import ShortfallWarning
from counterbalance.rows.origins import (
    FEW,
    MOST_PER_ROW,
    MOST_PER_ROW_AT_ALL,
    ORIGINS,
    add_counts,
    all_gives_fewer,
    all_inflated,
    count_origins,
    find_inflated,
    most_from_one,
    tell_inflated,
    tell_origins,
)

counts = st.fixed_dictionaries(dict.fromkeys(ORIGINS, st.integers(0, 5000)))


@given(made=counts)
def test_all_counts_are_said_and_counterfactuals_come_first(made):
    sentences = tell_origins(made)
    total, found = sum(made.values()), made["inversion"]
    if not total:
        assert sentences == []
        return
    said = " ".join(sentences)
    for origin, words in (("interior", "made within their class"), ("copy", "of real rows.")):
        assert any(
            one.startswith(f"{made[origin]:,} ") and words in one for one in sentences
        ) == bool(made[origin])
    if found:
        assert sentences[0].startswith(f"{found:,} of {total:,} new rows")
    assert ("Too few rows of larger classes" in said) == (0 < found < total / 2)


@given(made=counts, rows=st.integers(1, 3000))
def test_a_class_of_the_advised_size_is_not_inflated(made, rows):
    found = find_inflated("x", rows, made)
    new = sum(made.values())
    nearest = made["inversion"]
    few = new > MOST_PER_ROW * rows and nearest < FEW * new
    assert (found is not None) == (few or new > MOST_PER_ROW_AT_ALL * rows)
    if found is None:
        return
    assert rows < found.most < rows + new
    # the inversions come first, the rest of what is advised is filled up
    fewer = {"inversion": min(nearest, found.most - rows)}
    fewer["interior"] = found.most - rows - fewer["inversion"]
    assert find_inflated("x", rows, fewer) is None


@given(made=counts, rows=st.integers(1, 50))
def test_inversions_alone_inflate_a_class_only_by_a_hundred_to_one(made, rows):
    found = find_inflated("x", rows, {"inversion": made["inversion"]})
    assert (found is not None) == (made["inversion"] > 100 * rows)
    if found is not None:  # every inversion there is would be no fewer
        assert not all_gives_fewer([found])


def test_the_worst_class_is_named_first_and_not_all_are():
    made = {label: {"interior": 1000} for label in "abcdef"}
    found = all_inflated(made, {"a": 50, "b": 2, "c": 40, "d": 30, "e": 20, "f": 10})
    assert [one.label for one in found] == list("bfedca")
    text = tell_inflated(found, "REMEDY")
    assert text.startswith("class 'b' has 2 rows and got 1,000 new ones (500 for each real row; ")
    assert "3 more classes likewise" in text
    assert text.endswith("Ask for fewer: REMEDY")


@pytest.mark.parametrize("search", ["minimum", "perturb"])
def test_the_counts_are_those_of_the_provenance(search):
    y = np.repeat([0, 1], [200, 20])
    X = np.random.default_rng(0).normal(size=(220, 3)) + 1.2 * y[:, None]
    sampler = CounterfactualOverSampler(
        estimator=LogisticRegression(), search=search, n_draws=3, epsilon=3, random_state=0
    )
    with pytest.warns(ShortfallWarning) as caught:
        sampler.fit_resample(X, y)
    made = count_origins(sampler.provenance_)
    assert set(made) == {1}
    assert set(made[1]) == set(ORIGINS) == {"inversion", "interior", "copy"}
    assert add_counts([made[1]]) == made[1]
    assert sum(made[1].values()) == 180
    message = str(caught[0].message)
    assert int(re.search(r"(\d+) inversions found", message)[1]) == made[1]["inversion"]
    assert int(re.search(r"(\d+) more by interpolating", message)[1]) == made[1]["interior"]
    by_f = sampler.provenance_["origin"] == "inversion"
    most = max(np.bincount(sampler.provenance_["factual"][by_f]))
    assert most_from_one(sampler.provenance_) == most
    assert (most == 1) == (search == "minimum")
