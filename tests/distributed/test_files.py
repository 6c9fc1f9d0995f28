import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.distributed import files, resume, search, write
from counterbalance.distributed.engine import DaskEngine, local_client
from counterbalance.distributed.files import balance_files
from counterbalance.distributed.inputs import cut_file
from counterbalance.distributed.resume import sha256
from counterbalance.errors import EngineError, TableError
from counterbalance.search.problem import Problem
from counterbalance.table.encoder import TableEncoder
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
    f = make_pipeline(
        TableEncoder(), DecisionTreeClassifier(max_depth=4, class_weight="balanced", random_state=0)
    )
    settings = {"n_draws": 4, "random_state": 5, "on_shortfall": ("redraw", "interior")} | settings
    return CounterfactualOverSampler(estimator=f, **settings)


@pytest.mark.parametrize("make", [numeric_table, pytest.param(mixed_table, marks=pytest.mark.slow)])
def test_the_files_hold_the_rows_of_the_in_memory_sampler(make, tmp_path):
    table = make(400)
    expected = in_memory(sampler(), table)
    source = write_parts(table, tmp_path / "in", 3, row_group_size=60)
    balanced = balance_files(source, "y", tmp_path / "out", sampler=sampler())
    rows = pd.read_parquet(tmp_path / "out")
    assert_same(rows, pd.read_parquet(tmp_path / "out" / "_provenance"), *expected)
    assert rows.dtypes.equals(table.dtypes)
    assert balanced.before == table["y"].value_counts().to_dict()
    assert balanced.after == rows["y"].value_counts().to_dict()
    assert not (tmp_path / "out.partial").exists()


@pytest.mark.slow
def test_the_manifest_names_every_file_with_its_checksum(tmp_path):
    source = write_parts(numeric_table(200), tmp_path / "in", 2)
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    names = {entry["name"] for entry in manifest["files"]}
    there = {
        path.relative_to(tmp_path / "out").as_posix()
        for path in (tmp_path / "out").rglob("*.parquet")
    }
    assert names == there
    for entry in manifest["files"]:
        assert sha256(tmp_path / "out" / entry["name"]) == entry["sha256"]
    assert manifest["rows"]["1"] == {"before": 20, "after": 180}
    assert str(tmp_path) not in json.dumps(manifest)


def test_every_file_is_on_the_disk_before_the_result_gets_its_name(tmp_path, monkeypatch):
    stored, store, out = set(), files.store, tmp_path / "out"

    def noted(path):
        assert not out.exists()
        stored.add(path.name if path.parent.name == "out.partial" else f"_provenance/{path.name}")
        store(path)

    monkeypatch.setattr(files, "store", noted)
    source = write_parts(numeric_table(200), tmp_path / "in", 2)
    written = balance_files(source, "y", out, sampler=sampler())
    assert stored == {file.name for file in written.files}


@pytest.mark.slow
def test_the_memory_of_the_workers_changes_the_blocks_and_not_the_rows(tmp_path, monkeypatch):
    source = write_parts(mixed_table(160), tmp_path / "in", 2)
    balance_files(source, "y", tmp_path / "whole", sampler=sampler())
    monkeypatch.setattr(DaskEngine, "block_rows", lambda *_: 37)
    balance_files(source, "y", tmp_path / "cut", sampler=sampler())
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "whole"), pd.read_parquet(tmp_path / "cut"), check_exact=True
    )


def test_the_size_of_a_block_follows_the_memory():
    small, large = DaskEngine(None, 10**9), DaskEngine(None, 8 * 10**9)
    assert small.block_rows(20) * 8 == pytest.approx(large.block_rows(20), rel=1e-3)
    assert small.block_rows(20) * 20 * 64 <= 0.1 * 10**9
    assert small.block_rows(10**6) == 1000


def test_large_files_are_cut_at_their_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("counterbalance.distributed.inputs.CELLS_PER_PARTITION", 190)
    table = numeric_table(100)[["a", "y"]]
    table.to_parquet(tmp_path / "big.parquet", index=False, row_group_size=30)
    parts = cut_file(str(tmp_path / "big.parquet"), ("a", "y"), frozenset())
    assert [part.n_rows for part in parts] == [90, 10]
    assert sum(len(part.frame(b)) for part in parts for b in part.batches(7)) == 100


class StoppedError(Exception):
    """The run was stopped here."""


@pytest.fixture
def count_searches(monkeypatch):
    searched = []
    original = search._search_block

    def counted(problem, first, *others):
        searched.append(first)
        return original(problem, first, *others)

    monkeypatch.setattr(search, "_search_block", counted)
    return searched


def stop_after(monkeypatch, module, name, n):
    """Let a function work ``n`` times and then fail, as a run that is stopped does."""
    original, calls = getattr(module, name), []

    def stopping(*arguments):
        if len(calls) == n:
            raise StoppedError
        calls.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(module, name, stopping)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name"),
    [(search, "_search_block"), (write, "write_record"), (files, "_finish")],
)
def test_a_stopped_run_leaves_no_result_and_a_rerun_resumes_it(
    module, name, tmp_path, monkeypatch, count_searches
):
    source = write_parts(mixed_table(300), tmp_path / "in", 3)
    balance_files(source, "y", tmp_path / "whole", sampler=sampler())
    whole = list(count_searches)
    count_searches.clear()
    with monkeypatch.context() as stopped:
        stop_after(stopped, module, name, 0 if module is files else 2)
        with pytest.raises(StoppedError):
            balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert not (tmp_path / "out").exists()
    before = list(count_searches)
    count_searches.clear()
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert len(count_searches) == len(whole) - len(before)
    assert (tmp_path / "out" / "_manifest.json").read_text() == (
        tmp_path / "whole" / "_manifest.json"
    ).read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("selection", "second"), [("nearest", "minimum-0"), ("agreement", "redraw-1")]
)
def test_a_run_that_solves_is_resumed_with_the_rows_of_the_in_memory_sampler(
    selection, second, tmp_path, monkeypatch, count_searches
):
    table = mixed_table(200)
    chain = ("minimum", "redraw", "interior")
    solving = sampler(selection=selection, on_shortfall=chain, n_draws=1)
    expected = in_memory(solving, table)
    assert "minimum" in set(expected[1]["origin"])
    source = write_parts(table, tmp_path / "in", 3)
    balance_files(source, "y", tmp_path / "whole", sampler=solving)
    whole = len(count_searches)
    with monkeypatch.context() as stopped:
        stop_after(stopped, search, "_search_block", 5)  # two of three in the second pass
        with pytest.raises(StoppedError):
            balance_files(source, "y", tmp_path / "out", sampler=solving)
    assert len(list((tmp_path / "out.partial").rglob(f"{second}-*.npz"))) == 2
    count_searches.clear()
    balance_files(source, "y", tmp_path / "out", sampler=solving)
    rows, notes = (pd.read_parquet(tmp_path / "out" / folder) for folder in ("", "_provenance"))
    assert_same(rows, notes, *expected)
    assert len(count_searches) == whole - 5  # nothing is done again


def test_a_run_without_a_seed_can_be_resumed(tmp_path, monkeypatch):
    source = write_parts(numeric_table(200), tmp_path / "in", 2)
    seedless = CounterfactualOverSampler(
        estimator=DecisionTreeClassifier(max_depth=3), n_draws=3, on_shortfall="interior"
    )
    with monkeypatch.context() as stopped:
        stop_after(stopped, write, "write_record", 1)
        with pytest.raises(StoppedError):
            balance_files(source, "y", tmp_path / "out", sampler=seedless)
    first = (tmp_path / "out.partial" / "part-00000.parquet").read_bytes()
    new = [path.name for path in (tmp_path / "out.partial" / "_provenance").iterdir()]
    kept = {name: (tmp_path / "out.partial" / name).read_bytes() for name in new}
    balance_files(source, "y", tmp_path / "out", sampler=seedless)
    assert (tmp_path / "out" / "part-00000.parquet").read_bytes() == first
    assert {name: (tmp_path / "out" / name).read_bytes() for name in new} == kept


@pytest.mark.slow
def test_a_damaged_file_of_a_stopped_run_is_written_again(tmp_path, monkeypatch):
    source = write_parts(numeric_table(200), tmp_path / "in", 2)
    balance_files(source, "y", tmp_path / "whole", sampler=sampler())
    with monkeypatch.context() as stopped:
        stop_after(stopped, files, "_finish", 0)
        with pytest.raises(StoppedError):
            balance_files(source, "y", tmp_path / "out", sampler=sampler())
    damaged = tmp_path / "out.partial" / "part-00001.parquet"
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert (tmp_path / "out" / "part-00001.parquet").read_bytes() == (
        tmp_path / "whole" / "part-00001.parquet"
    ).read_bytes()


@pytest.mark.slow
def test_an_unfinished_run_of_other_settings_is_not_mixed_in(tmp_path, monkeypatch):
    source = write_parts(numeric_table(200), tmp_path / "in", 2)
    with monkeypatch.context() as stopped:
        stop_after(stopped, files, "_finish", 0)
        with pytest.raises(StoppedError):
            balance_files(source, "y", tmp_path / "out", sampler=sampler())
    with pytest.raises(TableError, match=r"out\.partial holds an unfinished result of other"):
        balance_files(source, "y", tmp_path / "out", sampler=sampler(epsilon=5.0))
    shutil.copy(source / "in-00.parquet", source / "in-99.parquet")
    with pytest.raises(TableError, match="unfinished result of other files"):
        balance_files(source, "y", tmp_path / "out", sampler=sampler())


@pytest.mark.slow
def test_index_columns_are_left_out_with_a_warning(tmp_path):
    table = numeric_table(200)
    named = table.set_axis(pd.Index(np.arange(200) * 3, name="id"))
    source = write_parts(named, tmp_path / "in", 2, index=True)
    with pytest.warns(UserWarning, match="index column 'id' of the files is left out"):
        balance_files(source, "y", tmp_path / "out", sampler=sampler())
    rows = pd.read_parquet(tmp_path / "out")
    assert list(rows.columns) == list(table.columns)
    assert_same(rows, {}, in_memory(sampler(), table)[0], {})


@pytest.mark.slow
def test_whole_numbers_and_booleans_with_nulls_in_one_file_stay_what_they_are(tmp_path):
    table = numeric_table(200)
    table["seen"] = pd.array(np.arange(200) % 3 == 0, dtype="boolean")
    table["visits"] = pd.array(np.arange(200) % 7, dtype="Int64")
    table.loc[150:, ["seen", "visits"]] = pd.NA
    (tmp_path / "in").mkdir()
    schema = pa.schema(
        [
            pa.field(n, t)
            for n, t in zip(
                table.columns,
                [*[pa.float64()] * 4, pa.int64(), pa.float32(), pa.int64(), pa.bool_(), pa.int64()],
                strict=True,
            )
        ]
    )
    for number, rows in enumerate(np.array_split(np.arange(200), 2)):
        part = pa.Table.from_pandas(table.iloc[rows], schema, preserve_index=False)
        parquet.write_table(
            part.replace_schema_metadata(None), tmp_path / "in" / f"{number}.parquet"
        )
    balance_files(tmp_path / "in", "y", tmp_path / "out", sampler=sampler())
    result = parquet.read_table(tmp_path / "out")
    assert result.schema.field("visits").type == pa.int64()
    assert result.schema.field("seen").type == pa.bool_()
    expected, _ = in_memory(sampler(), table)
    got = result.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    np.testing.assert_array_equal(got["visits"].isna(), expected["visits"].isna())
    np.testing.assert_array_equal(got["visits"].dropna(), expected["visits"].dropna())


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
            r"in-01\.parquet: the target 'y' has 1 missing labels",
        ),
    ],
)
def test_a_bad_file_is_named_before_the_work_starts(spoil, message, tmp_path, count_searches):
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
    assert not count_searches
    assert not (tmp_path / "out").exists()


def test_a_file_whose_pages_are_damaged_is_named(tmp_path, count_searches):
    source = write_parts(numeric_table(3000), tmp_path / "in", 2, compression="zstd")
    bad = source / "in-01.parquet"
    content = bytearray(bad.read_bytes())
    content[4:40] = bytes(36)  # the first page, not the footer
    bad.write_bytes(content)
    with pytest.raises(TableError, match=r"in-01\.parquet: .*"):
        balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert not count_searches


@pytest.mark.slow
def test_an_empty_file_changes_nothing(tmp_path):
    table = numeric_table(200)
    source = write_parts(table, tmp_path / "in", 2)
    table.iloc[:0].to_parquet(source / "in-00a.parquet", index=False)
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    expected, _ = in_memory(sampler(), table)
    assert_same(pd.read_parquet(tmp_path / "out"), {}, expected, {})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, o: balance_files(s / "no-*.parquet", "y", o / "n"), "no parquet file at"),
        (lambda _, o: balance_files([], "y", o / "n"), "no file was given"),
        (lambda s, o: balance_files([s, s], "y", o / "n"), "given more than once"),
        (lambda s, o: balance_files(s, "label", o / "n"), "target column 'label' is not in"),
        (lambda s, _: balance_files(s, "y", s), "holds files already"),
        (lambda s, _: balance_files(s, "y", s / "in-00.parquet"), "name a folder to make"),
    ],
)
def test_wrong_calls_are_refused(call, message, tmp_path):
    source = write_parts(numeric_table(100), tmp_path / "in", 1)
    with pytest.raises(TableError, match=message):
        call(source, tmp_path)


def test_small_workers_are_refused_with_the_reason():
    with (
        pytest.raises(EngineError, match="needs at least 1 GB: below that Dask stops"),
        local_client(1, "900MB"),
    ):
        pass


def test_drawing_again_does_not_ask_f_about_rows_that_were_judged_before(tmp_path, monkeypatch):
    table = numeric_table(300)
    source = write_parts(table, tmp_path / "in", 2)
    made = sampler(on_shortfall=("redraw", "accept"), epsilon=0.5)
    expected, _ = in_memory(made, table)
    passes, asked = [], []
    judged, search_block = Problem.judged, search._search_block

    def counted(problem, f):
        asked.append(passes[-1])
        return judged(problem, f)

    def noted(problem, first, plan, f, a_pass, *others):
        passes.append(a_pass)
        return search_block(problem, first, plan, f, a_pass, *others)

    monkeypatch.setattr(Problem, "judged", counted)
    monkeypatch.setattr(search, "_search_block", noted)
    balance_files(source, "y", tmp_path / "out", sampler=made)
    assert any(a_pass.likely for a_pass in passes)
    assert asked
    assert not any(a_pass.likely for a_pass in asked)
    assert_same(pd.read_parquet(tmp_path / "out"), {}, expected, {})


@pytest.mark.slow
def test_a_file_that_needs_no_change_is_copied_byte_for_byte(tmp_path):
    source = write_parts(mixed_table(200), tmp_path / "in", 2, compression="zstd")
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    for number in range(2):
        copied = (tmp_path / "out" / f"part-{number:05d}.parquet").read_bytes()
        assert copied == (source / f"in-{number:02d}.parquet").read_bytes()


@pytest.mark.slow
def test_a_file_that_must_change_is_written_with_the_columns_of_the_first(tmp_path):
    table, source = mixed_table(200), tmp_path / "in"
    write_parts(table, source, 2)
    turned = pd.read_parquet(source / "in-01.parquet")[list(table.columns)[::-1]]
    turned.to_parquet(source / "in-01.parquet", index=False)
    expected = in_memory(sampler(), table)
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    rows = pd.read_parquet(tmp_path / "out")
    assert_same(rows, pd.read_parquet(tmp_path / "out" / "_provenance"), *expected)


@pytest.mark.slow
@pytest.mark.parametrize("room", [True, False])
def test_row_groups_are_decoded_once_where_the_disk_has_room(room, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ROOM_FOR_SPOOL", 0 if room else 10**18)
    read, batches = [], parquet.ParquetFile.iter_batches

    def counted(file, *how, **more):
        if len(more["columns"]) > 1:  # the look at single columns is not a pass
            read.append(more["row_groups"])
        return batches(file, *how, **more)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", counted)
    table = mixed_table(200)
    source = write_parts(table, tmp_path / "in", 2)
    expected = in_memory(sampler(), table)
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    rows = pd.read_parquet(tmp_path / "out")
    assert_same(rows, pd.read_parquet(tmp_path / "out" / "_provenance"), *expected)
    assert len(read) == 2 if room else len(read) > 2


@pytest.mark.slow
def test_the_spool_is_for_its_owner_only_and_goes_with_the_run(tmp_path, monkeypatch):
    source = write_parts(numeric_table(200), tmp_path / "in", 2)
    with monkeypatch.context() as stopped:
        stop_after(stopped, files, "_finish", 0)
        with pytest.raises(StoppedError):
            balance_files(source, "y", tmp_path / "out", sampler=sampler())
    work = tmp_path / "out.partial" / "_work"
    spooled = list((work / "rows").iterdir())
    assert len(spooled) == 2
    assert {path.stat().st_mode & 0o777 for path in spooled} == {0o600}
    for path in spooled:  # it is made anew: what is in it is never trusted
        path.write_bytes(b"something else")
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert not list((tmp_path / "out").rglob("*.arrow"))


@pytest.mark.slow
def test_a_file_that_another_worker_finishes_meanwhile_is_no_obstacle(tmp_path, monkeypatch):
    source = write_parts(numeric_table(200), tmp_path / "in", 2)
    with monkeypatch.context() as stopped:
        stop_after(stopped, files, "_finish", 0)
        with pytest.raises(StoppedError):
            balance_files(source, "y", tmp_path / "out", sampler=sampler())
    within = resume._within

    def listed(folder):
        yield from within(folder)
        yield folder / ".part-00001.parquet.0a.part"  # there when the folder was listed

    with monkeypatch.context() as busy:
        busy.setattr(resume, "_within", listed)
        busy.setattr(files, "publish_modes", lambda *_: None)
        balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert (tmp_path / "out" / "_manifest.json").exists()
