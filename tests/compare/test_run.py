"""A comparison can be killed and resumed, and gives the same bytes."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest

from comparison_tables import SMALL, two_clouds
from counterbalance.compare import Settings, compare, write_files
from counterbalance.compare.data import read_compared
from counterbalance.compare.plan import ComparisonPlan
from counterbalance.compare.run import made_by
from counterbalance.compare.trust import new_rows
from counterbalance.constraints import Immutable
from counterbalance.errors import ClassifierError
from counterbalance.table.encoder import TablePreparation

SCRIPT = Path(__file__).parents[1].joinpath("comparison_tables.py")
ELSEWHERE = tuple(f"counterbalance.{name}" for name in ("datasets", "cli", "report"))
CHOSEN = Settings(("SMOTE", "weights"), ("LR", "RF"), **{**SMALL, "draws": 1})
X, Y = two_clouds(120, 40, apart=1.5)


def run(store, settings=CHOSEN, **more):
    return compare(X, Y, store=store, settings=settings, **more)


def files(comparison, folder):
    """Return what is written."""
    return {path.name: path.read_bytes() for path in write_files(comparison.summary, folder)}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_killed_run_resumes_and_gives_the_same_bytes(tmp_path):
    whole = files(run(tmp_path / "whole.jsonl"), tmp_path / "whole")
    store = tmp_path / "killed.jsonl"
    source = str(SCRIPT.parents[1] / "src")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, str(SCRIPT.parent)])}
    process = subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, str(SCRIPT), str(store)], env=environment, start_new_session=True
    )
    while process.poll() is None and done_trials(store) < 3:
        time.sleep(0.02)
    process.kill()
    process.wait()
    before = done_trials(store)
    resumed = run(store)
    total = len(resumed.results.records) + 2  # of trust
    assert 3 <= before < total
    assert resumed.computed == total - before
    assert files(resumed, tmp_path / "killed") == whole
    assert set(whole) == {"comparison.csv", "trust.csv", "summary.json"}


def done_trials(store):
    return max(0, store.read_bytes().count(b"\n") - 1) if store.exists() else 0


def test_another_method_is_computed_and_the_others_are_kept(tmp_path):
    first = Settings(("SMOTE",), ("LR",), **SMALL)
    more = Settings(("SMOTE", "weights"), ("LR",), metric="f1", **SMALL)
    assert run(tmp_path / "s.jsonl", first).computed == 6
    again = run(tmp_path / "s.jsonl", more)
    assert (len(again.results.records), again.computed) == (9, 3)


def test_a_notebook_shows_the_verdict_and_every_table_as_text(tmp_path):
    found = run(tmp_path / "s.jsonl", Settings(("SMOTE",), ("LR",), **SMALL))
    caveats = ("<script>alert(1)</script>",)
    html = replace(found, verdict=replace(found.verdict, caveats=caveats))._repr_html_()
    assert html.startswith(f"<p><strong>{escape(found.verdict.headline)}</strong></p>")
    assert html.index("<table>") < html.index("<details>")
    assert html.count("<table>") == len(found.tables)
    assert all(escape(table.title) in html for table in found.tables)
    assert "<li>&lt;script&gt;" in html
    assert "<script" not in html


def test_the_fingerprint_knows_the_table_and_the_users_code():
    plan = ComparisonPlan(read_compared(X, Y), CHOSEN)
    changed = X.copy()
    changed.iloc[0, 0] += 1e-9
    other = ComparisonPlan(read_compared(changed, Y), CHOSEN)
    mine = ComparisonPlan(plan.table, Settings(classifiers=("comparison_tables:Deaf",), **SMALL))
    assert made_by(plan) == made_by(ComparisonPlan(read_compared(X, Y), CHOSEN))
    assert len({str(made_by(p)) for p in (plan, other, mine)}) == 3


@pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")
def test_constraints_are_kept_by_our_samplers_and_known_to_the_store():
    X, y = two_clouds(60, 20, apart=1)
    plain, bound = (Settings(**SMALL, constraints=given) for given in ((), [Immutable("x1")]))
    table = read_compared(X, y, groups=None, times=None, rows=0)
    assert bound.as_dict()["constraints"] == ["Immutable('x1')"]
    prints = [made_by(ComparisonPlan(table, one)) for one in (plain, bound)]
    assert prints[0] != prints[1]
    preparation = TablePreparation().fit(table.X)
    real = set(preparation.transform(table.X)[:, 1].tolist())
    kept, free = (
        new_rows(ComparisonPlan(table, one), "Counterfactual", table, preparation)[0]
        for one in (bound, plain)
    )
    assert len(kept) == len(free) == 40
    assert set(kept[:, 1].tolist()) <= real
    assert not set(free[:, 1].tolist()) <= real


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere:Classifier", "got 'nowhere:Classifier': No module"),
        ("comparison_tables:Nothing", "can be imported"),
        ("pathlib:Path", "must be scikit-learn classifiers.*a PosixPath"),
        (":", "can be imported"),
    ],
)
def test_what_is_no_classifier_is_refused_before_the_run(tmp_path, name, message):
    with pytest.raises(ClassifierError, match=message):
        run(tmp_path / "s.jsonl", Settings(classifiers=(name,), **SMALL))
    assert not (tmp_path / "s.jsonl").exists()


@pytest.mark.slow
def test_compare_loads_neither_studies_nor_pages_nor_plots():
    code = (
        "import sys, counterbalance.compare\n"
        f"print([name for name in sys.modules if name.startswith({(*ELSEWHERE, 'matplotlib')!r})])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)  # noqa: S603
    assert ran.stdout.strip() == "[]"
