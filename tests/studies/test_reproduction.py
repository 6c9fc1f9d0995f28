"""A reproduction gives the same tables however often it is killed on the way."""

import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest, truncnorm

from counterbalance.datasets.dataset import share_of_rows
from counterbalance.studies.reproduction.methods import RESAMPLING
from counterbalance.studies.reproduction.page import draws
from counterbalance.studies.reproduction.run import all_trials, compute, fingerprint, reproduce
from counterbalance.studies.reproduction.scores import trials as score_trials
from counterbalance.studies.reproduction.settings import ReproductionSettings, SettingsError
from counterbalance.trials import TrialStore
from counterbalance.trials.classifiers import CLASSIFIERS
from counterbalance.trials.metrics import g_mean
from counterbalance.trials.resamplers import smote
from counterbalance.trials.trial import trial_key

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
SOURCE = Path(__file__).parents[2] / "src"
TINY = [
    *("--datasets", "WBC", "--rows", "200", "--folds", "2", "--runs", "1", "--seeds", "1"),
    *("--jobs", "2"),
]
TRIALS = 5 * 4 + 22 + 2 * 8  # areas, sensitivity, scores


def start(folder, *options):
    environment = {**os.environ}
    environment["PYTHONPATH"] = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "counterbalance", "reproduce", "--out", str(folder), *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def trials_done(folder):
    """Count the trials that are done, from outside: nothing is made."""
    if not (folder / "trials.sqlite").exists():
        return 0
    connection = sqlite3.connect(folder / "trials.sqlite", timeout=60)
    try:
        return connection.execute("SELECT count(*) FROM trial WHERE state = 'done'").fetchone()[0]
    except sqlite3.OperationalError:  # its tables are being made
        return 0
    finally:
        connection.close()


def tables_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.csv"))}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_killed_at_8_random_moments_the_tables_are_those_of_an_unbroken_run(tmp_path):
    chance = random.Random(5)  # noqa: S311 - moments, not secrets
    killed, unbroken = tmp_path / "killed", tmp_path / "unbroken"
    for attempt in range(8):
        before = trials_done(killed)
        process = start(killed, *TINY)
        if attempt % 2 == 1:  # a moment while it computes, else one while it starts
            while trials_done(killed) == before and process.poll() is None:
                time.sleep(0.02)
        time.sleep(chance.uniform(0.0, 0.2 if attempt % 2 == 1 else 1.0))
        process.kill()
        process.communicate()
    assert 4 <= trials_done(killed) < TRIALS
    ends = {folder: start(folder, *TINY) for folder in (killed, unbroken)}
    for process in ends.values():
        output, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
        assert f"{TRIALS} of {TRIALS} trials done, 0 failed" in output
    assert tables_of(killed) == tables_of(unbroken)
    assert len(tables_of(killed)) == 6
    for name in ("figure_1_boundaries", "figure_4_areas", "figure_5_f_measure", "sensitivity"):
        for suffix in ("png", "svg"):
            same = (folder / f"{name}.{suffix}" for folder in (killed, unbroken))
            assert len({path.read_bytes() for path in same}) == 1
    assert '"scikit-learn"' in (killed / "settings.json").read_text()
    assert "## Experiment I" in (killed / "reproduction.md").read_text()


@pytest.mark.slow
def test_a_page_is_written_of_what_the_store_has_and_nothing_is_computed(tmp_path):
    settings = ReproductionSettings(
        datasets=("WBC",), folds=2, runs=(("all", 2),), rows=(("all", 200),), seeds=1
    )
    names = ("none", *RESAMPLING)
    kept = {"experiment": "scores", "run": 0}
    with TrialStore(tmp_path / "store.sqlite", fingerprint()) as store:
        for trial in all_trials(settings):
            if kept.items() <= trial.items() and trial["method"] in names:
                counts = {classifier: [[80, 2], [1, 30]] for classifier in CLASSIFIERS}
                store.finish(trial_key(trial), {}, counts, 1.0)
    result = reproduce(
        settings, store=tmp_path / "store.sqlite", out=tmp_path / "out", computing=False
    )
    assert (result.summary.done, result.summary.computed) == (2 * len(names), 0)
    table = next(table for table in result.tables if table.name == "g_mean_WBC")
    runs = {row[0]: row[-1] for row in table.rows}
    assert (runs["ours"], runs["SMOTE"]) == ("1", "0")
    text = (tmp_path / "out" / "reproduction.md").read_text()
    assert "whole runs, of those asked for (paper: 100): WBC 1 of 2" in text
    assert f"{2 * len(names)} trials done, 0 failed" in text
    assert "Cannot be told**: ours comes first of the four" in text


def test_a_page_of_a_store_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="store must be the file of an earlier run"):
        reproduce(
            ReproductionSettings(), store=tmp_path / "typo", out=tmp_path / "out", computing=False
        )
    assert list(tmp_path.iterdir()) == []


def areas_of(shape, method="ours", seed=0):
    """New samples by area, as shares of all, and how many there are."""
    trial = {"experiment": "areas", "shape": shape, "method": method, "seed": seed}
    figures = compute(ReproductionSettings(), trial).figures
    new = np.array([figures[f"new {area}"] for area in ("majority", "boundary", "interior")])
    original = [figures[f"original {a}"] for a in ("majority", "boundary", "interior")]
    assert original == [4, 19, 60]
    return new / new.sum(), new.sum()


def test_ours_fills_the_boundary_of_long_clouds_only():
    (majority, boundary, _), count = areas_of("long")
    assert majority == 0
    assert boundary >= 0.99
    assert count >= 837


def test_on_round_clouds_ours_divides_its_samples_as_the_paper_does():
    majority, boundary, interior = np.mean([areas_of("round", seed=s)[0] for s in range(4)], axis=0)
    assert majority == 0
    assert 0.25 < boundary < 0.5  # the paper: 37.5 % and 62.5 %
    assert interior > boundary


@pytest.mark.parametrize("shape", ["long", "round", "one feature", "end to end"])
def test_ours_puts_nothing_into_the_majority_area_where_f_can_follow_the_boundary(shape):
    (majority, _, _), _ = areas_of(shape, seed=1)
    assert majority == 0


def test_a_straight_f_cuts_into_the_majority_area_around_a_compact_minority():
    (majority, _, _), _ = areas_of("compact")
    assert majority > 0.1


def test_a_class_weighted_f_moves_samples_into_the_majority_area():
    (majority, _, _), _ = areas_of("long", "ours, class-weighted f")
    assert majority > 0.1


def test_a_score_does_not_depend_on_what_was_computed_before():
    settings = ReproductionSettings(datasets=("WBC",), folds=2, rows=(("all", 200),))
    trials = [trial for trial in score_trials(settings) if trial["run"] == 0][3:6]
    forth = [compute(settings, trial) for trial in trials]
    back = [compute(settings, trial) for trial in reversed(trials)]
    assert forth == back[::-1]


def test_rows_are_cut_by_class_share_with_ten_of_a_class_at_least():
    y = np.array(["a"] * 4000 + ["b"] * 900 + ["c"] * 28)
    kept = share_of_rows(y, 500)
    counts = dict(zip(*np.unique(y[kept], return_counts=True), strict=True))
    assert counts == {"a": 406, "b": 91, "c": 10}
    assert (np.diff(kept) > 0).all()


def test_smote_takes_fewer_neighbours_where_a_class_has_no_six_rows():
    y = np.repeat(["a", "b"], [30, 4])
    _, labels = smote(np.random.default_rng(0).normal(size=(34, 2)), y, seed=0)
    assert (labels == "b").sum() == 30


@pytest.mark.parametrize("way", ["exact", "gibbs"])
def test_the_distribution_figure_shows_the_truncated_normal(way):
    values = draws(way, -0.5, 3.0, count=5000)
    assert kstest(values, truncnorm(-0.5, 3.0).cdf).pvalue > 1e-3


@pytest.mark.slow
def test_the_deep_systems_get_rows_on_request():
    pytest.importorskip("autograd")
    settings = ReproductionSettings(datasets=("WBC",), folds=2, rows=(("WBC", 200),), deep=True)
    usual = ReproductionSettings(datasets=("WBC",), folds=2, rows=(("WBC", 200),))
    more = [t for t in score_trials(settings) if t not in score_trials(usual)]
    assert {trial["method"] for trial in more} == {"GAMO", "DOS"}
    for method in ("GAMO", "DOS"):
        trial = next(t for t in more if t["method"] == method)
        assert g_mean(compute(settings, trial).payload["LR"]) > 0.8
