"""``balance --report`` writes the page of the run, and refuses what it cannot write."""

import shlex

import pandas as pd
import pytest

from counterbalance.cli import main
from counterbalance.datasets import load_wisconsin


@pytest.fixture
def table(tmp_path):
    data = load_wisconsin()
    path = tmp_path / "cells & more.csv"
    frame = data.X.assign(Class=data.y).iloc[:200]
    frame.insert(0, "case", range(1000, 1200))
    frame.to_csv(path, index=False)
    return path


def test_the_page_shows_the_table_what_was_found_in_it_and_how_to_make_it_again(
    table, tmp_path, capsys, monkeypatch
):
    options = ["--immutable", "Mitoses", "--ratio", "0.9", "--seed", "3"]
    page = tmp_path / "report.html"
    given = ["balance", str(table), "--target", "Class", *options, "--report", str(page)]
    assert main(given) == 0
    assert f"wrote the report to {page}" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "cells &amp; more.csv" in text
    assert "case" in text  # the identifier, which is not used
    assert str(tmp_path) not in text
    command = text.split("<code>")[1].split("</code>")[0]
    words = shlex.split(command.replace("&#39;", "'").replace("&amp;", "&"))
    assert words[:2] == ["counterbalance", "balance"]
    monkeypatch.chdir(tmp_path)
    page.unlink()
    assert main(words[1:]) == 0
    assert page.read_text(encoding="utf-8") == text


def test_the_result_and_the_page_are_two_files(table, tmp_path, capsys):
    same = str(tmp_path / "one.csv")
    assert main(["balance", str(table), "--target", "Class", "--out", same, "--report", same]) == 1
    assert "must be two files" in capsys.readouterr().err


def test_the_table_itself_is_not_overwritten_by_its_page(table, capsys):
    before = table.read_bytes()
    assert main(["balance", str(table), "--target", "Class", "--report", str(table)]) == 1
    assert "--report must not be the file that is read" in capsys.readouterr().err
    assert table.read_bytes() == before


def test_a_table_that_is_balanced_already_has_a_page_too(tmp_path):
    frame = pd.DataFrame({"a": range(20), "b": [0.5, 1.5, 0.7, 1.7] * 5, "c": ["x", "y"] * 10})
    table, page = tmp_path / "even.csv", tmp_path / "page.html"
    frame.to_csv(table, index=False)
    assert main(["balance", str(table), "--target", "c", "--report", str(page)]) == 0
    assert "No rows added" in page.read_text(encoding="utf-8")
