"""``counterbalance balance``: the file is kept, new rows are below, and the summary is complete."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from counterbalance.cli import main

SOURCE = Path(__file__).parents[2] / "src"


def patients(n=120):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "patient": [f"P{i:04d}" for i in range(n)],
            "born": pd.date_range("1950-01-01", periods=n, freq="40D").strftime("%Y-%m-%d"),
            "age": rng.integers(20, 80, n),
            "height": rng.normal(170, 8, n).round(1),
            "ward": rng.choice(["A", "=B+1", "-C"], n),
            "smoker": rng.choice(["TRUE", "FALSE"], n),
        }
    )
    table["risk level"] = np.where(table["age"] + rng.normal(0, 6, n) > 66, "high", "low")
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    patients().to_csv(folder / "patients.csv", index=False)
    return folder


def balance(*options):
    return main(["balance", *map(str, options), "--target", "risk level"])


def test_the_rows_of_the_file_are_kept_and_new_ones_are_below(folder, tmp_path, capsys):
    source, out = folder / "patients.csv", tmp_path / "out.csv"
    assert balance(source, "--out", out, "--provenance", tmp_path / "new.csv") == 0
    assert out.read_text().startswith(source.read_text())
    real, all_rows = pd.read_csv(source), pd.read_csv(out)
    new = all_rows.iloc[len(real) :]
    assert set(all_rows["risk level"].value_counts()) == {97}
    assert new[["patient", "born"]].isna().all().all()
    assert new["age"].dtype == real["age"].dtype == "int64"
    assert (new["height"] == new["height"].round(1)).all()
    assert set(new["ward"]) <= set(real["ward"])
    provenance = pd.read_csv(tmp_path / "new.csv")
    assert provenance["sample"].tolist() == list(range(len(real), len(all_rows)))
    said = capsys.readouterr()
    lines = [line.split() for line in said.out.splitlines()]
    assert ["high", "23", "97", "74"] in lines
    assert said.out.startswith("74 rows added; both classes now have 97.\n")
    for part in ("can be changed into high", "Changed most: age", "it high, distance", f"to {out}"):
        assert part in said.out, part
    assert "'patient' is kept but not used: it looks like an identifier" in said.err
    assert "'born' is kept but not used: it holds dates" in said.err


def test_the_result_depends_on_the_seed_and_not_on_the_jobs(folder, tmp_path):
    for name, seed, jobs in (("a.csv", 1, 1), ("b.csv", 1, 2), ("c.csv", 2, 1)):
        how = ("--out", tmp_path / name, "--seed", seed, "--jobs", jobs)
        assert balance(folder / "patients.csv", *how) == 0
    read = [(tmp_path / name).read_bytes() for name in ("a.csv", "b.csv", "c.csv")]
    assert read[0] == read[1] != read[2]


@pytest.mark.parametrize("name", ["t.tsv.gz", "t.parquet", "t.feather", "t.arrow"])
def test_every_format_is_written_as_it_was_read(tmp_path, name):
    pytest.importorskip("pyarrow")
    source, out = tmp_path / name, tmp_path / f"out_{name}"
    table = patients()
    table["age"] = table["age"].astype("int16").astype("Int16")
    table.loc[4, "age"] = None
    if name == "t.tsv.gz":
        table.to_csv(source, sep="\t", index=False)
        read = lambda path: pd.read_csv(path, sep="\t", dtype_backend="numpy_nullable")  # noqa: E731
    else:
        write = table.to_parquet if name == "t.parquet" else table.to_feather
        write(source)
        read = pd.read_parquet if name == "t.parquet" else pd.read_feather
    assert balance(source, "--out", out) == 0
    before, after = read(source), read(out)
    pd.testing.assert_frame_equal(after.head(len(before)), before)
    assert len(after) > len(before)


def test_json_holds_the_whole_summary_and_is_alone_on_stdout(folder, capsys):
    assert balance(folder / "patients.csv", "--json") == 0
    said = capsys.readouterr()
    summary = json.loads(said.out)
    assert summary["classes"][0] == {"class": "low", "before": 97, "after": 97}
    assert summary["kept"] == ["patient", "born"]
    assert summary["yield"][0]["to"] == "high"
    assert len(summary["examples"]) == 3
    assert summary["written"] == {}
    assert [finding["topic"] for finding in summary["findings"]] == ["identifier", "date"]
    assert "nothing was written" in said.err


def test_the_options_reach_the_sampler(folder, tmp_path):
    rules = ("--immutable", "height,ward", "--increasing", "age", "--keep", "smoker")
    provenance, out = tmp_path / "new.csv", tmp_path / "out.csv"
    code = balance(
        folder / "patients.csv", "--out", out, "--provenance", provenance, *rules, "--ratio", "0.5"
    )
    assert code == 0
    table, new = pd.read_csv(out), pd.read_csv(provenance)
    assert table["risk level"].value_counts().to_dict() == {"low": 97, "high": 48}
    made = table.iloc[new["sample"]].reset_index(drop=True)
    twins = table.iloc[new["factual"]].reset_index(drop=True)
    inverted = new["from_class"] != new["to_class"]
    assert (made["age"] >= twins["age"])[inverted].all()
    assert (made[["height", "ward"]] == twins[["height", "ward"]])[inverted].all().all()
    assert made["smoker"].isna().all()


def test_the_ratio_can_give_one_class_a_number_of_rows(folder, tmp_path):
    out = tmp_path / "out.csv"
    assert balance(folder / "patients.csv", "--out", out, "--ratio", "high=30") == 0
    assert pd.read_csv(out)["risk level"].value_counts().to_dict() == {"low": 97, "high": 30}


def test_a_share_that_is_already_reached_adds_nothing_and_says_so(folder, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert balance(folder / "patients.csv", "--out", out, "--ratio", "0.1") == 0
    assert out.read_text() == (folder / "patients.csv").read_text()
    assert "no row is added" in capsys.readouterr().err


def test_formulas_come_from_the_input_only(tmp_path):
    """A header that is a formula stays one in the table, and is made plain in the provenance."""
    source, out, new = (tmp_path / name for name in ("in.csv", "out.csv", "new.csv"))
    patients().rename(columns={"age": "=cmd|' /C calc'!A0"}).to_csv(source, index=False)
    assert balance(source, "--out", out, "--provenance", new) == 0
    assert out.read_text().startswith(source.read_text())
    changed = pd.read_csv(new)["changed"]
    assert changed.str.contains("=cmd", regex=False).any()
    assert not changed.str.match(r"[=+\-@]").any()
    texts = pd.read_csv(out, dtype=str)["ward"]
    assert set(texts) == {"A", "=B+1", "-C"}


def test_rows_without_a_class_are_dropped_only_on_request(tmp_path, capsys):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    table = patients()
    table.loc[3:6, "risk level"] = None
    table.to_csv(source, index=False)
    assert balance(source, "--out", out) == 1
    assert "--drop-missing-target" in capsys.readouterr().err
    assert not out.exists()
    assert balance(source, "--out", out, "--drop-missing-target") == 0
    assert pd.read_csv(out)["risk level"].notna().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "in.csv"], "--out must not be the file that is read"),
        (["--out", "soft.csv"], "--out must not be the file that is read"),
        (["--out", "hard.csv"], "--out must not be the file that is read"),
        (["--provenance", "in.csv"], "--provenance must not be the file that is read"),
        (["--out", "x.csv", "--provenance", "./x.csv"], "must be two files"),
        (["--out", "x.doc"], "--out must end in one of"),
        (["--out", "none/x.csv"], "folder that exists"),
        (["--ratio", "2"], "--ratio must be a share"),
        (["--ratio", "lo=5"], "near: 'low'"),
        (["--ratio", "low=5"], "rows are only added, never removed"),
        (["--ratio", "0.5", "--ratio", "0.7"], "one share only"),
        (["--immutable", "agee"], "near: 'age'"),
        (["--immutable", "patient"], "--use patient"),
        (["--increasing", "ward"], "or use OneOf or Immutable"),
        (["--keep", "risk level"], "neither kept nor used"),
    ],
)
def test_an_error_is_one_line_with_the_remedy(tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(tmp_path)
    patients().to_csv("in.csv", index=False)
    Path("soft.csv").symlink_to("in.csv")
    Path("hard.csv").hardlink_to("in.csv")
    before = Path("in.csv").read_bytes()
    assert balance("in.csv", *options) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("counterbalance: error: ")
    assert message in last
    assert Path("in.csv").read_bytes() == before
    assert not Path("x.csv").exists()


def test_hostile_names_are_shown_as_text(tmp_path, capsys):
    source = tmp_path / "in.csv"
    table = patients().rename(columns={"age": "\x1b[31mage", "ward": "[bold]<script>"})
    table.to_csv(source, index=False)
    assert balance(source) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\\x1b[31mage" in said.out


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_kill_leaves_the_old_file_or_the_complete_new_one(folder, tmp_path):
    whole, out = tmp_path / "whole.csv", tmp_path / "out.csv"
    assert balance(folder / "patients.csv", "--out", whole) == 0
    out.write_text("old")
    command = [sys.executable, "-m", "counterbalance", "balance", str(folder / "patients.csv")]
    for fraction in (0.5, 1.0):
        start = time.monotonic()
        process = subprocess.Popen(  # noqa: S603 - our own command
            [*command, "--target", "risk level", "--out", str(out)],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None and time.monotonic() - start < 3 * fraction:
            if fraction == 1.0 and any(path.suffix == ".part" for path in tmp_path.iterdir()):
                break
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert out.read_bytes() in {b"old", whole.read_bytes()}


@pytest.fixture(scope="module")
def tiny_class(tmp_path_factory):
    """A file with three classes, one of them of six rows among noise."""
    rng = np.random.default_rng(0)
    n = {"usual": 300, "other": 120, "rare one": 6}
    table = pd.DataFrame(rng.normal(size=(426, 3)).round(2), columns=["a", "b", "c"])
    table["risk level"] = np.repeat(list(n), list(n.values()))
    table["a"] += 1.5 * (table["risk level"] == "other")
    path = tmp_path_factory.mktemp("tiny") / "tiny.csv"
    table.to_csv(path, index=False)
    return path


def test_the_summary_counts_the_new_rows_by_origin_minimum_inversions_first(
    tiny_class, tmp_path, capsys
):
    new = tmp_path / "new.csv"
    assert balance(tiny_class, "--provenance", new) == 0
    said = capsys.readouterr()
    origins = pd.read_csv(new)["origin"].value_counts()
    lines = said.out.splitlines()
    assert lines[1].startswith(f"{origins['inversion']} of {len(pd.read_csv(new))} new rows (")
    assert f"{origins['interior']} were made within their class" in said.out
    assert "Too few rows of larger classes" in said.out
    assert "within the class" in said.out
    assert "new samples requested" not in said.err  # said once, in the summary


def test_the_last_line_warns_of_an_inflated_class_and_names_the_ratio_to_ask_for(
    tiny_class, capsys
):
    assert balance(tiny_class) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("counterbalance: WARNING: class 'rare one' has 6 rows and got 294 new")
    options = shlex.split(last.split("Ask for fewer: ")[1].split(", or")[0])
    assert options[:2] == ["--ratio", "1"]
    assert balance(tiny_class, *options, "--json") == 0
    said = capsys.readouterr()
    assert "WARNING" not in said.err
    summary = json.loads(said.out)
    after = {one["class"]: one["after"] for one in summary["classes"]}
    assert after["other"] == 300
    assert after["rare one"] == 66  # ten new ones for each real row
    assert balance(tiny_class, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert len(summary["warnings"]) == 1
    assert {one["class"] for one in summary["origins_by_class"]} == {"other", "rare one"}


def test_ratio_all_takes_every_counterfactual_and_nothing_else(tiny_class, tmp_path, capsys):
    out, new = tmp_path / "out.csv", tmp_path / "new.csv"
    assert balance(tiny_class, "--ratio", "all", "--out", out, "--provenance", new, "--json") == 0
    said = capsys.readouterr()
    summary, provenance = json.loads(said.out), pd.read_csv(new)
    assert set(provenance["origin"]) == {"inversion"}
    assert len(provenance) == sum(got["inversions"] for got in summary["yield"])
    assert len(pd.read_csv(out)) == 426 + len(provenance)
    assert "WARNING" not in said.err
    assert balance(tiny_class, "--ratio", "all", "--ratio", "0.5") == 1
    assert "--ratio all must stand alone" in capsys.readouterr().err


def test_every_method_of_ours_and_of_the_literature_balances_a_table(folder, tmp_path, capsys):
    source = folder / "patients.csv"
    for method in ("interior", "SMOTE", "random oversampling"):
        out = tmp_path / f"{method}.csv"
        assert balance(source, "--method", method, "--out", out) == 0
        assert out.read_text().startswith(source.read_text())
        all_rows = pd.read_csv(out)
        assert set(all_rows["risk level"].value_counts()) == {97}
        assert set(all_rows["ward"]) == set(pd.read_csv(source)["ward"])
        assert all_rows["patient"].isna().sum() == 74
    said = capsys.readouterr().out
    assert "74 were made within their class and are not counterfactuals." in said
    assert "74 new rows were made by SMOTE, which records no origin." in said


def test_the_interior_sampler_has_provenance_rules_and_a_report(folder, tmp_path):
    pytest.importorskip("jinja2")
    new, page = tmp_path / "new.csv", tmp_path / "page.html"
    how = ("--method", "interior", "--immutable", "ward", "--ratio", 0.5, "--seed", 3)
    assert balance(folder / "patients.csv", *how, "--provenance", new, "--report", page) == 0
    provenance = pd.read_csv(new)
    assert set(provenance["origin"]) == {"interior"}
    assert not provenance["changed"].str.contains("ward").any()
    assert "--method interior" in page.read_text()


def test_an_undersampler_leaves_rows_of_the_file_out(folder, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert balance(folder / "patients.csv", "--method", "random undersampling", "--out", out) == 0
    lines = (folder / "patients.csv").read_text().splitlines()
    assert len(out.read_text().splitlines()) == 1 + 2 * 23
    assert set(out.read_text().splitlines()) <= set(lines)
    assert "74 rows of the table were left out by Random undersampling." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "smot"], "--method must be a method of the registry, got 'smot' (near: 'SM"),
        (["--method", "CUSBoost"], "CUSBoost is a classifier that resamples while it is fitted"),
        (["--method", "SMOTE", "--immutable", "age"], "--immutable goes with --method counterfact"),
        (["--method", "SMOTE", "--provenance", "new.csv"], "leave it out for SMOTE"),
        (["--method", "interior", "--ratio", "all"], "--ratio all goes with --method counterfact"),
        (
            ["--method", "random undersampling", "--ratio", 0.5],
            "--ratio goes with methods that add",
        ),
        (["--method", ""], "--method must be a method of the registry, got ''"),
    ],
)
def test_a_method_that_cannot_do_what_is_asked_is_refused(folder, options, message, capsys):
    assert balance(folder / "patients.csv", *options) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
