"""Balancing: search, select and fill up over all partitions; what the result consists of.

    piece    new rows of one class that one task builds: what one pass chose in one
             partition, or some interior samples

The pieces lie one behind the other as the in-memory sampler appends its rows: class by
class, pass by pass, by factual.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from counterbalance.constraints import as_constraints
from counterbalance.distributed.engine import BYTES_PER_CELL, Engine
from counterbalance.distributed.filling import Filling, fill
from counterbalance.distributed.inside import Interiors, Members, choose_interiors, members_of
from counterbalance.distributed.preparing import Prepared, Source
from counterbalance.distributed.searching import Pass, check_tells_apart, search_partition
from counterbalance.errors import ClassifierError, EngineError
from counterbalance.rows.shortfall import ENDS, Tally, report
from counterbalance.search.problem import Yield
from counterbalance.table.labels import Labels, plain

# The share of a worker's memory for the rows of a class that is filled by interior samples.
SHARE_FOR_MEMBERS = 0.25
# Interior samples of one piece, in cells.
CELLS_PER_PIECE = 5_000_000


@dataclass(frozen=True)
class Piece:
    """Some new rows that one task builds."""

    target: int
    origin: str
    chosen: int | None  # which pass; None for interior samples
    partition: int  # of a pass
    start: int  # among all new rows
    n_rows: int
    first: int = 0  # of interior samples: the first among those of the class


@dataclass(frozen=True)
class Balance:
    """What is to be built."""

    source: Source
    prepared: Prepared
    plan: Any  # the same as a task, as f is
    f: Any
    filling: Filling
    members: dict[int, Any]  # of the classes that get interior samples, on a worker
    interiors: dict[int, Interiors]

    @property
    def pieces(self) -> list[Piece]:
        """The new rows, in the order of the in-memory result."""
        found, start = [], 0
        for piece in self._unplaced():
            found.append(Piece(**{**vars(piece), "start": start}))
            start += piece.n_rows
        return found

    def _unplaced(self) -> Iterator[Piece]:
        most = max(1, CELLS_PER_PIECE // len(self.source.columns))
        for target in self.filling.asked:
            for number, chosen in enumerate(self.filling.chosen):
                for partition, n in enumerate(chosen.counts[:, target].tolist()):
                    if n:
                        yield Piece(target, chosen.origin, number, partition, 0, n)
            n_inside = len(self.interiors.get(target, ()))
            for first in range(0, n_inside, most):
                n = min(most, n_inside - first)
                yield Piece(target, "interior", None, 0, 0, n, first)

    @property
    def tallies(self) -> list[Tally]:
        """How many samples each class got, by their origin."""
        found = []
        for target in self.filling.asked:
            inside = self.interiors.get(target)
            n_lots, n_copies = (0, 0) if inside is None else (len(inside.lots), len(inside.copies))
            found.append(self.filling.tally(target, n_lots, n_copies))
        return found

    @property
    def yields(self) -> dict[tuple[Any, Any], Yield]:
        """For each pair (larger class, smaller class) what the first pass gave."""
        return self.filling.yields


def balance(
    engine: Engine, source: Source, prepared: Prepared, constraints: Any, folder: str | None = None
) -> Balance:
    """Search all partitions and decide what is to be built; warn of every shortfall."""
    plan, f = engine.held(prepared.plan, "search"), engine.held(prepared.f, "search")
    places = list(zip(source.parts, prepared.places, strict=True))

    def make_pass(a_pass: Pass, taken: list[list[Any]], seen: list[list[Any]]) -> list[Any]:
        return [
            engine.task(
                search_partition,
                part,
                place,
                plan,
                f,
                a_pass,
                [found[place.number] for found in taken],
                [found[place.number] for found in seen],
                folder,
            )
            for part, place in places
        ]

    has_threshold = hasattr(prepared.f, "predict_proba")
    filling = fill(engine, prepared.plan, make_pass, prepared.policies, has_threshold=has_threshold)
    if len(filling.answers) == 1:
        part, place = next(pair for pair in places if pair[1].n_rows)
        task = engine.task(check_tells_apart, part, place, plan, f, filling.answers)
        fault = engine.compute([task], "check f")[0]
        if fault:
            raise ClassifierError(fault)
    members: dict[int, Any] = {}
    interiors: dict[int, Interiors] = {}
    if "interior" in _before_the_end(prepared.policies):
        for target in filling.short:
            _check_fits(engine, prepared, target)
            parts = [engine.task(members_of, part, place, plan, target) for part, place in places]
            members[target] = engine.keep([engine.task(Members.join, parts)], "gather class")[0]
            missing = filling.missing(target)
            task = engine.task(choose_interiors, members[target], plan, target, missing)
            interiors[target] = engine.compute([task], "interpolate")[0]
    result = Balance(source, prepared, plan, f, filling, members, interiors)
    layout = prepared.plan.layout
    labels = Labels(None, layout.classes, layout.classes, layout.counts, layout.counts)
    report(result.tallies, labels, prepared.policies, as_constraints(constraints))
    return result


def _before_the_end(policies: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the policies that come before one that ends the chain."""
    ends = [place for place, policy in enumerate(policies) if policy in ENDS]
    return policies[: ends[0]] if ends else policies


def _check_fits(engine: Engine, prepared: Prepared, target: int) -> None:
    layout = prepared.plan.layout
    n_rows = int(layout.counts[target])
    needed = n_rows * len(layout.names) * BYTES_PER_CELL
    if needed > engine.memory * SHARE_FOR_MEMBERS:
        label = plain(layout.classes[target])
        raise EngineError(
            f"on_shortfall='interior' needs the {n_rows} rows of class {label!r} on one worker, "
            f"some {needed / 1e9:.1f} GB, which may take {SHARE_FOR_MEMBERS:.0%} of its memory; "
            "give the workers more memory, or use on_shortfall=('redraw', 'accept')"
        )
