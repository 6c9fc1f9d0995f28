"""``counterbalance balance --engine dask``: parquet files in, a folder of them out."""

import json

import numpy as np
import pandas as pd
import pytest

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.cli import main
from counterbalance.cli.on_dask import Progress, ShareOfLargest
from counterbalance.constraints import Immutable
from large_tables import no_cluster, numeric_table


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch):
    with no_cluster(monkeypatch):
        yield


@pytest.fixture
def source(tmp_path):
    table = numeric_table(240)
    for number in range(2):
        part = table.iloc[120 * number : 120 * (number + 1)]
        part.to_parquet(tmp_path / f"p{number}.parquet", index=False)
    return [tmp_path / "p0.parquet", tmp_path / "p1.parquet"]


def balance(*options):
    return main(["balance", *map(str, options), "--target", "y", "--engine", "dask"])


@pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")
def test_files_are_balanced_as_the_table_that_they_are(source, tmp_path, capsys):
    out = tmp_path / "out"
    assert balance(*source, "--out", out, "--ratio", 0.5, "--immutable", "a", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["classes"] == [
        {"class": 0, "before": 216, "after": 216},
        {"class": 1, "before": 24, "after": 108},
    ]
    table = pd.concat(map(pd.read_parquet, source), ignore_index=True)
    sampler = CounterfactualOverSampler(
        sampling_strategy=0.5, constraints=[Immutable("a")], random_state=0
    )
    X, y = sampler.fit_resample(table.drop(columns="y"), table["y"])
    pd.testing.assert_frame_equal(pd.read_parquet(out), X.assign(y=y), check_exact=True)


def test_the_interior_sampler_balances_files_as_the_table_that_they_are(source, tmp_path, capsys):
    out = tmp_path / "out"
    assert balance(*source, "--out", out, "--method", "interior", "--ratio", 0.5) == 0
    table = pd.concat(map(pd.read_parquet, source), ignore_index=True)
    sampler = InteriorOverSampler(sampling_strategy=0.5, random_state=0)
    X, y = sampler.fit_resample(table.drop(columns="y"), table["y"])
    pd.testing.assert_frame_equal(pd.read_parquet(out), X.assign(y=y), check_exact=True)
    said = capsys.readouterr()
    assert "84 were made within their class and are not counterfactuals." in said.out
    assert "WARNING" not in said.err


def test_people_read_counts_and_where_the_result_is(source, tmp_path, capsys):
    assert balance(*source, "--out", tmp_path / "out", "--ratio", 0.3) == 0
    said = capsys.readouterr().out
    assert ["1", "24", "64", "40"] in [line.split() for line in said.splitlines()]
    files = list((tmp_path / "out").glob("*.parquet"))
    assert len(files) > 3  # those of the table, and new ones
    assert f"wrote 280 rows in {len(files)} files to {tmp_path / 'out'}" in said
    assert said.startswith("40 rows added; now 216 of class 0 and 64 of class 1.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--engine dask needs --out FOLDER"),
        (("--out", "new", "--report", "p.html"), "--report goes with --engine memory only"),
        (("--out", "new", "--keep", "z"), "keep must name a column of the table, got 'z'"),
        (("--out", "new", "--method", "SMOTE"), "--method SMOTE needs all rows at once and cannot"),
        (
            ("--out", "new", "--method", "SMOTE"),
            "write a sample of the rows to one file and balance",
        ),
        (("--out", "new", "--ratio", "1=50"), "--ratio must be one share, or all, with --engine"),
        (("--out", "new", "--memory", "500MB"), "needs at least 1 GB"),
        (("--out", "new", "--memory", "lots"), "memory must be a size such as 2GB, got 'lots'"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    options, message, source, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert balance(*source, *options) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "new.partial").exists()


def test_memory_takes_one_table_and_no_option_of_dask(source, capsys):
    assert main(["balance", *map(str, source), "--target", "y"]) == 1
    assert "one table at a time is balanced in memory, got 2" in capsys.readouterr().err
    assert main(["balance", str(source[0]), "--target", "y", "--memory", "2GB"]) == 1
    assert "--memory goes with --engine dask only; add it" in capsys.readouterr().err


def test_a_share_of_the_largest_class_only_adds_rows():
    assert ShareOfLargest(0.5)(["a"] * 10 + ["b"] * 7 + ["c"]) == {"a": 10, "b": 7, "c": 5}


def test_every_counterfactual_is_taken_as_in_memory(source, tmp_path, capsys):
    out = tmp_path / "out"
    assert balance(*source, "--out", out, "--ratio", "all", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    table = pd.concat(map(pd.read_parquet, source), ignore_index=True)
    sampler = CounterfactualOverSampler(sampling_strategy="all", random_state=0)
    X, y = sampler.fit_resample(table.drop(columns="y"), table["y"])
    pd.testing.assert_frame_equal(pd.read_parquet(out), X.assign(y=y), check_exact=True)
    assert summary["origins"] == {"inversion": len(X) - len(table)}


def test_a_tiny_class_is_warned_of_with_a_share_to_ask_for(tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(306, 3)), columns=list("abc"))
    table["y"] = np.repeat([0, 1], [300, 6])
    table.to_parquet(tmp_path / "t.parquet", index=False)
    assert balance(tmp_path / "t.parquet", "--out", tmp_path / "out") == 0
    said = capsys.readouterr()
    assert "294 rows added; both classes now have 300." in said.out
    last = said.err.splitlines()[-1]
    assert last.startswith("counterbalance: WARNING: class 1 has 6 rows and got 294 new ones")
    ratio = last.split("--ratio ")[1].split(",")[0].rstrip()
    assert balance(tmp_path / "t.parquet", "--out", tmp_path / "less", "--ratio", ratio) == 0
    assert "WARNING" not in capsys.readouterr().err
    summary = json.loads((tmp_path / "out" / "_summary.json").read_text())
    assert sum(summary["origins"]["1"].values()) == 294


@pytest.fixture
def patients(tmp_path):
    """A table in two files with a name, a number and a date of every patient."""
    table = numeric_table(240).assign(
        name=[f"patient {n * 7919 % 240}" for n in range(240)],
        patient_id=np.arange(240)[::-1] + 5,
        admitted=pd.date_range("2020-01-01", periods=240),
        note="",
        ward=pd.Series(np.resize(["east", "west", "north"], 240), dtype="str"),
        unknown=np.nan,
    )
    table.to_parquet(tmp_path / "whole.parquet", index=False)
    (tmp_path / "parts").mkdir()
    for number in range(2):
        part = table.iloc[120 * number : 120 * (number + 1)]
        part.to_parquet(tmp_path / "parts" / f"p{number}.parquet", index=False)
    return tmp_path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")
@pytest.mark.parametrize(
    "options",
    [(), ("--keep", "ward"), ("--keep", "a,b"), ("--use", "name"), ("--use", "patient_id,name")],
)
def test_both_engines_leave_the_same_columns_empty_and_name_them(options, patients, capsys):
    whole, out = patients / "whole.parquet", patients / "memory.parquet"
    asked = [*options, "--target", "y", "--json"]
    assert main(["balance", str(whole), "--out", str(out), *asked]) == 0
    in_memory = capsys.readouterr()
    parts = [str(patients / "parts" / f"p{number}.parquet") for number in range(2)]
    folder = str(patients / "dask")
    assert main(["balance", *parts, "--out", folder, *asked, "--engine", "dask"]) == 0
    on_dask = capsys.readouterr()
    kept = json.loads(in_memory.out)["kept"]
    assert json.loads(on_dask.out)["kept"] == kept
    pd.testing.assert_frame_equal(pd.read_parquet(folder), pd.read_parquet(out), check_exact=True)
    new = pd.read_parquet(folder).iloc[240:]
    assert len(new)
    assert new[kept].isna().all(axis=None)
    named = [line for line in in_memory.err.splitlines() if "kept but not used" in line]
    assert named == [line for line in on_dask.err.splitlines() if "kept but not used" in line]
    assert named or options


def test_a_rule_for_a_column_that_is_not_used_is_refused(patients, capsys):
    parts = patients / "parts"
    assert balance(parts, "--out", patients / "dask", "--immutable", "name") == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert "Immutable('name') names 'name', which is not used" in error
    assert "--use name" in error
    assert not (patients / "dask").exists()


class Clock:
    """Goes on by so many seconds each time that it is asked."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def test_a_terminal_shows_the_time_left_of_a_step():
    lines = []
    progress = Progress(lines.append, Clock(30))
    for done in (1, 2, 3, 4):
        progress("scan", done, 4)
    progress("search", 1, 9)
    assert lines == [
        "scan: 1 of 4, 90 s left",
        "scan: 2 of 4, 60 s left",
        "scan: 3 of 4, 30 s left",
        "scan: 4 of 4",
        "search: 1 of 9, 4 min left",
    ]


def test_a_log_gets_a_line_once_a_minute(capsys):
    progress = Progress(lambda _: None, Clock(25))
    for done in range(1, 7):
        progress("search", done, 8)
    assert capsys.readouterr().err.splitlines() == [
        "counterbalance: search: 3 of 8, 2 min left",
        "counterbalance: search: 6 of 8, 50 s left",
    ]
