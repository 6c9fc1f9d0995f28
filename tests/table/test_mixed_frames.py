"""Random mixed frames either come back faithful, with every promise kept, or are refused."""

import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, event, given, settings
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.errors import CounterbalanceError
from counterbalance.profile import distance
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.table import read_table
from mixed_frames import Case, assert_sound, cases

fuzzed = settings(suppress_health_check=list(HealthCheck))
occasionally = settings(max_examples=max(1, settings().max_examples // 20))

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


def tree():
    return DecisionTreeClassifier(max_depth=3, class_weight="balanced", random_state=0)


def resample(case, X, y, estimator):
    """Resample, or return nothing where the table was refused in one of the documented ways."""
    sampler = CounterfactualOverSampler(
        estimator=estimator, constraints=case.constraints, **case.settings
    )
    try:
        return sampler, *sampler.fit_resample(X, y)
    except CounterbalanceError as error:
        event(type(error).__name__)
        return None


def check_pandas(case: Case, estimator) -> None:
    X, y = case.pandas()
    before = X.copy(deep=True)
    result = resample(case, X, y, estimator)
    pd.testing.assert_frame_equal(X, before)
    if result is None:
        return
    sampler, X_new, y_new = result
    pd.testing.assert_frame_equal(X_new.iloc[: len(X)], X)
    pd.testing.assert_series_equal(y_new.iloc[: len(y)], y)
    pd.testing.assert_series_equal(X_new.dtypes, X.dtypes)
    assert X_new.index.is_unique
    assert X_new.index.equals(y_new.index)
    assert y_new.iloc[len(y) :].tolist() == sampler.provenance_["to_class"].tolist()
    assert len(set(y_new.value_counts())) == 1
    assert_sound(case, sampler, {name: X_new[name].tolist() for name in X_new}, len(X))
    assert_f_agrees(sampler, X_new.iloc[len(X) :])
    assert_distances_again(sampler, X_new)


def check_polars(case: Case, estimator) -> None:
    X, y = case.polars()
    result = resample(case, X, y, estimator)
    if result is None:
        return
    sampler, X_new, y_new = result
    assert X_new.schema == X.schema
    assert X_new.head(len(X)).equals(X)
    assert y_new.dtype == y.dtype
    assert y_new.to_list()[len(y) :] == sampler.provenance_["to_class"].tolist()
    assert_sound(case, sampler, X_new.to_dict(as_series=False), len(X))
    assert_f_agrees(sampler, X_new.slice(len(X)))
    assert_distances_again(sampler, X_new)


def assert_distances_again(sampler, X_new) -> None:
    """The distances of the provenance are those between the rows as returned."""
    rows = read_table(X_new).rows(slice(None))
    provenance = sampler.provenance_
    pairs = rows[provenance["factual"]], rows[provenance["sample"]]
    again = distance(sampler.profile_, sampler.feature_order_, *pairs)
    assert again.tobytes() == provenance["distance"].tobytes()


def assert_f_agrees(sampler, new) -> None:
    """The rows as returned, in the user's own container, are what f was asked about."""
    for place, row in enumerate(sampler.provenance_):
        if row["origin"] == "inversion":
            said = sampler.estimator_.predict(new[place : place + 1])
            assert said[0] == row["to_class"]
            return  # one row a frame is enough over thousands of frames


@fuzzed
@given(case=cases())
def test_a_pandas_frame_comes_back_faithful(case):
    check_pandas(case, make_pipeline(TableEncoder(), tree()))


@fuzzed
@given(case=cases())
def test_a_polars_frame_comes_back_faithful(case):
    check_polars(case, make_pipeline(TableEncoder(), tree()))


@occasionally
@given(case=cases())
def test_the_default_f_takes_any_pandas_frame(case):
    check_pandas(case, None)


@occasionally
@given(case=cases())
def test_the_default_f_takes_any_polars_frame(case):
    check_polars(case, None)


@given(case=cases())
def test_a_users_pipeline_sees_the_frame_as_it_is(case):
    texts = make_column_selector(dtype_include=["str", "object", "category", "bool", "boolean"])
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((encoder, texts), remainder="passthrough")
    check_pandas(case, make_pipeline(columns, tree()))


def test_polars_is_really_what_comes_out():
    X = pl.DataFrame({"a": [1.0, 2, 3, 4, 5, 6, 7, 8], "b": list("xxyyxyxy")})
    y = pl.Series("y", [0, 0, 0, 0, 0, 0, 1, 1])
    X_new, y_new = CounterfactualOverSampler(random_state=0).fit_resample(X, y)
    assert type(X_new) is pl.DataFrame
    assert type(y_new) is pl.Series
