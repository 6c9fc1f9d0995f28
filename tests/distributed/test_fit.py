"""f trained by all workers at once, by real libraries on real worker processes."""

from importlib import import_module

import dask
import dask.dataframe as dd
import numpy as np
import pytest

from counterbalance import CounterfactualOverSampler
from counterbalance.distributed import balance_files, fit_resample
from counterbalance.distributed.engine import DaskEngine
from counterbalance.distributed.prepare import PartitionedTable, prepare
from counterbalance.errors import ClassifierError, EngineError
from distributed import Client, LocalCluster
from large_tables import assert_same, in_memory, mixed_table, numeric_table

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="1GB", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as connected,
    ):
        yield connected


def library(name):
    """Import a library that brings compiled code; LightGBM needs the system's libgomp."""
    try:
        return import_module(name)
    except (ImportError, OSError) as error:
        pytest.skip(f"{name} cannot be imported: {error}; on Debian: apt-get install libgomp1")


def xgboost(**settings):
    f = library("xgboost.dask").DaskXGBClassifier
    return f(n_estimators=10, max_depth=4, **settings)


def lightgbm(**settings):
    f = library("lightgbm").DaskLGBMClassifier
    return f(n_estimators=10, num_leaves=8, verbose=-1, **settings)


def partitioned(table, n):
    """Cut a table into ``n`` partitions; the second one is empty."""
    ends = np.linspace(0, len(table), n).astype(int)
    places = [*np.split(np.arange(len(table)), ends[1:-1])]
    places.insert(1, np.zeros(0, dtype=int))
    parts = [table.iloc[rows] for rows in places]
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_map(lambda number: parts[number], range(n), meta=table.iloc[:0])


def sampler(estimator, **settings):
    return CounterfactualOverSampler(
        estimator=estimator, n_draws=4, on_shortfall="accept", random_state=0, **settings
    )


@pytest.mark.slow
@pytest.mark.parametrize("make", [lightgbm, xgboost])
@pytest.mark.parametrize("make_table", [numeric_table, mixed_table])
def test_a_classifier_trained_on_the_workers_is_an_f_like_any_other(client, make, make_table):
    table = make_table(900)
    resampled = fit_resample(sampler(make()), partitioned(table, 5), "y", client)
    f = resampled.estimator
    frame, provenance = dask.compute(resampled.frame, resampled.provenance)
    new = frame.iloc[len(table) :]
    assert len(new) > 20
    np.testing.assert_array_equal(f.predict(new.drop(columns="y")), new["y"])
    assert (f.predict(table.drop(columns="y")) == table["y"]).mean() > 0.85
    again = sampler(f, prefit=True)
    assert_same(frame, provenance, *in_memory(again, table))


@pytest.mark.slow
def test_files_are_balanced_with_a_dask_classifier(client, tmp_path):
    table = mixed_table(900)
    (tmp_path / "in").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[rows].to_parquet(tmp_path / "in" / f"{number}.parquet", index=False)
    weights = {"few": 3.0, "more": 2.0, "most": 1.0}
    own = sampler(lightgbm(class_weight=weights, client=client))
    result = balance_files(tmp_path / "in", "y", tmp_path / "out", sampler=own, client=client)
    assert result.after["few"] > result.before["few"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Parameter n_jobs will be ignored")
def test_a_classifier_that_the_user_trained_is_used_through_its_local_model(client):
    table = numeric_table(900)
    ddf = partitioned(table, 5)
    full = dd.from_pandas(table, npartitions=2)
    trained = lightgbm(client=client).fit(full.drop(columns="y"), full["y"])
    resampled = fit_resample(sampler(trained, prefit=True), ddf, "y", client)
    expected = in_memory(sampler(trained.to_local(), prefit=True), table)
    assert_same(*dask.compute(resampled.frame, resampled.provenance), *expected)


def source_of(table):
    parts = dd.from_pandas(table, npartitions=2).to_delayed()
    return PartitionedTable(list(parts), ["a", "b"], list(table.columns), "y", lambda _: [])


def test_a_dask_classifier_needs_a_cluster():
    with pytest.raises(EngineError, match=r"DaskLGBMClassifier, which needs a cluster"):
        prepare(
            DaskEngine(None, 10**9),
            source_of(numeric_table(300)),
            sampler(lightgbm()),
            "passes",
            None,
        )


@pytest.mark.slow
def test_errors_of_the_library_are_reported_with_the_name_of_the_classifier(client):
    ddf = dd.from_pandas(numeric_table(300), npartitions=2)
    with pytest.raises(ClassifierError, match=r"DaskLGBMClassifier could not be trained: "):
        fit_resample(sampler(lightgbm(boosting_type="no such")), ddf, "y", client)
    with pytest.raises(ClassifierError, match=r"not fitted"):
        fit_resample(sampler(lightgbm(), prefit=True), ddf, "y", client)
    with pytest.raises(ClassifierError, match=r"must be a scikit-learn classifier"):
        fit_resample(sampler(library("lightgbm").DaskLGBMRegressor()), ddf, "y", client)
    with pytest.raises(ClassifierError, match=r"names the class 'rare', which the target"):
        fit_resample(sampler(lightgbm(class_weight={"rare": 2.0})), ddf, "y", client)


@pytest.mark.slow
def test_a_table_larger_than_the_memory_of_all_workers_is_refused(client):
    small = DaskEngine(client, memory=10_000)
    with pytest.raises(EngineError, match=r"trained on all rows at once, some .* of all workers"):
        prepare(small, source_of(numeric_table(300)), sampler(lightgbm()), "passes", None)
