"""Tables that the tests of the distributed engine cut into partitions, and how they compare."""

import numpy as np
import pandas as pd


def numeric_table(n=600, seed=0):
    """Six columns of numbers, one in ten rows of the smaller class."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    table["count"] = rng.integers(0, 9, n)
    table["single"] = rng.normal(size=n).astype(np.float32)
    score = table["a"] + table["b"] + 0.3 * table["count"] + 0.3 * rng.normal(size=n)
    return table.assign(y=(score > np.quantile(score, 0.9)).astype(np.int64))


def mixed_table(n=600, seed=0):
    """Every kind of column, holes, three classes with texts as labels."""
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


def in_memory(sampler, table, target="y"):
    """Return the rows and the provenance that the in-memory sampler gives."""
    X, y = sampler.fit_resample(table.drop(columns=target), table[target])
    provenance = sampler.provenance_.to_pandas()
    provenance["changed"] = provenance["changed"].map(";".join)
    return X.assign(**{target: y})[list(table.columns)], provenance


def assert_same(rows, provenance, expected_rows, expected_provenance):
    """Row for row, bit for bit, and all that is said of the new rows.

    The scores are f's: linear algebra rounds them differently in batches of another size.
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
