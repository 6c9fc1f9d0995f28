"""The Python, commands and outputs in README, start page and guide are correct.

Each page is run from top to bottom in its own namespace. The build of the site tests links between
pages; these tests check those of the README.
"""

import glob
import re
import runpy
import shlex
from collections import Counter
from contextlib import chdir, redirect_stdout
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pytest

from counterbalance import CounterfactualOverSampler
from counterbalance.cli import main
from counterbalance.datasets import load_wisconsin

ROOT = Path(__file__).parents[1]
FILES = ["README.md", "docs/start.md", "docs/evidence.md"]
FILES += [f"docs/guide/{path.name}" for path in sorted((ROOT / "docs/guide").glob("*.md"))]
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in FILES}
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
INDENTED = re.compile(r"(?:^    .*\n(?:^\n(?=    ))*)+", re.MULTILINE)
STARTS = ("counterbalance ", "make ", "pip ", "$ counterbalance ")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ON_DASK, ON_DASK_PAGE = "--engine dask", "docs/guide/beyond-one-machine.md"
# Commands that take hours run with these options, which make them small.
SMALLER = {
    "compare": "--folds 2 --repeats 1 --classifiers LR --jobs 1",
}


def indented_blocks(*pages):
    """Return the blocks indented by four spaces, as lists of lines."""
    plain = FENCED.sub("", "\n".join(pages or PAGES.values()))
    return [[line[4:] for line in found.group().splitlines()] for found in INDENTED.finditer(plain)]


def commands(program):
    """Return the lines that call a program, without their comments, each once."""
    lines = [line for block in indented_blocks() for line in block]
    found = [line.split("  #")[0].strip() for line in lines if line.startswith(f"{program} ")]
    return list(dict.fromkeys(found))


def outputs():
    """Return the blocks that show what an example prints, without empty lines."""
    shown = [block for block in indented_blocks() if not block[0].startswith(STARTS)]
    return [[line.rstrip() for line in block if line] for block in shown]


def slow_if(slow, parameter):
    """Return a parameter that is marked as slow, or not."""
    return pytest.param(parameter, marks=[pytest.mark.slow] if slow else [])


RUN = [slow_if(ON_DASK in line, line) for line in commands("counterbalance")]
WITH_PYTHON = [slow_if(name == ON_DASK_PAGE, name) for name in PAGES if "```python" in PAGES[name]]


@pytest.fixture
def patients(tmp_path, monkeypatch):
    """The bundled table under the names of the README: patients.csv and big/*.parquet."""
    data = load_wisconsin()
    table = data.X.assign(risk=data.y.map({"benign": "low", "malignant": "high"}))
    table.to_csv(tmp_path / "patients.csv", index=False)
    data.X.assign(Class=data.y).to_csv(tmp_path / "wbc.csv", index=False)
    (tmp_path / "big").mkdir()
    for part, rows in enumerate(np.array_split(np.arange(len(table)), 2)):
        path = tmp_path / "big" / f"{part}.parquet"
        table.iloc[rows].rename(columns={"risk": "y"}).to_parquet(path, index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", WITH_PYTHON)
@pytest.mark.usefixtures("patients")
def test_the_python_of_a_page_runs(page):
    data = load_wisconsin()
    complete = data.X.notna().all(axis=1)
    X, y = data.X[complete].to_numpy(float), data.y[complete].to_numpy()
    sampler = CounterfactualOverSampler(random_state=0)
    X_balanced, _ = sampler.fit_resample(X, y)
    names = {"X": X, "y": y, "sampler": sampler, "X_balanced": X_balanced, "data": data}
    names |= {"X_train": X[::2], "y_train": y[::2], "X_test": X[1::2]}
    blocks = [code for language, code in FENCED.findall(PAGES[page]) if language == "python"]
    if page == ON_DASK_PAGE:
        table = data.X[complete].assign(y=y)
        names["ddf"] = pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=2)
    for code in blocks:
        exec(compile(code, page, "exec"), names)  # noqa: S102 - our own page
    if page == "README.md":
        assert len(set(Counter(names["y_balanced"]).values())) == 1
        assert len(names["sampler"].provenance_) == len(names["y_balanced"]) - len(y)


def test_every_file_that_the_readme_links_to_is_there():
    missing = [link for link in LINK.findall(PAGES["README.md"]) if not (ROOT / link).exists()]
    assert missing == []


@pytest.mark.parametrize("command", RUN)
def test_a_command_of_a_page_runs(command, patients):
    if ON_DASK in command:
        pytest.importorskip("distributed")
    _, *words = shlex.split(command)
    words += shlex.split(SMALLER.get(words[0], ""))
    expanded = [name for word in words for name in sorted(glob.glob(word)) or [word]]  # noqa: PTH207
    assert main(expanded) == 0
    for option, name in pairwise(words):
        if option in {"--out", "--report"}:
            assert (patients / name).exists()


def sessions():
    """Return the commands that are shown with what they print, each with those lines."""
    found = []
    for name in ("README.md", "docs/command-line.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for block in indented_blocks(text):
            starts = [at for at, line in enumerate(block) if line.startswith("$ counterbalance ")]
            ends = [*starts[1:], len(block)] if starts else []
            found += [block[start:end] for start, end in zip(starts, ends, strict=True)]
    return found


@pytest.mark.parametrize("block", sessions(), ids=lambda block: block[0])
@pytest.mark.usefixtures("patients")
def test_a_command_prints_what_its_page_shows(block, capsys):
    assert main(shlex.split(block[0])[2:]) == 0
    output = capsys.readouterr()
    printed = {line.rstrip() for line in (output.out + output.err).splitlines()}
    assert [line for line in map(str.rstrip, block[1:]) if line not in printed | {"", "..."}] == []


@pytest.mark.parametrize("command", commands("make"))
def test_a_make_target_of_a_page_is_there(command):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{command.split()[1]}:", makefile, re.MULTILINE)


@cache
def printed(script):
    """Return what an example prints; it runs in a folder of its own."""
    with TemporaryDirectory() as folder, chdir(folder), redirect_stdout(StringIO()) as output:
        runpy.run_path(str(script), run_name="__main__")
    plt.close("all")
    return output.getvalue()


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_an_example_runs(script):
    assert printed(script)


@pytest.mark.parametrize("lines", outputs(), ids=lambda lines: lines[0])
def test_what_a_page_says_an_example_prints_is_printed(lines):
    output = [{line.rstrip() for line in printed(script).splitlines()} for script in EXAMPLES]
    missing = [[line for line in lines if line not in one] for one in output]
    assert min(missing, key=len) == []
