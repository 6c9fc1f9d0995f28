"""Parquet files in, a folder of them out: whole or not at all."""

import json
import os
import stat
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.constraints import Immutable, Range
from counterbalance.distributed import balance, balance_files, search
from counterbalance.errors import EngineError, TableError
from large_tables import (
    assert_same,
    in_memory,
    mixed_table,
    no_cluster,
    numeric_table,
    write_parts,
)

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch):
    with no_cluster(monkeypatch):
        yield


def sampler(**settings):
    f = LogisticRegression(class_weight="balanced", max_iter=1000)
    return CounterfactualOverSampler(**{"estimator": f, "n_draws": 4, "random_state": 5} | settings)


def read(out):
    return pd.read_parquet(out), pd.read_parquet(out / "_provenance")


@pytest.mark.parametrize("make", [numeric_table, mixed_table])
@pytest.mark.parametrize(
    "own", [CounterfactualOverSampler(random_state=5), InteriorOverSampler(random_state=5)]
)
def test_the_files_hold_the_rows_of_the_in_memory_sampler(make, own, tmp_path):
    table = make(300)
    expected = in_memory(own, table)
    source = write_parts(table, tmp_path / "in", 3, row_group_size=60)
    balanced = balance_files(source, "y", tmp_path / "out", sampler=own)
    rows, provenance = read(tmp_path / "out")
    assert_same(rows, provenance, *expected)
    assert rows.dtypes.equals(table.dtypes)
    assert balanced.before == table["y"].value_counts().to_dict()
    assert balanced.after == rows["y"].value_counts().to_dict()
    assert [path.name for path in sorted((tmp_path / "out").glob("*.parquet"))] == balanced.files
    assert not (tmp_path / "out.partial").exists()


def test_the_summary_tells_counts_yields_and_the_seed_and_no_path(tmp_path):
    source = write_parts(numeric_table(200), tmp_path / "in", 2)
    balanced = balance_files(source, "y", tmp_path / "out", sampler=sampler())
    summary = json.loads((tmp_path / "out" / "_summary.json").read_text())
    assert (summary["before"]["1"], summary["after"]["1"]) == (20, 180)
    assert sum(summary["origins"]["1"].values()) == 160
    assert summary["yields"][0]["inversions"] == balanced.yields[0, 1].inversions
    assert summary["seed"] == in_memory_seed()
    assert summary["features"][0] in {"a", "b", "count"}
    assert str(tmp_path) not in json.dumps(summary)


def in_memory_seed():
    table = numeric_table(200)
    return sampler().prepare(table.drop(columns="y"), table["y"]).space.seed


def test_the_rows_of_the_input_are_written_as_they_are_whatever_they_hold(tmp_path):
    table = pa.Table.from_pandas(numeric_table(120), preserve_index=False)
    n = 120
    strange = {
        "big": pa.array([None, *range(2**60, 2**60 + 119)], pa.int64()),
        "date": pa.array(np.arange(n).astype("datetime64[D]")),
        "list": pa.array([[k] for k in range(n)]),
        "struct": pa.array([{"k": k} for k in range(n)]),
        "bytes": pa.array([bytes([k]) for k in range(n)], pa.binary()),
        "nan": pa.array([None, np.nan] * 60, pa.float64()),
        "stamp": pa.array(np.arange(n), pa.timestamp("us", tz="UTC")),
        "texts": pa.array([f"text {k}" for k in range(n)], pa.large_string()),
    }
    for name, cells in strange.items():
        table = table.append_column(name, cells)
    (tmp_path / "in").mkdir()
    parquet.write_table(table, tmp_path / "in" / "0.parquet", row_group_size=50)
    balanced = balance_files(
        tmp_path / "in", "y", tmp_path / "out", sampler=sampler(), notice=lambda _: None
    )
    result = parquet.read_table(tmp_path / "out")
    assert result.schema.equals(table.schema)
    assert result.slice(0, n).drop_columns("nan").equals(table.drop_columns("nan"))
    assert result["nan"].slice(0, n).is_null().equals(table["nan"].is_null())
    assert repr(result["nan"].slice(0, n).to_pylist()) == repr(table["nan"].to_pylist())
    assert set(balanced.kept) == set(strange)  # nothing in them is a feature
    assert all(result.column(name).slice(n).null_count == len(result) - n for name in strange)


def test_whole_numbers_and_booleans_with_nulls_in_one_file_stay_what_they_are(tmp_path):
    table = numeric_table(200)
    table["seen"] = pd.array(np.arange(200) % 3 == 0, dtype="boolean")
    table["visits"] = pd.array(np.arange(200) % 7, dtype="Int64")
    table.loc[150:, ["seen", "visits"]] = pd.NA
    own = sampler(estimator=None)
    expected, _ = in_memory(own, table)
    (tmp_path / "in").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(200), 2)):
        part = pa.Table.from_pandas(table.iloc[rows], preserve_index=False)
        parquet.write_table(
            part.replace_schema_metadata(None), tmp_path / "in" / f"{number}.parquet"
        )
    balance_files(tmp_path / "in", "y", tmp_path / "out", sampler=own)
    result = parquet.read_table(tmp_path / "out")
    assert result.schema.field("visits").type == pa.int64()
    assert result.schema.field("seen").type == pa.bool_()
    got = result.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    np.testing.assert_array_equal(got["visits"].isna(), expected["visits"].isna())
    np.testing.assert_array_equal(got["visits"].dropna(), expected["visits"].dropna())


def test_decimals_are_numbers_and_come_out_as_decimals(tmp_path):
    table = numeric_table(200)
    cents = [Decimal(int(100 * value)) / 100 for value in table["a"]]
    written = pa.Table.from_pandas(table, preserve_index=False).set_column(
        0, "a", pa.array(cents, pa.decimal128(10, 2))
    )
    (tmp_path / "in").mkdir()
    parquet.write_table(written, tmp_path / "in" / "0.parquet")
    balance_files(tmp_path / "in", "y", tmp_path / "out", sampler=sampler())
    result = parquet.read_table(tmp_path / "out")
    assert result.schema.field("a").type == pa.decimal128(10, 2)
    expected, _ = in_memory(sampler(), table.assign(a=list(map(float, cents))))
    assert len(result) > 200
    np.testing.assert_allclose(result["a"].cast(pa.float64()).to_numpy(), expected["a"])


def test_an_index_of_pandas_is_kept_as_a_column_that_is_not_used(tmp_path):
    table = numeric_table(200)
    named = table.set_axis(pd.Index(np.arange(200) ** 2, name="who"))
    source = write_parts(named, tmp_path / "in", 2, index=True)
    balanced = balance_files(source, "y", tmp_path / "out", sampler=sampler())
    rows = pd.read_parquet(tmp_path / "out")
    assert balanced.kept == ["who"]
    assert rows["who"][:200].tolist() == named.index.tolist()
    assert rows["who"][200:].isna().all()
    assert_same(rows.drop(columns="who"), {}, in_memory(sampler(), table)[0], {})


def test_files_with_columns_in_another_order_are_one_table(tmp_path):
    table, source = numeric_table(200), tmp_path / "in"
    write_parts(table, source, 2)
    turned = pd.read_parquet(source / "in-01.parquet")[list(table.columns)[::-1]]
    turned.to_parquet(source / "in-01.parquet", index=False)
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert_same(*read(tmp_path / "out"), *in_memory(sampler(), table))


def test_an_empty_file_changes_nothing(tmp_path):
    table = mixed_table(200)
    source = write_parts(table, tmp_path / "in", 2)
    table.iloc[:0].to_parquet(source / "in-00a.parquet", index=False)
    own = InteriorOverSampler(random_state=0)
    balance_files(source, "y", tmp_path / "out", sampler=own)
    assert_same(*read(tmp_path / "out"), *in_memory(own, table))


def test_row_groups_are_joined_and_cut_to_the_memory_of_the_workers(tmp_path, monkeypatch):
    table = numeric_table(300)
    expected = in_memory(sampler(), table)
    source = write_parts(table, tmp_path / "in", 2, row_group_size=20)
    asked = []
    monkeypatch.setattr(
        search, "search_part", lambda *part, real=search.search_part: asked.append(1) or real(*part)
    )
    # A part of at most 100 rows; one of at most 15, so that every row group is cut.
    small = 15 * 7 * 32 / balance.Engine.from_client(None).memory * 1.001
    for cells, share, n_parts in ((700, 1.0, 4), (10**6, small, 30)):
        monkeypatch.setattr("counterbalance.distributed.inputs.CELLS_PER_PART", cells)
        monkeypatch.setattr("counterbalance.distributed.inputs.SHARE_FOR_PART", share)
        asked.clear()
        out = tmp_path / f"out-{n_parts}"
        balance_files(source, "y", out, sampler=sampler())
        assert_same(*read(out), *expected)
        assert len(asked) == n_parts


class StoppedError(Exception):
    """The run was stopped here."""


def stop(*_):
    raise StoppedError


@pytest.mark.parametrize("name", ["learn_plan", "write_new", "_finish"])
def test_a_run_that_fails_leaves_nothing_and_the_same_call_starts_over(name, tmp_path, monkeypatch):
    source = write_parts(numeric_table(200), tmp_path / "in", 2)
    with monkeypatch.context() as stopped:
        stopped.setattr(balance, name, stop)
        with pytest.raises(StoppedError):
            balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert_same(*read(tmp_path / "out"), *in_memory(sampler(), numeric_table(200)))


def test_what_a_killed_run_left_is_removed(tmp_path):
    source = write_parts(numeric_table(200), tmp_path / "in", 2)
    left = tmp_path / "out.partial" / "run-0123456789abcdef"
    left.mkdir(parents=True)
    (left / "part-00000.parquet").write_bytes(b"half")
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    assert_same(*read(tmp_path / "out"), *in_memory(sampler(), numeric_table(200)))


def test_every_file_is_on_the_disk_before_the_result_gets_its_name(tmp_path, monkeypatch):
    stored, store, out = set(), balance.store, tmp_path / "out"

    def noted(path):
        assert not out.exists()
        stored.add(path.name if path.parent.name != "_provenance" else f"_provenance/{path.name}")
        store(path)

    monkeypatch.setattr(balance, "store", noted)
    source = write_parts(numeric_table(200), tmp_path / "in", 2)
    balance_files(source, "y", out, sampler=sampler())
    there = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert stored == there


def test_the_result_of_a_private_table_is_private_and_the_run_always_is(tmp_path, monkeypatch):
    modes = []
    monkeypatch.setattr(
        balance,
        "learn_plan",
        lambda *how, real=balance.learn_plan: (
            modes.append(stat.S_IMODE((tmp_path / "out.partial").stat().st_mode)) or real(*how)
        ),
    )
    source = write_parts(numeric_table(200), tmp_path / "in", 2)
    before = os.umask(0o002)
    try:
        balance_files(source, "y", tmp_path / "out", sampler=sampler())
        found = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").glob("*.parquet")}
        assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o775
        assert found == {0o664}
        (tmp_path / "out").rename(tmp_path / "open")
        (source / "in-01.parquet").chmod(0o640)
        balance_files(source, "y", tmp_path / "out", sampler=sampler())
        for path in (tmp_path / "out", *(tmp_path / "out").rglob("*")):
            assert path.stat().st_mode & 0o007 == 0, path
            assert path.stat().st_mode & 0o040, path
    finally:
        os.umask(before)
    assert modes == [0o700] * 2


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda _: None, r"in-01\.parquet cannot be read as parquet"),
        (lambda t: t.drop(columns="a"), r"in-01\.parquet has no column 'a'"),
        (
            lambda t: t.assign(z=1),
            r"in-01\.parquet has a column 'z' that .*in-00\.parquet does not have",
        ),
        (
            lambda t: t.astype({"a": np.float32}),
            r"in-01\.parquet has the column 'a' as float, .*in-00\.parquet as double",
        ),
        (
            lambda t: t.assign(a=np.where(t.index == 150, np.inf, t["a"])),
            r"in-01\.parquet: column 'a' holds an infinite value",
        ),
        (
            lambda t: t.assign(y=t["y"].astype("Int64").where(t.index != 150)),
            r"in-01\.parquet: the target 'y' has 1 missing label",
        ),
    ],
)
def test_a_bad_file_is_named_before_the_search_starts(spoil, message, tmp_path, monkeypatch):
    monkeypatch.setattr(search.Tasks, "search", None)
    table = numeric_table(300)
    source = write_parts(table, tmp_path / "in", 3)
    bad = source / "in-01.parquet"
    spoiled = spoil(table.iloc[100:200])
    if spoiled is None:
        bad.write_bytes(bad.read_bytes()[:500])
    else:
        spoiled.to_parquet(bad, index=False)
    with pytest.raises(TableError, match=message):
        balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_a_file_whose_pages_are_damaged_is_named(tmp_path):
    source = write_parts(numeric_table(3000), tmp_path / "in", 2, compression="zstd")
    bad = source / "in-01.parquet"
    content = bytearray(bad.read_bytes())
    content[4:40] = bytes(36)  # the first page, not the footer
    bad.write_bytes(content)
    with pytest.raises(TableError, match=r"in-01\.parquet: .*; repair the file or leave it out"):
        balance_files(source, "y", tmp_path / "out", sampler=sampler())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, o: balance_files(s / "no-*.parquet", "y", o / "n"), "no parquet file at"),
        (lambda _, o: balance_files([], "y", o / "n"), "no file was given"),
        (lambda s, o: balance_files([s, s], "y", o / "n"), "given more than once"),
        (lambda s, o: balance_files(s, "label", o / "n"), "target column 'label' is not in"),
        (lambda s, _: balance_files(s, "y", s), "out must be a new folder or an empty one"),
        (
            lambda s, _: balance_files(s, "y", s / "in-00.parquet"),
            "out must be a new folder .*in-00",
        ),
        (lambda s, o: balance_files(s, "y", o / "n", keep=["y"]), "'y' is neither kept nor used"),
        (lambda s, o: balance_files(s, "y", o / "n", use=["z"]), "use must name a column"),
    ],
)
def test_wrong_calls_are_refused(call, message, tmp_path):
    source = write_parts(numeric_table(100), tmp_path / "in", 1)
    with pytest.raises(TableError, match=message):
        call(source, tmp_path)


def test_small_workers_and_sizes_that_are_none_are_refused(tmp_path):
    source = write_parts(numeric_table(100), tmp_path / "in", 1)
    with pytest.raises(EngineError, match="needs at least 1 GB: below that Dask stops"):
        balance_files(source, "y", tmp_path / "out", memory="900MB")
    with pytest.raises(EngineError, match="memory must be a size such as 2GB, got 'lots'"):
        balance_files(source, "y", tmp_path / "out", memory="lots")


def test_identifiers_are_left_empty_and_warned_of(tmp_path):
    table = numeric_table(200)
    expected, _ = in_memory(sampler(), table)
    table.insert(2, "person", [f"person {n}" for n in range(200)])
    write_parts(table, tmp_path / "in", 3)
    said = r"column 'person' is kept but not used: .*; use=\['person'\] uses it"
    with pytest.warns(UserWarning, match=said) as warned:
        balanced = balance_files(tmp_path / "in", "y", tmp_path / "out", sampler=sampler())
    assert {warning.filename for warning in warned} == {__file__}
    rows = pd.read_parquet(tmp_path / "out")
    assert balanced.kept == ["person"]
    assert rows["person"][:200].tolist() == table["person"].tolist()
    assert rows["person"][200:].isna().all()
    pd.testing.assert_frame_equal(rows.drop(columns="person"), expected, check_exact=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"constraints": Immutable("person")}, r"names 'person', which is not used; .*use=\["),
        ({"constraints": Range(6, 0, 1)}, "must name columns where others are not used, got 6"),
        ({"feature_order": ["a", 3]}, "feature_order must name columns .*got 3"),
        ({"categorical_features": [True] * 7}, "categorical_features must name columns"),
    ],
)
@pytest.mark.filterwarnings("ignore:column 'person' is kept")
def test_parameters_name_columns_that_are_used(settings, message, tmp_path):
    table = numeric_table(200).assign(person=[f"person {n}" for n in range(200)])
    write_parts(table, tmp_path / "in", 2)
    with pytest.raises(TableError, match=message):
        balance_files(tmp_path / "in", "y", tmp_path / "out", sampler=sampler(**settings))
    assert not (tmp_path / "out.partial").exists()


def test_a_table_of_nothing_but_identifiers_is_refused(tmp_path):
    table = pd.DataFrame({"person": [f"p{n}" for n in range(60)], "y": np.arange(60) % 3 == 0})
    write_parts(table, tmp_path, 2)
    with pytest.raises(TableError, match="no column can be used: column 'person'"):
        balance_files(tmp_path, "y", tmp_path / "out", sampler=sampler())
