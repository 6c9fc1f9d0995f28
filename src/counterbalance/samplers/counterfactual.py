"""Counterfactual: the method as an imbalanced-learn estimator.

table -> columns -> profile -> classifier f -> search -> selection -> decoded table + provenance
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from counterbalance.arrays import Floats, cells_in
from counterbalance.classifier.fit import default_classifier
from counterbalance.constraints import as_constraints
from counterbalance.plausible.learn import Plausible
from counterbalance.prepare import Choices, DefaultF, make_ranking
from counterbalance.rows import shortfall
from counterbalance.rows.build import Builder
from counterbalance.rows.yields import count_by_origin, count_yields
from counterbalance.samplers.base import TableOverSampler
from counterbalance.search.draws import Way
from counterbalance.search.nearest import Effort
from counterbalance.search.selection import Selection, is_every, most_inversions
from counterbalance.table.labels import Labels, plain
from counterbalance.table.table import Table

DEFAULT_F = DefaultF(default_classifier, balance=0.5)


class CounterfactualOverSampler(TableOverSampler):
    """Oversample with counterfactuals: the smallest changes that f calls the smaller class.

    For every row of a larger class (a *factual*) that the classifier f gets right,
    the sampler perturbs the features in the order of their importance and keeps the
    nearest perturbed twin that f puts into a smaller class (a *counterfactual*). The
    new rows lie at the decision boundary, and ``provenance_`` says of each one which
    row it came from, what changed and how far. The search is Algorithm 1 of Luo and Liu,
    "Counterfactual-based minority oversampling for imbalanced classification". They keep
    every counterfactual that it finds (``sampling_strategy="all"``); by default each class gets
    the number that balances the table, chosen from more by ``selection``, and is filled up by
    ``on_shortfall`` where too few rows invert.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many new rows each class gets, in imbalanced-learn's forms, with one meaning of
        our own: ``"all"`` is the paper's algorithm as it is printed (with ``minimal=False`` to
        the letter). For each pair of classes
        with N_i < N_j every row of j that inverts gives its nearest counterfactual of i; the
        number is not capped and nothing is filled up, so ``selection`` and ``on_shortfall``
        have no part in it, no shortfall is warned of, and ``yield_`` tells what came of it.
        (For imbalanced-learn's oversamplers "all" is the same as "auto".)

    estimator : None, "ridge" or classifier, default=None
        f in the paper. Any scikit-learn classifier; it is cloned and fitted to X and y,
        unless ``prefit``. ``None`` is thirty extremely randomised trees with at most 64 leaves of
        at least three rows: they take raw, unscaled features, categories and missing values.
        Classes are weighted half way, by the square root of balanced weights: without any,
        f hardly ever says "minority", and with all of them its boundary lies deep among
        the majority. ``"ridge"`` is the loss that the paper states, the squared error with an
        L2 penalty, on scaled features with balanced class weights, which the paper does not
        have; :func:`counterbalance.paper_classifier` makes one with another penalty or weights.

    prefit : bool, default=False
        Whether ``estimator`` is fitted already and is used as it is.

    n_draws : int, default=10
        T in the paper: how often each factual is perturbed in each round. Draws are shared by
        the rounds, which is fast and finds fewer inversions than fresh ones in every round: 30
        shared draws found as many as the paper's 10 in docs/speed.md, at twice the time.

    epsilon : float, default=None
        The paper's epsilon: inversions at this distance or farther do not count.
        ``None`` sets no limit.

    draws : {"exact", "gibbs"}, default="exact"
        How the truncated normal is drawn: by the inverse of its distribution function,
        or by the latent-variable Gibbs sampler of Damien and Walker that the paper uses.
        Both draw the same distribution; the first is faster.

    search : {"perturb", "minimum"}, default="perturb"
        How the inversion of a factual is found. ``"perturb"`` is Algorithm 1: the nearest of
        ``n_draws`` random perturbations in each round. ``"minimum"`` solves the objective
        that they approximate, by the structure of f: in closed form where f is linear, by
        steps between the leaves where f is a forest or a boosting (scikit-learn's, LightGBM's,
        XGBoost's), and by taking changes back where f can only be asked. Its rows are nearer, and
        nothing in them is random; which of them are taken is, unless ``selection="nearest"``.

    minimal : bool, default=True
        Whether changes that f does not need are taken back from every counterfactual, the
        farthest first, until none can be. A drawn one changes every feature of its rounds; what
        is left is nearer and can be read. ``False`` gives the rows of Algorithm 1
        as it is printed.

    feature_order : "spearman" or sequence of columns, default="spearman"
        I_F in the paper, the order in which features are perturbed: by the absolute
        Spearman correlation with the class, or as listed (names or positions; a feature
        that is not listed never changes).

    selection : {"agreement", "nearest", "random"}, default="agreement"
        Which inversions are taken where more are found than asked for.

        - ``"agreement"``: f alone calls an inversion the class, so two judges unlike f are asked
          as well, gradient boosting and a logistic regression, fitted to X and y without class
          weights. Up to three times the number asked for is found, by drawing again and by the
          minimum search where ``on_shortfall`` names them, and from this pool the number asked
          for is drawn: the chance of a row is the third power of the mean probability that the
          judges give the class. Rows that were drawn again to choose from have the origin
          ``"redraw"`` and are no shortfall. With ``search="minimum"`` the choice is among the
          inversions that it finds;
        - ``"nearest"``: those with the smallest distance;
        - ``"random"``: any, with equal chance.

    on_shortfall : str or sequence of str, default=("minimum", "redraw", "interior")
        What to do for a class with fewer inversions than asked for; policies are tried
        in order, and a warning says what was done. With ``selection="agreement"`` those that
        search, "redraw" and then "minimum", have been tried before, for the pool.

        - ``"minimum"``: solve for the nearest inversion of every factual that the draws did
          not invert, as ``search="minimum"`` does for all;
        - ``"redraw"``: draw again, up to ten times ``n_draws`` for the factuals that
          inverted and then as often for all, as long as that gives new rows;
        - ``"threshold"``: move f's decision threshold to the class prior (needs
          ``predict_proba``); f itself does not call these rows the class that they are
          given, so it is no part of the default;
        - ``"interior"``: interpolate between rows of the class, or copy them where they
          are too much alike;
        - ``"accept"``: return fewer rows;
        - ``"raise"``: raise :class:`~counterbalance.errors.ShortfallError`, as any chain
          does that leaves the class short.

    categorical_features, integer_features : names, positions or mask, default=None
        Columns to read as nominal or as whole numbers although their dtype does not
        say so.

    snap_to_grid : bool, default=False
        Whether a continuous column whose values all lie on a grid (whole numbers,
        halves, one or two decimals) gets new values on that grid only.

    change_missing : bool, default=False
        Whether a missing cell may get a value in a counterfactual. It then counts for
        the distance like a change of one MAD.

    constraints : constraint, str or list of them, default=None
        What changes make sense: see :mod:`counterbalance.constraints`. A text is a
        relation between columns, such as ``"word_unique <= word_count"``.

    plausible : {"auto", "pairs", "relations"} or bool, default="auto"
        Whether new rows keep what the table itself says about what goes together. *Pairs*: no two
        categories (or a category and a missing cell) stand together that no real row has together,
        and no number lies where no row of the category has one. *Relations* between columns that
        nearly all rows keep: a column that is the sum, product, ratio or multiple of others, or
        that goes with a category, moves along and is not counted in the distance; an order
        such as ``part <= total`` is not broken. ``"auto"`` keeps both where the table has
        categories. ``relations_`` lists what was found.

    ignore_relations : str or list of str, default=None
        Relations of ``relations_`` that need not be kept, by their texts.

    working_memory : float, default=16
        Memory in MiB that the search may take at a time, for each job. It changes the
        speed, never the result.

    n_jobs : int, default=None
        Number of jobs that search. It never changes the result.

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
        For each pair (larger class, smaller class): rows, factuals (rows that f gets
        right), inversions found in the first pass, how many of them were used, and
        ``origins``: all new rows made from the larger class, by origin. Rows made within
        the smaller class come of no pair: they are in ``provenance_``.
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
    counterbalance.explain.explain : Several counterfactuals of one row.
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
    ('x2',)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TableOverSampler._parameter_constraints,  # noqa: SLF001  (imbalanced-learn's own way)
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="neither"), None],
        "draws": [StrOptions({"exact", "gibbs"})],
        "search": [StrOptions({"perturb", "minimum"})],
        "minimal": ["boolean"],
        "feature_order": [StrOptions({"spearman"}), "array-like"],
        "selection": [StrOptions({"agreement", "nearest", "random"})],
        "on_shortfall": [StrOptions(set(shortfall.POLICIES)), list, tuple],
        "change_missing": ["boolean"],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        estimator: Any = None,
        prefit: bool = False,
        n_draws: int = 10,
        epsilon: float | None = None,
        draws: Way = "exact",
        search: shortfall.Search = "perturb",
        minimal: bool = True,
        feature_order: Any = "spearman",
        selection: Selection = "agreement",
        on_shortfall: Any = shortfall.DEFAULT,
        categorical_features: Any = None,
        integer_features: Any = None,
        snap_to_grid: bool = False,
        change_missing: bool = False,
        constraints: Any = None,
        plausible: Plausible = "auto",
        ignore_relations: Any = None,
        working_memory: float = 16,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy)
        self.estimator = estimator
        self.prefit = prefit
        self.n_draws = n_draws
        self.epsilon = epsilon
        self.draws = draws
        self.search = search
        self.minimal = minimal
        self.feature_order = feature_order
        self.selection = selection
        self.on_shortfall = on_shortfall
        self.categorical_features = categorical_features
        self.integer_features = integer_features
        self.snap_to_grid = snap_to_grid
        self.change_missing = change_missing
        self.constraints = constraints
        self.plausible = plausible
        self.ignore_relations = ignore_relations
        self.working_memory = working_memory
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_resample(self, table: Table, labels: Labels, weights: Floats | None) -> Builder:
        prepared = self._prepare(table, labels, weights)  # profile, rules, order, f
        ranking = make_ranking(self.ranks_by, prepared.problem, weights)
        problem, judged = replace(prepared.problem, ranking=ranking), prepared.judged()
        asked = {target: n for target, n in self._asked(labels).items() if n}
        by_draws = self.search == "perturb"  # Algorithm 1, or the minimum itself
        find = partial(problem.find, number=0) if by_draws else problem.solve
        found = find(judged, targets=list(asked))
        yields = count_yields(asked, found, problem, judged)
        rows = shortfall.choose(found, asked, pooling=self.pooling())
        del found  # it may be larger than all that follows
        shortfall.fill_pool(rows, problem, judged, self.pooling())
        shortfall.fill(rows, problem, judged, self.policies())
        self.yield_ = count_by_origin(yields, rows, labels)
        tallies = [part.tally for part in rows]
        shortfall.report(tallies, labels, self.policies(), as_constraints(self.constraints))
        return Builder(problem, prepared.f, rows, prepared.outliers)

    @property
    def ranks_by(self) -> Selection:
        """Which inversions are taken first; where every one is, it does not matter."""
        return "nearest" if is_every(self.sampling_strategy) else self.selection

    def choices(self) -> Choices:
        """Return the parameters that everything before the search depends on."""
        return Choices(
            estimator=self.estimator,
            prefit=self.prefit,
            default=DEFAULT_F,
            categorical_features=self.categorical_features,
            integer_features=self.integer_features,
            constraints=self.constraints,
            effort=Effort(
                range(self.n_draws),
                np.inf if self.epsilon is None else float(self.epsilon),
                cells_in(self.working_memory),
                self.minimal,
            ),
            random_state=self.random_state,
            plausible=self.plausible,
            ignore_relations=self.ignore_relations,
            feature_order=self.feature_order,
            draws=self.draws,
            change_missing=self.change_missing,
            n_jobs=self.n_jobs,
        )

    def pooling(self) -> tuple[shortfall.Policy, ...]:
        """Return how a pool to choose from is filled; none, if there is no pool."""
        if self.ranks_by != "agreement" or self.search == "minimum":
            return ()
        allowed = shortfall.before_the_end(shortfall.check_policies(self.on_shortfall))
        return tuple(policy for policy in shortfall.POOLING if policy in allowed)

    def policies(self) -> tuple[shortfall.Policy, ...]:
        """Return what is done for a class that is short; none is short of every inversion."""
        policies = shortfall.check_policies(self.on_shortfall)
        if is_every(self.sampling_strategy):
            return shortfall.NO_NUMBER
        done = {*self.pooling(), *(["minimum"] if self.search == "minimum" else [])}
        return tuple(policy for policy in policies if policy not in done)  # once is enough

    def _strategy(self, labels: Labels) -> dict[Any, int]:
        if not is_every(self.sampling_strategy):
            return super()._strategy(labels)
        most = most_inversions(labels.counts)
        return {plain(labels.classes[code]): n for code, n in most.items()}
