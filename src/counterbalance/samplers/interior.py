"""Interior sampler: new rows around the rows of a class, as many as f agrees with.

    pool          candidates for each new row that is asked for
    score         f's probability that a candidate belongs to the class
    agreement     k: a candidate is drawn with a weight of score^k

The counterfactuals of the other sampler lie where f is in doubt. These lie where the class
is: they are spread around its rows, farther than interpolation reaches, and f decides which
of them to believe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval

from counterbalance.arrays import Floats, Integers
from counterbalance.classifier.fit import interior_classifier
from counterbalance.classifier.judge import Classifier
from counterbalance.errors import ClassifierError, ShortfallError, ShortfallWarning
from counterbalance.plausible.learn import Plausible
from counterbalance.prepare import Prepared
from counterbalance.rows.build import Builder
from counterbalance.rows.interior import Interior
from counterbalance.rows.origins import MOST_PER_ROW_AT_ALL, Counts
from counterbalance.rows.shortfall import NewRows, warn_inflated
from counterbalance.samplers.base import TableOverSampler, refuse_removed
from counterbalance.search.draws import stream, uniform
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.labels import Labels, plain
from counterbalance.table.table import Table
from counterbalance.user_warnings import warn_user

# Candidates for each new row: enough for f to choose from.
POOL = 8
# Of these so many are judged at a time for each new row: fewer than two are hardly ever enough.
AT_A_TIME = 2
# Below this a score has no weight to speak of; it keeps the logarithms finite.
LEAST_SCORE = 1e-6
REMOVED = {
    "prefit": "pass estimator=sklearn.frozen.FrozenEstimator(model) for a fitted model",
    "working_memory": "set sklearn.set_config(working_memory=...)",
    "snap_to_grid": "new values always keep the decimals, steps and gaps of their column",
    "integer_features": "columns of whole numbers are recognised",
    "n_jobs": "the work is one pass of one thread",
}


@dataclass(frozen=True)
class WeightedDraw:
    """How rows are drawn among candidates: without putting back, with the weights that f gives.

    The n lots with the smallest ``-log(u) / weight`` are such a draw (Efraimidis and Spirakis,
    2006). A key belongs to its lot alone, so one number tells for any part of the lots which
    of them are drawn.
    """

    spread: float
    between: float
    agreement: float

    def prepare(self, interior: Interior, asked: int) -> Interior:
        """Return a class whose lots are the candidates for ``asked`` rows."""
        return interior.around(self.spread, self.between, POOL * asked)

    def least_keys(self, interior: Interior, lots: Integers) -> Floats:
        """Return the smallest key that each lot may have: that of the weight 1."""
        return -np.log(uniform(stream(interior.space.seed, lots, 2), 0))

    def keys(
        self, interior: Interior, least: Floats, made: tuple[Floats, Integers], score: Floats
    ) -> Floats:
        """Return the keys of lots, infinite where a candidate must not be drawn.

        ``made`` are the candidates as ``interior`` made them, ``score`` is what f gives them.
        """
        weight = np.clip(score, LEAST_SCORE, 1.0) ** self.agreement
        return np.where(interior.sound(*made), least / weight, np.inf)


class InteriorOverSampler(TableOverSampler):
    """Oversample inside the class: spread new rows around real ones, weighed by f.

    Every new row starts from a real row of its class and is moved by a share of the
    difference of two others, which keeps the shape of the class (a smoothed bootstrap), or
    towards a neighbour. Of eight such candidates for each row asked for, rows are drawn with
    weights ``score ** agreement``, where the score is the probability that the classifier f gives
    the class. Use it where a classifier is to be trained on the result; use
    :class:`CounterfactualOverSampler` where each new row is to be read as the smallest
    change that would have made the difference.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many new rows each class gets, in all of imbalanced-learn's forms.

    estimator : None or classifier, default=None
        f: any scikit-learn classifier with ``predict_proba``; it is cloned and fitted to X and
        y, unless it is a :class:`sklearn.frozen.FrozenEstimator`. ``None`` is gradient boosting
        of twenty rounds, unweighted, so that its scores are shares of the class as it is; of more
        than 10,000 rows it is fitted to so many.

    spread : float, default=1.2
        How far new rows are spread, as a multiple of Silverman's bandwidth for the number of
        rows and features.

    between : float, default=0.3
        Share of the candidates that lie between a row and one of its nearest fellows, as
        those of SMOTE do; the others are spread around it.

    agreement : float, default=1.5
        How much f's score counts; 0 takes every candidate alike.

    categorical_features, constraints, plausible, ignore_relations, use
        As of :class:`CounterfactualOverSampler`; constraints hold between a new row and the
        real row it started from.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws, and of f where f has no seed of its own.

    Attributes
    ----------
    sampling_strategy_ : dict
        How many new rows each class was to get.
    estimator_ : classifier
        The fitted f.
    profile_ : Profile
        Range, deviation, MAD and importance of each feature.
    feature_order_ : ndarray of int
        The features that may change.
    relations_ : list of Found
        The relations between columns that new rows keep: ``text`` (as ``constraints`` and
        ``ignore_relations`` take it), ``words``, and the share of the rows that ``kept`` it.
    provenance_ : Provenance
        One row per new sample: which row it started from, what changed, how far.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if they are texts.
    sample_weight_ : ndarray
        Only if ``sample_weight`` was given: the weights of all rows of the result.

    See Also
    --------
    counterbalance.CounterfactualOverSampler : New rows at the boundary of f, to read.
    counterbalance.ResampledClassifier : A classifier behind a sampler, with probabilities to use.

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
        **TableOverSampler._parameter_constraints,  # noqa: SLF001  (imbalanced-learn's own way)
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
        asked = {target: n for target, n in self._asked(labels).items() if n}
        rows = [NewRows(target, n) for target, n in asked.items()]
        self._draw(rows, prepared)
        for part in rows:
            if part.missing:
                assert part.interior is not None  # noqa: S101  (it was drawn from)
                part.copies = part.interior.copies(part.missing)
        report(asked, {part.target: part.made for part in rows}, labels)
        return Builder(prepared, rows)

    @property
    def draw(self) -> WeightedDraw:
        """How rows are drawn among the candidates."""
        return WeightedDraw(self.spread, self.between, self.agreement)

    @staticmethod
    def default_classifier(table: Table, encoder: TableEncoder) -> Any:
        """Return the classifier that ``estimator=None`` stands for, unfitted."""
        return interior_classifier(table, encoder)

    def _draw(self, rows: list[NewRows], prepared: Prepared) -> None:
        """Draw the rows of each class.

        No weight is above 1, so no key is below ``-log(u)``: lots are judged from the largest u
        on, and those that cannot be drawn any more are never made. The lots of all classes are
        judged together: boosting asks one tree for each class, however few the rows are.
        """
        draw = self.draw
        pools = []
        for part in rows:
            part.interior = draw.prepare(Interior.of(prepared, part.target), part.asked)
            pools.append(Pool(part.interior, part.asked, draw, part.interior.own_lots()))
        while waiting := [(pool, at) for pool in pools if (at := pool.hopeful()).size]:
            for pieces in _together(waiting, prepared.blocks):
                judge_lots(pieces, prepared.f, draw)
        for part, pool in zip(rows, pools, strict=True):
            drawn = np.argsort(pool.keys, kind="stable")[: part.asked]
            drawn = np.sort(drawn[pool.keys[drawn] < np.inf])
            part.lots, part.scores = pool.lots[drawn], pool.scores[drawn]


def judge_lots(pieces: list[tuple[Pool, Integers]], f: Classifier, draw: WeightedDraw) -> None:
    """Make the rows of some lots, ask f about all of them, and note their keys."""
    made = [pool.interior.at(pool.lots[at]) for pool, at in pieces]
    base = [pool.interior.rows[b] for (pool, _), (_, b) in zip(pieces, made, strict=True)]
    scores = f.scores(np.concatenate([new for new, _ in made]), np.concatenate(base))
    assert scores is not None  # noqa: S101  (f has probabilities)
    stops = np.cumsum([len(new) for new, _ in made])[:-1]
    for (pool, at), row, score in zip(pieces, made, np.split(scores, stops), strict=True):
        pool.scores[at] = score[:, pool.target]
        pool.keys[at] = draw.keys(pool.interior, pool.least[at], row, pool.scores[at])
        pool.least[at] = np.nan


class Pool:
    """The candidates of one class.

    lots      their numbers
    least     the smallest key that each may have, -log(u); nan once it is judged
    keys      -log(u) / weight of those that were judged; the smallest win
    scores    f's score of the class for them
    """

    def __init__(self, interior: Interior, asked: int, draw: WeightedDraw, lots: Integers) -> None:
        self.interior, self.target, self.asked = interior, interior.lots.target, asked
        self.lots = lots
        self.least = draw.least_keys(interior, lots)
        self.keys = np.full(len(self.lots), np.inf)
        self.scores = np.full(len(self.lots), np.nan)

    @property
    def last_key(self) -> float:
        """The largest key that is drawn, if nothing else is judged."""
        return float(np.partition(self.keys, self.asked - 1)[self.asked - 1])

    def hopeful(self, up_to: float = 0.0) -> Integers:
        """Return the next lots to judge: those with the largest u that may still be drawn.

        Keys ``up_to`` a number are of interest even if they are not drawn here.
        """
        places = np.flatnonzero(self.least <= max(self.last_key, up_to))
        n = AT_A_TIME * self.asked
        if len(places) > n:
            places = np.sort(places[np.argpartition(self.least[places], n)[:n]])
        return places


def _together(
    waiting: list[tuple[Pool, Integers]], cut: Callable[[int], list[slice]]
) -> Iterator[list[tuple[Pool, Integers]]]:
    """Cut what is to be judged of all classes into blocks: which pool, and which of its lots."""
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
    """Refuse an f without probabilities; some know only when fitted whether they have any."""
    if not hasattr(f, "predict_proba"):
        raise ClassifierError(
            f"estimator {type(f).__name__} gives no probability of a class, which new rows "
            "are weighed by; pass a classifier with predict_proba"
        )


def report(asked: Mapping[int, int], made: Mapping[int, Counts], labels: Labels) -> None:
    """Warn of rows that are copies; refuse where the rules leave too few of a class.

    ``asked`` says how many new rows each class code was to get, ``made`` how many of which origin
    it got.
    """
    for target, n in asked.items():
        label = plain(labels.classes[target])
        found, copies = made[target]["interior"], made[target]["copy"]
        head = f"class {label!r}: {n} new samples asked for, {found} found"
        if n - found - copies:
            raise ShortfallError(
                f"{head}, {n - found - copies} missing: no row of the class keeps the constraints; "
                "loosen them or ask for fewer with sampling_strategy"
            )
        if copies:
            text = f"{head}; {copies} more by copying rows"
            warn_user(ShortfallWarning(text), f"class {label!r}")
    warn_inflated(made, labels, most_per_row=MOST_PER_ROW_AT_ALL)
