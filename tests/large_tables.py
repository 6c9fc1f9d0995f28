"""Tables that the tests of the distributed engine cut into partitions, and how they compare."""

from contextlib import contextmanager, nullcontext

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd

from counterbalance.distributed import balance


def numeric_table(n=600, seed=0):
    """Six columns of numbers; one row in ten is of the smaller class."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    table["count"] = rng.integers(0, 9, n)
    table["single"] = rng.normal(size=n).astype(np.float32)
    score = table["a"] + table["b"] + 0.3 * table["count"] + 0.3 * rng.normal(size=n)
    return table.assign(y=(score > np.quantile(score, 0.9)).astype(np.int64))


def mixed_table(n=600, seed=0):
    """Every kind of column, missing cells, three classes with texts as labels."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "float": rng.normal(size=n),
            "holes": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "whole": rng.integers(-5, 40, n),
            "nullable": pd.array(rng.integers(0, 50, n), dtype="Int64"),
            "text": pd.Series(rng.choice(["u", "v", "w"], n), dtype="str"),
            "ward": pd.Categorical(rng.choice(["east", "north", "west"], n)),
            "level": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high", "never"], ordered=True
            ),
            "flag": rng.random(n) < 0.3,
            "constant": 4.0,
        }
    )
    table.loc[rng.random(n) < 0.1, "nullable"] = pd.NA
    score = table["float"] + 0.1 * table["whole"] + (table["text"] == "u") + table["flag"]
    score += 0.3 * rng.normal(size=n)
    cuts = np.quantile(score, [0.7, 0.92])
    return table.assign(y=np.array(["few", "more", "most"])[2 - np.searchsorted(cuts, score)])


def partitioned(table, n):
    """Return the table as a Dask frame of ``n`` partitions."""
    parts = [table.iloc[rows] for rows in np.array_split(np.arange(len(table)), n)]
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_map(lambda number: parts[number], range(n), meta=table.iloc[:0])


@contextmanager
def no_cluster(monkeypatch):
    """Run the tasks of ``balance_files`` in this process; the tests of faults use real workers.

    A call that asks for a scheduler, workers or memory gets what it asks for.
    """
    connect = balance.connect

    def here(client, *asked):
        return connect(client, *asked) if any(asked) else nullcontext(client)

    monkeypatch.setattr(balance, "connect", here)
    with dask.config.set(scheduler="synchronous"):
        yield


def write_parts(table, folder, n, **settings):
    """Write a table as ``n`` parquet files; return their folder."""
    folder.mkdir(exist_ok=True)
    for number, rows in enumerate(np.array_split(np.arange(len(table)), n)):
        path = folder / f"in-{number:02d}.parquet"
        table.iloc[rows].to_parquet(path, **{"index": False, **settings})
    return folder


def in_memory(sampler, table, target="y"):
    """Return the rows and the provenance that the in-memory sampler gives."""
    X, y = sampler.fit_resample(table.drop(columns=target), table[target])
    provenance = sampler.provenance_.to_pandas()
    provenance["changed"] = provenance["changed"].map(";".join)
    return X.assign(**{target: y})[list(table.columns)], provenance


def assert_same(rows, provenance, expected_rows, expected_provenance):
    """Compare row for row and bit for bit, with all of the provenance.

    Only f's scores may differ in the last bits: linear algebra rounds them by the size of a batch.
    """
    pd.testing.assert_frame_equal(
        rows.reset_index(drop=True), expected_rows.reset_index(drop=True), check_exact=True
    )
    for name in expected_provenance:
        ours, theirs = np.asarray(provenance[name]), np.asarray(expected_provenance[name])
        if name.startswith("score"):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
