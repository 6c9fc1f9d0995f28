"""Prepare: everything before the search, from a table and the parameters of a sampler.

table -> profile -> relations -> rules -> order -> f
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from sklearn import get_config
from sklearn.utils import check_random_state

from counterbalance.arrays import blocks, cells_in
from counterbalance.classifier.fit import fit_classifier, paper_classifier
from counterbalance.classifier.predict import Classifier, check_not_constant, wrap_classifier
from counterbalance.errors import ClassifierError, ConstraintError, IdentifierWarning, TableError
from counterbalance.plausible.evidence import gather
from counterbalance.plausible.learn import Learned, Plausible, free, learn, make_rules
from counterbalance.plausible.outliers import Outliers
from counterbalance.profile import Profile, by_importance, profile_table, with_costs
from counterbalance.search.draws import Space
from counterbalance.table.columns import column_position, select_columns
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.table import Table
from counterbalance.user_warnings import warn_user

if TYPE_CHECKING:
    from counterbalance.arrays import Floats, Integers
    from counterbalance.constraints.rules import Rules
    from counterbalance.table.labels import Labels

# Rows whose scores show whether f is constant.
LOOKED_AT = 1000
# How many columns a warning names.
LISTED = 5
# The share of scikit-learn's working memory that a thread uses for its cells.
SHARE_OF_MEMORY = 1 / 64


class Parameters(Protocol):
    """The parameters of a sampler that everything before the search depends on."""

    estimator: Any
    categorical_features: Any
    constraints: Any
    plausible: Plausible
    ignore_relations: Any
    use: Any
    random_state: Any
    default_balance: ClassVar[float]

    @staticmethod
    def default_classifier(table: Table, encoder: TableEncoder) -> Any:
        """Return the classifier that ``estimator=None`` stands for, unfitted."""


@dataclass(frozen=True)
class Prepared:
    """A profiled table and the f fitted to it, ready for a search."""

    table: Table
    labels: Labels
    space: Space
    estimator: Any  # f as a scikit-learn estimator
    f: Classifier
    learned: Learned
    outliers: Outliers
    n_jobs: int | None = None
    memory_share: float = SHARE_OF_MEMORY

    @property
    def profile(self) -> Profile:
        """The statistics of each feature."""
        return self.space.profile

    def answers(self) -> Integers:
        """Return the class code that f gives every row."""
        rows = np.arange(len(self.labels.codes))
        parts = self.blocks(len(rows), 1)
        return np.concatenate(
            [self.f.predict_codes(self.table.rows(some), rows[some]) for some in parts]
        )

    def predict(self) -> Integers:
        """Return the class code that f predicts for every row; raise if f is constant."""
        answers = self.known_answers()
        check_not_constant(self.f, answers, self.table.rows(slice(LOOKED_AT)))
        return answers

    def known_answers(self) -> Integers:
        """Return the class code that f predicts for every row; raise if f has other classes."""
        answers = self.answers()
        if (answers < 0).all():
            raise ClassifierError(
                f"estimator {type(self.f.f).__name__} predicts none of the classes "
                f"{self.labels.classes.tolist()} for any row; pass a classifier of these labels"
            )
        return answers

    def blocks(self, n_rows: int, rows_each: int = 8) -> list[slice]:
        """Cut rows into blocks that fit the memory; each takes that of ``rows_each`` rows."""
        cells = cells_in(get_config()["working_memory"] * self.memory_share)
        return blocks(n_rows, rows_each * len(self.table.names), cells)


def prepare(
    sampler: Parameters,
    table: Table,
    labels: Labels,
    weights: Floats | None,
    *,
    profile: Profile | None = None,
    ids: Integers | None = None,
) -> Prepared:
    """Profile the table, unless its ``profile`` is known, and fit f.

    ``ids`` are those of its rows, if it is a sample of a larger table.
    """
    random_state = make_random_state(sampler.random_state)
    seed = draw_seed(random_state)
    profile = profile or profile_table(table, labels.codes)
    evidence = gather(table, labels.codes, len(labels.classes), ids=ids)
    learned = learn(evidence, table, profile, sampler.plausible, sampler.ignore_relations)
    space = make_space(sampler, table, profile, seed, learned)
    estimator = fit_f(sampler, table, labels, weights, random_state)
    f = wrap_classifier(estimator, table, labels.classes, own=sampler.estimator is None)
    outliers = Outliers.from_evidence(evidence, profile)
    n_jobs = getattr(sampler, "n_jobs", None)
    return Prepared(table, labels, space, estimator, f, learned, outliers, n_jobs)


def make_random_state(seed: Any) -> np.random.RandomState:
    """Return the generator of the seeds, never numpy's global one."""
    if seed is None:
        return np.random.RandomState()
    state: np.random.RandomState = check_random_state(seed)
    return state


def draw_seed(random_state: np.random.RandomState) -> int:
    """Return the seed of all draws of the search."""
    return int(random_state.randint(np.iinfo(np.int64).max, dtype=np.int64))


def make_space(
    sampler: Parameters, table: Table, profile: Profile, seed: int, learned: Learned | None
) -> Space:
    """Return the search space: rules and order of the features."""
    rules = make_rules(sampler.constraints, table, learned)
    _freeze(sampler, table, rules, profile, learned)
    listed = _order(table, profile, rules, getattr(sampler, "feature_order", "spearman"))
    for follower in rules.followers:  # a feature that is not listed never changes
        rules.frozen[follower.column] |= follower.column not in listed
    epsilon = getattr(sampler, "epsilon", None)
    return Space(
        with_costs(profile, rules.cost),
        table.grid,
        rules,
        free(rules, listed),
        seed,
        getattr(sampler, "n_draws", 1),
        np.inf if epsilon is None else float(epsilon),
        getattr(sampler, "draws", "exact"),
    )


def make_classifier(sampler: Parameters, table: Table) -> Any:
    """Return the classifier that ``estimator`` stands for, unfitted."""
    if sampler.estimator is not None:
        named = isinstance(sampler.estimator, str)
        return paper_classifier() if named else sampler.estimator
    return sampler.default_classifier(table, TableEncoder(sampler.categorical_features))


def fit_f(
    sampler: Parameters,
    table: Table,
    labels: Labels,
    weights: Floats | None,
    random_state: np.random.RandomState,
) -> Any:
    """Return the fitted f."""
    own = sampler.estimator is None
    if own and sampler.default_balance:
        given = 1.0 if weights is None else weights
        weights = labels.balanced_weight**sampler.default_balance * given
    f = make_classifier(sampler, table)
    return fit_classifier(f, table, labels.values, weights, random_state, own=own)


def _order(table: Table, profile: Profile, rules: Rules, wanted: Any) -> Integers:
    """Return the wanted features that may change; raise if there is none."""
    order = by_importance(profile) if isinstance(wanted, str) else _listed(table, profile, wanted)
    if order.size and rules.frozen[order].all():
        raise ConstraintError(
            "every column that varies is Immutable, or identifies rows, so no row can be changed "
            "into another; leave at least one free, or name it with use="
        )
    order = order[~rules.frozen[order]]
    if not order.size:
        raise TableError(
            "no column of X that may change varies, so no row can be changed into another; "
            "pass a table with at least one column of several values"
        )
    return order


def _listed(table: Table, profile: Profile, wanted: Any) -> Integers:
    """Return the features that a user listed, without those that never vary."""
    if not len(wanted):
        raise TableError("feature_order lists no feature; list at least one")
    places = [column_position(item, table.names, "feature_order") for item in wanted]
    if len(set(places)) < len(places):
        raise TableError("feature_order lists a feature twice; list each once")
    order = np.array(places, dtype=np.intp)
    return np.asarray(order[profile.varies[order]])


def _freeze(
    sampler: Parameters, table: Table, rules: Rules, profile: Profile, learned: Learned | None
) -> None:
    """Freeze the columns that cannot be checked, unless the user lists them; warn of them once."""
    used = select_columns(sampler.use, table.names, "use")
    order = getattr(sampler, "feature_order", "spearman")
    for item in () if isinstance(order, str) else order:
        used[column_position(item, table.names, "feature_order")] = True
    may_change = ~(used | rules.frozen) & profile.varies
    fixed = learned.fixed if learned else {}
    why = {m: text for m, text in fixed.items() if may_change[m]}
    if not why:
        return
    listed = ", ".join(f"{table.names[m]!r} ({text})" for m, text in [*why.items()][:LISTED])
    if len(why) > LISTED:
        listed += f" and {len(why) - LISTED} more"
    names = [table.names[m] for m in why][:LISTED]
    text = (
        f"columns that identify rows, or cannot be checked, do not change: {listed}; new rows "
        f"copy them from their real row; drop them from X, or let them change with use={names!r}"
    )
    rules.frozen[list(why)] = True
    warn_user(IdentifierWarning(text), "identifiers")
