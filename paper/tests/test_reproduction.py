"""The reproduction: where new samples fall, what is printed, and that a run can be stopped."""

import gzip
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, truncnorm

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from paper.classifiers import CLASSIFIERS, as_call, descriptions
from paper.reproduction import DATASETS, Settings, methods
from paper.reproduction.methods import RESAMPLING
from paper.reproduction.page import (
    EXPERIMENTS,
    all_tables,
    available,
    compute,
    draws,
    page,
    reproduce,
)
from paper.reproduction.scores import scores
from paper.reproduction.scores import trials as score_trials
from paper.study import DEVELOPMENT
from paper.trials import Store, key_of

ROOT = Path(__file__).parents[2]
TINY = [
    *("--datasets", "WBC", "--rows", "200", "--folds", "2", "--runs", "1", "--seeds", "1"),
    *("--jobs", "2"),
]
TRIALS = 5 * 4 + 22 + 2 * 8  # areas, sensitivity, scores
SMALL = Settings(("WBC",), folds=2, runs={"all": 2}, rows={"all": 200}, seeds=1)


def start(folder, *options):
    where = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "paper", "reproduce", "--out", str(folder), *options],
        env={**os.environ, "PYTHONPATH": where},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def trials_done(folder):
    """Count the trials that are done, from outside."""
    if not (folder / "trials.sqlite").exists():
        return 0
    with closing(Store(folder / "trials.sqlite")) as store:
        return len(store.known())


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_killed_at_random_moments_the_tables_are_those_of_an_unbroken_run(tmp_path):
    chance = random.Random(5)  # noqa: S311 - moments, not secrets
    killed, unbroken = tmp_path / "killed", tmp_path / "unbroken"
    for _ in range(3):
        before = trials_done(killed)
        process = start(killed, *TINY)
        while trials_done(killed) == before and process.poll() is None:
            time.sleep(0.02)
        time.sleep(chance.uniform(0.0, 0.2))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert 3 <= trials_done(killed) < TRIALS
    for folder in (killed, unbroken):
        process = start(folder, *TINY)
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
        assert trials_done(folder) == TRIALS
    tables = [{f.name: f.read_bytes() for f in x.glob("*.csv")} for x in (killed, unbroken)]
    assert tables[0] == tables[1]
    assert len(tables[0]) == 7
    for name in ("figure_1_boundaries", "figure_4_areas", "figure_5_f_measure", "sensitivity"):
        for suffix in ("png", "svg"):
            same = (folder / "figures" / f"{name}.{suffix}" for folder in (killed, unbroken))
            assert len({path.read_bytes() for path in same}) == 1
    assert "## Experiment I" in (killed / "reproduction.md").read_text()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_ends_with_130_and_says_how_to_go_on(tmp_path):
    process = start(tmp_path, "--jobs", "2")
    while not trials_done(tmp_path):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does: to every process
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130, errors
    assert "run the same again" in errors


@pytest.mark.slow
def test_a_page_is_written_of_what_the_store_has_and_nothing_is_computed(tmp_path):
    names = ("none", *RESAMPLING)
    counts = {classifier: [[80, 2], [1, 30]] for classifier in CLASSIFIERS}
    with closing(Store(tmp_path / "store.sqlite")) as store:
        for trial in score_trials(SMALL):
            if trial["run"] == 0 and trial["method"] in names:
                store.put(trial, str(counts).replace("'", '"'), None, 1.0)
    out = tmp_path / "out"
    tables = reproduce(SMALL, store=tmp_path / "store.sqlite", out=out, computing=False)
    table = next(table for table in tables if table.name == "g_mean_WBC")
    runs = {row[0]: row[-1] for row in table.rows}
    assert (runs["ours"], runs["SMOTE"]) == ("1", "0")
    text = (out / "reproduction.md").read_text()
    assert "whole runs, of those asked for (paper: 100): WBC 1 of 2" in text
    assert f"{2 * len(names)} trials done, 0 failed" in text
    assert "Undecided**: ours comes first of the four" in text


# --- Experiment I ---------------------------------------------------------------------


def areas_of(shape, method="ours", seed=0):
    """New samples by area, as shares of all, and how many there are."""
    trial = {"experiment": "areas", "shape": shape, "method": method, "seed": seed}
    figures = compute(trial)
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


@pytest.mark.parametrize("way", ["exact", "gibbs"])
def test_the_distribution_figure_shows_the_truncated_normal(way):
    values = draws(way, -0.5, 3.0, count=5000)
    assert kstest(values, truncnorm(-0.5, 3.0).cdf).pvalue > 1e-3


# --- Experiment II --------------------------------------------------------------------


def test_a_score_does_not_depend_on_what_was_computed_before():
    trials = score_trials(SMALL)[3:6]
    forth = [compute(trial) for trial in trials]
    back = [compute(trial) for trial in reversed(trials)]
    assert forth == back[::-1]


def test_data_that_are_not_there_are_left_out_with_the_reason(monkeypatch, tmp_path, capsys):
    methods.load_labelled.cache_clear()
    monkeypatch.setenv("FASHION_MNIST", str(tmp_path))
    settings, missing = available(Settings(("WBC", "FMN")))
    assert settings.datasets == ("WBC",)
    assert "apt-get install dataset-fashion-mnist" in missing["FMN"]
    assert "FMN is left out: Fashion-MNIST was not found" in capsys.readouterr().err


# --- what the page prints -------------------------------------------------------------


@pytest.fixture(name="text", scope="module")
def make_text():
    settings = Settings(("WBC",), folds=7, runs={"all": 3}, splits=4, seeds=2)
    nothing = {experiment.EXPERIMENT: pd.DataFrame() for experiment in EXPERIMENTS}
    every = scores(pd.DataFrame())
    return page(all_tables(nothing, every, ("WBC",)), settings, {}, nothing, every)


@pytest.fixture(name="ran")
def spy_on_samplers(monkeypatch):
    """Note the samplers of ours that are really run."""
    ran = []
    real = CounterfactualOverSampler.fit_resample

    def noted(sampler, *arguments, **named):
        ran.append(sampler)
        return real(sampler, *arguments, **named)

    monkeypatch.setattr(CounterfactualOverSampler, "fit_resample", noted)
    return ran


def table_of_numbers():
    rng = np.random.default_rng(0)
    y = np.repeat(["large", "small"], [60, 15])
    return pd.DataFrame(rng.normal(size=(75, 3)) + 1.5 * (y == "small")[:, None]), y


@pytest.mark.parametrize("name", [methods.OURS, methods.PRINTED])
def test_the_page_prints_the_settings_of_our_sampler_as_it_runs(text, ran, name):
    methods.resampled(name, *table_of_numbers(), 0)
    (sampler,) = ran
    assert f"- **{name}**: `{as_call(sampler)}`" in text
    if name == methods.OURS:
        assert f"T = {sampler.n_draws}, epsilon = {sampler.epsilon}" in text
        assert f"f = `{as_call(sampler.estimator_[-1])}`" in text


def test_ours_is_the_object_that_users_get(ran):
    methods.resampled(methods.OURS, *table_of_numbers(), 3)
    assert ran[0].get_params() == CounterfactualOverSampler(random_state=3).get_params()
    made = methods.make_sampler(methods.INTERIOR, 3)
    assert made.get_params() == InteriorOverSampler(random_state=3).get_params()


def test_as_printed_keeps_what_inverts_and_weighs_no_class(ran):
    X, y = table_of_numbers()
    _, labels, _ = methods.resampled(methods.PRINTED, X, y, 0)
    (found,) = ran[0].yield_.values()
    assert len(labels) == len(y) + found.inversions
    assert ran[0].estimator_[-1].class_weight is None


@pytest.mark.parametrize(
    "trial",
    [
        {"experiment": "areas", "shape": "long", "method": "ours", "seed": 0},
        {"experiment": "sensitivity", "setting": "f", "value": "LR", "seed": 0},
    ],
    ids=lambda trial: trial["experiment"],
)
def test_the_page_prints_the_settings_of_the_small_experiments_as_they_run(text, ran, trial):
    compute(trial)
    assert f"`{as_call(ran[0])}`" in text


def test_the_page_prints_classifiers_folds_runs_splits_tables_and_versions(text):
    assert descriptions() in text
    for words in (
        "7 folds",
        "whole runs, of those asked for (paper: 100): WBC 0 of 3",
        "4 splits",
        "2 synthetic tables of each of 5 shapes",
        f"numpy {np.__version__}",
        "699 rows (458 : 241), 9 features, 16 missing cells",
        "**FMN2**: Fashion-MNIST, Coat against Dress, a second pair; not in this run",
    ):
        assert words in text


def test_the_page_says_by_what_its_own_tables_were_chosen(text):
    plain = " ".join(text.split())
    assert "tuned once, among 12 settings" in plain
    assert "this pair was chosen by the peers' figures" in plain
    assert {"wisconsin", "page-blocks"} <= set(DEVELOPMENT)  # which the page admits


def test_the_page_prints_how_long_each_part_took_and_what_failed():
    failed = {"error": "ValueError: no", "clock": 600.0}
    nothing = {experiment.EXPERIMENT: pd.DataFrame() for experiment in EXPERIMENTS}
    ran = nothing | {"scores": pd.DataFrame([{**trial, **failed} for trial in score_trials(SMALL)])}
    every = scores(ran["scores"])
    text = page(all_tables(ran, every, ("WBC",)), SMALL, {}, ran, every)
    assert "0 trials done, 32 failed" in text
    assert "took 5.3 h by the clock" in text
    assert "(WBC 5.3 h)" in text
    assert "Failed: WBC ours, 4 of 4 trials: ValueError: no" in text


def test_the_published_trials_are_of_the_trials_that_are_asked_for():
    file = sqlite3.connect(":memory:")
    data = (ROOT / "paper/docs/data/reproduction-trials.sqlite.gz").read_bytes()
    file.deserialize(gzip.decompress(data))
    known = {key for (key,) in file.execute("SELECT key FROM trial WHERE error IS NULL")}
    wanted = [trial for experiment in EXPERIMENTS for trial in experiment.trials(Settings())]
    assert {key_of(trial) for trial in wanted} == known
    assert set(DATASETS) == {"WBC", "PBC", "FMN", "FMN2", "ILC"}
    printed = (ROOT / "paper/docs/reproduction.md").read_text(encoding="utf-8")
    assert re.search(rf"{len(known):,} trials done, 0 failed", printed)
