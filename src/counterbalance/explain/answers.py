"""Answers: the smallest changes for which f predicts another class.

The first answer is the nearest row that the search finds: the one that ``search="minimum"`` of the
sampler makes from this row, or a nearer one that the proof of the bound finds. To find another
answer, the search is repeated without some of the changes of an earlier answer.

All rows are searched together: each round makes one search for every row that has one left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.classifier.predict import Classifier
from counterbalance.constraints.rules import differs
from counterbalance.errors import ClassifierError, TableError
from counterbalance.explain.bound import MANY_BOXES, N_BOXES, prove
from counterbalance.prepare import Prepared
from counterbalance.profile import distance
from counterbalance.samplers.counterfactual import CounterfactualOverSampler, find_references
from counterbalance.search.minimum import Minimum
from counterbalance.search.structure import Structure, read_structure
from counterbalance.sklearn_private import fit_trees

# This many times the draws that the sampler makes for a row.
MORE_DRAWS = 100
# Most searches for a row without some changes, to find other answers.
MOST_SEARCHES = 30
# Number of refits of f, and of folds: each refit leaves out one fold.
REFITS = 10
# Among answers that are farther than the nearest by at most this share, that with most refits wins.
NEARLY_EQUAL = 0.05


@dataclass(frozen=True, eq=False)
class Question:
    """Rows, the target class of each, and the options of the explanation."""

    prepared: Prepared
    known: Integers  # the class code that f gives each row of the table
    ids: Integers
    called: Integers  # the class code that f gives each of the rows
    target: Integers
    n_answers: int
    certify: bool | None
    refits: tuple[Classifier, ...]
    share: float
    searches: dict[int, Minimum] = field(default_factory=dict)

    @cached_property
    def x(self) -> Floats:
        """The encoded rows."""
        return np.asarray(self.prepared.table.rows(self.ids))

    def take(self, at: Integers) -> Question:
        """Return the question about some of the rows."""
        return replace(self, ids=self.ids[at], called=self.called[at], target=self.target[at])

    def structure(self, target: int) -> Structure:
        """Return the trees or weights of f; with refits there are none."""
        return self.minimum(target).structure

    def minimum(self, target: int) -> Minimum:
        """Return the search for rows of a class; each is made once."""
        if target not in self.searches:
            prepared = self.prepared
            if self.share > 0:
                structure: Structure = _WithRefits(
                    prepared.f, agreed=self.agreed, share=self.share, target=target
                )
            else:
                structure = read_structure(prepared.space, prepared.f, prepared.table)
            references = find_references(prepared, self.known, [target])
            # One row allows many draws: without trees or weights, the search starts from them.
            space = replace(prepared.space, n_draws=MORE_DRAWS * prepared.space.n_draws)
            self.searches[target] = Minimum(space, structure, references)
        return self.searches[target]

    def scores(self, rows: Floats, ids: Integers, target: Integers) -> Floats:
        """Return f's score of the class of each row, nan where f has none."""
        scores = self.prepared.f.scores(rows, ids) if len(rows) else None
        if scores is None:
            return np.full(len(rows), np.nan)
        return np.asarray(scores[np.arange(len(rows)), target])

    def agreed(self, rows: Floats, ids: Integers, target: Integers) -> Floats:
        """Return the share of refits that predict the target class for each row."""
        if not self.refits or not len(rows):
            return np.full(len(rows), np.nan)
        return np.asarray(
            np.mean([f.predict_codes(rows, ids) == target for f in self.refits], axis=0)
        )


@dataclass(frozen=True, eq=False)
class FoundAnswers:
    """Answers to rows, row by row, the nearest first."""

    row: Integers  # the position of the row among those that are explained
    codes: Floats
    distance: Floats
    bound: Floats
    nearest: Mask  # whether it is what the search alone finds first

    @classmethod
    def join(cls, parts: list[FoundAnswers]) -> FoundAnswers:
        """Put the answers of several parts together."""
        names = ("row", "codes", "distance", "bound", "nearest")
        return cls(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))


@dataclass(frozen=True, eq=False)
class _WithRefits(Structure):
    """An f that predicts the target class only where enough refits do."""

    agreed: Any = None
    share: float = 0.0
    target: int = 0

    def predict(self, x: Floats, ids: Integers) -> Integers:
        """Return f's class codes, or -1 where f predicts the target class and too few refits do."""
        answer = self.f.predict_codes(x, ids)
        here = np.flatnonzero(answer == self.target)
        agreed = self.agreed(x[here], ids[here], answer[here])
        answer[here[agreed < self.share]] = -1
        return answer


def fit_again(
    prepared: Prepared, sampler: CounterfactualOverSampler, robust: float | None
) -> Iterator[Classifier]:
    """Refit f without each of some folds; with ``robust=0`` skip an f that cannot be refitted."""
    f, table, labels = prepared.f, prepared.table, prepared.labels
    if robust is None or (isinstance(f.f, FrozenEstimator) and not robust):
        return
    if isinstance(f.f, FrozenEstimator):
        raise ClassifierError(
            "robust needs an estimator that can be fitted again, and this one was given fitted "
            "(FrozenEstimator); pass it unfitted, or leave robust out"
        )
    folds = min(REFITS, int(labels.counts.min()))
    if folds < 2:  # noqa: PLR2004 (a fold to leave out, and one to fit to)
        if not robust:
            return
        raise TableError(
            "robust fits f again without some rows of every class, and a class has only one row; "
            "leave robust out, or add rows"
        )
    own = sampler.estimator is None
    weights = labels.balanced_weight**sampler.default_balance if own else None
    split = StratifiedKFold(folds, shuffle=True, random_state=prepared.space.seed % 2**32)
    for train, _ in split.split(labels.codes, labels.codes):
        weight = None if weights is None else weights[train]
        X, refit = f.decode(table.rows(train), train), clone(f.f)
        if own and type(refit) is ExtraTreesClassifier and isinstance(X, np.ndarray):
            fit_trees(refit, X, labels.values[train], weight)
        else:
            given = {} if weight is None else {"sample_weight": weight}
            refit.fit(X, labels.values[train], **given)
        yield replace(f, f=refit, screen=None)


def answer(question: Question) -> FoundAnswers:
    """Find the answers to all rows; a row for which f predicts the target class has none."""
    width = len(question.prepared.table.names)
    parts = [
        FoundAnswers(
            np.zeros(0, np.intp),
            np.zeros((0, width)),
            np.zeros(0),
            np.zeros(0),
            np.zeros(0, dtype=bool),
        )
    ]
    for target in np.unique(question.target):
        at = np.flatnonzero((question.target == target) & (question.called != target))
        if at.size:
            part = _answer_class(question.take(at), int(target))
            parts.append(replace(part, row=at[part.row]))
    found = FoundAnswers.join(parts)
    order = np.argsort(found.row, kind="stable")
    return FoundAnswers.join([replace(found, **{k: v[order] for k, v in vars(found).items()})])


def _answer_class(question: Question, target: int) -> FoundAnswers:
    x, ids, targets = question.x, question.ids, question.target
    minimum = question.minimum(target)
    first, far = minimum.nearest(x, targets, ids)
    proof, bound = first, np.full(len(x), np.nan)
    if question.certify is not False:
        done = prove(
            minimum, x, targets, ids, first, far, MANY_BOXES if question.certify else N_BOXES
        )
        proof, bound, best = done.rows, done.bound, done.distance
    else:
        best = far
    reached = np.flatnonzero(best < minimum.space.epsilon)
    pools = _other_answers(question.take(reached), minimum, proof[reached], best[reached])
    rows, codes = [], []
    for place, pool in zip(reached.tolist(), pools, strict=True):
        chosen = _diverse(question, minimum, place, pool)
        rows += [place] * len(chosen)
        codes += list(chosen)
    row = np.array(rows, dtype=np.intp)
    new = np.array(codes).reshape(len(rows), x.shape[1])
    known = minimum.by_trees is not None or minimum.by_weights is not None
    # Without trees or weights, the sampler's row may be farther: this search is longer.
    nearest = np.asarray(~differs(new, first[row]).any(axis=1) | (not known))
    return FoundAnswers(row, new, _distances_of(minimum, x[row], new), bound[row], nearest)


def _distances_of(minimum: Minimum, x: Floats, rows: Floats) -> Floats:
    space = minimum.space
    return distance(space.profile, space.order, x, rows)


def _other_answers(
    question: Question, minimum: Minimum, first: Floats, far: Floats
) -> list[Floats]:
    """Return for each row its nearest answer and others, searched for without some changes."""
    x, target, ids = question.x, question.target, question.ids
    pools = [[row] for row in first]
    if question.n_answers == 1:
        return [np.array(pool) for pool in pools]
    known = minimum.by_trees is not None or minimum.by_weights is not None
    waiting: list[list[Mask]] = [[] for _ in pools]

    def leave_out(at: Integers, rows: Floats, frozen: Mask) -> None:
        for some, more in minimum.left_out(x[at], rows):
            for place, mask in zip(some.tolist(), frozen[some] | more, strict=True):
                waiting[at[place]].append(mask)

    leave_out(np.arange(len(x)), first, np.zeros(x.shape, dtype=bool))
    for _ in range(MOST_SEARCHES):
        at = np.array([place for place, masks in enumerate(waiting) if masks], dtype=np.intp)
        if not at.size:
            break
        frozen = np.array([waiting[place].pop(0) for place in at])
        other, distances = minimum.solve(x[at], target[at], ids[at], frozen)
        new = distances < minimum.space.epsilon
        if known:  # the row that was found first stays the first answer
            new &= distances >= far[at]
        for k in np.flatnonzero(new):
            new[k] = not any((other[k] == one).all() for one in pools[at[k]])
            if new[k]:
                pools[at[k]].append(other[k])
                new[k] = len(pools[at[k]]) < question.n_answers
        leave_out(at[new], other[new], frozen[new])
    return [np.array(pool) for pool in pools]


def _diverse(question: Question, minimum: Minimum, place: int, pool: Floats) -> Floats:
    """Select near rows that change other features, or in other directions, the nearest first.

    The first selected is, among those nearly as near as the nearest, that which most refits accept.
    """
    if len(pool) == 1:
        return pool
    x = question.x[place]
    changes = [_directions(new, x) for new in pool]
    far = _distances_of(minimum, np.repeat(x[None, :], len(pool), axis=0), pool)
    ranked = np.argsort(far, kind="stable").tolist()
    near = [k for k in ranked if far[k] <= far[ranked[0]] * (1 + NEARLY_EQUAL)]
    if question.refits and len(near) > 1:
        one = np.full(len(near), question.ids[place]), np.full(len(near), question.target[place])
        near = [near[int(np.argmax(question.agreed(pool[near], *one)))]]
    chosen = near[:1]
    while len(chosen) < question.n_answers:
        best, least = None, np.inf
        for k in ranked:
            here, before = changes[k], [changes[taken] for taken in chosen]
            shared = max(len(here & one) / len(here | one) for one in before)
            if shared < 1 and far[k] / (1 - shared) < least:
                best, least = k, far[k] / (1 - shared)
        if best is None:
            break
        chosen.append(best)
    return np.asarray(pool[sorted(chosen, key=lambda k: float(far[k]))])


def _directions(new: Floats, old: Floats) -> frozenset[tuple[int, bool]]:
    return frozenset((int(m), bool(new[m] > old[m])) for m in np.flatnonzero(differs(new, old)))
