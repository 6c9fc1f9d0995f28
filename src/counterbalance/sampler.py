"""Sampler: the method as an imbalanced-learn estimator.

table -> columns -> profile -> classifier f -> search -> selection -> decoded table + provenance
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from imblearn.over_sampling.base import BaseOverSampler
from imblearn.utils import check_sampling_strategy
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, validate_data

from counterbalance import frames, shortfall
from counterbalance.classifier import (
    Classifier,
    check_not_constant,
    check_prefit,
    check_takes,
    default_classifier,
    fit_classifier,
    judge,
    paper_classifier,
)
from counterbalance.columns import column_position
from counterbalance.constraints import Constraint, as_constraints, compile_rules
from counterbalance.draws import Way
from counterbalance.encoder import TableEncoder
from counterbalance.errors import ClassifierError, ConstraintError, TableError
from counterbalance.factuals import Factuals
from counterbalance.labels import Labels, plain, read_labels
from counterbalance.perturbation import Perturbation
from counterbalance.profile import Floats, Positions, by_importance, profile_table
from counterbalance.rules import Rules
from counterbalance.samples import Builder
from counterbalance.search import Task
from counterbalance.selection import Selection, select
from counterbalance.table import Table, read_table

# Memory that the search takes for one perturbed cell: its value, its share of the
# distance, their sums, the ranking, and what numpy holds in between.
BYTES_PER_CELL = 64
# Rows whose scores tell whether f says the same of everything.
LOOKED_AT = 1000


class CounterfactualOverSampler(BaseOverSampler):
    """Oversample with counterfactuals: the smallest changes that f calls the smaller class.

    For every row of a larger class (a *factual*) that the classifier f gets right,
    the sampler perturbs the features in the order of their importance and keeps the
    nearest perturbed twin that f puts into a smaller class (a *counterfactual*). The
    new rows lie at the decision boundary, and ``provenance_`` says of each one which
    row it came from, what changed and how far. This is Algorithm 1 of Luo and Liu,
    "Counterfactual-based minority oversampling for imbalanced classification".

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many new rows each class gets, in all of imbalanced-learn's forms.

    estimator : None, "ridge" or classifier, default=None
        f in the paper. Any scikit-learn classifier; it is cloned and fitted to X and y,
        unless ``prefit``. ``None`` is a class-weighted random forest with at least three
        rows in a leaf: it takes raw, unscaled features, categories and missing values,
        and its weights give the minority its due. ``"ridge"`` is the loss that the paper
        states, the squared error with an L2 penalty, on scaled features with class weights.

    prefit : bool, default=False
        Whether ``estimator`` is fitted already and is used as it is.

    n_draws : int, default=20
        T in the paper: how often each factual is perturbed in each round.

    epsilon : float, default=None
        The paper's epsilon: inversions at this distance or farther do not count.
        ``None`` sets no limit.

    draws : {"exact", "gibbs"}, default="exact"
        How the truncated normal is drawn: by the inverse of its distribution function,
        or by the latent-variable Gibbs sampler of Damien and Walker that the paper uses.
        Both draw the same distribution; the first is faster.

    search : {"perturb"}, default="perturb"
        How candidates are made: by the paper's perturbation.

    feature_order : "spearman" or sequence of columns, default="spearman"
        I_F in the paper, the order in which features are perturbed: by the absolute
        Spearman correlation with the class, or as listed (names or positions; a feature
        that is not listed never changes).

    selection : {"nearest", "random"}, default="nearest"
        Which inversions are taken where more are found than asked for.

    on_shortfall : str or sequence of str, default=("redraw", "threshold", "interior")
        What to do for a class with fewer inversions than asked for; policies are tried
        in order, and a warning says what was done.

        - ``"redraw"``: draw again, up to ten times ``n_draws`` for the factuals that
          inverted and then as often for all, as long as that gives new rows;
        - ``"threshold"``: move f's decision threshold to the class prior (needs
          ``predict_proba``);
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
        How many new rows each class was to get.
    estimator_ : classifier
        The fitted f.
    profile_ : Profile
        Range, deviation, MAD and importance of each feature.
    feature_order_ : ndarray of int
        The features that may change, in the order in which they are perturbed.
    provenance_ : Provenance
        One row per new sample: see :mod:`counterbalance.provenance`.
    yield_ : dict
        For each pair (larger class, smaller class): rows, factuals (rows that f gets
        right), inversions found, and how many of them were used.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if they are texts.
    sample_weight_ : ndarray
        Only if ``sample_weight`` was given: the weights of all rows of the result. A
        new row gets the mean weight of its class.

    Notes
    -----
    The distance between two rows is the sum over the features of |change| / MAD. Where
    a MAD is zero, the mean absolute deviation stands in, then the range. A changed
    nominal cell adds 1, as much as a change of one MAD.

    New rows of a pandas frame get labels that cannot collide: an integer index goes on
    after its largest label, any other index gets the texts ``new-0``, ``new-1``, ...

    Examples
    --------
    >>> from collections import Counter
    >>> from sklearn.datasets import make_classification
    >>> from counterbalance import CounterfactualOverSampler
    >>> X, y = make_classification(300, n_features=4, weights=[0.8], random_state=0)
    >>> sampler = CounterfactualOverSampler(random_state=0)
    >>> X_resampled, y_resampled = sampler.fit_resample(X, y)
    >>> sorted(Counter(y_resampled.tolist()).items())
    [(0, 239), (1, 239)]
    >>> sampler.provenance_[0]["changed"]
    ('x0', 'x1', 'x2')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseOverSampler._parameter_constraints,  # noqa: SLF001  (imbalanced-learn's own way)
        "estimator": [HasMethods(["fit", "predict"]), StrOptions({"ridge"}), None],
        "prefit": ["boolean"],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="neither"), None],
        "draws": [StrOptions({"exact", "gibbs"})],
        "search": [StrOptions({"perturb"})],
        "feature_order": [StrOptions({"spearman"}), "array-like"],
        "selection": [StrOptions({"nearest", "random"})],
        "on_shortfall": [StrOptions(set(shortfall.POLICIES)), list, tuple],
        "categorical_features": ["array-like", None],
        "integer_features": ["array-like", None],
        "snap_to_grid": ["boolean"],
        "change_missing": ["boolean"],
        "constraints": [str, Constraint, list, tuple, None],
        "working_memory": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        estimator: Any = None,
        prefit: bool = False,
        n_draws: int = 20,
        epsilon: float | None = None,
        draws: Way = "exact",
        search: str = "perturb",
        feature_order: Any = "spearman",
        selection: Selection = "nearest",
        on_shortfall: Any = shortfall.DEFAULT,
        categorical_features: Any = None,
        integer_features: Any = None,
        snap_to_grid: bool = False,
        change_missing: bool = False,
        constraints: Any = None,
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
        self.feature_order = feature_order
        self.selection = selection
        self.on_shortfall = on_shortfall
        self.categorical_features = categorical_features
        self.integer_features = integer_features
        self.snap_to_grid = snap_to_grid
        self.change_missing = change_missing
        self.constraints = constraints
        self.working_memory = working_memory
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Check the input and note how many rows each class is to get.

        ``fit_resample`` does this too: use it in all cases.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The factual table.
        y : array-like of shape (n_samples,)
            The class of each row.

        Returns
        -------
        self : CounterfactualOverSampler
            The sampler itself.
        """
        self._read(X, y)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_resample(self, X: Any, y: Any, *, sample_weight: Any = None) -> tuple[Any, Any]:
        """Balance the table.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The factual table: numpy, scipy sparse, pandas or polars.
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the fit of f, if it takes any.

        Returns
        -------
        X_resampled : {array-like, dataframe, sparse matrix}
            The rows of X, untouched, and the new ones below, in the container of X.
        y_resampled : array-like
            Their classes, in the container of y.
        """
        table, labels = self._read(X, y)
        result = self._fit_resample(table, labels, sample_weight)
        return (result[0].tolist(), result[1]) if isinstance(X, list) else result

    def _fit_resample(self, table: Table, labels: Labels, sample_weight: Any) -> tuple[Any, Any]:
        self._forget()
        weights = _check_weights(sample_weight, len(labels.codes))
        factuals, f = self._fit_factuals(table, labels, weights)
        seed = factuals.task.seed
        policies, asked = shortfall.check_policies(self.on_shortfall), self._asked(labels)
        filled, self.yield_ = shortfall.fill(asked, factuals, f, self._pick(seed), policies)
        tallies, constraints = [part.tally for part in filled], as_constraints(self.constraints)
        shortfall.report(tallies, labels, policies, constraints)
        builder = Builder(factuals, f, filled)
        X, y, self.provenance_ = builder.build()
        if weights is not None:
            self.sample_weight_ = np.concatenate([weights, labels.mean(weights)[builder.target]])
        return X, y

    def _fit_factuals(
        self, table: Table, labels: Labels, weights: Floats | None
    ) -> tuple[Factuals, Classifier]:
        """Profile the table and fit f: all that a search needs."""
        random_state = self._random_state()
        seed = int(random_state.randint(np.iinfo(np.int64).max, dtype=np.int64))
        self.profile_ = profile_table(table, labels.codes)
        rules = compile_rules(self.constraints, table)
        self.feature_order_ = self._order(table, rules)
        self.estimator_ = self._fit_f(table, labels, weights, random_state)
        own = self.estimator is None and not self.prefit
        f = judge(self.estimator_, table, labels.classes, own=own)
        factuals = Factuals(table, labels, self._task(table, rules, seed), self.n_jobs)
        check_not_constant(f, factuals.answers(f), table.rows(slice(LOOKED_AT)))
        return factuals, f

    def _forget(self) -> None:
        """Drop what an earlier call left, so that a failure does not show it as its own."""
        for name in ("provenance_", "yield_", "sample_weight_"):
            if hasattr(self, name):
                delattr(self, name)

    def _random_state(self) -> np.random.RandomState:
        """Return the source of the seeds, never numpy's global one."""
        if self.random_state is None:
            return np.random.RandomState()
        state: np.random.RandomState = check_random_state(self.random_state)
        return state

    def _read(self, X: Any, y: Any) -> tuple[Table, Labels]:
        """Check the input and recognise its columns and classes."""
        labels = read_labels(y)
        X = self._check_table(X)
        if X.shape[0] != len(labels.codes):
            raise TableError(
                f"X has {X.shape[0]} rows but y has {len(labels.codes)} labels; "
                "give one label for each row"
            )
        self.sampling_strategy_ = check_sampling_strategy(
            self.sampling_strategy, labels.values, self._sampling_type
        )
        table = read_table(
            X,
            categorical_features=self.categorical_features,
            integer_features=self.integer_features,
            snap_to_grid=self.snap_to_grid,
        )
        if self.estimator is not None:
            check_takes(self._f(table), table)
        return table, labels

    def _check_table(self, X: Any) -> Any:
        """Check the shape of X; a frame stays the frame it is."""
        frames.check_container(X)
        if not frames.has_columns(X):
            rows = frames.from_list(X) if isinstance(X, list) else X
            return validate_data(
                self, rows, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False
            )
        validate_data(self, X, skip_check_array=True)
        if 0 in X.shape:
            raise TableError(
                f"X has {X.shape[0]} rows and {X.shape[1]} columns; it needs at least one of each"
            )
        return X

    def _order(self, table: Table, rules: Rules) -> Positions:
        """Return the features that may change, in the order of the search."""
        if isinstance(self.feature_order, str):
            order = by_importance(self.profile_)
        elif not len(self.feature_order):
            raise TableError("feature_order lists no feature; list at least one")
        else:
            places = [
                column_position(item, table.names, "feature_order") for item in self.feature_order
            ]
            if len(set(places)) < len(places):
                raise TableError("feature_order lists a feature twice; list each once")
            order = np.array(places, dtype=np.intp)
            order = order[self.profile_.varies[order]]
        if order.size and rules.frozen[order].all():
            raise ConstraintError(
                "every column that varies is Immutable, so no row can be changed into another; "
                "leave at least one free"
            )
        order = order[~rules.frozen[order]]
        if not order.size:
            raise TableError(
                "no column of X that may change varies, so no row can be changed into another; "
                "pass a table with at least one column of several values"
            )
        return order

    def _fit_f(
        self,
        table: Table,
        labels: Labels,
        sample_weight: Floats | None,
        random_state: np.random.RandomState,
    ) -> Any:
        if self.prefit:
            if self.estimator is None or isinstance(self.estimator, str):
                raise ClassifierError(
                    f"prefit=True needs a fitted estimator, got {self.estimator!r}; "
                    "pass the fitted classifier or set prefit=False"
                )
            return check_prefit(self.estimator, len(table.names))
        if self.estimator is None:
            given = 1.0 if sample_weight is None else sample_weight
            sample_weight = labels.balanced_weight * given
        return fit_classifier(self._f(table), table, labels.values, sample_weight, random_state)

    def _f(self, table: Table) -> Any:
        """Return the classifier that ``estimator`` stands for, as it was given."""
        if self.estimator is not None:
            return paper_classifier() if isinstance(self.estimator, str) else self.estimator
        encoder = TableEncoder(
            categorical_features=self.categorical_features,
            integer_features=self.integer_features,
        )
        return default_classifier(table, encoder)

    def _task(self, table: Table, rules: Rules, seed: int) -> Task:
        return Task(
            Perturbation(self.profile_, table.grid, rules, self.draws, self.change_missing),
            self.feature_order_,
            seed,
            range(self.n_draws),
            np.inf if self.epsilon is None else float(self.epsilon),
            cells_at_once=int(self.working_memory * 2**20 / BYTES_PER_CELL) + 1,
        )

    def _asked(self, labels: Labels) -> dict[int, int]:
        """Return how many new rows each class code is to get."""
        codes = {label: code for code, label in enumerate(labels.classes.tolist())}
        return {codes[plain(label)]: n for label, n in self.sampling_strategy_.items()}

    def _pick(self, seed: int) -> shortfall.Pick:
        return lambda found, n: select(found, n, self.selection, seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = self.estimator is None
        tags.input_tags.categorical = True
        tags.input_tags.string = own
        f = self.estimator
        has_tags = isinstance(f, BaseEstimator)
        tags.input_tags.allow_nan = own or (has_tags and get_tags(f).input_tags.allow_nan)
        return tags


def _check_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    if sample_weight is None:
        return None
    try:
        weights = _check_sample_weight(
            sample_weight, np.empty((n_rows, 0)), ensure_non_negative=True
        )
    except ValueError as error:
        raise TableError(
            f"sample_weight must hold one number of at least 0 for each of the {n_rows} rows: "
            f"{error}"
        ) from None
    return np.asarray(weights)
