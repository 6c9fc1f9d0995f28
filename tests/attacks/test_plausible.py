"""Tables that tell little, too much, or nonsense about what goes together."""

import os
from contextlib import nullcontext, suppress

import numpy as np
import pandas as pd
import pytest

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.errors import CounterbalanceError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
N = 2000 if os.environ.get("COUNTERBALANCE_ATTACK") else 160
rng = np.random.default_rng(0)
Y = np.where(np.arange(N) % 8 == 0, "few", "many")
NUMBER = rng.normal(size=N) + 2 * (Y == "few")
LETTERS = rng.choice(list("abc"), N)


def frame(**columns):
    return pd.DataFrame({"number": NUMBER, "letter": LETTERS, **columns})


TABLES = {
    "constant columns": frame(one=1.0, same="x", none=pd.Series([None] * N, dtype=object)),
    "one level": frame(level=pd.Categorical(["only"] * N, categories=["only", "never"])),
    "all missing": frame(gap=np.nan),
    "two hundred categories": frame(
        **{f"c{k}": rng.choice(list("xyz"), N) for k in range(200)},
    ),
    "a category of many levels": frame(town=[f"town {k % 77}" for k in range(N)]),
    "a category for each row": frame(name=[f"row {k}" for k in range(N)]),
    "duplicate columns": frame(**{f"copy{k}": NUMBER for k in range(6)}, again=LETTERS),
    "duplicate names": pd.DataFrame({"a": NUMBER, "b": LETTERS, "c": NUMBER + 1}).set_axis(
        ["a", "b", "a"], axis=1
    ),
    "whole numbers": frame(
        whole=rng.integers(0, 9, N), more=rng.integers(0, 9, N).astype("int8")
    ).assign(both=lambda x: x["whole"] + x["more"]),
    "sum of floats of half width": frame(low=NUMBER.astype("float32")).assign(
        twice=lambda x: x["low"] * np.float32(2)
    ),
    "huge and tiny": frame(huge=NUMBER * 1e300, tiny=NUMBER * 1e-300, zero=NUMBER * 0.0),
    "mostly zero": frame(a=np.where(rng.random(N) < 0.95, 0, 1.5)).assign(
        b=lambda x: x["a"] * 2, c=lambda x: x["a"] * x["number"]
    ),
    "a circle": frame(a=NUMBER * 2, b=NUMBER * 4).assign(c=lambda x: x["a"] + x["b"]),
    "gaps that go together": frame(
        a=np.where(LETTERS == "a", np.nan, NUMBER), b=np.where(LETTERS == "a", np.nan, 1 - NUMBER)
    ),
    "names like formulas": frame(**{"a * b": NUMBER, "follows": NUMBER * 2, "1": NUMBER + 5}),
    "every pair is new": frame(
        a=[f"a{k // 5}" for k in range(N)], b=[f"b{k % (N // 5)}" for k in range(N)]
    ),
}

# What may be refused without plausible rows, too.
REFUSED = ("duplicate names", "huge and tiny")


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("sampler", [CounterfactualOverSampler, InteriorOverSampler])
def test_a_strange_table_is_balanced_or_refused_in_words(name, sampler):
    X = TABLES[name]
    refused = nullcontext() if name not in REFUSED else suppress(CounterbalanceError, ValueError)
    resampled = y = None
    with refused:
        resampled, y = sampler(random_state=0, plausible=True).fit_resample(X, Y)
    if resampled is None:
        return
    assert (y == "few").sum() == (y == "many").sum() == len(resampled) / 2


@pytest.mark.parametrize("sampler", [CounterfactualOverSampler, InteriorOverSampler])
@pytest.mark.parametrize("n_few", [2, 3])
def test_a_class_of_two_rows_is_balanced(sampler, n_few):
    y = np.repeat(["many", "few"], [N - n_few, n_few])
    X = frame(total=NUMBER * 3)
    resampled, labels = sampler(random_state=0, plausible=True).fit_resample(X, y)
    assert (labels == "few").sum() == N - n_few
    assert np.allclose(resampled["total"], resampled["number"] * 3)


def test_dates_are_treated_as_without_plausible():
    X = frame(day=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), "D"))
    answers = []
    for plausible in (False, True):
        try:
            CounterfactualOverSampler(random_state=0, plausible=plausible).fit_resample(X, Y)
            answers.append("balanced")
        except CounterbalanceError as error:
            answers.append(str(error))
    assert answers[0] == answers[1]
