"""Build: assemble the new rows and their provenance.

A search stores only the changed cells of an inversion. Rows are built in blocks, so that memory
never holds more than the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers
from counterbalance.constraints.rules import differs
from counterbalance.prepare import Prepared
from counterbalance.profile import distance
from counterbalance.rows.interior import Interior
from counterbalance.rows.provenance import Provenance, ShownPairs
from counterbalance.search.inversions import Inversions


@dataclass
class NewRows:
    """The new rows of one class: inversions, sample ids of interior rows, copies."""

    target: int
    n_requested: int
    found: Inversions = field(default_factory=lambda: Inversions.join([]))
    interior: Interior | None = None  # the class that the sample ids belong to
    sample_ids: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    scores: Floats | None = None  # f's score of the class for each of them, where it is known
    copies: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))  # rows

    @property
    def missing(self) -> int:
        """The number of samples that are still missing."""
        return self.n_requested - len(self.found) - len(self.sample_ids) - len(self.copies)

    @property
    def made(self) -> dict[str, int]:
        """The number of samples of each origin."""
        return {
            "inversion": len(self.found),
            "interior": len(self.sample_ids),
            "copy": len(self.copies),
        }


def fill(classes: list[NewRows], prepared: Prepared) -> None:
    """Fill up classes with a shortfall with rows made within them."""
    for rows in classes:
        if rows.missing:
            rows.interior = Interior.from_class(prepared, rows.target).with_ids(rows.missing)
            rows.sample_ids = rows.interior.accept()
            rows.copies = rows.interior.copies(rows.missing)


class Builder:
    """Builds the result and records its provenance."""

    def __init__(self, prepared: Prepared, classes: list[NewRows]) -> None:
        n_new = sum(part.n_requested - part.missing for part in classes)
        n_features = len(prepared.table.names)
        self.prepared, self.classes, self.n_new = prepared, classes, n_new
        self.factual, self.target, self.round = np.zeros((3, n_new), dtype=np.intp)
        self.distance = np.zeros(n_new)
        self.score, self.outlier = np.full((2, 2, n_new), np.nan)
        self.origin = np.empty(n_new, dtype=object)
        self.changed = np.zeros((n_new, -(-n_features // 8)), dtype=np.uint8)
        self._unscored: list[_Unscored] = []
        self._own = np.full(len(prepared.labels.codes), np.nan)  # f's score of a row's own class
        self._block = next((cut.stop for cut in prepared.blocks(n_new)), 0)  # rows at a time

    def build(self) -> tuple[Any, Any, Provenance]:
        """Return the resampled table, its labels and the provenance."""
        table, labels = self.prepared.table, self.prepared.labels
        X = table.append(self.n_new, self.rows())
        y, columns = labels.append(self.target), self.columns()
        pairs = ShownPairs.from_result(X, columns["sample"], self.factual)
        return X, y, Provenance(columns, self.changed, table.names, pairs)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns of the provenance, except ``changed``; build the rows first."""
        labels = self.prepared.labels
        return {
            "sample": np.arange(self.n_new) + len(labels.codes),
            "factual": self.factual,
            "from_class": labels.classes[labels.codes[self.factual]],
            "to_class": labels.classes[self.target],
            "origin": self.origin,
            "distance": self.distance,
            "round": self.round,
            "score_before": self.score[0],
            "score_after": self.score[1],
            "outlier_from": self.outlier[0],
            "outlier_to": self.outlier[1],
        }

    def rows(self) -> Iterator[tuple[Floats, Integers]]:
        """Build the new rows: yield blocks of codes, with the source row of each."""
        prepared, stop = self.prepared, 0
        for part in self.classes:
            for block in prepared.blocks(len(part.found)):
                some = part.found.take(block)
                at, stop = slice(stop, stop + len(some)), stop + len(some)
                self.round[at] = some.round
                new = some.rows(prepared.table.rows(some.factual))
                yield self._note(at, part.target, "inversion", new, some.factual)
            for block in prepared.blocks(len(part.sample_ids)):
                assert part.interior is not None  # noqa: S101  (the ids are its own)
                new, base = part.interior.at(part.sample_ids[block])
                at, stop = slice(stop, stop + len(new)), stop + len(new)
                score = None if part.scores is None else part.scores[block]
                yield self._note(at, part.target, "interior", new, part.interior.rows[base], score)
            for block in prepared.blocks(len(part.copies)):
                rows = part.copies[block]
                at, stop = slice(stop, stop + len(rows)), stop + len(rows)
                yield self._note(at, part.target, "copy", prepared.table.rows(rows), rows)

    def _note(
        self,
        at: slice,
        target: int,
        origin: str,
        new: Floats,
        factual: Integers,
        score: Floats | None = None,
    ) -> tuple[Floats, Integers]:
        """Record the provenance of a block, and check that it keeps the rules."""
        space = self.prepared.space
        old = self.prepared.table.rows(factual)
        if not space.rules.kept(new, old):
            raise RuntimeError("a new row breaks a constraint: this is a bug of counterbalance")
        self.factual[at], self.target[at], self.origin[at] = factual, target, origin
        self.distance[at] = distance(space.profile, space.order, old, new)
        shown = (self.prepared.table.unfolded(rows, factual) for rows in (new, old))
        self.changed[at] = np.packbits(differs(*shown), axis=1)
        self._unscored.append(_Unscored(at, target, old, new, factual, score))
        waiting = sum(len(some.factual) for some in self._unscored)
        if waiting >= self._block or at.stop == self.n_new:
            self._score()
        return new, factual

    def _score(self) -> None:
        """Record f's scores of the rows since the last call, of all classes together.

        Every call of f has a fixed cost, and there may be many small classes. A row of the class
        itself is scored once, however many new rows start from it.
        """
        parts, self._unscored = self._unscored, []
        self._score_outliers(parts)
        codes = self.prepared.labels.codes
        inside = [part for part in parts if (codes[part.factual] == part.target).all()]
        bases = np.unique(_join([part.factual for part in inside]))
        bases = bases[np.isnan(self._own[bases])]
        self._own[bases] = self._ask(self.prepared.table.rows(bases), bases, codes[bases])
        for part in inside:
            self.score[0, part.at] = self._own[part.factual]
        outside = [part for part in parts if not any(part is one for one in inside)]
        self._write(0, outside, [part.old for part in outside])
        for part in parts:
            if part.score is not None:
                self.score[1, part.at] = part.score
        new = [part for part in parts if part.score is None]
        self._write(1, new, [part.new for part in new])

    def _score_outliers(self, parts: list[_Unscored]) -> None:
        """Record the outlier scores of the rows, in the class they left and in their new class."""
        place = _join([np.arange(part.at.start, part.at.stop) for part in parts])
        target = np.repeat([part.target for part in parts], [len(part.factual) for part in parts])
        new = np.concatenate([part.new for part in parts])
        sources = self.prepared.labels.codes[_join([part.factual for part in parts])]
        self.outlier[1, place] = self.outlier[0, place] = self.prepared.outliers.scores(new, target)
        left = np.flatnonzero(sources != target)
        self.outlier[0, place[left]] = self.prepared.outliers.scores(new[left], sources[left])

    def _write(self, moment: int, parts: list[_Unscored], rows: list[Floats]) -> None:
        """Call f once on the rows of all parts, and record the score of each part's class."""
        if not parts:
            return
        target = np.repeat([part.target for part in parts], [len(part.factual) for part in parts])
        factual = _join([part.factual for part in parts])
        scores = self._ask(np.concatenate(rows), factual, target)
        for part, score in zip(
            parts, np.split(scores, np.cumsum([len(some) for some in rows])[:-1]), strict=True
        ):
            self.score[moment, part.at] = score

    def _ask(self, rows: Floats, factual: Integers, target: Integers) -> Floats:
        """Return f's score of one class for each row, nan where f has none."""
        scores = self.prepared.f.scores(rows, factual) if len(rows) else None
        return (
            np.full(len(rows), np.nan) if scores is None else scores[np.arange(len(rows)), target]
        )


class _Unscored(NamedTuple):
    """New rows of one class and origin that have no scores yet."""

    at: slice
    target: int
    old: Floats
    new: Floats
    factual: Integers
    score: Floats | None  # of the new rows, where it is known


def _join(parts: list[Integers]) -> Integers:
    return np.concatenate([np.zeros(0, dtype=np.intp), *parts])
