"""Prepare: everything before the search, from a table and what the user chose.

table -> profile -> evidence -> rules -> order -> f
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from counterbalance.classifier.fit import check_prefit, fit_classifier, paper_classifier
from counterbalance.classifier.judge import Classifier, check_not_constant, judge
from counterbalance.errors import ClassifierError, ConstraintError, IdentifierWarning, TableError
from counterbalance.plausible.evidence import gather
from counterbalance.plausible.learn import Learned, Plausible, free, learn, learns_pairs, make_rules
from counterbalance.plausible.outliers import Outliers
from counterbalance.profile import Profile, by_importance, profile_table
from counterbalance.search.nearest import Effort, Space
from counterbalance.search.perturbation import Perturbation
from counterbalance.search.problem import Judged, Problem
from counterbalance.table.columns import column_position
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.table import Table, identifiers
from counterbalance.user_warnings import warn_user

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.arrays import Floats, Integers
    from counterbalance.constraints.rules import Rules
    from counterbalance.search.draws import Way
    from counterbalance.table.labels import Labels

# Rows whose scores tell whether f says the same of everything.
LOOKED_AT = 1000
# How many columns a warning names.
LISTED = 5


@dataclass(frozen=True)
class DefaultF:
    """The classifier that ``estimator=None`` stands for."""

    make: Callable[[Table, TableEncoder], Any]
    balance: float  # how the classes are weighted: 0 as they are, 1 as if all had as many rows


@dataclass(frozen=True)
class Choices:
    """What a user chose that decides f, the features that change, and what they become."""

    estimator: Any
    prefit: bool
    default: DefaultF
    categorical_features: Any
    integer_features: Any
    constraints: Any
    effort: Effort
    random_state: Any
    feature_order: Any = "spearman"
    draws: Way = "exact"
    change_missing: bool = False
    plausible: Plausible = False
    ignore_relations: Any = None
    n_jobs: int | None = None

    @property
    def own(self) -> bool:
        """Whether f is the default one."""
        return self.estimator is None and not self.prefit

    def classifier(self, table: Table) -> Any:
        """Return the classifier that ``estimator`` stands for, as it was given."""
        if self.estimator is not None:
            return paper_classifier() if isinstance(self.estimator, str) else self.estimator
        encoder = TableEncoder(
            categorical_features=self.categorical_features, integer_features=self.integer_features
        )
        return self.default.make(table, encoder)

    def check_prefit(self, n_features: int) -> Any:
        """Return the fitted estimator; refuse one that is not, or not to such a table."""
        if self.estimator is None or isinstance(self.estimator, str):
            raise ClassifierError(
                f"prefit=True needs a fitted estimator, got {self.estimator!r}; "
                "pass the fitted classifier or set prefit=False"
            )
        return check_prefit(self.estimator, n_features)


@dataclass(frozen=True)
class Prepared:
    """A table that is measured, and the f that was fitted to it: ready for a search."""

    problem: Problem
    estimator: Any  # f as scikit-learn knows it
    f: Classifier
    learned: Learned
    outliers: Outliers

    @property
    def profile(self) -> Profile:
        """What is known of each feature."""
        return self.problem.space.perturbation.profile

    def judged(self) -> Judged:
        """Ask f about every row; refuse an f that says the same of all."""
        judged = self.problem.judged(self.f)
        check_not_constant(self.f, judged.answers, self.problem.table.rows(slice(LOOKED_AT)))
        return judged


def prepare(table: Table, labels: Labels, weights: Floats | None, choices: Choices) -> Prepared:
    """Measure the table and fit f."""
    random_state = make_random_state(choices.random_state)
    seed = draw_seed(random_state)
    profile = profile_table(table, labels.codes)
    pairs = learns_pairs(choices.plausible, table.kinds)
    evidence = gather(table, labels.codes, len(labels.classes), pairs=pairs)
    learned = learn(evidence, table, profile, choices.plausible, choices.ignore_relations)
    space = make_space(table, profile, seed, choices, learned)
    _warn_of_identifiers(table, space.order)
    estimator = fit_f(table, labels, weights, choices, random_state)
    f = judge(estimator, table, labels.classes, own=choices.own)
    problem = Problem(table, labels, space, choices.effort, choices.n_jobs)
    return Prepared(problem, estimator, f, learned, Outliers.of(evidence, profile))


def make_random_state(seed: Any) -> np.random.RandomState:
    """Return the source of the seeds, never numpy's global one."""
    if seed is None:
        return np.random.RandomState()
    state: np.random.RandomState = check_random_state(seed)
    return state


def draw_seed(random_state: np.random.RandomState) -> int:
    """Return the seed of all draws of the search."""
    return int(random_state.randint(np.iinfo(np.int64).max, dtype=np.int64))


def make_space(
    table: Table, profile: Profile, seed: int, choices: Choices, learned: Learned | None = None
) -> Space:
    """Return where the search goes: rules and order of the features."""
    rules = make_rules(choices.constraints, table, learned)
    listed = _order(table, profile, rules, choices.feature_order)
    for follower in rules.followers:  # a feature that is not listed never changes
        rules.frozen[follower.column] |= follower.column not in listed
    order = free(rules, listed)
    perturbation = Perturbation(profile, table.grid, rules, choices.draws, choices.change_missing)
    return Space(perturbation, order, seed)


def fit_f(
    table: Table,
    labels: Labels,
    weights: Floats | None,
    choices: Choices,
    random_state: np.random.RandomState,
) -> Any:
    """Return f, fitted; with ``prefit`` as it was given."""
    if choices.prefit:
        return choices.estimator
    if choices.own and choices.default.balance:
        given = 1.0 if weights is None else weights
        weights = labels.balanced_weight**choices.default.balance * given
    f = choices.classifier(table)
    return fit_classifier(f, table, labels.values, weights, random_state, own=choices.own)


def _order(table: Table, profile: Profile, rules: Rules, wanted: Any) -> Integers:
    """Return the features that are to change and may; refuse if there is none."""
    order = by_importance(profile) if isinstance(wanted, str) else _listed(table, profile, wanted)
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


def _listed(table: Table, profile: Profile, wanted: Any) -> Integers:
    """Return the features that a user listed, without those that never vary."""
    if not len(wanted):
        raise TableError("feature_order lists no feature; list at least one")
    places = [column_position(item, table.names, "feature_order") for item in wanted]
    if len(set(places)) < len(places):
        raise TableError("feature_order lists a feature twice; list each once")
    order = np.array(places, dtype=np.intp)
    return np.asarray(order[profile.varies[order]])


def _warn_of_identifiers(table: Table, order: Integers) -> None:
    """Warn, once, of columns that are to change and look like identifiers."""
    found = [entry for entry in identifiers(table) if entry[0] in order]
    if not found:
        return
    listed = ", ".join(
        f"{table.names[m]!r} ({different:,} different values in {n:,} rows)"
        for m, different, n in found[:LISTED]
    )
    if len(found) > LISTED:
        listed += f" and {len(found) - LISTED} more"
    names = ", ".join(repr(table.names[m]) for m, *_ in found[:LISTED])
    several = len(found) > 1
    what = f"columns {listed} look like identifiers" if several else ""
    what = what or f"column {listed} looks like an identifier"
    them = "them" if several else "it"
    text = (
        f"{what}: f learns {them} by heart, and new rows get changed values or those of real rows; "
        f"drop {them} from X, or copy {them} unchanged from the real row with "
        f"constraints=Immutable({names}), or silence counterbalance.errors.IdentifierWarning if "
        "this is a feature after all"
    )
    warn_user(IdentifierWarning(text), "identifiers")
