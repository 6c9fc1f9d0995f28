"""``balance`` lists the relations that it found, and leaves out what it is told to."""

import json

import numpy as np
import pandas as pd
import pytest

from counterbalance.cli import main

TEXT = "total follows months * monthly"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "months": rng.integers(1, 73, 150),
            "monthly": rng.uniform(18, 99, 150).round(2),
            "plan": rng.choice(["a", "b"], 150),
        }
    )
    table["total"] = (table["months"] * table["monthly"]).round(2)
    table["left"] = np.where(table["months"] + rng.normal(0, 9, 150) < 16, "yes", "no")
    path = tmp_path_factory.mktemp("tables") / "customers.csv"
    table.to_csv(path, index=False)
    return path


def balance(source, *options):
    return main(["balance", str(source), "--target", "left", *map(str, options)])


def test_relations_are_listed_with_the_way_to_switch_them_off(source, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert balance(source, "--report", page) == 0
    said = capsys.readouterr().out
    assert TEXT in said
    assert f"--ignore-relation '{TEXT}'" in said
    text = page.read_text(encoding="utf-8")
    assert "total follows months * monthly" in text
    assert "farther out than 95% of the real rows" in text


def test_a_relation_or_all_of_it_is_switched_off(source, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert balance(source, "--json") == 0
    assert [one["relation"] for one in json.loads(capsys.readouterr().out)["relations"]] == [TEXT]
    assert balance(source, "--json", "--ignore-relation", TEXT, "--report", page) == 0
    assert json.loads(capsys.readouterr().out)["relations"] == []
    assert "--ignore-relation" in page.read_text(encoding="utf-8")
    assert balance(source, "--json", "--no-plausible") == 0
    assert json.loads(capsys.readouterr().out)["relations"] == []
