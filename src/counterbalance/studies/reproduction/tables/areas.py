"""Table II: new samples by area, beside the paper's, for every shape of the synthetic table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from counterbalance.datasets import SHAPES
from counterbalance.result_table import ABSENT, FAILED, ResultTable, Value
from counterbalance.studies.reproduction import published
from counterbalance.studies.reproduction.tables.groups import (
    Group,
    failures,
    gather,
    has_failed,
)
from counterbalance.studies.reproduction.trials.areas import (
    AREAS,
    EXPERIMENT,
    METHODS,
    OURS,
    make_sampler,
)
from counterbalance.trials.call_text import as_call

if TYPE_CHECKING:
    from counterbalance.trials.store import CellRecord

PAPER = "paper"
WEIGHTED = (
    "A class-weighted f moves the decision boundary into the majority area, and the nearest "
    "inversions with it. With an unweighted f the boundary stays on the minority's side, as long "
    "as f can follow it: a straight line cannot go around a compact minority."
)


def areas_table(records: Sequence[CellRecord]) -> ResultTable:
    """Return the counts on the first table of each shape, and the shares over all of them."""
    ours = [record for record in records if record.cell["experiment"] == EXPERIMENT]
    groups = gather(ours, ["shape", "method"])
    rows: list[Sequence[str]] = [
        (PAPER, method, *_counts(counts), ABSENT, ABSENT)
        for method, counts in published.AREAS.items()
    ]
    rows += [
        (shape, method, *_cells(groups.get((shape, method), [])))
        for shape in SHAPES
        for method in METHODS
    ]
    of_shape = len({record.cell["seed"] for record in ours})
    original = ", ".join(map(str, published.ORIGINAL_AREAS))
    return ResultTable(
        "areas",
        "Table II: new samples by area (Experiment I)",
        (
            "shape",
            "method",
            "new",
            *AREAS,
            f"{AREAS[0]} share, all tables",
            f"{AREAS[1]} share, all tables",
        ),
        rows,
        (
            f"The paper does not say how its two clouds lie. Shapes: {_shapes()}.",
            (
                f"Counts are those of the first of {of_shape} synthetic tables of a shape, shares "
                f"the least and the most over all of them; the original minority rows by area are "
                f"{original} in every table, as in the paper."
            ),
            (
                f"Ours: `{as_call(make_sampler(OURS, 0))}`; every sample is a true inversion, "
                "and rows without one are left out, so the count is the yield."
            ),
            WEIGHTED,
            *_verdict(groups),
            *failures(groups),
        ),
        [_record(record) for record in ours if record.state == "done"],
        left=2,
    )


def _shapes() -> str:
    return "; ".join(f"{name}, {shape.text}" for name, shape in SHAPES.items())


def _verdict(groups: Mapping[Group, Sequence[CellRecord]]) -> list[str]:
    """Say where ours puts its samples over all shapes, and where it beats the other two."""
    known = {
        shape: members
        for shape in SHAPES
        if (members := groups.get((shape, OURS), [])) and not has_failed(members)
    }
    if not known:
        return []
    at_boundary = {shape: _shares(members, 1) for shape, members in known.items()}
    everywhere = [share for shares in at_boundary.values() for share in shares]
    in_majority = {shape: _shares(members, 0) for shape, members in known.items()}
    clean = [shape for shape, shares in in_majority.items() if max(shares) == 0]
    stray = [
        f"{_range(shares)} on {shape}"
        for shape, shares in in_majority.items()
        if shape not in clean
    ]
    (paper_majority, paper_boundary, _) = published.AREAS[OURS]
    total = sum(published.AREAS[OURS])
    by_shape = ", ".join(f"{shape} {_range(shares)}" for shape, shares in at_boundary.items())
    return [
        (
            f"Share of ours at the boundary over all shapes and tables: {_range(everywhere)} "
            f"(paper {paper_boundary / total:.1%}). By shape: {by_shape}."
        ),
        (
            f"Share of ours in the majority area (paper {paper_majority / total:.1%}): none on "
            f"{', '.join(clean) or 'no shape'}; {', '.join(stray) or 'on no shape any'}."
        ),
        *_first_of_three(groups, at_boundary),
    ]


def _first_of_three(
    groups: Mapping[Group, Sequence[CellRecord]], ours: Mapping[str, Sequence[float]]
) -> list[str]:
    """Say on how many tables of a shape ours has the largest share at the boundary."""
    others = [method for method in published.AREAS if method != OURS]
    won = []
    for shape, shares in ours.items():
        peers = [groups.get((shape, method), []) for method in others]
        if any(has_failed(members) or len(members) != len(shares) for members in peers):
            continue
        best = [max(pair) for pair in zip(*(_shares(members, 1) for members in peers), strict=True)]
        first = sum(mine > other for mine, other in zip(shares, best, strict=True))
        won.append(f"{shape} {first} of {len(shares)}")
    if not won:
        return []
    named = " and ".join(others)
    return [
        f"Tables on which ours has a larger share at the boundary than {named}: {', '.join(won)}."
    ]


def _cells(members: Sequence[CellRecord]) -> tuple[str, ...]:
    if not members:
        return (ABSENT,) * 6
    if has_failed(members):
        return (FAILED,) * 6
    first = min(members, key=lambda record: record.cell["seed"])
    return *_counts(_new(first)), _range(_shares(members, 0)), _range(_shares(members, 1))


def _shares(members: Sequence[CellRecord], area: int) -> list[float]:
    """Return the share of an area on every table, in the order of the seeds."""
    ordered = sorted(members, key=lambda record: record.cell["seed"])
    return [_new(record)[area] / max(sum(_new(record)), 1) for record in ordered]


def _range(shares: Sequence[float]) -> str:
    least, most = f"{min(shares):.1%}", f"{max(shares):.1%}"
    return least if least == most else f"{least} to {most}"


def _counts(counts: tuple[int, ...]) -> tuple[str, ...]:
    total = sum(counts)
    return str(total), *(f"{count} ({count / max(total, 1):.1%})" for count in counts)


def _new(record: CellRecord) -> tuple[int, ...]:
    return tuple(int(record.figures[f"new {area}"]) for area in AREAS)


def _record(record: CellRecord) -> dict[str, Value]:
    cell = {name: record.cell[name] for name in ("shape", "method", "seed")}
    return {**cell, **record.figures}
