"""CounterfactualClassifier: f and its boundary learned in rounds of counterfactuals.

Luo and Liu end with what they could not do: "relax the assumption that a classifier and its
decision boundary are fixed and embed the learning of the classifier in the process of
oversampling". This is an experiment that does it.

    track      the rows without one fold, and all that is ever learned from them
    f          the classifier of a track in the latest round: thirty extremely randomised trees
    pool       the counterfactuals that f was fitted to: rows, classes, the real row each came from
    believed   a counterfactual that f, fitted without it and its real row, puts into its class
    member     f of a track and a round, and a logistic regression that is fitted to the same rows
               beside it, with the shares they were fitted at; all members vote

Round 0 fits f to the table. Every later round searches counterfactuals of the real rows at the
boundary of f, joins them with the earlier ones that are still believed, and fits f to the table
and them, which moves the boundary. A track never sees its fold, neither the rows nor what was made
from them: what its f says of that fold is honest, and the calibration, the threshold and the stop
are learned from that.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state

from counterbalance import CounterfactualOverSampler, TablePreparation
from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.errors import ClassifierError, ShortfallError, ShortfallWarning, TableError
from counterbalance.estimators.decision import Calibration, logits, prior_corrected, tuned_rule
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.table import read_table

TREES, LEAF = 30, 2
# Seeds of two tracks lie so far apart that their rounds never share one.
APART = 1_000_000
# Parts that a track is cut into, to judge each counterfactual by an f that has not seen it.
PARTS = 2
# Round 0 weighs the classes half way, as the samplers' own f: see docs/research-log.md.
HALF_WAY = 0.5
# Share of the rows whose call may change between two rounds of a boundary that has settled.
SETTLED = 0.01


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


class CounterfactualClassifier(ClassifierMixin, BaseEstimator):
    """An ensemble that learns its classifier and its boundary in rounds of counterfactuals.

    Parameters
    ----------
    rounds : int, default=3
        Most rounds; fewer if the boundary settles, which is when the calls of fewer than one in
        a hundred real rows change, out of fold, from one round to the next.
    cv : int, default=5
        The folds; each gives a member in every round.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, the searches and f.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    tracks_ : list of Track
        What was learned without each fold; its ``members`` are the f of every round.
    history_ : list of Round
        How the boundary moved.
    calls_ : ndarray of shape (n_rounds, n_samples)
        The class that f of each round calls each real row, out of fold and before any threshold,
        as a code of ``classes_``; -1 where nothing could be left out.
    threshold_ : float or None
        The cut between two classes that is best for the mean of G-mean and F1, out of fold.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(300, n_features=4, weights=[0.85], random_state=0)
    >>> model = CounterfactualClassifier(rounds=2, cv=3, random_state=0).fit(X, y)
    >>> [round_.number for round_ in model.history_]
    [0, 1, 2]
    >>> float(model.predict_proba(X)[:, 1].mean().round(2)), float((y == 1).mean().round(2))
    (0.16, 0.16)
    """

    def __init__(self, *, rounds: int = 3, cv: int = 5, random_state: Any = None) -> None:
        self.rounds = rounds
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn f in rounds, then the calibration and the threshold from what is out of fold."""
        self.classes_, y = np.unique(np.asarray(y), return_inverse=True)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        table = read_table(X)
        self.encoder_ = TableEncoder().learn(table)
        nominal = np.flatnonzero(table.nominal).tolist()
        kinds = {"categorical_features": nominal} if nominal else {}
        rows, everything = self._codes(X), np.arange(len(y))
        # Where nothing can be left out there is one track, of all rows, and nothing to learn from.
        folds = self._folds(y, seed) or [(everything, everything[:0])]
        tests = [test for _, test in folds]
        tracks = [
            Track(rows[train], y[train], seed + APART * k, kinds)
            for k, (train, _) in enumerate(folds)
        ]
        tracks = [track.begin() for track in tracks]
        self.history_, calls = [Round(0)], [_calls(tracks, rows, tests)]
        for number in range(1, self.rounds + 1):
            done = [track.advance(number) for track in tracks]
            tracks = [track for track, _ in done]
            if all(track.stopped for track in tracks):
                break
            calls.append(_calls(tracks, rows, tests))
            known = calls[-1] >= 0
            changed = (calls[-1] != calls[-2])[known].mean() if known.any() else np.nan
            self.history_.append(_pooled([summary for _, summary in done], float(changed)))
            if number > 1 and changed < SETTLED:
                break
        self.tracks_, self.calls_ = tracks, np.array(calls)
        self._decide(rows, y, tests)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, at the shares of the table it was fitted to."""
        rows = self._codes(X)
        return self._calibrated(np.mean([track.vote(rows) for track in self.tracks_], axis=0))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row, by the tuned threshold."""
        p = self.predict_proba(X)
        answer = p.argmax(axis=1) if self.rule_ is None else self.rule_.answer(p)
        return np.asarray(self.classes_[answer])

    def _codes(self, X: Any) -> Floats:
        return np.asarray(self.encoder_.transform(X))

    def _folds(self, y: Integers, seed: int) -> list[tuple[Integers, Integers]]:
        most = min(self.cv, int(np.bincount(y).min()))
        if most < PARTS:
            return []
        return list(StratifiedKFold(most, shuffle=True, random_state=seed).split(y, y))

    def _decide(self, rows: Floats, y: Integers, tests: list[Integers]) -> None:
        """Learn calibration and rule from what members say of rows that they never saw."""
        self.calibration_ = self.rule_ = self.threshold_ = None
        if (self.calls_ < 0).all():
            return
        scores = np.full((len(y), len(self.classes_)), np.nan)
        for track, test in zip(self.tracks_, tests, strict=True):
            scores[test] = track.vote(rows[test])
        self.calibration_ = Calibration.of("sigmoid", logits(scores), y, None)
        self.out_of_fold_proba_ = self._calibrated(scores)
        self.rule_ = tuned_rule(self.out_of_fold_proba_, y, "compromise")
        self.threshold_ = self.rule_.cut

    def _calibrated(self, scores: Floats) -> Floats:
        if self.calibration_ is None:
            return scores
        return np.asarray(self.calibration_.probabilities(logits(scores)))


@dataclass(frozen=True, eq=False)
class Member:
    """A fitted f, what is beside it, and the shares of the classes before and behind them."""

    f: Any
    beside: Any
    base: Floats
    prior: Floats

    def probabilities(self, rows: Floats) -> Floats:
        """Return its probabilities, corrected to the shares of the table."""
        said = [
            prior_corrected(voice.predict_proba(rows), self.base, self.prior)
            for voice in (self.f, self.beside)
        ]
        return np.asarray(np.mean(said, axis=0))


@dataclass(frozen=True, eq=False)
class Pool:
    """Counterfactuals: rows, class codes, and the row of the track that each was made from."""

    rows: Floats
    codes: Integers
    factual: Integers

    def __len__(self) -> int:
        return len(self.codes)

    def at(self, places: Any) -> Pool:
        """Return some of them."""
        return Pool(self.rows[places], self.codes[places], self.factual[places])

    def below(self, earlier: Pool) -> Pool:
        """Return these below earlier ones."""
        return Pool(
            np.vstack([earlier.rows, self.rows]),
            np.concatenate([earlier.codes, self.codes]),
            np.concatenate([earlier.factual, self.factual]),
        )

    def balanced(self, asked: Integers, seed: int) -> Pool:
        """Draw as many of each class as are asked for."""
        order = np.lexsort((np.random.default_rng(seed).random(len(self)), self.codes))
        codes = self.codes[order]
        rank = np.arange(len(self)) - np.searchsorted(codes, codes)
        return self.at(np.sort(order[rank < asked[codes]]))


@dataclass(frozen=True, eq=False)
class Track:
    """The rows without one fold, and what was learned from them so far."""

    X: Floats
    y: Integers
    seed: int
    kinds: dict[str, Any]  # which columns the sampler takes as categories and as integers
    members: tuple[Member, ...] = ()  # one for each round
    pool: Pool | None = None  # what the last member was fitted to, beside the table
    stopped: str = ""  # why no more counterfactuals can be found, if so

    def vote(self, rows: Floats) -> Floats:
        """Return the mean of the members."""
        return np.asarray(np.mean([member.probabilities(rows) for member in self.members], axis=0))

    def begin(self) -> Track:
        """Fit f to the table."""
        return replace(self, members=(self._member(self.X, self.y, self.seed, HALF_WAY),))

    def advance(self, number: int) -> tuple[Track, Round]:
        """Search at the boundary of f, and fit f to what is found and believed."""
        if self.stopped:
            return self, Round(number)
        seed = self.seed + number
        try:
            new, provenance = self._search(seed)
        except (ClassifierError, ShortfallError, TableError) as error:
            return replace(self, stopped=str(error)), Round(number)
        pool, kept, dropped = new, 0, 0
        if self.pool is not None:
            believed = self.believed(self.pool, seed)
            kept, dropped = int(believed.sum()), int((~believed).sum())
            pool = new.below(self.pool.at(believed))
        pool = pool.balanced(np.bincount(new.codes, minlength=self.y.max() + 1), seed)
        rows, codes = np.vstack([self.X, pool.rows]), np.concatenate([self.y, pool.codes])
        member = replace(self._member(rows, codes, seed), base=_shares(self.y))
        inverted = np.asarray(provenance["origin"]) == "inversion"
        distance = np.asarray(provenance["distance"], dtype=np.float64)[inverted]
        summary = Round(
            number,
            found=len(new),
            inverted=float(inverted.mean()) if len(new) else np.nan,
            kept=kept,
            dropped=dropped,
            distance=float(np.median(distance)) if distance.size else np.nan,
        )
        return replace(self, members=(*self.members, member), pool=pool), summary

    def believed(self, pool: Pool, seed: int) -> Mask:
        """Say which counterfactuals an f that has seen neither them nor their rows believes."""
        believed = np.ones(len(pool), dtype=bool)
        part = parts_of(self.y, self.seed)
        for number in np.unique(part):
            here = np.flatnonzero(part[pool.factual] == number)
            rest = part != number
            if not here.size or len(np.unique(self.y[rest])) <= self.y.max():
                continue
            others = pool.at(part[pool.factual] != number)
            rows = np.vstack([self.X[rest], others.rows])
            f = _trees(seed).fit(rows, np.concatenate([self.y[rest], others.codes]))
            believed[here] = f.predict(pool.rows[here]) == pool.codes[here]
        return believed

    def _search(self, seed: int) -> tuple[Pool, Any]:
        """Return the counterfactuals of the real rows at the boundary of the latest f."""
        sampler = CounterfactualOverSampler(
            estimator=FrozenEstimator(self.members[-1].f), random_state=seed, **self.kinds
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShortfallWarning)  # ``inverted`` says it
            X, y = sampler.fit_resample(self.X, self.y)
        n = len(self.y)
        factual = np.asarray(sampler.provenance_["factual"], dtype=np.intp)
        return Pool(X[n:], y[n:], factual), sampler.provenance_

    def _member(self, rows: Floats, codes: Integers, seed: int, balance: float = 0.0) -> Member:
        """Fit f to rows; ``balance`` weighs the classes, from 0 as they are to 1 all the same."""
        base, weights = _shares(codes), None
        if balance:
            weights = (base**-balance)[codes]
        nominal = self.kinds.get("categorical_features")
        beside = make_pipeline(
            TablePreparation(categorical_features=nominal), LogisticRegression(max_iter=1000)
        )
        f = _trees(seed).fit(rows, codes, sample_weight=weights)
        beside.fit(rows, codes, logisticregression__sample_weight=weights)
        return Member(f, beside, base, _shares(codes, weights))


def parts_of(y: Integers, seed: int) -> Integers:
    """Return in which part of a track each row is; one part where a class cannot be divided."""
    part = np.zeros(len(y), dtype=np.intp)
    if np.bincount(y).min() < PARTS:
        return part
    splitter = StratifiedKFold(PARTS, shuffle=True, random_state=seed)
    for number, (_, here) in enumerate(splitter.split(y, y)):
        part[here] = number
    return part


def _trees(seed: int) -> ExtraTreesClassifier:
    return ExtraTreesClassifier(TREES, min_samples_leaf=LEAF, random_state=seed)


def _shares(codes: Integers, weights: Floats | None = None) -> Floats:
    """Return the share of each class; every class has rows."""
    weighs = np.bincount(codes, weights=weights)
    return np.asarray(weighs / weighs.sum())


def _calls(tracks: list[Track], rows: Floats, tests: list[Integers]) -> Integers:
    """Return the class that the latest member without a row calls it, -1 where there is none."""
    calls = np.full(len(rows), -1, dtype=np.intp)
    for track, test in zip(tracks, tests, strict=True):
        if test.size:
            member = track.members[-1]
            said = member.probabilities(rows[test])
            calls[test] = prior_corrected(said, member.prior, member.base).argmax(axis=1)
    return calls


def _pooled(rounds: list[Round], changed: float) -> Round:
    """Return one round of all tracks."""
    some = [r for r in rounds if r.found]
    found = [r.found for r in some]
    distance = [r.distance for r in some if np.isfinite(r.distance)]
    return Round(
        rounds[0].number,
        found=sum(found),
        inverted=float(np.average([r.inverted for r in some], weights=found)) if some else np.nan,
        kept=sum(r.kept for r in rounds),
        dropped=sum(r.dropped for r in rounds),
        distance=float(np.median(distance)) if distance else np.nan,
        changed=changed,
    )
