"""Problem: the factual table, searched chunk by chunk for what f can be made to say.

    factual     a row of a larger class that f gets right
    source j    a class to take factuals from
    target i    a class to make counterfactuals for, smaller than j
    pass        T draws of every factual; pass 0 is the paper's, later ones draw again

One pass over class j serves every smaller class: the class that f puts a
candidate into says whose inversion it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from counterbalance.arrays import Floats, Integers, Mask, Words, blocks
from counterbalance.classifier.judge import Classifier
from counterbalance.constraints.rules import differs
from counterbalance.errors import ClassifierError
from counterbalance.profile import distance
from counterbalance.search.compiled import TakeBack, make_search, make_take_back, rebuild_found
from counterbalance.search.draws import fingerprint, stream
from counterbalance.search.inversions import NOT_DRAWN, Inversions
from counterbalance.search.minimum import MinimumSearch
from counterbalance.search.nearest import Effort, Space, widths
from counterbalance.search.references import References
from counterbalance.search.selection import Ranking
from counterbalance.table.labels import Labels
from counterbalance.table.table import Table

# A job gets at least so many rows: fewer would not pay for its start.
FEWEST_ROWS = 256
# Chunks whose finds are kept one by one.
CHUNKS_AT_A_TIME = 64
NEAREST_FIRST = Ranking()


class Yield(NamedTuple):
    """What a pair of classes gave.

    ``rows``, ``factuals``, ``inversions`` and ``used`` are of the first pass; ``origins`` counts
    all new rows that were made from rows of the larger class, by their origin.
    """

    rows: int
    factuals: int
    inversions: int
    used: int
    origins: dict[str, int]

    @property
    def share(self) -> float:
        """The share of the factuals for which an inversion was found."""
        return self.inversions / self.factuals if self.factuals else 0.0


@dataclass(frozen=True)
class Judged:
    """A classifier f, and the class code that it gives every row of the table."""

    f: Classifier
    answers: Integers


@dataclass(frozen=True)
class Problem:
    """The factual table with everything that a search of it needs, except f."""

    table: Table
    labels: Labels
    space: Space
    effort: Effort
    n_jobs: int | None = None
    ranking: Ranking = NEAREST_FIRST

    @property
    def prior(self) -> Floats:
        """P_c, the share of each class in the table."""
        return np.asarray(self.labels.counts / self.labels.counts.sum())

    def judged(self, f: Classifier) -> Judged:
        """Ask f about every row."""
        rows = np.arange(len(self.labels.codes))
        parts = blocks(len(rows), len(self.table.names), self.effort.cells_at_once)
        answers = np.concatenate([f(self.table.rows(block), rows[block]) for block in parts])
        if (answers < 0).all():
            raise ClassifierError(
                f"estimator {type(f.f).__name__} predicts none of the classes "
                f"{self.labels.classes.tolist()} for any row; pass a classifier of these labels"
            )
        return Judged(f, answers)

    def right(self, judged: Judged) -> Mask:
        """Return which rows f gets right: only those are factuals."""
        return np.asarray(judged.answers == self.labels.codes)

    def find(
        self, judged: Judged, number: int, targets: list[int], among: Mask | None = None
    ) -> Inversions:
        """Search the factuals for inversions to ``targets``, in the given pass of draws.

        ``among`` narrows the search: for each row (and class) whether it is worth it.
        """
        return self.find_in(*self._searched(judged, targets, among), judged.f, number)

    def find_in(self, rows: Integers, wanted: Mask, f: Classifier, number: int = 0) -> Inversions:
        """Search some rows, whatever f says of them; ``wanted`` is for all rows of the table."""
        search = make_search(self.space, self.effort.of_pass(number), f, self.table)
        take_back = make_take_back(self.space, f, self.table)

        def find(chunk: Integers) -> Inversions:
            found, _ = search(self.table.rows(chunk), chunk, wanted[chunk])
            parts = [found.take(block) for block in self.build_blocks(len(found))]
            return Inversions.join([found.take(slice(0)), *(finish(part) for part in parts)])

        def finish(found: Inversions) -> Inversions:
            """Take back what f does not need and give keys, with rows that are built once."""
            if not self.effort.minimal and self.ranking.judges is None:
                return self._ranked(found, None)
            rows = self.rebuild(found)
            if self.effort.minimal:
                found, rows = self._made_minimal(found, rows, take_back)
            return self._ranked(found, rows)

        return self._on_chunks(find, self._chunks(rows, f))

    def _made_minimal(
        self, found: Inversions, drawn: Floats, take_back: TakeBack
    ) -> tuple[Inversions, Floats]:
        """Take back every change of drawn rows that f does not need; return the rows, too."""
        x = self.table.rows(found.factual)
        rows = take_back(x, drawn, found.target, found.factual)
        bits = np.packbits(differs(rows, drawn), axis=1)
        far = distance(self.space.perturbation.profile, self.space.order, x, rows)
        return replace(found, distance=far, taken_back=bits), rows

    def _ranked(self, found: Inversions, rows: Floats | None) -> Inversions:
        """Give inversions their keys: see ``selection``; ``rows`` are for judges."""
        if self.ranking.how == "nearest":
            return replace(found, key=found.distance)
        state = stream(self.space.seed, found.factual + self.space.first_row, found.draw)
        return replace(found, key=self.ranking.keys(found, state, rows))

    def solve(
        self,
        judged: Judged,
        targets: list[int],
        among: Mask | None = None,
        starts: list[Floats] | None = None,
    ) -> Inversions:
        """Find the nearest inversions to ``targets`` by the structure of f: see ``minimum``.

        ``starts`` holds the references of each class code, if they are not those of this table.
        """
        if starts is None:
            starts = self.starts(self.references(judged, targets))
        return self.solve_in(*self._searched(judged, targets, among), judged.f, starts)

    def solve_in(
        self, rows: Integers, wanted: Mask, f: Classifier, starts: list[Floats]
    ) -> Inversions:
        """Solve for some rows, whatever f says of them; ``wanted`` is for all of the table."""
        search = MinimumSearch.of(self.space, self.effort, f, self.table, starts)

        def find(chunk: Integers) -> Inversions:
            return self._ranked(*search.find(self.table.rows(chunk), chunk, wanted[chunk]))

        return self._on_chunks(find, self._chunks(rows, f))

    def references(self, judged: Judged, targets: list[int]) -> References:
        """Choose rows that f puts into each of ``targets``; one without a class is never chosen."""
        at = np.flatnonzero(np.isin(judged.answers, targets) & (self.labels.codes >= 0))
        return References.of(at + self.space.first_row, judged.answers[at])

    def starts(self, references: References) -> list[Floats]:
        """Return the rows of this table that are references, for each class code."""
        own = np.flatnonzero(self.labels.codes >= 0)
        return [
            self.table.rows(own[np.isin(own + self.space.first_row, references.of_class(code))])
            for code in range(len(self.labels.classes))
        ]

    def rebuild(self, found: Inversions) -> Floats:
        """Return the rows of some inversions."""
        x, drawn = self.table.rows(found.factual), found.draw != NOT_DRAWN
        if drawn.all():
            return rebuild_found(self.space, self.effort, x, found)
        assert found.changes is not None  # noqa: S101  (they come with what was not drawn)
        some = found.take(~drawn)
        x[~drawn] = found.changes.apply(x[~drawn], some.factual, some.target)
        some = found.take(drawn)
        x[drawn] = rebuild_found(self.space, self.effort, x[drawn], some)
        return x

    def fingerprints(self, found: Inversions) -> Words:
        """Return a word for each inversion, equal where factual and row are equal."""
        parts = [found.take(block) for block in self.build_blocks(len(found))]
        words = [fingerprint(self.rebuild(part), part.factual) for part in parts]
        return np.concatenate([np.zeros(0, dtype=np.uint64), *words])

    def build_blocks(self, n: int) -> list[slice]:
        """Cut rows to be built: each takes its twin, its draws and what lies in between."""
        return blocks(n, 8 * len(self.table.names), self.effort.cells_at_once)

    def pairs(self, targets: list[int]) -> Mask:
        """Return for which classes j (rows) which classes i (columns) are wanted: N_i < N_j."""
        counts = self.labels.counts
        wanted = counts[:, None] > counts
        wanted &= np.isin(np.arange(len(counts)), targets)
        return np.asarray(wanted)

    def _searched(
        self, judged: Judged, targets: list[int], among: Mask | None
    ) -> tuple[Integers, Mask]:
        """Return the rows to be searched, and for every row of the table for which classes."""
        wanted = self.pairs(targets)[self.labels.codes]
        if among is not None:
            wanted &= among
        return np.flatnonzero(self.right(judged) & wanted.any(axis=1)), wanted

    def _on_chunks(
        self, find: Callable[[Integers], Inversions], chunks: list[Integers]
    ) -> Inversions:
        """Let the jobs search all chunks.

        What they find is joined now and then: small arrays that stay for long between those that
        come and go would keep the memory of the latter from being given back.
        """
        starts = range(0, len(chunks), CHUNKS_AT_A_TIME)
        groups = (chunks[start : start + CHUNKS_AT_A_TIME] for start in starts)
        with Parallel(n_jobs=self.n_jobs, prefer="threads") as jobs:
            return Inversions.join(
                [Inversions.join(jobs(delayed(find)(chunk) for chunk in group)) for group in groups]
            )

    def _chunks(self, rows: Integers, f: Classifier) -> list[Integers]:
        """Cut rows into what a job gets: what its memory holds, or an even share."""
        n_rows = len(rows)
        width = max(1, widths(len(self.space.order))[0])
        most = self.effort.cells_at_once // self.effort.window_cells(width, f.screen)
        n_jobs: int = effective_n_jobs(self.n_jobs)
        share = -(-n_rows // (4 * n_jobs))
        size = max(1, min(most, max(FEWEST_ROWS, share)))
        return [rows[start : start + size] for start in range(0, n_rows, size)]
