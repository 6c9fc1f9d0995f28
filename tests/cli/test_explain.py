"""``counterbalance explain``: what would have to change, or why there is no answer."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from counterbalance.cli import main
from counterbalance.datasets import load_wisconsin


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "wisconsin.csv"
    data = load_wisconsin()
    data.X.assign(Class=data.y).to_csv(path, index=False)
    return path


def explain(table, *options):
    return main(["explain", str(table), "--target", "Class", *map(str, options)])


def test_each_answer_is_a_table_with_the_values_that_are_accepted(table, capsys):
    assert explain(table, "--row", 0, "--to", "malignant") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "row 0, class benign"
    assert lines[2] == "What would make the classifier call it malignant, 3 answers:"
    assert sum(line.split() == ["feature", "now", "then", "accepted"] for line in lines) == 3
    assert any(
        re.match(r"Answer 1: distance [\d.]+, score of malignant 0.00 → 0.5", x) for x in lines
    )
    assert any(re.match(r"CellSize +1 +5 +5 or more", line) for line in lines)
    assert "farther than the nearest: this is proved" in "\n".join(lines)
    assert all("of 10 refits agree" in line for line in lines if line.startswith("Answer"))
    assert lines[-1] == "answer 1 is the counterfactual that balance finds for this row"
    assert "about:" not in "\n".join(lines)


def test_what_is_not_what_balance_finds_is_not_said_to_be(table, capsys):
    row = 5  # malignant, the smaller class
    assert explain(table, "--row", row) == 0
    said = capsys.readouterr().out
    assert "call it benign" in said
    assert "balance finds" not in said


def test_with_two_classes_the_other_one_is_the_default(table, capsys):
    assert explain(table, "--row", 0, "--json", "--answers", 2) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["class"], found["to"], len(found["answers"])) == ("benign", "malignant", 2)
    change = next(iter(found["answers"][0]["changes"].values()))
    assert set(change) == {"before", "after", "accepted"}
    assert change["accepted"] == {"low": 5, "high": None, "values": None, "exact": True}
    assert (found["refits"], found["sampled"]) == (10, True)
    assert all(0 < one["bound"] <= one["distance"] for one in found["answers"])


def test_refits_are_counted(table, capsys):
    assert explain(table, "--row", 0, "--robust", 0.9, "--answers", 1) == 0
    said = capsys.readouterr().out
    assert re.search(r"(9|10) of 10 refits agree", said)
    assert "proved" not in said
    assert "the classifier and 90% of its refits say malignant" in said
    assert "balance finds" not in said


def test_a_row_that_the_classifier_already_calls_that_class_is_reported(table, capsys):
    assert explain(table, "--row", 1, "--json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["answers"] == []
    assert "calls row 1 malignant already, though its class is benign" in said.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--row", "699"], "from 0 to 698, got 699"),
        (["--row", "0", "--to", "benign"], "must be another class than that of row 0"),
        (["--row", "0", "--to", "malign"], "near: 'malignant'"),
        (
            [
                *("--row", "0", "--immutable", "CellSize,CellShape,BareNuclei,Chromatin,Mitoses"),
                *("--immutable", "NormalNucleoli,EpithelialSize,ClumpThickness"),
            ],
            "makes the classifier call row 0 malignant; loosen --immutable",
        ),
        (["--row", "0", "--robust", "1", "--max-changed", "1"], "lower --robust, loosen --max-ch"),
    ],
)
def test_an_error_is_one_line_with_the_remedy(table, options, message, capsys):
    assert explain(table, *options) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("counterbalance: error: ")
    assert message in last


def test_with_several_classes_one_has_to_be_named(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{i % 17},{'xyz'[i % 17 // 6]}\n" for i in range(90)))
    assert main(["explain", str(path), "--target", "y", "--row", "0"]) == 1
    assert "--to must be given, as there are several classes: x, y, z" in capsys.readouterr().err


def test_several_rows_are_written_to_a_file(table, tmp_path, capsys):
    out = tmp_path / "answers.csv"
    rows = ("--rows", "0,5,9", "--robust", -1)
    assert explain(table, *rows, "--out", out) == 0
    written = pd.read_csv(out)
    assert written["row"].tolist() == [0, 5, 9]
    assert written["to"].tolist() == ["malignant", "benign", "malignant"]
    assert (written["bound"] <= written["distance"]).all()
    assert "3 answers to 3 rows" in capsys.readouterr().err
    assert explain(table, *rows, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert [one["changes"] for one in shown] == written["changes"].tolist()
    assert explain(table, *rows, "--no-certify") == 0
    assert "CellSize 1 → 5" in capsys.readouterr().out


def test_rows_can_be_chosen_by_a_comparison(table, tmp_path, capsys):
    out = tmp_path / "answers.csv"
    options = ("--robust", -1, "--no-certify", "--out", out)
    assert explain(table, "--where", "CellSize > 9", *options) == 0
    sizes = load_wisconsin().X["CellSize"]
    assert set(pd.read_csv(out)["row"]) <= set(np.flatnonzero(sizes > 9))
    assert explain(table, "--where", "CellSize > 99", *options) == 1
    assert "holds for no row" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "one of --row, --rows, --where and --all must be given"),
        (["--row", "0", "--all"], "one of --row, --rows, --where and --all must be given"),
        (["--rows", "0,x"], "--rows must be one of the 699 rows, from 0 to 698, got x"),
        (["--rows", "0,1", "--out", "answers.xlsx"], "--out must be a csv file"),
        (["--row", "0", "--out", "answers.csv"], "--out must be a csv file for several rows"),
        (["--where", "Size > 3"], "--where must name a column of the table, got 'Size'"),
        (["--where", "__import__('os')"], "cannot be read"),
        (["--row", "0", "--cost", "CellSize=0"], "needs a weight above 0"),
        (["--row", "0", "--cost", "CellSize"], "--cost must be COL=NUMBER"),
        (["--row", "0", "--at-least", "CellSize=99"], "lie nearer together"),
        (["--row", "0", "--transitions", "CellSize=1"], "--transitions must be COL=A>B,C"),
        (["--row", "0", "--transitions", "CellSize=1>2"], "needs a column with categories"),
    ],
)
def test_what_cannot_be_read_is_refused(table, options, message, capsys):
    assert explain(table, *options) == 1
    assert message in capsys.readouterr().err.splitlines()[-1]
