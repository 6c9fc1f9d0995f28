"""Resuming: what a rerun takes up of what an earlier run prepared.

    plan.json    the seed, how many rows f is fitted to, the statistics of the features, and
                 what f answered about some rows
    probe        rows that f is asked about: drawn evenly between the ends of each column

Nothing in it is ever run: it is plain data with a checksum. The table is surveyed once more,
which is cheap, and f is fitted once more to the same rows with the same seed; that it is the
same f is told from its answers.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import numpy as np

from counterbalance import CounterfactualOverSampler
from counterbalance.arrays import Floats
from counterbalance.classifier.judge import judge
from counterbalance.distributed.engine import Engine
from counterbalance.distributed.plan import Plan
from counterbalance.distributed.preparing import (
    Prepared,
    Source,
    Statistics,
    prepare,
    rows_for_fit,
)
from counterbalance.distributed.records import read_sealed, write_sealed
from counterbalance.errors import EngineError
from counterbalance.profile import Profile
from counterbalance.search.draws import stream, uniform

PLAN = "plan.json"
N_PROBES = 500
# Draws 0, 1, ... belong to the perturbations of a row, 2**40 to the sample: see ``fitting``.
PROBE_DRAW = 2**41
# Other threads or another machine may round the last digits of a score differently.
ROUNDING = 1e-6


def prepare_or_resume(
    engine: Engine,
    source: Source,
    sampler: CounterfactualOverSampler,
    statistics: Statistics,
    fit_rows: int | None,
    work: Path,
) -> Prepared:
    """Prepare the search; where an earlier run did so, in the same way."""
    path = work / PLAN
    if path.exists():
        known = _read(path)
        sampler.set_params(random_state=known["random_state"] or sampler.random_state)
        statistics, fit_rows = known["profile"], known["fit_rows"]
        prepared = prepare(engine, source, sampler, statistics, fit_rows)
        if not sampler.prefit:
            _check_answers(prepared, known["answers"], path)
        return prepared
    drawn = secrets.randbelow(2**32 - 1) + 1 if sampler.random_state is None else None
    sampler.set_params(random_state=drawn or sampler.random_state)
    fit_rows = rows_for_fit(engine, source) if fit_rows is None else fit_rows
    prepared = prepare(engine, source, sampler, statistics, fit_rows)
    profile = prepared.plan.space.perturbation.profile
    content = {
        "random_state": drawn,
        "fit_rows": fit_rows,
        "profile": _plain_profile(profile),
        # A fitted f comes with the call, and the run is known by it.
        "answers": [] if sampler.prefit else _answers(prepared.plan, prepared.f).tolist(),
    }
    write_sealed(path, content)
    return prepared


def _read(path: Path) -> dict[str, Any]:
    try:
        content = read_sealed(path)
        drawn, fit_rows = content["random_state"], int(content["fit_rows"])
        profile = _profile(content["profile"])
        answers = np.array(content["answers"], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise EngineError(
            f"{path} is damaged: its content is not what was written; remove "
            f"{path.parent.parent} to start anew"
        ) from error
    return {"random_state": drawn, "fit_rows": fit_rows, "profile": profile, "answers": answers}


def _plain_profile(profile: Profile) -> dict[str, Any]:
    plain: dict[str, Any] = {
        name: values.tolist() for name, values in vars(profile).items() if name != "frequency"
    }
    shares = [None if share is None else share.tolist() for share in profile.frequency]
    return plain | {"frequency": shares}


def _profile(plain: dict[str, Any]) -> Profile:
    columns = {
        name: np.array(values, dtype=np.float64)
        for name, values in plain.items()
        if name != "frequency"
    }
    shares = (
        None if share is None else np.array(share, dtype=np.float64) for share in plain["frequency"]
    )
    return Profile(**columns, frequency=tuple(shares))


def _answers(plan: Plan, f: Any) -> Floats:
    """Return f's scores of the probes, or its labels' codes where it has no scores."""
    layout, profile = plan.layout, plan.space.perturbation.profile
    table, features = layout.sketch_table, np.arange(len(layout.features))
    state = stream(plan.space.seed, np.arange(N_PROBES), PROBE_DRAW)
    x = uniform(state[:, None], features) * (profile.upper - profile.lower) + profile.lower
    layout.grid.snap(x, features)
    for m, kind in enumerate(layout.kinds):
        if kind.has_levels:
            x[:, m] = np.clip(np.rint(x[:, m]), 0, layout.n_levels(m) - 1)
        if not np.isfinite(table.column(m)).any():
            x[:, m] = np.nan
    classifier = judge(f, table, layout.classes, own=plan.own)
    nowhere = np.zeros(N_PROBES, dtype=np.intp)
    scores = classifier.scores(x, nowhere)
    return classifier(x, nowhere).astype(np.float64) if scores is None else scores


def _check_answers(prepared: Prepared, expected: Floats, path: Path) -> None:
    answers = _answers(prepared.plan, prepared.f)
    same = answers.shape == expected.shape and np.allclose(
        answers, expected, rtol=ROUNDING, atol=ROUNDING, equal_nan=True
    )
    if not same:
        raise EngineError(
            f"f, fitted once more, does not answer as it did when {path} was written: it is not "
            "fitted the same way twice. Remove the unfinished folder to start anew; to be able "
            "to go on, fit the classifier first and pass it with prefit=True"
        )
