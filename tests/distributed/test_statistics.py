from dataclasses import astuple, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from counterbalance.distributed import statistics
from counterbalance.distributed.scan import ColumnSettings, TableLayout, make_layout, scan_partition
from counterbalance.distributed.statistics import (
    MOST_CUTS,
    ColumnGuide,
    FirstPass,
    SecondPass,
    join_columns,
    profile_in_passes,
)
from counterbalance.errors import TableError
from counterbalance.profile import by_importance, profile_table
from counterbalance.table.labels import read_labels
from counterbalance.table.table import read_table
from large_tables import mixed_table

SETTINGS = ColumnSettings(None, None, snap_to_grid=False)


def layout_of(table: pd.DataFrame) -> TableLayout:
    found = scan_partition(table, "partition 0", "y", SETTINGS, 97)
    return make_layout(found, list(table.columns), "y", SETTINGS)


def measured(table, n_parts, n_sample=None, size=50):
    """Return the profile in passes and the in-memory one."""
    layout = layout_of(table)
    parts = [table.iloc[rows] for rows in np.array_split(np.arange(len(table)), n_parts)]
    sample = layout.encode(table)[:n_sample]

    def run(a_pass, guides):
        return join_columns([a_pass(part, layout, guides, size) for part in parts])

    ours = profile_in_passes(layout, sample, run)
    return ours, profile_table(read_table(table.drop(columns="y")), read_labels(table["y"]).codes)


def assert_close(ours, theirs):
    for name in ("lower", "upper", "median"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    for name in ("deviation", "scale", "importance"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), 1e-12, 1e-15)
    for mine, other in zip(ours.frequency, theirs.frequency, strict=True):
        np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(by_importance(ours), by_importance(theirs))


@pytest.mark.parametrize("n_parts", [1, 4])
def test_the_profile_in_passes_is_the_in_memory_one(n_parts):
    assert_close(*measured(mixed_table(400), n_parts))


def test_the_profile_in_passes_of_degenerate_columns_is_the_in_memory_one():
    rng = np.random.default_rng(0)
    n = 500
    table = pd.DataFrame(
        {
            "zeros": np.where(rng.random(n) < 0.9, 0.0, rng.normal(size=n)),  # MAD 0
            "outlier": np.append(rng.normal(size=n - 1), 1e9),
            "huge": rng.normal(size=n) * 1e150,
            "missing": np.nan,
            "mostly missing": np.where(rng.random(n) < 0.98, np.nan, rng.normal(size=n)),
            "one value": 3.0,
            "one category": "same",
            "category each": [f"row {k}" for k in range(n)],
            "texts missing": pd.Series([None] * n, dtype="str"),
            "y": rng.integers(0, 2, n),
        }
    )
    assert_close(*measured(table, 3))


def test_a_misleading_sample_costs_another_pass_but_no_accuracy():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": np.sort(rng.normal(size=400)), "b": rng.normal(size=400) - 9})
    table["c"], table["y"] = "one", np.arange(400) % 3 == 0
    ours, theirs = measured(table, 2, n_sample=40)  # the forty smallest of a, any of b
    np.testing.assert_array_equal(ours.median, theirs.median)
    np.testing.assert_array_equal(ours.scale, theirs.scale)


def test_a_column_wider_than_a_float_is_refused():
    table = pd.DataFrame({"a": [-1.5e308, 1.5e308, 0.0, 1.0], "y": [0, 1, 0, 1]})
    with pytest.raises(TableError, match="wider than a float can hold; rescale it"):
        measured(table, 1)


def test_the_error_of_correlations_from_bins_is_within_the_documented_bound():
    rng = np.random.default_rng(0)
    n = 20_000
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    table["y"] = (table["a"] + 2 * table["b"] + rng.normal(size=n) > 1).astype(int)
    ours, theirs = measured(table, 2, n_sample=5000, size=10_000)
    largest_bin = 4 / MOST_CUTS  # cuts from a sample of a quarter of the rows
    assert np.abs(ours.importance - theirs.importance).max() < np.sqrt(3) * largest_bin
    np.testing.assert_array_equal(ours.median, theirs.median)
    np.testing.assert_array_equal(ours.scale, theirs.scale)


@given(
    arrays(np.float64, st.integers(1, 60), elements=st.floats(-50, 50)),
    st.floats(1e-3, 1e6),
    st.integers(0, 2**32),
)
def test_places_between_cuts_are_those_that_halving_finds(sample, stretch, seed):
    rng = np.random.default_rng(seed)
    cells = np.concatenate([sample, rng.uniform(-50, 50, 200), [-50.0, 50.0 * stretch]])
    lower, upper = float(cells.min()), float(cells.max())
    guide = ColumnGuide.of(lower, upper, np.sort(sample))
    assert_bins(guide, cells)


def assert_bins(guide, cells):
    """Hold the bins of some cells against those that halving finds."""
    found = FirstPass.of(cells, np.zeros(len(cells), dtype=np.int64), 1, guide)
    place = 2 * np.searchsorted(guide.cuts, cells) + np.isin(cells, guide.cuts)
    bins = np.bincount(place, minlength=found.bins.shape[1])
    np.testing.assert_array_equal(found.bins[0], bins)


@pytest.mark.skipif(
    statistics.kernel is None, reason="no kernel: install a C compiler, then make clean test"
)
@given(
    arrays(
        np.float64,
        st.integers(1, 60),
        elements=st.floats(-1e3, 1e3) | st.sampled_from([0.0, -0.0, 1.0, 1e-17, 5e-324, np.nan]),
    ),
    st.integers(0, 2**32),
)
def test_the_kernel_measures_what_numpy_measures(cells, seed):
    rng = np.random.default_rng(seed)
    known = np.sort(cells[~np.isnan(cells)])
    if not known.size:
        return
    y = rng.integers(0, 3, len(cells))
    guide = ColumnGuide.of(known[0], known[-1], known[:: int(rng.integers(1, 4))])
    guide = replace(guide, mean=float(rng.random()), median=float(rng.choice(known)))
    both = []
    for which in (statistics.kernel, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(statistics, "kernel", which)
            both.append([FirstPass.of(cells, y, 3, guide)])
            if guide.width:
                both[-1].append(SecondPass.of(cells, guide))
    for ours, theirs in zip(*both, strict=True):
        for name in ("total", "squares", "distances"):
            assert getattr(ours, name, None) == getattr(theirs, name, None)
        np.testing.assert_array_equal(getattr(ours, "bins", 0), getattr(theirs, "bins", 0))
        for mine, other in zip(astuple(ours.inside), astuple(theirs.inside), strict=True):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.skipif(
    statistics.kernel is None, reason="no kernel: install a C compiler, then make clean test"
)
def test_the_kernel_halves_a_crowded_bucket():
    rng = np.random.default_rng(0)
    cells = np.append(rng.normal(size=5000) * 1e-9, [0.0, 1.0])
    guide = ColumnGuide.of(float(cells.min()), 1.0, np.sort(cells))
    assert_bins(guide, cells)
