"""Explanations of hostile tables, and constraints that mean harm: an answer that is true, or one
line that names the fault; never a traceback, and nothing of a user's text is run."""

import os
import random
import warnings

import numpy as np
import pandas as pd
import pytest

from counterbalance import CounterfactualOverSampler
from counterbalance.cli import main
from counterbalance.errors import CounterbalanceError
from counterbalance.explain import explain
from hostile_tables import hostile

pytestmark = pytest.mark.slow

MANY = bool(os.environ.get("COUNTERBALANCE_ATTACK"))
TABLES = 120 if MANY else 15
TEXTS = 200 if MANY else 25
PIECES = [
    *("age", "dose", "ward", "name", "risk", "=", "==", "<=", ":", ",", "-", "*", "(", ")", "`"),
    *("1e309", "nan", "inf", "-0", "0x1", "'", '"', "\\", "\n", "\0", " ", "é", "中", "$(id)", ";"),
    *("__import__('os').system('id')", "A", "B", "True", "40", "0", "9" * 400, "%s", "{0}"),
]
OPTIONS = ["--range", "--one-of", "--constraint", "--immutable", "--increasing", "--max-changed"]
OPTIONS += ["--transitions", "--at-least", "--cost", "--where"]


@pytest.mark.parametrize("seed", range(TABLES))
def test_a_hostile_table_is_explained_or_refused(seed):
    table = hostile(seed)
    settings = table.settings | {"n_draws": 3, "random_state": 0}
    known = CounterfactualOverSampler().get_params()
    sampler = CounterfactualOverSampler(**{k: v for k, v in settings.items() if k in known})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            labels = sampler.prepare(table.X, table.y).labels
            to = labels.classes.tolist()[seed % len(labels.classes)]
            found = explain(sampler, table.X, table.y, seed % table.n_rows, to)
        except (CounterbalanceError, ValueError):
            return
    for answer in found.answers:
        assert answer.changes
        assert set(answer.accepted) == set(answer.changes)
        assert np.isfinite(answer.distance)
        for name, (_, after) in answer.changes.items():
            assert answer.accepted[name].tell(after)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "dose": rng.integers(0, 50, n),
            "ward": rng.choice(["A", "B"], n),
            "name": [f"person {i}" for i in range(n)],
        }
    )
    frame["risk"] = np.where(frame["age"] + frame["dose"] > 90, "high", "low")
    path = tmp_path_factory.mktemp("tables") / "patients.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("seed", range(TEXTS))
def test_no_text_of_a_constraint_is_run_or_ends_in_a_traceback(table, seed, capsys, monkeypatch):
    monkeypatch.setattr(os, "system", lambda _: pytest.fail("a user's text was run"))
    rng = random.Random(seed)  # noqa: S311 (texts, no secrets)
    options = []
    for _ in range(rng.randint(1, 3)):
        option = rng.choice(OPTIONS)
        options += [option, "".join(rng.choices(PIECES, k=rng.randint(0, 6))).replace("\0", "")]
    row = ["--row", "0"]
    assert main(["explain", str(table), "--target", "risk", *row, *options]) in {0, 1, 2}
    said = capsys.readouterr().err
    assert "this is a bug of counterbalance" not in said
    assert "Traceback" not in said
    assert max(map(len, said.splitlines()), default=0) < 3000
