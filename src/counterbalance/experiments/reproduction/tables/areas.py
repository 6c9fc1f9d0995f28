"""Table II: new samples by area, beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from counterbalance.experiments.reproduction import published
from counterbalance.experiments.reproduction.cells.areas import AREAS, DRAWS, EXPERIMENT, METHODS
from counterbalance.experiments.reproduction.tables.groups import failures, gather, has_failed
from counterbalance.result_table import ABSENT, FAILED, Table, Value

if TYPE_CHECKING:
    from counterbalance.experiments.store import CellRecord

BAR = 0.9
WEIGHTED = (
    "A class-weighted f moves the decision boundary into the majority area, and the nearest "
    "inversions with it: the last row. With an unweighted f the boundary stays on the minority's "
    "side, so no new sample falls into the majority area."
)


def areas_table(records: Sequence[CellRecord]) -> Table:
    """Return the counts on the first synthetic table, and the shares over all of them."""
    ours = [record for record in records if record.cell["experiment"] == EXPERIMENT]
    groups = gather(ours, ["method"])
    rows: list[Sequence[str]] = []
    for method in METHODS:
        members = groups.get((method,), [])
        rows.append((method, *_cells(members)))
        if method in published.AREAS:
            rows.append(("  paper", *_counts(published.AREAS[method]), ABSENT))
    original = "4, 19 and 60 as in the paper"
    return Table(
        "areas",
        "Table II: new samples by area (Experiment I)",
        ("method", "new", "majority", "boundary", "interior", "boundary share, all tables"),
        rows,
        (
            (
                f"Counts are those of the first of {len({r.cell['seed'] for r in ours})} synthetic "
                f"tables; the original minority rows by area are {original} in every table. Ours: "
                f"f is logistic regression, T is {DRAWS}, every sample a true inversion."
            ),
            WEIGHTED,
            *_verdict(groups.get(("ours",), [])),
            *failures(groups),
        ),
        [_record(record) for record in ours if record.state == "done"],
    )


def _verdict(members: Sequence[CellRecord]) -> list[str]:
    """Say whether ours meets the bar on every table."""
    done = [_new(record) for record in members if record.state == "done"]
    if not done:
        return []
    met = [
        majority == 0
        and boundary >= BAR * (majority + boundary + interior)
        and majority + boundary + interior >= published.NEW_SAMPLES
        for majority, boundary, interior in done
    ]
    return [
        (
            f"The bar (nothing in the majority area, at least {BAR:.0%} in the boundary area, at "
            f"least the paper's {published.NEW_SAMPLES} new samples) is met on {sum(met)} of "
            f"{len(met)} tables."
        )
    ]


def _cells(members: Sequence[CellRecord]) -> tuple[str, ...]:
    if not members:
        return (ABSENT,) * 5
    if has_failed(members):
        return (FAILED,) * 5
    shares = [_new(record)[1] / max(sum(_new(record)), 1) for record in members]
    first = min(members, key=lambda record: record.cell["seed"])
    return *_counts(_new(first)), f"{min(shares):.1%} to {max(shares):.1%}"


def _counts(counts: tuple[int, ...]) -> tuple[str, ...]:
    total = sum(counts)
    return str(total), *(f"{count} ({count / max(total, 1):.1%})" for count in counts)


def _new(record: CellRecord) -> tuple[int, ...]:
    return tuple(int(record.figures[f"new {area}"]) for area in AREAS)


def _record(record: CellRecord) -> dict[str, Value]:
    return {"method": record.cell["method"], "seed": record.cell["seed"], **record.figures}
