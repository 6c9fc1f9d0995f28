"""``counterbalance explain``: what would have to change, or why there is no answer."""

import json

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


def test_the_ways_are_shown_as_a_table(table, capsys):
    assert explain(table, "--row", 0, "--to", "malignant") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "row 0, class benign"
    header = next(line for line in lines if line.startswith("feature"))
    assert header.split() == ["feature", "now", "way", "1", "way", "2", "way", "3"]
    assert any(line.startswith("CellShape") for line in lines)
    assert any(line.startswith("score of malignant") for line in lines)


def test_with_two_classes_the_other_one_is_the_default(table, capsys):
    assert explain(table, "--row", 0, "--json", "--ways", 2) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["class"], found["to"], len(found["ways"])) == ("benign", "malignant", 2)
    change = next(iter(found["ways"][0]["changes"].values()))
    assert set(change) == {"before", "after"}


def test_a_row_that_the_classifier_already_calls_that_class_is_reported(table, capsys):
    assert explain(table, "--row", 1, "--json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["ways"] == []
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
            "no change was found",
        ),
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
