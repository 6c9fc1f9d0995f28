"""Rounds: f is learned inside; counterfactuals move its boundary, and it judges them anew.

    track      the rows without one fold, and all that is ever learned from them
    f          the classifier of a track in the latest round
    pool       the counterfactuals that f was fitted to: rows, classes, the real row each came from
    believed   a counterfactual that f, fitted without it and its real row, puts into its class
    member     f of a track and a round, with the shares it was fitted at; all members vote
    beside     a classifier that is fitted to the same rows and votes, but is never searched

Round 0 fits f to the table. Every later round searches counterfactuals of the real rows at the
boundary of f, joins them with the earlier ones that are still believed, and fits f to the table
and them. A track never sees its fold, neither the rows nor what was made from them: what its f
says of that fold is honest, and calibration, threshold and stop are learned from that.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.classifier.fit import takes_weights, weight_parameter
from counterbalance.errors import ClassifierError, ShortfallError, ShortfallWarning, TableError
from counterbalance.estimators.base import class_scores, seeded
from counterbalance.estimators.decision import class_shares
from counterbalance.samplers.base import TableOverSampler
from counterbalance.table import containers
from counterbalance.table.labels import Labels

# Parts that a track is cut into, to judge each counterfactual by an f that has not seen it.
PARTS = 2
# Round 0 weighs the classes half way, as the samplers' own f: see docs/research-log.md.
HALF_WAY = 0.5
# Share of the rows whose call may change between two rounds of a boundary that has settled.
SETTLED = 0.01


@dataclass(frozen=True, eq=False)
class Member:
    """A fitted f, what is beside it, and the shares of the classes before and behind them."""

    f: Any
    base: Floats
    prior: Floats
    beside: Any = None

    def probabilities(self, X: Any, classes: Any) -> Floats:
        """Return its probabilities, corrected to the shares of the table."""
        voices = [self.f] if self.beside is None else [self.f, self.beside]
        said = [class_scores(voice, X, classes, self.base, self.prior) for voice in voices]
        return np.asarray(np.mean(said, axis=0))


@dataclass(frozen=True, eq=False)
class Pool:
    """Counterfactuals: rows, class codes, and the row of the track that each was made from."""

    rows: Any
    codes: Integers
    factual: Integers

    def __len__(self) -> int:
        return len(self.codes)

    def at(self, places: Integers | Mask) -> Pool:
        """Return some of them."""
        places = np.arange(len(self))[places]
        return Pool(containers.take(self.rows, places), self.codes[places], self.factual[places])

    def below(self, earlier: Pool | None) -> Pool:
        """Return these below earlier ones."""
        if earlier is None or not len(earlier):
            return self
        return Pool(
            containers.append(earlier.rows, self.rows),
            np.concatenate([earlier.codes, self.codes]),
            np.concatenate([earlier.factual, self.factual]),
        )


@dataclass(frozen=True)
class Round:
    """What happened in a round, over all tracks."""

    number: int  # 0 is the fit to the table alone
    found: int = 0  # counterfactuals that were found at the boundary of the round before
    # Share of them that are inversions; the others were made within the class.
    inverted: float = np.nan
    # Earlier counterfactuals that were still believed, and those that were not.
    kept: int = 0
    dropped: int = 0
    # Median distance of an inversion from its real row, in MADs: how far the boundary was.
    distance: float = np.nan
    # Share of the real rows whose call, out of fold, differs from that of the round before.
    changed: float = np.nan


@dataclass(frozen=True, eq=False)
class Recipe:
    """What every track is made by."""

    estimator: Any
    sampler: TableOverSampler
    weighs: bool
    classes: Any
    beside: Any = None

    def fit(
        self, X: Any, codes: Integers, weights: Floats | None, seed: int, balance: float = 0.0
    ) -> Member:
        """Fit f to rows; ``balance`` weighs the classes, from 0 as they are to 1 all the same."""
        f = seeded(clone(self.estimator), seed)
        used = weights if self.weighs else None
        if balance and takes_weights(f):
            shares = class_shares(codes, len(self.classes), used)
            used = (1.0 if used is None else used) * (shares**-balance)[codes]
        f.fit(X, self.classes[codes], **weight_parameter(f, used))
        beside = None
        if self.beside is not None:
            beside = clone(self.beside)
            beside.fit(X, self.classes[codes], **weight_parameter(beside, used))
        prior = class_shares(codes, len(self.classes), used)
        return Member(f, class_shares(codes, len(self.classes), weights), prior, beside)


@dataclass(frozen=True, eq=False)
class Track:
    """The rows without one fold, and what was learned from them so far."""

    # Its real rows.
    X: Any
    codes: Integers
    weights: Floats | None
    part: Integers  # in which of the parts each real row is judged
    seed: int  # seed of its draws
    members: tuple[Member, ...] = ()  # one for each round
    pool: Pool | None = None  # what the last member was fitted to, beside the table
    stopped: str = ""  # why no more counterfactuals can be found, if so

    def begin(self, recipe: Recipe) -> Track:
        """Fit f to the table."""
        member = recipe.fit(self.X, self.codes, self.weights, self.seed, HALF_WAY)
        return replace(self, members=(member,))

    def advance(self, recipe: Recipe, number: int) -> tuple[Track, Round]:
        """Search at the boundary of f, and fit f to what is found and believed."""
        if self.stopped:
            return self, Round(number)
        seed = self.seed + number
        try:
            new, provenance = self._search(recipe, seed)
        except (ClassifierError, ShortfallError, TableError) as error:
            return replace(self, stopped=str(error)), Round(number)
        asked = np.bincount(new.codes, minlength=len(recipe.classes))
        earlier, dropped = self.pool, 0
        if earlier is not None:
            believed = self._believed(recipe, earlier, seed)
            earlier, dropped = earlier.at(believed), int((~believed).sum())
        pool = _balanced(new.below(earlier), asked, seed)
        member = self._fitted(recipe, pool, np.ones(len(self.codes), dtype=bool), seed)
        inverted = np.isin(provenance["origin"], ("inversion", "minimum", "redraw"))
        distance = np.asarray(provenance["distance"], dtype=np.float64)[inverted]
        summary = Round(
            number,
            found=len(new),
            inverted=float(inverted.mean()) if len(new) else np.nan,
            kept=0 if earlier is None else len(earlier),
            dropped=dropped,
            distance=float(np.median(distance)) if distance.size else np.nan,
        )
        return replace(self, members=(*self.members, member), pool=pool), summary

    def _search(self, recipe: Recipe, seed: int) -> tuple[Pool, Any]:
        """Return the counterfactuals of the real rows at the boundary of the latest f."""
        sampler = clone(recipe.sampler)
        sampler.set_params(estimator=self.members[-1].f, prefit=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShortfallWarning)  # ``inverted`` says it
            X, y = sampler.fit_resample(self.X, recipe.classes[self.codes])
        n = len(self.codes)
        below = np.arange(n, len(y))
        codes = np.searchsorted(recipe.classes, y[n:])
        factual = np.asarray(sampler.provenance_["factual"], dtype=np.intp)
        return Pool(containers.take(X, below), codes, factual), sampler.provenance_

    def _believed(self, recipe: Recipe, pool: Pool, seed: int) -> Mask:
        """Say which counterfactuals an f that has seen neither them nor their rows believes."""
        believed = np.ones(len(pool), dtype=bool)
        for part in np.unique(self.part):
            here = np.flatnonzero(self.part[pool.factual] == part)
            rest = self.part != part
            if not here.size or len(np.unique(self.codes[rest])) < len(recipe.classes):
                continue
            others = pool.at(self.part[pool.factual] != part)
            judge = self._fitted(replace(recipe, beside=None), others, rest, seed)
            said = judge.f.predict(containers.take(pool.rows, here))
            believed[here] = said == recipe.classes[pool.codes[here]]
        return believed

    def _fitted(self, recipe: Recipe, pool: Pool, real: Mask, seed: int) -> Member:
        """Fit f to real rows and a pool; a new row weighs as its class does on average."""
        kept = np.flatnonzero(real)
        rows = self.X if real.all() else containers.take(self.X, kept)
        codes, weights = self.codes[kept], None
        if self.weights is not None:
            weights = self.weights[kept]
            mean = np.bincount(codes, weights=weights) / np.bincount(codes)
            weights = np.concatenate([weights, mean[pool.codes]])
        given = None if weights is None else weights[: len(codes)]
        base = class_shares(codes, len(recipe.classes), given)
        if len(pool):
            rows = containers.append(rows, pool.rows)
            codes = np.concatenate([codes, pool.codes])
        return replace(recipe.fit(rows, codes, weights, seed), base=base)


def _balanced(pool: Pool, asked: Integers, seed: int) -> Pool:
    """Draw from a pool as many of each class as are asked for."""
    lots = np.random.default_rng(seed).random(len(pool))
    order = np.lexsort((lots, pool.codes))
    codes = pool.codes[order]
    rank = np.arange(len(pool)) - np.searchsorted(codes, codes)
    return pool.at(np.sort(order[rank < asked[codes]]))


def parts_of(codes: Integers, groups: Any, seed: int) -> Integers:
    """Return in which part of a track each row is; one part where a class cannot be divided."""
    part = np.zeros(len(codes), dtype=np.intp)
    n_groups = len(codes) if groups is None else len(np.unique(groups))
    if min(n_groups, np.bincount(codes)[np.unique(codes)].min()) < PARTS:
        return part
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = kind(PARTS, shuffle=True, random_state=seed)
    for number, (_, here) in enumerate(splitter.split(codes, codes, groups)):
        part[here] = number
    return part


def make_track(
    X: Any, labels: Labels, weights: Floats | None, groups: Any, rows: Integers, seed: int
) -> Track:
    """Return the track of some rows, before its first round."""
    if weights is not None:  # a row that weighs nothing is as good as absent
        rows = rows[weights[rows] > 0]
    codes = labels.codes[rows]
    part = parts_of(codes, None if groups is None else groups[rows], seed)
    kept = None if weights is None else weights[rows]
    return Track(containers.take(X, rows), codes, kept, part, seed)


def pooled(rounds: list[Round], changed: float) -> Round:
    """Return one round of all tracks."""
    found = np.array([r.found for r in rounds])
    some = [r for r in rounds if r.found]
    distance = [r.distance for r in some if np.isfinite(r.distance)]
    return Round(
        rounds[0].number,
        found=int(found.sum()),
        inverted=float(np.average([r.inverted for r in some], weights=found[found > 0]))
        if some
        else np.nan,
        kept=sum(r.kept for r in rounds),
        dropped=sum(r.dropped for r in rounds),
        distance=float(np.median(distance)) if distance else np.nan,
        changed=changed,
    )
