"""Warnings point at the line of the user's own code, and are shown once for each such line."""

import itertools
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.constraints import Immutable
from counterbalance.errors import ShortfallWarning
from counterbalance.methods import PeerFallbackWarning, all_samplers
from counterbalance.user_warnings import warn_user

SOURCE = Path(__file__).parents[1] / "src"

TABLE = """\
import numpy as np
from imblearn.pipeline import make_pipeline
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from counterbalance import CounterfactualOverSampler

rng = np.random.default_rng(0)
y = np.repeat([0, 1], [200, 30])
X = rng.normal(size=(230, 3)) + 0.8 * y[:, None]
sampler = CounterfactualOverSampler(
    estimator=LogisticRegression(), n_draws=2, random_state=0
)
"""


def run(tmp_path, lines, *options):
    """Run a script in a process of its own; return its warnings as (line, text)."""
    script = tmp_path / "script.py"
    script.write_text(TABLE + lines)
    done = subprocess.run(  # noqa: S603 - a script of our own
        [sys.executable, *options, str(script)],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    shown = [line for line in done.stderr.splitlines() if "Warning: " in line]
    assert all(line.startswith(f"{script}:") for line in shown), done.stderr
    return [(int(line.split(":")[1]), line.split("Warning: ")[1]) for line in shown]


@pytest.mark.slow
def test_a_cross_validation_warns_once_and_at_the_line_that_called_it(tmp_path):
    model = "model = make_pipeline(sampler, LogisticRegression())\n"
    shown = run(tmp_path, f"{model}cross_validate(model, X, y, cv=5)\n")
    assert [line for line, _ in shown] == [TABLE.count("\n") + 2]
    assert shown[0][1].startswith("class 1: ")


def test_a_loop_warns_once_for_each_line_and_each_class(tmp_path):
    lines = (
        "for seed in range(3):\n"
        "    sampler.set_params(random_state=seed).fit_resample(X, y)\n"
        "three = np.where((y == 1) & (X[:, 0] > 1), 2, y)\n"
        "for seed in range(3):\n"
        "    sampler.set_params(random_state=seed).fit_resample(X, three)\n"
    )
    first = TABLE.count("\n")
    shown = run(tmp_path, lines)
    places = [(line, text.split(":")[0]) for line, text in shown if "requested" in text]
    assert places == [(first + 2, "class 1"), (first + 5, "class 1"), (first + 5, "class 2")]
    inflated = [(line, text) for line, text in shown if "for each real row" in text]
    assert [line for line, _ in inflated] == [first + 5]


@pytest.mark.slow
def test_a_search_with_threads_warns_once(tmp_path):
    model = "model = make_pipeline(sampler, LogisticRegression())\n"
    search = (
        "import joblib\n"
        "with joblib.parallel_backend('threading'):\n"
        "    GridSearchCV(model, {'logisticregression__C': [1, 2]}, n_jobs=2).fit(X, y)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(TABLE + model + search)
    done = subprocess.run(  # noqa: S603 - a script of our own
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    # the folds run in threads, where no frame is the user's; the last fit runs in the user's own
    assert 1 <= done.stderr.count("ShortfallWarning") <= 2, done.stderr


@pytest.mark.slow
def test_the_filters_of_python_are_heeded(tmp_path):
    lines = "for seed in range(3):\n    sampler.set_params(random_state=seed).fit_resample(X, y)\n"
    assert len(run(tmp_path, lines, "-W", "always")) == 3
    assert run(tmp_path, lines, "-W", "ignore") == []
    raised = "try:\n    sampler.fit_resample(X, y)\nexcept UserWarning:\n    pass\n"
    assert run(tmp_path, raised, "-W", "error::UserWarning") == []


def test_every_warning_of_ours_names_this_file():
    y = np.repeat([0, 1], [60, 6])
    X = np.where(y == 1, 1.0, np.arange(66) % 2)[:, None]
    X = np.column_stack([X, np.arange(66) * (y == 0)])
    timid = CounterfactualOverSampler(estimator=LogisticRegression(), epsilon=1e-9, random_state=0)
    alone = y[:61], X[:61]
    samplers = {
        timid: (X, y),
        InteriorOverSampler(random_state=0): (X, y),
        all_samplers()["CCR"].factory(random_state=0): (alone[1], alone[0]),
    }
    kinds = set()
    for sampler, (rows, labels) in samplers.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                sampler.fit_resample(rows, labels)
            except ValueError:
                continue
        ours = [
            w for w in caught if issubclass(w.category, (ShortfallWarning, PeerFallbackWarning))
        ]
        kinds |= {w.category for w in ours}
        assert {w.filename for w in ours} <= {__file__}
    assert ShortfallWarning in kinds


def test_a_warning_without_a_subject_is_given_once_for_each_place():
    number = itertools.count()

    def first():
        warn_user(UserWarning(f"one text, {next(number)}"))

    def second():
        warn_user(UserWarning(f"one text, {next(number)}"))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            first()
            second()
    assert len({w.lineno for w in caught}) == len(caught) == 2


def test_an_error_filter_raises_every_time():
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="text"):
                warn_user(UserWarning("text"))


def test_a_former_name_of_an_attribute_warns_and_works():
    constraint = Immutable("race")
    with pytest.warns(FutureWarning, match="Immutable.words is called description"):
        assert constraint.words == constraint.description
