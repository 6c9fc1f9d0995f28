"""What the README shows works: its Python, its commands, and what it says the examples print."""

import glob
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from counterbalance.cli import main
from counterbalance.datasets import load_wisconsin

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?:^    .*\n(?:^\n(?=    ))*)+", re.MULTILINE)
STARTS = ("counterbalance ", "make ", "pip ")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ON_DASK = "--engine dask"
# What takes hours on the paper's sizes runs as it stands, with these to make it small.
SMALLER = {
    "compare": "--folds 2 --repeats 1 --classifiers LR --jobs 1",
    "study": "--datasets glass2 --methods SMOTE --folds 2 --rows 120",
    "reproduce": "--quick --datasets WBC --folds 2 --splits 1 --seeds 1 --rows 200",
}


def indented_blocks():
    """Return the blocks that are set off by four spaces, as lists of lines."""
    plain = FENCED.sub("", README)
    return [[line[4:] for line in found.group().splitlines()] for found in INDENTED.finditer(plain)]


def commands(program):
    """Return the lines that call a program, without their comments."""
    lines = [line for block in indented_blocks() for line in block]
    return [line.split("  #")[0].strip() for line in lines if line.startswith(f"{program} ")]


def outputs():
    """Return the blocks that show what an example prints, without empty lines."""
    shown = [block for block in indented_blocks() if not block[0].startswith(STARTS)]
    return [[line.rstrip() for line in block if line] for block in shown]


def marked(command):
    """Return a command as a parameter, with the markers of what it takes."""
    slow = [pytest.mark.slow] if command.split()[1] in SMALLER else []
    return pytest.param(command, marks=[pytest.mark.dask] if ON_DASK in command else slow)


@pytest.fixture
def patients(tmp_path, monkeypatch):
    """The bundled table under the names of the README: patients.csv and big/*.parquet."""
    data = load_wisconsin()
    table = data.X.assign(risk=data.y.map({"benign": "low", "malignant": "high"}))
    table.to_csv(tmp_path / "patients.csv", index=False)
    (tmp_path / "big").mkdir()
    for part, rows in enumerate(np.array_split(np.arange(len(table)), 2)):
        path = tmp_path / "big" / f"{part}.parquet"
        table.iloc[rows].rename(columns={"risk": "y"}).to_parquet(path, index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_of_the_readme_runs():
    data = load_wisconsin()
    complete = data.X.notna().all(axis=1)
    X, y = data.X[complete].to_numpy(float), data.y[complete].to_numpy()
    names = {"X": X, "y": y}
    blocks = [code for language, code in FENCED.findall(README) if language == "python"]
    assert blocks
    for code in blocks:
        exec(compile(code, "README.md", "exec"), names)  # noqa: S102 - our own page
    assert len(set(Counter(names["y_balanced"]).values())) == 1
    assert len(names["sampler"].provenance_) == len(names["y_balanced"]) - len(y)


@pytest.mark.parametrize("command", [marked(command) for command in commands("counterbalance")])
def test_a_command_of_the_readme_runs(command, patients):
    if ON_DASK in command:
        pytest.importorskip("distributed")
    _, *words = shlex.split(command)
    words += shlex.split(SMALLER.get(words[0], ""))
    expanded = [name for word in words for name in sorted(glob.glob(word)) or [word]]  # noqa: PTH207
    assert main(expanded) == 0
    for option, name in pairwise(words):
        if option in {"--out", "--report"}:
            assert (patients / name).exists()


@pytest.mark.parametrize("command", commands("make"))
def test_a_make_target_of_the_readme_is_there(command):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{command.split()[1]}:", makefile, re.MULTILINE)


@cache
def printed(script):
    """Return what an example prints; it runs in a folder of its own."""
    with TemporaryDirectory() as folder:
        done = subprocess.run(  # noqa: S603 - our own script
            [sys.executable, str(script)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    if missing := re.search(r"^(ImportError|ModuleNotFoundError): .*", done.stderr, re.MULTILINE):
        pytest.skip(f"{script.name}: {missing.group()}")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_an_example_runs(script):
    assert printed(script)


@pytest.mark.parametrize("lines", outputs(), ids=lambda lines: lines[0])
def test_what_the_readme_says_an_example_prints_is_printed(lines):
    said = [{line.rstrip() for line in printed(script).splitlines()} for script in EXAMPLES]
    missing = [[line for line in lines if line not in one] for one in said]
    assert min(missing, key=len) == []
