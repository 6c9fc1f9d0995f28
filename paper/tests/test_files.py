"""Links between the pages lead somewhere, and scripts take from this folder what is there."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

PAPER = Path(__file__).parents[1]
PAGES = [PAPER / "README.md", *sorted((PAPER / "docs").glob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
SCRIPTS = sorted((PAPER.parent / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_links_to_is_there(page):
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_is_named_in_the_readme():
    text = (PAPER / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if f"docs/{page.name}" not in text] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_what_a_benchmark_takes_from_the_experiments_is_there(script):
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "paper":
            for alias in node.names:
                assert hasattr(import_module(str(node.module)), alias.name)
