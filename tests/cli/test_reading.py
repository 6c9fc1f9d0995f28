"""Real-world files through the command: read as what they are, and written as they were."""

import sys

import numpy as np
import pandas as pd
import pytest

from counterbalance.cli import main


def customers(n=120):
    rng = np.random.default_rng(0)
    income = rng.lognormal(11, 0.5, n)
    money = [f"${value:,.2f} " for value in income]
    money[3] = money[7] = " "
    return pd.DataFrame(
        {
            " Income ": money,
            "discount": [f"{value}%" for value in rng.integers(0, 60, n)],
            "visits": [f"{value:,}" for value in rng.integers(0, 5000, n)],
            "lab": [str(value) for value in rng.integers(0, 90, n)],
            "reply": np.where(income > np.quantile(income, 0.8), "yes", "no"),
        }
    )


def balance(path, *options, target="reply"):
    return main(["balance", str(path), "--target", target, *map(str, options)])


@pytest.fixture
def source(tmp_path):
    customers().to_csv(tmp_path / "in.csv", index=False)
    return tmp_path / "in.csv"


def new_rows(source, out, **how):
    before = source.read_text()
    assert out.read_text().startswith(before)
    rows = pd.read_csv(out, dtype=str, keep_default_na=False, **how)
    return rows.iloc[before.count("\n") - (how.get("header", 0) is not None) :]


def test_money_percentages_and_thousands_are_changed_as_numbers(source, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert balance(source, "--out", out) == 0
    new = new_rows(source, out)
    assert new[" Income "].str.fullmatch(r"\$\d{1,3}(,\d{3})*\.\d\d ?| ").all()
    assert new["discount"].str.fullmatch(r"\d+%").all()
    assert new["visits"].str.fullmatch(r"\d{1,3}(,\d{3})*").all()
    assert not set(new[" Income "]) <= set(customers()[" Income "])  # numbers, not categories
    said = capsys.readouterr().err
    assert "'Income', 'discount', 'visits' are read as numbers" in said
    assert "read as text" not in said


def test_columns_are_read_as_the_options_say(tmp_path, capsys):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    table = customers()
    table.loc[:4, "lab"] = "<10"
    table.loc[5:9, "lab"] = "-999.0"
    table.to_csv(source, index=False)
    assert balance(source) == 0
    assert "--number lab reads it as numbers" in capsys.readouterr().err
    options = ("--number", "lab", "--na", "-999", "--na", "nowhere", "--text", "discount")
    assert balance(source, "--out", out, *options) == 0
    said = capsys.readouterr().err
    assert "cells such as ' ', '<10' as missing" in said
    assert "--na names 'nowhere', but no cell holds it" in said
    assert "12 cells are missing" in said
    new = new_rows(source, out)
    assert set(new["discount"]) <= set(table["discount"])
    assert new["lab"].str.fullmatch(r"\d+|<10").all()
    for wrong, message in (
        (("--number", "reply"), "none of its cells is a number"),
        (("--number", "labb"), "near: 'lab'"),
        (("--number", "lab", "--text", "lab"), "in both --number and --text"),
    ):
        assert balance(source, *wrong) == 1
        assert message in capsys.readouterr().err


def test_without_a_header_no_row_is_lost(tmp_path, capsys):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    customers().to_csv(source, index=False, header=False)
    assert balance(source, "--out", out, target="column 5") == 1
    assert "--no-header" in capsys.readouterr().err
    assert not out.exists()
    page = tmp_path / "page.html"
    how = ("--no-header", "--out", out, "--report", page)
    assert balance(source, *how, target="column 5") == 0
    assert len(new_rows(source, out, header=None)) == 72
    assert "column 1: " in capsys.readouterr().out
    assert "--no-header" in page.read_text()


def test_a_spreadsheet_is_written_as_a_spreadsheet(tmp_path, capsys):
    openpyxl = pytest.importorskip("openpyxl")
    source, out = tmp_path / "in.xlsx", tmp_path / "out.xlsx"
    table = customers().assign(born=pd.date_range("1950-01-01", periods=120, freq="40D"))
    table["lab"] = table["lab"].astype(int)
    with pd.ExcelWriter(source) as book:
        pd.DataFrame({"read": ["me"]}).to_excel(book, sheet_name="about", index=False)
        table.to_excel(book, sheet_name="data", index=False)
    assert balance(source, "--out", out, "--sheet", "about") == 1
    assert "--target must name a column" in capsys.readouterr().err
    assert balance(source, "--out", out) == 0
    assert "'data' is read, --sheet NAME reads another: 'about'" in capsys.readouterr().err
    before, after = (list(openpyxl.load_workbook(path)["data"].values) for path in (source, out))
    assert after[: len(before)] == before
    assert all(row[-1] is None and isinstance(row[3], int) for row in after[len(before) :])
    assert len(after) == len(before) + 72


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("x.parquet", "pyarrow", "parquet"),
        ("x.feather", "pyarrow", "parquet"),
        ("x.xlsx", "openpyxl", "xlsx"),
    ],
)
@pytest.mark.parametrize("option", ["--out", "--provenance"])
def test_a_missing_package_is_reported_before_any_work(
    tmp_path, monkeypatch, capsys, name, package, extra, option
):
    monkeypatch.setitem(sys.modules, package, None)
    assert balance(tmp_path / "not there.csv", option, tmp_path / name) == 1  # not even looked at
    said = capsys.readouterr().err
    assert f"needs {package}, which is not installed" in said
    assert f"pip install 'counterbalance[{extra}]'" in said


def test_a_report_can_be_written_without_rows(source, tmp_path, capsys):
    with_rows, without = tmp_path / "with.html", tmp_path / "without.html"
    assert balance(source, "--report", with_rows) == 0
    assert balance(source, "--report", without, "--no-rows") == 0
    rows, none = with_rows.read_text(), without.read_text()
    assert "not anonymous: half of them share at least" in rows
    assert "not anonymous: half of them share at least" in none
    assert "real rows with their values: whoever gets the page gets them" in rows
    for part in ('id="explorer"', 'id="map"', "The nearest:", "read as numbers such as"):
        assert part in rows
        assert part not in none
    assert 'id="features"' in none
    assert "--no-rows" in none
    capsys.readouterr()
    assert balance(source, "--no-rows") == 1
    assert "add --report FILE" in capsys.readouterr().err


def test_reading_options_go_with_files_that_need_them(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    source = tmp_path / "in.parquet"
    customers().to_parquet(source)
    assert balance(source, "--no-header") == 1
    assert "goes with text files and spreadsheets" in capsys.readouterr().err
    assert balance(source, "--engine", "dask", "--na", "x", "--out", tmp_path / "out") == 1
    assert "--na goes with --engine memory only" in capsys.readouterr().err


def test_a_class_is_found_whatever_spaces_the_file_puts_before_it(tmp_path, capsys):
    source, out = tmp_path / "adult.csv", tmp_path / "out.csv"
    rng = np.random.default_rng(0)
    ages, works = rng.integers(20, 80, 120).tolist(), rng.choice(["A", "B"], 120).tolist()
    rows = [f"{a}, {w}, {'>50K' if a > 65 else '<=50K'}" for a, w in zip(ages, works, strict=True)]
    source.write_text("\n".join(["age, work, pay", *rows, ""]))
    words = ["--target", "pay", "--row", str(np.argmin(ages)), "--to", ">50K"]
    assert main(["explain", str(source), *words]) == 0
    assert "call it class >50K" in capsys.readouterr().out
    assert balance(source, "--ratio", ">50K=40", "--out", out, target="pay") == 0
    new = out.read_text().splitlines()[121:]
    assert new
    assert all(line.endswith((", A, >50K", ", B, >50K")) for line in new)


def test_many_columns_with_one_value_share_a_line(tmp_path, capsys):
    table = customers().assign(**{f"constant {m}": m for m in range(17)})
    table.to_csv(tmp_path / "in.csv", index=False)
    assert balance(tmp_path / "in.csv") == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "constant" in line]
    assert len(said) == 1
    assert "and 1" in said[0]  # how many more


def test_duplicate_names_are_numbered_with_a_note(tmp_path, capsys):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    text = customers().rename(columns={"lab": "visits"}).to_csv(index=False)
    source.write_text(text)
    assert balance(source, "--out", out) == 0
    assert "columns are called 'visits'; this one is 'visits.1' here" in capsys.readouterr().err
    assert out.read_text().startswith(text)
    assert balance(source, "--immutable", "visits.1") == 0
