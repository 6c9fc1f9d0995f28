"""Counterfactual: the method as an imbalanced-learn estimator.

table -> columns -> profile -> classifier f -> search -> selection -> decoded table + provenance

    factual     a row of a larger class that f classifies correctly
    source j    a class to take factuals from
    target i    a class to make counterfactuals for, smaller than j

    minimum     the draws of Algorithm 1 show which factuals invert; each of them gives its nearest
                inversion, found from the structure of f
    perturb     Algorithm 1: each draw gives its nearest inversion

One pass over class j serves every smaller class.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.classifier.fit import default_classifier
from counterbalance.classifier.second_opinion import SecondOpinion, draw_sample
from counterbalance.constraints import as_constraints
from counterbalance.plausible.learn import Plausible
from counterbalance.prepare import Prepared
from counterbalance.rows.build import Builder, NewRows, fill
from counterbalance.rows.origins import POLICIES, Policy, report_shortfall
from counterbalance.samplers.base import TableOverSampler, refuse_removed
from counterbalance.search.algorithm_1 import nearest_of_each_draw, which_invert
from counterbalance.search.draws import DrawMethod, sample_number, sample_of_classes
from counterbalance.search.inversions import (
    Inversions,
    is_every,
    keys,
    most_inversions,
    nearest_of_each,
    smallest,
)
from counterbalance.search.minimum import (
    MOST_CANDIDATES,
    MOST_REFERENCES,
    Minimum,
    choose_references,
)
from counterbalance.search.structure import read_structure
from counterbalance.sklearn_private import Interval, StrOptions
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.labels import Labels, plain
from counterbalance.table.table import Table

Search = Literal["minimum", "perturb"]
# The least rows of a job: for fewer, starting it costs more than it saves.
FEWEST_ROWS = 256


def find_inversions(
    prepared: Prepared,
    answers: Integers,
    targets: list[int],
    search: Search,
    references: list[Floats] | None = None,
) -> Inversions:
    """Search the factuals for inversions to the classes ``targets``.

    ``answers`` holds the class code that f predicts for each row. ``references`` are rows that f
    puts into each class; by default they come from this table.
    """
    labels, space = prepared.labels, prepared.space
    wanted = wanted_classes(labels.counts, targets)[labels.codes]
    rows = np.flatnonzero((answers == labels.codes) & wanted.any(axis=1))
    structure = read_structure(space, prepared.f, prepared.table)
    if references is None:
        references = find_references(prepared, answers, targets)
    minimum = Minimum(space, structure, references)

    def find(chunk: Integers) -> Inversions:
        x = prepared.table.rows(chunk)
        if search == "perturb":
            return nearest_of_each_draw(space, structure, x, chunk, wanted[chunk])
        inverting = which_invert(space, structure, x, chunk, wanted[chunk])
        return minimum.find(x, chunk, inverting)

    # With predictions only, the candidates of all draws are in memory at once.
    rows_each = 2 if structure.is_known else space.n_draws
    return _on_chunks(find, rows, prepared, rows_each)


def wanted_classes(counts: Integers, targets: list[int]) -> Mask:
    """Return which classes i (columns) are wanted for each class j (rows): N_i < N_j."""
    wanted = counts[:, None] > counts
    wanted &= np.isin(np.arange(len(counts)), targets)
    return np.asarray(wanted)


def find_references(
    prepared: Prepared, answers: Integers, targets: list[int], ids: Integers | None = None
) -> list[Floats]:
    """Return rows that f puts into each class, as starting points; none for other classes.

    They are sampled by row id, so ``ids`` are given if the table is itself a sample.
    """
    codes = prepared.labels.codes
    ids = np.arange(len(codes)) if ids is None else ids
    known = sample_of_classes(sample_number(ids), codes, MOST_CANDIDATES, MOST_REFERENCES)
    references = []
    for code in range(len(prepared.labels.classes)):
        rows = np.flatnonzero(known & (answers == code) & (code in targets))
        references.append(prepared.table.rows(rows[choose_references(ids[rows])]))
    return references


def _on_chunks(
    find: Callable[[Integers], Inversions], rows: Integers, prepared: Prepared, rows_each: int
) -> Inversions:
    """Search all rows in parallel jobs: each gets what fits its memory, or an even share."""
    n_jobs: int = effective_n_jobs(prepared.n_jobs)
    fits = prepared.blocks(len(rows), rows_each)
    size = max(1, min(fits[0].stop, max(FEWEST_ROWS, -(-len(rows) // (4 * n_jobs))))) if fits else 1
    chunks = [rows[start : start + size] for start in range(0, len(rows), size)]
    with Parallel(n_jobs=prepared.n_jobs, prefer="threads") as jobs:
        return Inversions.join(jobs(delayed(find)(chunk) for chunk in chunks))


class Yield(NamedTuple):
    """The yield of a pair of classes."""

    rows: int
    """Rows of the larger class."""
    factuals: int
    """Those of them that f classifies correctly."""
    inversions: int
    """Factuals for which an inversion was found."""
    used: int
    """New rows made from them."""

    @property
    def share(self) -> float:
        """The share of the factuals for which an inversion was found."""
        return self.inversions / self.factuals if self.factuals else 0.0


def count_yields(
    classes: list[NewRows], found: Inversions, labels: Labels, answers: Integers
) -> dict[tuple[Any, Any], Yield]:
    """Count the found and the used inversions for each pair (larger class, smaller class)."""
    right, table = answers == labels.codes, {}
    for part in classes:
        inverted = np.unique(found.factual[found.target == part.target])
        for source in np.flatnonzero(wanted_classes(labels.counts, [part.target])[:, part.target]):
            here = labels.codes == source
            pair = plain(labels.classes[source]), plain(labels.classes[part.target])
            table[pair] = Yield(
                rows=int(here.sum()),
                factuals=int((here & right).sum()),
                inversions=int(here[inverted].sum()),
                used=int(here[part.found.factual].sum()),
            )
    return table


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
    """Oversample with counterfactuals: the nearest rows of another predicted class.

    A *factual* is a row of a larger class that the classifier (f in the paper) classifies
    correctly. Its *counterfactual* is the nearest changed copy that f puts into a smaller class.
    The new rows lie at the decision boundary. ``provenance_`` records for each one which row it
    came from, what changed, and by how much. The method is that of Luo and Liu,
    "Counterfactual-based minority oversampling for imbalanced classification".

    Use this sampler to inspect the new rows. To train a classifier use
    :class:`InteriorOverSampler`.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many new rows each class gets, as in imbalanced-learn, with one difference: with
        ``"all"`` every factual that inverts gives its counterfactual, as in the paper. The number
        is not limited and no class is filled up, so ``on_shortfall`` has no effect. (For
        imbalanced-learn's oversamplers "all" is the same as "auto".)

    estimator : None, "ridge" or classifier, default=None
        The classifier (f in the paper): any scikit-learn classifier. It is cloned and fitted to X
        and y; wrap a fitted one in :class:`sklearn.frozen.FrozenEstimator` to use it as it is.
        ``None`` is thirty extremely randomised trees with at most 64 leaves of at least three rows:
        they take unscaled features, categories and missing values. Their classes are weighted by
        the square root of balanced weights: without weights f hardly ever predicts the small class,
        and with balanced weights its boundary lies deep inside the large class. ``"ridge"`` is the
        loss that the paper states, the squared error with an L2 penalty, on scaled features with
        balanced class weights; :func:`counterbalance.paper_classifier` makes one with another
        penalty or weights.

    search : {"minimum", "perturb"}, default="minimum"
        How counterfactuals are found.

        - ``"minimum"``: the draws of Algorithm 1 show which factuals invert. Each of them gives its
          nearest inversion, found from the structure of f: in closed form for a linear f, by steps
          between leaves for trees (scikit-learn, LightGBM, XGBoost), and by bisection for any other
          f. No change in it can be undone or shortened.
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
        What to do for a class with fewer counterfactuals than requested. If there are more, they
        are sampled; the weights grow with the class probability of a logistic regression.

        - ``"fill"``: interpolate between rows of the class, or copy them where interpolation
          changes nothing; a warning states how many;
        - ``"accept"``: return fewer rows;
        - ``"raise"``: raise :class:`~counterbalance.errors.ShortfallError`.

    categorical_features : names, positions or mask, default=None
        Columns to read as nominal although their dtype does not say so.

    constraints : constraint, str or list of them, default=None
        Which changes are allowed: see :mod:`counterbalance.constraints`. A string is a relation
        between columns, such as ``"word_unique <= word_count"``.

    plausible : "auto" or bool, default="auto"
        Whether new rows keep the regularities found in the table. *Pairs*: a new row combines no
        two values that no real row combines, or far fewer than expected. *Relations* that nearly
        all rows keep: a column that is the sum, product, ratio or multiple of others, or is
        determined by a category, is recomputed and not counted in the distance; an order such as
        ``part <= total`` is kept. *Values*: codes, steps and gaps of a column of numbers.
        ``"auto"`` and True keep all of them. ``relations_`` lists the relations found.

    ignore_relations : str or list of str, default=None
        Relations that need not be kept, by their ``text`` in ``relations_``.

    use : names, positions or mask, default=None
        Columns that may change although they identify rows, hold dates, or have too many categories
        to check. By default such columns are copied from the real row, and a warning names them.

    n_jobs : int, default=None
        Number of search threads. It never changes the result.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws, and of the classifier if it has no seed.

    Attributes
    ----------
    sampling_strategy_ : dict
        Requested number of new rows of each class; with ``"all"`` the number of rows in larger
        classes, the most that it can get.
    estimator_ : classifier
        The fitted classifier (f in the paper).
    profile_ : Profile
        Range, deviation, MAD and importance of each feature.
    feature_order_ : ndarray of int
        The features that may change, in the order in which they are perturbed.
    relations_ : list of FoundRelation
        The relations between columns that new rows keep: ``text`` (as ``constraints`` and
        ``ignore_relations`` take it), ``description``, and the share of the rows that ``kept`` it.
    provenance_ : Provenance
        One row per new sample: see :mod:`counterbalance.rows.provenance`.
    yield_ : dict
        For each pair (larger class, smaller class): the rows of the larger class, its factuals,
        the factuals with an inversion, and the new rows made from them.
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
    counterbalance.ResampledClassifier : A classifier on resampled data, with probabilities.
    counterbalance.explain.explain : The smallest changes of one row.
    counterbalance.distributed.fit_resample : The same rows from a Dask dataframe.

    Notes
    -----
    The distance between two rows is the sum over the features of abs(change) / MAD. Where a MAD is
    zero, the mean absolute deviation is used instead, then the range. A changed nominal cell adds
    1, as much as a change of one MAD.

    New rows of a pandas frame get unique labels: an integer index continues after its largest
    label, any other index gets the labels ``new-0``, ``new-1``, ...

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
    ('x0', 'x1', 'x3')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TableOverSampler._parameter_constraints,  # noqa: SLF001  (as in imbalanced-learn)
        "search": [StrOptions({"minimum", "perturb"})],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="neither"), None],
        "draws": [StrOptions({"exact", "gibbs"})],
        "feature_order": [StrOptions({"spearman"}), "array-like"],
        "on_shortfall": [StrOptions(set(POLICIES))],
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
        draws: DrawMethod = "exact",
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
        requested = {target: n for target, n in self._requested(labels).items() if n}
        found = find_inversions(prepared, answers, list(requested), self.search)
        rows = self._select(found, requested, prepared, weights)
        if not is_every(self.sampling_strategy):
            if self.on_shortfall == "fill":
                fill(rows, prepared)
            made = {part.target: part.made for part in rows}
            constraints = as_constraints(self.constraints)
            report_shortfall(requested, made, labels, self.on_shortfall, constraints)
        self.yield_ = count_yields(rows, found, labels, answers)
        return Builder(prepared, rows)

    def _select(
        self,
        found: Inversions,
        requested: dict[int, int],
        prepared: Prepared,
        weights: Floats | None,
    ) -> list[NewRows]:
        """Choose the requested number of inversions for each class."""
        if is_every(self.sampling_strategy):  # keep the nearest of several draws of a factual
            found = nearest_of_each(found)
        rows, opinion = [], None
        for target, n in requested.items():
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
    """Fit the model that chooses among the inversions."""
    table, labels = prepared.table, prepared.labels
    rows, weight = draw_sample(labels.codes, prepared.space.seed)
    if weights is not None:
        weight = weight * weights[rows]
    return SecondOpinion.fit(table.rows(rows), labels.codes[rows], weight, table.nominal)


def all_keys(prepared: Prepared, found: Inversions, opinion: SecondOpinion) -> Floats:
    """Return the keys of inversions, computed in blocks."""
    parts = [np.zeros(0)]
    for block in prepared.blocks(len(found)):
        some = found.take(block)
        rows = some.rows(prepared.table.rows(some.factual))
        parts.append(keys(prepared.space, some, rows, opinion))
    return np.concatenate(parts)
