"""Sensitivity of ours to T, epsilon and f: yield, distance, boundary share, G-mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from counterbalance.result_table import ABSENT, FAILED, ResultTable, Value
from counterbalance.studies.reproduction.tables.groups import (
    Spread,
    failures,
    gather,
    has_failed,
    spread,
)
from counterbalance.studies.reproduction.trials.areas import SHAPE
from counterbalance.studies.reproduction.trials.sensitivity import (
    BASE_F,
    EXPERIMENT,
    STEPS,
    TEST_SHARE,
    make_sampler,
)
from counterbalance.trials.call_text import as_call

if TYPE_CHECKING:
    from counterbalance.trials.store import CellRecord

FIGURES = ("yield", "distance", "boundary share", "g_mean")
# Those that do not exist where nothing was inverted.
OF_INVERSIONS = ("distance", "boundary share")


def sensitivity_figures(
    records: Sequence[CellRecord],
) -> dict[tuple[str, str], dict[str, Spread | None]]:
    """Return the figures of each (setting, value) that has no failed cell."""
    ours = [record for record in records if record.cell["experiment"] == EXPERIMENT]
    figures = {}
    for group, members in gather(ours, ["setting", "value"]).items():
        if not has_failed(members):
            setting, value = map(str, group)
            figures[setting, value] = {name: _spread(members, name) for name in FIGURES}
    return figures


def sensitivity_table(records: Sequence[CellRecord]) -> ResultTable:
    """Return one row for each value of each setting."""
    ours = [record for record in records if record.cell["experiment"] == EXPERIMENT]
    groups = gather(ours, ["setting", "value"])
    figures = sensitivity_figures(records)
    rows = []
    for setting, values in STEPS.items():
        for value in values:
            known = figures.get((setting, value))
            if known is None:
                cells = [FAILED if (setting, value) in groups else ABSENT] * len(FIGURES)
            else:
                cells = [ABSENT if known[name] is None else str(known[name]) for name in FIGURES]
            rows.append((f"{setting} = {value}", *cells))
    seeds = len({record.cell["seed"] for record in ours})
    base = make_sampler("f", BASE_F, 0)
    epsilon = "no epsilon" if base.epsilon is None else f"epsilon = {base.epsilon}"
    return ResultTable(
        "sensitivity",
        "Sensitivity of ours to T, epsilon and f, synthetic data",
        ("setting", *FIGURES),
        rows,
        (
            (
                f"Mean and standard deviation over {seeds} synthetic tables of the shape {SHAPE}, "
                f"{1 - TEST_SHARE:.0%} of each for training; the G-mean is that of a support "
                "vector machine on the rest. One setting moves at a time, from "
                f"T = {base.n_draws}, "
                f"{epsilon} and f = {BASE_F}: `{as_call(base)}`."
            ),
            *failures(groups),
        ),
        [_record(record) for record in ours if record.state == "done"],
    )


def _spread(members: Sequence[CellRecord], name: str) -> Spread | None:
    values = [record.figures[name] for record in members if name in record.figures]
    return spread(values) if values else None


def _record(record: CellRecord) -> dict[str, Value]:
    cell = {name: record.cell[name] for name in ("setting", "value", "seed")}
    return {**cell, **{name: record.figures.get(name) for name in FIGURES}}
