"""Columns that say which row it is are recognised, and the samplers warn of them, once."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import datasets

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.cli.table_checks import Topic, look_at_column
from counterbalance.constraints import Immutable
from counterbalance.errors import IdentifierWarning
from counterbalance.table.table import identifiers, read_table

SAMPLERS = [CounterfactualOverSampler, InteriorOverSampler]
N = 60
RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], [45, 15])
AGE = RNG.normal(50, 10, N) + 10 * Y

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


def looks_like_identifier(cells, name):
    """Return whether a column beside another one looks like an identifier."""
    frame = pd.DataFrame({"measured": AGE[: len(cells)], name: cells})
    return [m for m, *_ in identifiers(read_table(frame))] == [1]


IDENTIFYING = [
    (range(N), "anything"),
    (np.arange(N) * 37, "patient_id"),
    (np.arange(N) * 37.0, "customerID"),
    ([f"person {k}" for k in range(N)], "name"),
    (pd.array([*range(0, 3 * N - 3, 3), None], dtype="Int64"), "id"),
]
DESCRIBING = [
    (RNG.integers(20_000, 90_000, N), "income"),
    (RNG.normal(size=N), "height"),
    (RNG.normal(size=N), "measurement_no"),
    (np.arange(N) / 1.0, "time"),
    (["A", "B"] * (N // 2), "ward_id"),
    (pd.Categorical([f"level {k}" for k in range(N)]), "level"),
    (RNG.random(N) < 0.5, "valid"),
    (np.arange(12), "id"),
]


@pytest.mark.parametrize(("cells", "name"), IDENTIFYING)
def test_identifiers_are_recognised(cells, name):
    assert looks_like_identifier(cells, name)


@pytest.mark.parametrize(("cells", "name"), DESCRIBING)
def test_measurements_and_categories_are_not_taken_for_identifiers(cells, name):
    assert not looks_like_identifier(cells, name)


def test_the_command_line_recognises_the_same_identifiers():
    for cells, name in (*IDENTIFYING, *DESCRIBING[:7]):
        column = pd.Series(cells)
        if column.dtype.kind == "f":  # a file's identifiers are read as whole numbers
            continue
        finding = look_at_column(column, name)
        assert looks_like_identifier(cells, name) == (
            finding is not None and finding.topic is Topic.IDENTIFIER
        )


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_samplers_warn_once_and_name_every_such_column(sampler, container):
    X = container({"age": AGE, "id": np.arange(N), "name": [f"person {k}" for k in range(N)]})
    with pytest.warns(IdentifierWarning) as heard:
        sampler(random_state=0).fit_resample(X, Y)
    (text,) = [str(w.message) for w in heard if w.category is IdentifierWarning]
    assert "'id' (60 different values), 'name' (60" in text
    assert "use=['id', 'name']" in text


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_an_immutable_identifier_is_not_warned_of(sampler):
    X = pd.DataFrame({"age": AGE, "id": np.arange(N)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", IdentifierWarning)
        sampler(random_state=0, constraints=Immutable("id")).fit_resample(X, Y)
        sampler(random_state=0).fit_resample(X[["age"]], Y)
        sampler(random_state=0).fit_resample(np.arange(N)[:, None], Y)


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits", "diabetes"])
def test_public_tables_of_measurements_have_no_identifiers(name):
    X = getattr(datasets, f"load_{name}")(as_frame=True).data
    assert identifiers(read_table(X)) == []
    assert identifiers(read_table(X.to_numpy())) == []
