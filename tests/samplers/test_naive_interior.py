"""The interior sampler gives the rows of its plain version to the last bit, on the same draws."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_interior
from counterbalance import InteriorOverSampler
from counterbalance.constraints import Immutable, Increasing, MaxChanged, OneOf, Range
from naive_interior import Feature, Settings

TOWNS = ["north", "east", "south", "west"]


def seed_of(random_state):
    """Return the seed that all draws of a call belong to."""
    largest = np.iinfo(np.int64).max
    return int(np.random.RandomState(random_state).randint(largest, dtype=np.int64))


def table_of_numbers(seed, n_small=14):
    """Two overlapping clouds in three features, without ties."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [40, n_small])
    return rng.normal(size=(len(y), 3)) + 0.8 * y[:, None], y


def mixed_table(seed, n_small=14):
    """Numbers on grids and off them, levels, a switch, gaps, and a column that never varies."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [40, n_small])
    n = len(y)
    income = rng.normal(30, 5, n) + 3 * y
    income[rng.random(n) < 0.15] = np.nan
    town = rng.choice(4, n).astype(float)
    town[rng.random(n) < 0.1] = np.nan
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": income,
            "weight": rng.normal(70, 9, n).astype(np.float32),
            "height": rng.normal(170, 9, n),
            "town": pd.Categorical.from_codes(
                [-1 if math.isnan(code) else int(code) for code in town], TOWNS
            ),
            "same": np.full(n, 4.0),
        }
    )
    return frame.sample(frac=1.0, random_state=seed).reset_index(drop=True), y


def codes_of(frame):
    """Return the cells as numbers, levels by their place."""
    town = frame["town"].cat.codes.to_numpy(dtype=float)
    plain = frame.assign(town=np.where(town < 0, np.nan, town))
    return [plain[name].to_numpy(dtype=float).tolist() for name in plain.columns]


def features_of(frame, **rules):
    kinds = {"age": {"per_unit": 1}, "weight": {"single": True}, "town": {"nominal": True}}
    return [
        Feature(cells, **kinds.get(name, {}), **rules.get(name, {}))
        for name, cells in zip(frame.columns, codes_of(frame), strict=True)
    ]


def both(X, y, features, reference, random_state=5, **parameters):
    """Resample with the fast sampler and with its reference, which has the same f."""
    sampler = InteriorOverSampler(random_state=random_state, plausible=False, **parameters)
    resampled, _ = sampler.fit_resample(X, y)
    f = sampler.estimator_
    f = f[-1] if hasattr(f, "steps") else f

    def score(row, _base):
        return f.predict_proba(np.array([row]))[0, 1]

    rows = np.flatnonzero(y == 1).tolist()
    asked = int(np.sum(y == 0) - len(rows))
    expected, bases = naive_interior.resample(
        features, rows, 1, asked, seed_of(random_state), score, reference
    )
    return sampler, resampled[len(y) :], np.array(expected), bases


def assert_same(sampler, new, expected, bases):
    assert len(expected)
    found = np.array(codes_of(new)).T if isinstance(new, pd.DataFrame) else new
    made = np.flatnonzero(sampler.provenance_["origin"] == "interior")
    assert sampler.provenance_["factual"][made].tolist() == bases
    assert found[made].tobytes() == expected.tobytes()


@settings(max_examples=8)
@given(
    seed=st.integers(0, 10_000),
    spread=st.floats(0.05, 4.0),
    between=st.floats(0.0, 1.0),
    agreement=st.floats(0.0, 5.0),
)
def test_rows_of_numbers_are_those_of_the_twin(seed, spread, between, agreement):
    X, y = table_of_numbers(seed)
    features = [Feature(column.tolist()) for column in X.T]
    drawn = {"spread": spread, "between": between, "agreement": agreement}
    assert_same(*both(X, y, features, Settings(**drawn), random_state=seed, **drawn))


@pytest.mark.parametrize("between", [0.0, 0.3, 1.0])
def test_rows_of_a_mixed_frame_are_those_of_the_twin(between):
    X, y = mixed_table(1)
    features = features_of(X)
    assert_same(*both(X, y, features, Settings(between=between), between=between))


def test_rows_under_constraints_are_those_of_the_twin():
    X, y = mixed_table(2)
    X["height"] = X["height"].round(-1)
    heights = (150.0, 160.0, 170.0, 180.0, 190.0)
    features = features_of(
        X,
        town={"frozen": True},
        age={"rising": True},
        income={"low": 24.0, "high": 39.0},
        height={"levels": heights, "per_unit": 1},
    )
    rules = [
        Immutable("town"),
        Increasing("age"),
        Range("income", 24, 39),
        OneOf("height", heights),
        MaxChanged(2),
        "age >= 21",
    ]
    reference = Settings(most_changed=2, relation=lambda row: row[0] >= 21)
    assert_same(*both(X, y, features, reference, constraints=rules))


def test_a_class_of_few_rows_has_as_many_partners_as_there_are():
    X, y = table_of_numbers(3, n_small=3)
    features = [Feature(column.tolist()) for column in X.T]
    assert_same(*both(X, y, features, Settings(between=0.8), between=0.8))


def test_the_twin_refuses_ties_because_they_have_no_order():
    features = [Feature([0.0, 1.0, 2.0])]
    with pytest.raises(AssertionError, match="ties"):
        naive_interior.nearest(features, [1.0], [[0.0], [1.0], [2.0]], range(3), 1)


@given(seed=st.integers(0, 10_000), most_sampled=st.sampled_from([2, 5, 9]))
@settings(max_examples=8)
def test_a_class_of_many_rows_is_met_by_a_sample_of_them(seed, most_sampled):
    X, y = table_of_numbers(seed, n_small=13)
    features = [Feature(column.tolist()) for column in X.T]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("counterbalance.rows.interior.MOST_SAMPLED", most_sampled)
        assert_same(*both(X, y, features, Settings(most_sampled=most_sampled)))


def test_a_mixed_class_of_many_rows_is_met_by_a_sample_of_them(monkeypatch):
    monkeypatch.setattr("counterbalance.rows.interior.MOST_SAMPLED", 8)
    frame, y = mixed_table(3)
    assert_same(*both(frame, y, features_of(frame), Settings(most_sampled=8)))
