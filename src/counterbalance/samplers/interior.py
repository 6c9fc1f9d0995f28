"""Interior sampler: new rows around the rows of a class, weighted by the scores of f.

    pool          several candidates for each requested row
    score         f's probability that a candidate belongs to the class
    agreement     k: a candidate is drawn with a weight of score^k

Counterfactuals lie near the decision boundary of f. Interior rows lie inside the class: they are
spread around its rows, farther than interpolation reaches, and the scores of f decide which of them
are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.classifier.fit import interior_classifier
from counterbalance.classifier.predict import Classifier
from counterbalance.errors import ClassifierError, ShortfallError, ShortfallWarning
from counterbalance.plausible.learn import Plausible
from counterbalance.prepare import Prepared
from counterbalance.rows.build import Builder, NewRows
from counterbalance.rows.interior import Interior
from counterbalance.rows.origins import MOST_PER_ROW_AT_ALL, Counts, warn_inflated
from counterbalance.samplers.base import TableOverSampler, refuse_removed
from counterbalance.search.draws import stream, uniform
from counterbalance.sklearn_private import HasMethods, Interval
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.labels import Labels, plain
from counterbalance.table.table import Table
from counterbalance.user_warnings import warn_user

# Candidates for each new row: enough for f to choose from.
POOL = 8
# Candidates scored at a time for each new row: fewer than two are rarely enough.
AT_A_TIME = 2
# The least score: its weight is negligible, and it keeps the logarithms finite.
LEAST_SCORE = 1e-6
REMOVED = {
    "prefit": "pass estimator=sklearn.frozen.FrozenEstimator(model) for a fitted model",
    "working_memory": "set sklearn.set_config(working_memory=...)",
    "snap_to_grid": "new values always keep the decimals, steps and gaps of their column",
    "integer_features": "columns of whole numbers are recognised",
    "n_jobs": "the work is one pass of one thread",
}


class InteriorOverSampler(TableOverSampler):
    """Oversample inside the class: spread new rows around real ones, weighted by a classifier.

    Every new row starts from a real row of its class. It is moved by a share of the difference of
    two others, which keeps the shape of the class (a smoothed bootstrap), or towards a neighbour.
    Eight such candidates are made for each requested row; rows are drawn from them with weights
    ``score ** agreement``, where the score is the probability of the class by the classifier (f in
    the paper). Use this sampler to train a classifier on the result. Use
    :class:`CounterfactualOverSampler` to read each new row as the smallest change that alters the
    prediction.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many new rows each class gets, in all of imbalanced-learn's forms.

    estimator : None or classifier, default=None
        The classifier (f in the paper): any scikit-learn classifier with ``predict_proba``. It is
        cloned and fitted to X and y, unless it is a :class:`sklearn.frozen.FrozenEstimator`.
        ``None`` is gradient boosting of twenty rounds without class weights, so that its scores are
        the shares of the class in the data; it is fitted to a sample of 10,000 rows if there are
        more.

    spread : float, default=1.2
        How far new rows are spread: a multiple of Silverman's bandwidth for the numbers of rows and
        features.

    between : float, default=0.3
        Share of the candidates that lie between a row and one of its nearest neighbours, as in
        SMOTE; the others are spread around the row.

    agreement : float, default=1.5
        Weight of the classifier's score; 0 draws every candidate with the same probability.

    categorical_features, constraints, plausible, ignore_relations, use
        As in :class:`CounterfactualOverSampler`; constraints apply to a new row and the real row it
        started from.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws, and of the classifier if it has no seed.

    Attributes
    ----------
    sampling_strategy_ : dict
        Requested number of new rows of each class.
    estimator_ : classifier
        The fitted classifier (f in the paper).
    profile_ : Profile
        Range, deviation, MAD and importance of each feature.
    feature_order_ : ndarray of int
        The features that may change.
    relations_ : list of FoundRelation
        The relations between columns that new rows keep: ``text`` (as ``constraints`` and
        ``ignore_relations`` take it), ``description``, and the share of the rows that ``kept`` it.
    provenance_ : Provenance
        One row per new sample: the row it started from, what changed, and by how much.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if they are texts.
    sample_weight_ : ndarray
        Only if ``sample_weight`` was given: the weights of all rows of the result.

    See Also
    --------
    counterbalance.CounterfactualOverSampler : New rows at the decision boundary, to inspect.
    counterbalance.ResampledClassifier : A classifier on resampled data, with probabilities.

    Examples
    --------
    >>> from collections import Counter
    >>> from sklearn.datasets import make_classification
    >>> from counterbalance import InteriorOverSampler
    >>> X, y = make_classification(300, n_features=4, weights=[0.8], random_state=0)
    >>> X_resampled, y_resampled = InteriorOverSampler(random_state=0).fit_resample(X, y)
    >>> sorted(Counter(y_resampled.tolist()).items())
    [(0, 239), (1, 239)]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TableOverSampler._parameter_constraints,  # noqa: SLF001  (as in imbalanced-learn)
        "estimator": [HasMethods(["fit", "predict"]), None],
        "spread": [Interval(Real, 0, None, closed="neither")],
        "between": [Interval(Real, 0, 1, closed="both")],
        "agreement": [Interval(Real, 0, None, closed="left")],
    }

    @refuse_removed(REMOVED)
    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        estimator: Any = None,
        spread: float = 1.2,
        between: float = 0.3,
        agreement: float = 1.5,
        categorical_features: Any = None,
        constraints: Any = None,
        plausible: Plausible = "auto",
        ignore_relations: Any = None,
        use: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy)
        self.estimator = estimator
        self.spread = spread
        self.between = between
        self.agreement = agreement
        self.categorical_features = categorical_features
        self.constraints = constraints
        self.plausible = plausible
        self.ignore_relations = ignore_relations
        self.use = use
        self.random_state = random_state

    def _fit_resample(self, table: Table, labels: Labels, weights: Floats | None) -> Builder:
        prepared = self._prepare(table, labels, weights)  # profile, rules, order, f
        check_scores(prepared.f.f)
        if not prepared.f.own:
            prepared.known_answers()
        requested = {target: n for target, n in self._requested(labels).items() if n}
        rows = [NewRows(target, n) for target, n in requested.items()]
        self._draw(rows, prepared)
        for part in rows:
            if part.missing:
                assert part.interior is not None  # noqa: S101  (it was drawn from)
                part.copies = part.interior.copies(part.missing)
        report(requested, {part.target: part.made for part in rows}, labels)
        return Builder(prepared, rows)

    def with_candidates(self, interior: Interior, n: int) -> Interior:
        """Return a class whose sample ids are the candidates for ``n`` new rows."""
        return interior.around(self.spread, self.between, POOL * n)

    @staticmethod
    def default_classifier(table: Table, encoder: TableEncoder) -> Any:
        """Return the classifier that ``estimator=None`` stands for, unfitted."""
        return interior_classifier(table, encoder)

    def _draw(self, rows: list[NewRows], prepared: Prepared) -> None:
        """Draw the rows of each class.

        No weight is above 1, so no key is below ``-log(u)``: candidates are scored in descending
        order of u, and those that can no longer be drawn are never made. Candidates of all classes
        are scored together: boosting has a tree for each class, however few the rows are.
        """
        pools = []
        for part in rows:
            own = Interior.from_class(prepared, part.target)
            part.interior = self.with_candidates(own, part.n_requested)
            ids = part.interior.own_ids()
            pools.append(Pool(part.interior, part.n_requested, ids, self.agreement))
        while waiting := [(pool, at) for pool in pools if (at := pool.next()).size]:
            for pieces in _together(waiting, prepared.blocks):
                score_candidates(pieces, prepared.f)
        for part, pool in zip(rows, pools, strict=True):
            drawn = np.argsort(pool.keys, kind="stable")[: part.n_requested]
            drawn = np.sort(drawn[pool.keys[drawn] < np.inf])
            part.sample_ids, part.scores = pool.ids[drawn], pool.scores[drawn]


class Pool:
    """The candidates of one class, drawn without replacement with weights from f.

    The n ids with the smallest ``-log(u) / weight`` are such a draw (Efraimidis and Spirakis,
    2006). A key depends only on its id, so any part of the ids can be drawn independently.

    ids       sample ids
    least     the smallest possible key of each, -log(u), for the weight 1; nan once it is scored
    keys      -log(u) / weight of the scored ones, infinite for rows that break a rule
    scores    f's score of the class for each
    """

    def __init__(self, interior: Interior, n: int, ids: Integers, agreement: float) -> None:
        self.interior, self.n, self.ids, self.agreement = interior, n, ids, agreement
        self.least = -np.log(uniform(stream(interior.space.seed, ids, 2), 0))
        self.keys, self.scores = np.full(len(ids), np.inf), np.full(len(ids), np.nan)

    @property
    def last_key(self) -> float:
        """The largest key that is drawn, if nothing else is scored."""
        return float(np.partition(self.keys, self.n - 1)[self.n - 1])

    def next(self, up_to: float = 0.0) -> Integers:
        """Return the next candidates to score: those with the largest u that may still be drawn.

        Keys ``up_to`` this number are needed even if they are not drawn here.
        """
        places = np.flatnonzero(self.least <= max(self.last_key, up_to))
        n = AT_A_TIME * self.n
        if len(places) > n:
            places = np.sort(places[np.argpartition(self.least[places], n)[:n]])
        return places


def score_candidates(pieces: list[tuple[Pool, Integers]], f: Classifier) -> None:
    """Build the rows of some candidates, score all of them with f, and store their keys."""
    made = [pool.interior.at(pool.ids[at]) for pool, at in pieces]
    base = [pool.interior.rows[b] for (pool, _), (_, b) in zip(pieces, made, strict=True)]
    scores = f.scores(np.concatenate([new for new, _ in made]), np.concatenate(base))
    assert scores is not None  # noqa: S101  (f has probabilities)
    stops = np.cumsum([len(new) for new, _ in made])[:-1]
    for (pool, at), row, score in zip(pieces, made, np.split(scores, stops), strict=True):
        pool.scores[at] = score[:, pool.interior.target]
        weight = np.clip(pool.scores[at], LEAST_SCORE, 1.0) ** pool.agreement
        pool.keys[at] = np.where(pool.interior.sound(*row), pool.least[at] / weight, np.inf)
        pool.least[at] = np.nan


def _together(
    waiting: list[tuple[Pool, Integers]], cut: Callable[[int], list[slice]]
) -> Iterator[list[tuple[Pool, Integers]]]:
    """Cut the candidates of all classes into blocks of (pool, some of its ids)."""
    stops = np.cumsum([len(places) for _, places in waiting]).tolist()
    for block in cut(stops[-1]):
        pieces = []
        for (pool, places), stop in zip(waiting, stops, strict=True):
            first = stop - len(places)
            at = places[max(block.start - first, 0) : max(block.stop - first, 0)]
            if at.size:
                pieces.append((pool, at))
        yield pieces


def check_scores(f: Any) -> None:
    """Raise if f has no probabilities; for some classifiers this is known only after fitting."""
    if not hasattr(f, "predict_proba"):
        raise ClassifierError(
            f"estimator {type(f).__name__} has no probabilities, by which new rows "
            "are weighted; pass a classifier with predict_proba"
        )


def report(requested: Mapping[int, int], made: Mapping[int, Counts], labels: Labels) -> None:
    """Warn of rows that are copies; raise where the rules leave too few rows of a class.

    ``requested`` is the number of new rows for each class code, ``made`` the numbers it got by
    origin.
    """
    for target, n in requested.items():
        label = plain(labels.classes[target])
        found, copies = made[target]["interior"], made[target]["copy"]
        head = f"class {label!r}: {n} new samples requested, {found} found"
        if n - found - copies:
            raise ShortfallError(
                f"{head}, {n - found - copies} missing: no row of the class keeps the constraints; "
                "loosen them or ask for fewer with sampling_strategy"
            )
        if copies:
            text = f"{head}; {copies} more by copying rows"
            warn_user(ShortfallWarning(text), f"class {label!r}")
    warn_inflated(made, labels, most_per_row=MOST_PER_ROW_AT_ALL)
