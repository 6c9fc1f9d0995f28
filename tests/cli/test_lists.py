"""``counterbalance datasets`` and ``counterbalance methods`` list and show what there is."""

import json

import pandas as pd
import pytest

from counterbalance.cli import main
from counterbalance.methods import all_samplers


def test_the_bundled_data_set_is_shown_for_machines(capsys):
    assert main(["datasets", "WBC", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert about["class_counts"] == {"benign": 458, "malignant": 241}
    assert about["features"]["BareNuclei"] == "float64"


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
        (["datasets", "WBB"], 2, "must be wbc"),
        (["datasets", "--out", "x.csv"], 2, "Missing argument"),
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
