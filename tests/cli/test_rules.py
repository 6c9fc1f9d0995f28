"""Constraints on the command line: kept by every new row, repeated, refused if they are bad."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from counterbalance.cli import main


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 160
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "dose": rng.integers(0, 100, n) / 2,
            "word_count": rng.integers(50, 90, n),
            "word_unique": rng.integers(10, 60, n),
            "ward": rng.choice(["A", "B", "C"], n),
            "smoker": rng.choice([True, False], n),
            "name": [f"person {i}" for i in range(n)],
        }
    )
    frame["word.unique"] = frame["word_unique"]
    risk = frame["age"] + frame["dose"] + 9 * (frame["ward"] == "A") + rng.normal(0, 9, n)
    frame["risk"] = np.where(risk > risk.quantile(0.75), "high", "low")
    path = tmp_path_factory.mktemp("tables") / "patients.csv"
    frame.to_csv(path, index=False)
    return path


def run(command, table, *options):
    return main([command, str(table), "--target", "risk", *map(str, options)])


RULES = (
    *("--range", "dose=0:40", "--one-of", "ward=A,B", "--max-changed", 2),
    *("--constraint", "word.unique <= word_count", "--immutable", "smoker"),
)


def test_new_rows_keep_them_and_the_summary_repeats_them(table, tmp_path, capsys):
    out = tmp_path / "new.csv"
    assert run("balance", table, "--out", out, *RULES, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["constraints"] == (
        "Kept in every new row: smoker never changes; dose stays between 0 and 40; ward is one of "
        "A, B; word.unique <= word_count; at most 2 features change."
    )
    new = pd.read_csv(out).iloc[160:]
    assert len(new)
    assert new["dose"].between(0, 40).all()
    assert new["ward"].isin(["A", "B"]).all()
    assert (new["word.unique"] <= new["word_count"]).all()


def test_the_report_repeats_them_in_words_and_in_its_command(table, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run("balance", table, "--report", page, "--no-rows", *RULES) == 0
    assert "Kept in every new row: smoker never changes;" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "at most 2 features change" in text
    command = re.sub(r"&#3[49];|&quot;", "'", text)
    assert "--constraint 'word.unique &lt;= word_count'" in command
    assert "--max-changed 2" in command


def test_an_explanation_keeps_them(table, capsys):
    assert run("explain", table, "--row", 3, "--json", *RULES) == 0
    for answer in json.loads(capsys.readouterr().out)["answers"]:
        changes = {name: cell["after"] for name, cell in answer["changes"].items()}
        assert 1 <= len(changes) <= 2
        assert 0 <= changes.get("dose", 0) <= 40
        assert changes.get("ward", "A") in "AB"


def test_a_truth_and_a_half_open_range_can_be_written(table, tmp_path):
    out = tmp_path / "new.csv"
    rules = ("--one-of", "smoker=True", "--range", "age=30:", "--range", "dose=:45.5")
    assert run("balance", table, "--out", out, *rules) == 0
    new = pd.read_csv(out).iloc[160:]
    assert new["smoker"].all()
    assert (new["age"].ge(30) & new["dose"].le(45.5)).all()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["balance", "explain", "compare"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--range", "dosis=0:40"], "--range must name a column of the table, got 'dosis' (near"),
        (["--range", "dose=40:0"], "the lower number first, got 'dose=40:0'; write dose=0:40"),
        (["--range", "dose"], "--range must be COL=LOW:HIGH, such as dose=0:40"),
        (["--range", "dose=:"], "--range must be COL=LOW:HIGH"),
        (["--range", "dose=a:b"], "--range must be COL=LOW:HIGH"),
        (["--range", "dose=nan:3"], "--range must be COL=LOW:HIGH"),
        (["--range", "dose=900:950"], "lies outside the values of the column, 0 to 49"),
        (["--range", "ward=1:2"], "needs a column of numbers, but 'ward' is"),
        (["--range", "dose=0:9", "--range", "dose=10:20"], "contradicts another"),
        (["--one-of", "ward"], "--one-of must be COL=A,B"),
        (["--one-of", "ward="], "name at least one value"),
        (["--one-of", "ward=A,Z"], "names 'Z', which the column does not have; name values"),
        (["--constraint", "age <="], "the relation 'age <=' cannot be read: expected a column"),
        (["--constraint", "age < 3 < dose"], "is more than one comparison"),
        (["--constraint", "__import__('os')"], "cannot be read"),
        (["--constraint", "agee <= dose"], "--constraint must name a column of the table"),
        (["--constraint", "name <= dose"], "--constraint names 'name', which is not used"),
        (["--constraint", "ward <= dose"], "needs a column of numbers, but 'ward' is"),
        (["--immutable", "dose", "--range", "dose=0:9"], "which --immutable keeps as it is"),
        (["--immutable", "age", "--increasing", "age"], "which --immutable keeps as it is"),
        (["--increasing", "age", "--decreasing", "age"], "write --immutable age"),
        (
            ["--immutable", "age,dose", "--constraint", "dose <= age"],
            "names only columns that --immutable keeps",
        ),
    ],
)
def test_a_bad_one_is_refused_in_one_line_with_the_remedy(
    table, command, options, message, tmp_path, capsys
):
    other = {"explain": ["--row", "0"], "compare": ["--out", str(tmp_path / "out"), "--quick"]}
    assert run(command, table, *other.get(command, []), *options) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("counterbalance: error: ")
    assert message in last
    assert not (tmp_path / "out").exists()


def test_no_change_at_all_is_not_understood(table, capsys):
    assert run("balance", table, "--max-changed", 0) == 2
    assert "--max-changed" in capsys.readouterr().err


def test_compare_refuses_them_where_no_method_keeps_any(table, tmp_path, capsys):
    options = ("--methods", "SMOTE", "--max-changed", 2, "--out", tmp_path / "out")
    assert run("compare", table, *options) == 1
    assert "--max-changed is kept by our own methods only" in capsys.readouterr().err
