"""Counterfactual: the method as an imbalanced-learn estimator.

table -> columns -> profile -> classifier f -> search -> selection -> decoded table + provenance
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from counterbalance.arrays import Floats
from counterbalance.classifier.fit import default_classifier
from counterbalance.classifier.second_opinion import SecondOpinion, draw_sample
from counterbalance.constraints import as_constraints
from counterbalance.plausible.learn import Plausible
from counterbalance.prepare import Prepared
from counterbalance.rows import shortfall
from counterbalance.rows.build import Builder
from counterbalance.rows.shortfall import NewRows, Policy
from counterbalance.samplers.base import TableOverSampler, refuse_removed
from counterbalance.samplers.find import Search, count_yields, find_inversions
from counterbalance.search.draws import Way
from counterbalance.search.inversions import Inversions
from counterbalance.search.selection import (
    is_every,
    keys,
    most_inversions,
    nearest_of_each,
    smallest,
)
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.labels import Labels, plain
from counterbalance.table.table import Table

REMOVED = {
    "prefit": "pass estimator=sklearn.frozen.FrozenEstimator(model) for a fitted model",
    "minimal": "needless changes are always pruned",
    "selection": "a second model chooses; take sampling_strategy='all' and sort provenance_ by "
    "distance for the nearest ones",
    "working_memory": "set sklearn.set_config(working_memory=...)",
    "snap_to_grid": "new values always keep the decimals, steps and gaps of their column",
    "integer_features": "columns of whole numbers are recognised",
    "change_missing": "a missing cell stays missing; impute before sampling to change it",
}


class CounterfactualOverSampler(TableOverSampler):
    """Oversample with counterfactuals: the smallest changes that f calls the smaller class.

    A *factual* is a row of a larger class that the classifier (f in the paper) gets right. Its
    *counterfactual* is the nearest changed copy that f puts into a smaller class. The new rows lie
    at the decision boundary, and ``provenance_`` says of each one which row it came from, what
    changed and how far. The method is that of Luo and Liu, "Counterfactual-based minority
    oversampling for imbalanced classification".

    Use it for rows to read. For rows to train on use :class:`InteriorOverSampler`.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many new rows each class gets, in imbalanced-learn's forms, with one meaning of
        our own: with ``"all"`` every factual that inverts gives its counterfactual, as in the
        paper. The number is not capped and nothing is filled up, so ``on_shortfall`` has no
        part in it. (For imbalanced-learn's oversamplers "all" is the same as "auto".)

    estimator : None, "ridge" or classifier, default=None
        f in the paper: any scikit-learn classifier. It is cloned and fitted to X and y; wrap a
        fitted one in :class:`sklearn.frozen.FrozenEstimator` to use it as it is. ``None`` is
        thirty extremely randomised trees with at most 64 leaves of at least three rows: they take
        unscaled features, categories and missing values. Their classes are weighted by the square
        root of balanced weights: without weights f hardly ever predicts the small class, and with
        balanced weights its boundary lies deep among the large class. ``"ridge"`` is the loss
        that the paper states, the squared error with an L2 penalty, on scaled features with
        balanced class weights; :func:`counterbalance.paper_classifier` makes one with another
        penalty or weights.

    search : {"minimum", "perturb"}, default="minimum"
        How counterfactuals are found.

        - ``"minimum"``: the draws of Algorithm 1 say which factuals invert. Each of them gives
          its nearest inversion, found by the structure of f: in closed form where f is linear, by
          steps between the leaves where f is made of trees (scikit-learn's, LightGBM's,
          XGBoost's), and by bisection for any other f. No change in it can be undone or shortened.
        - ``"perturb"``: Algorithm 1. Every draw gives its nearest inversion, and changes that f
          does not need are undone.

    n_draws : int, default=10
        T in the paper: how often each factual is perturbed. A draw perturbs every feature once,
        and round m uses the first m of them.

    epsilon : float, default=None
        The paper's epsilon: inversions at this distance or farther do not count.
        ``None`` sets no limit.

    draws : {"exact", "gibbs"}, default="exact"
        How the truncated normal is drawn: by the inverse of its distribution function,
        or by the latent-variable Gibbs sampler of Damien and Walker that the paper uses.
        Both draw the same distribution; the first is faster.

    feature_order : "spearman" or sequence of columns, default="spearman"
        I_F in the paper, the order in which features are perturbed: by the absolute
        Spearman correlation with the class, or as listed (names or positions; a feature
        that is not listed never changes).

    on_shortfall : {"fill", "accept", "raise"}, default="fill"
        What to do for a class with fewer counterfactuals than asked for. Where there are more, a
        logistic regression chooses: the likelier it finds the class, the likelier a row is taken.

        - ``"fill"``: interpolate between rows of the class, or copy them where they are too much
          alike; a warning says how many;
        - ``"accept"``: return fewer rows;
        - ``"raise"``: raise :class:`~counterbalance.errors.ShortfallError`.

    categorical_features : names, positions or mask, default=None
        Columns to read as nominal although their dtype does not say so.

    constraints : constraint, str or list of them, default=None
        What changes make sense: see :mod:`counterbalance.constraints`. A text is a
        relation between columns, such as ``"word_unique <= word_count"``.

    plausible : "auto" or bool, default="auto"
        Whether new rows keep what the table itself says about what goes together. *Pairs*: no two
        values stand together that no real row has together, or far fewer than expected. *Relations*
        between columns that nearly all rows keep: a column that is the sum, product, ratio or
        multiple of others, or that goes with a category, moves along and is not counted in the
        distance; an order such as ``part <= total`` is not broken. *Values*: codes, steps and gaps
        of a column of numbers. ``"auto"`` and True keep all of them. ``relations_`` lists what was
        found.

    ignore_relations : str or list of str, default=None
        Relations of ``relations_`` that need not be kept, by their texts.

    use : names, positions or mask, default=None
        Columns that may change although they identify rows, hold dates, or have too many categories
        to check. By default such columns are copied from the real row, and a warning names them.

    n_jobs : int, default=None
        Number of threads that search. It never changes the result.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws, and of f where f has no seed of its own.

    Attributes
    ----------
    sampling_strategy_ : dict
        How many new rows each class was to get; with ``"all"`` the number of rows in larger
        classes, which is the most that it can get.
    estimator_ : classifier
        The fitted f.
    profile_ : Profile
        Range, deviation, MAD and importance of each feature.
    feature_order_ : ndarray of int
        The features that may change, in the order in which they are perturbed.
    relations_ : list of Found
        The relations between columns that new rows keep: ``text`` (as ``constraints`` and
        ``ignore_relations`` take it), ``words``, and the share of the rows that ``kept`` it.
    provenance_ : Provenance
        One row per new sample: see :mod:`counterbalance.rows.provenance`.
    yield_ : dict
        For each pair (larger class, smaller class): the rows of the larger class, its factuals,
        those of them for which an inversion was found, and how many new rows were made from them.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if they are texts.
    sample_weight_ : ndarray
        Only if ``sample_weight`` was given: the weights of all rows of the result. A
        new row gets the mean weight of its class.

    See Also
    --------
    counterbalance.InteriorOverSampler : New rows within the class, to train a classifier on.
    counterbalance.ResampledClassifier : A classifier behind a sampler, with probabilities to use.
    counterbalance.explain.explain : The smallest changes of one row.
    counterbalance.distributed.fit_resample : The same rows from a Dask dataframe.

    Notes
    -----
    The distance between two rows is the sum over the features of abs(change) / MAD. Where
    a MAD is zero, the mean absolute deviation stands in, then the range. A changed
    nominal cell adds 1, as much as a change of one MAD.

    New rows of a pandas frame get labels that cannot collide: an integer index goes on
    after its largest label, any other index gets the texts ``new-0``, ``new-1``, ...

    Examples
    --------
    >>> from collections import Counter
    >>> from sklearn.datasets import make_classification
    >>> from counterbalance import CounterfactualOverSampler
    >>> X, y = make_classification(300, n_features=4, weights=[0.7], random_state=0)
    >>> sampler = CounterfactualOverSampler(random_state=0)
    >>> X_resampled, y_resampled = sampler.fit_resample(X, y)
    >>> sorted(Counter(y_resampled.tolist()).items())
    [(0, 209), (1, 209)]
    >>> sampler.provenance_[0]["changed"]
    ('x0', 'x1', 'x2', 'x3')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TableOverSampler._parameter_constraints,  # noqa: SLF001  (imbalanced-learn's own way)
        "search": [StrOptions({"minimum", "perturb"})],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="neither"), None],
        "draws": [StrOptions({"exact", "gibbs"})],
        "feature_order": [StrOptions({"spearman"}), "array-like"],
        "on_shortfall": [StrOptions(set(shortfall.POLICIES))],
        "n_jobs": [Integral, None],
    }
    default_balance = 0.5

    @refuse_removed(REMOVED)
    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        estimator: Any = None,
        search: Search = "minimum",
        n_draws: int = 10,
        epsilon: float | None = None,
        draws: Way = "exact",
        feature_order: Any = "spearman",
        on_shortfall: Policy = "fill",
        categorical_features: Any = None,
        constraints: Any = None,
        plausible: Plausible = "auto",
        ignore_relations: Any = None,
        use: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy)
        self.estimator = estimator
        self.search = search
        self.n_draws = n_draws
        self.epsilon = epsilon
        self.draws = draws
        self.feature_order = feature_order
        self.on_shortfall = on_shortfall
        self.categorical_features = categorical_features
        self.constraints = constraints
        self.plausible = plausible
        self.ignore_relations = ignore_relations
        self.use = use
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_resample(self, table: Table, labels: Labels, weights: Floats | None) -> Builder:
        prepared = self._prepare(table, labels, weights)  # profile, rules, order, f
        answers = prepared.predict()
        asked = {target: n for target, n in self._asked(labels).items() if n}
        found = find_inversions(prepared, answers, list(asked), self.search)
        rows = self._select(found, asked, prepared, weights)
        if not is_every(self.sampling_strategy):
            if self.on_shortfall == "fill":
                shortfall.fill(rows, prepared)
            made = {part.target: part.made for part in rows}
            constraints = as_constraints(self.constraints)
            shortfall.report(asked, made, labels, self.on_shortfall, constraints)
        self.yield_ = count_yields(rows, found, labels, answers)
        return Builder(prepared, rows)

    def _select(
        self,
        found: Inversions,
        asked: dict[int, int],
        prepared: Prepared,
        weights: Floats | None,
    ) -> list[NewRows]:
        """Choose for each class as many inversions as are asked for."""
        if is_every(self.sampling_strategy):  # of several draws of a factual the nearest counts
            found = nearest_of_each(found)
        rows, opinion = [], None
        for target, n in asked.items():
            part = found.take(found.target == target)
            if len(part) > n:
                opinion = opinion or fit_second_opinion(prepared, weights)
                part = smallest(part, all_keys(prepared, part, opinion), n)
            rows.append(NewRows(target, n, part))
        return rows

    @staticmethod
    def default_classifier(table: Table, encoder: TableEncoder) -> Any:
        """Return the classifier that ``estimator=None`` stands for, unfitted."""
        return default_classifier(table, encoder)

    def _strategy(self, labels: Labels) -> dict[Any, int]:
        if not is_every(self.sampling_strategy):
            return super()._strategy(labels)
        most = most_inversions(labels.counts)
        return {plain(labels.classes[code]): n for code, n in most.items()}


def fit_second_opinion(prepared: Prepared, weights: Floats | None) -> SecondOpinion:
    """Fit the model that chooses among inversions to the table."""
    table, labels = prepared.table, prepared.labels
    rows, weight = draw_sample(labels.codes, prepared.space.seed)
    if weights is not None:
        weight = weight * weights[rows]
    return SecondOpinion.fit(table.rows(rows), labels.codes[rows], weight, table.nominal)


def all_keys(prepared: Prepared, found: Inversions, opinion: SecondOpinion) -> Floats:
    """Return the keys of inversions, a block at a time."""
    parts = [np.zeros(0)]
    for block in prepared.blocks(len(found)):
        some = found.take(block)
        rows = some.rows(prepared.table.rows(some.factual))
        parts.append(keys(prepared.space, some, rows, opinion))
    return np.concatenate(parts)
