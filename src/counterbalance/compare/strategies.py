"""Strategies: what can be done about the imbalance, each inside a training part.

    none                     prepare -> classify
    class weights            prepare -> classify, every class weighing the same
    SMOTE, mixed table       plain -> SMOTENC -> encode -> classify
    ours                     resample the table itself -> prepare -> classify
    any other                prepare -> resample -> classify

``prepare`` is learned from the factual rows of the training part in every case, so that all
strategies meet in the same space. A tuned threshold is no strategy of its own: every strategy
is judged with one, and ``none`` with a tuned threshold is what the others have to beat.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from imblearn.over_sampling import SMOTEN, SMOTENC

from counterbalance.errors import CounterbalanceError
from counterbalance.methods.registry import all_samplers
from counterbalance.table.encoder import TablePreparation
from counterbalance.trials.resamplers import k_means_smote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.arrays import Floats, Integers
    from counterbalance.compare.data import ComparedTable
    from counterbalance.constraints import Constraint
    from counterbalance.table.kinds import Kind

StrategyKind = Literal["none", "weights", "ours", "over", "under"]
BASELINE = "none"
WEIGHTS = "class weights"
NEIGHBOURS = 5


OURS = tuple(method for method in all_samplers().values() if method.ours)
DEFAULT_STRATEGIES = (
    BASELINE,
    WEIGHTS,
    "Random oversampling",
    "Random undersampling",
    "SMOTE",
    "ADASYN",
    *(sampler.name for sampler in OURS),
)
# what people write, beside the names themselves in any case
ALIASES = {
    "threshold": BASELINE,
    "tuned threshold": BASELINE,
    "weights": WEIGHTS,
    "class_weight": WEIGHTS,
    **{alias: name for name, method in all_samplers().items() for alias in method.aliases},
}


class StrategyError(CounterbalanceError):
    """A strategy is not known, or cannot be used here."""


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """What a classifier is fitted to."""

    # The prepared training part, after resampling.
    rows: Floats
    labels: Integers
    new: Integers  # which of the rows were added: the last ones of every class that grew
    # The share of each class before and after: the shift that a prior correction undoes. Where the
    # rows are a subsample of a larger table, as they would be with all rows.
    base: Floats
    prior: Floats
    fitted: Floats  # the share of each class that the classifier is fitted at
    weighted: bool  # whether every class is to weigh the same
    preparation: TablePreparation  # for the rows to be judged


def known_strategies() -> dict[str, StrategyKind]:
    """Return the name and kind of every strategy, the defaults first."""
    kinds: dict[str, StrategyKind] = {BASELINE: "none", WEIGHTS: "weights"}
    for name, method in all_samplers().items():
        if method.kind != "classifier" and method.takes == "table":
            kinds[name] = "ours" if method.ours else method.kind
    return {name: kinds[name] for name in dict.fromkeys([*DEFAULT_STRATEGIES, *kinds])}


def strategy_name(given: str) -> str:
    """Return the strategy that a user's text stands for.

    Examples
    --------
    >>> strategy_name("smote"), strategy_name("ours")
    ('SMOTE', 'Counterfactual')
    """
    known = {name.lower(): name for name in known_strategies()}
    wanted = " ".join(given.split()).lower()
    name = ALIASES.get(wanted) or known.get(wanted) or known.get(wanted.replace("_", " "))
    if name is None:
        near = get_close_matches(wanted, known, n=3)
        hint = f" (near: {', '.join(known[match] for match in near)})" if near else ""
        raise StrategyError(
            f"methods must be none, class weights or names that the command counterbalance "
            f"methods lists, got {given!r}{hint}; separate several with commas"
        )
    return name


def adds_rows(name: str) -> bool:
    """Say whether a strategy makes or copies rows."""
    return known_strategies()[name] in {"ours", "over"}


def resample(
    name: str,
    part: ComparedTable,
    kinds: list[Kind],
    seed: int,
    constraints: Sequence[Constraint] = (),
) -> TrainingSet:
    """Resample a training part with a strategy; ``constraints`` are for our own samplers."""
    kind = known_strategies()[name]
    preparation = TablePreparation().fit_kinds(part.X, kinds)
    if kind in {"none", "weights"}:
        rows, labels = preparation.transform(part.X), part.codes
    elif kind == "ours":
        ours = make_ours(name, seed, constraints)
        table, labels = ours.fit_resample(part.X, part.codes)
        rows = preparation.transform(table)
    elif name == "SMOTE" and preparation.nominal_.size:
        rows, labels = smote_of_levels(preparation, part.X, part.codes, seed)
    elif name == "k-means SMOTE":  # it refuses where no cluster has enough minority rows
        rows, labels = k_means_smote(preparation.transform(part.X), part.codes, seed)
    else:
        sampler = _make_peer(name, _neighbours(part.codes), seed)
        rows, labels = sampler.fit_resample(preparation.transform(part.X), part.codes)
    labels = np.asarray(labels, dtype=np.intp)
    base, after = (np.bincount(y, minlength=len(part.classes)) for y in (part.codes, labels))
    weighted = kind == "weights"
    fitted = np.full(len(after), 1 / len(after)) if weighted else after / after.sum()
    new = _new_rows(labels, after - base)
    shares, prior = base / base.sum(), fitted
    if part.weights is not None and part.subsample is not None:
        prior = part.subsample.prior_on_all_rows(shares, fitted)
        shares = shares * part.subsample.weights / (shares * part.subsample.weights).sum()
    return TrainingSet(rows, labels, new, shares, prior, fitted, weighted, preparation)


def make_ours(name: str, seed: int, constraints: Sequence[Constraint] = ()) -> Any:
    """Return one of our samplers, with its defaults."""
    return all_samplers()[name].factory(random_state=seed, constraints=list(constraints) or None)


def make_sampler(name: str, codes: Integers, seed: int) -> Any:
    """Return the sampler of a strategy, for a table with these classes."""
    is_ours = known_strategies()[name] == "ours"
    return make_ours(name, seed) if is_ours else _make_peer(name, _neighbours(codes), seed)


def _make_peer(name: str, neighbours: int, seed: int) -> Any:
    """Return a peer with its defaults; imbalanced-learn's get fewer neighbours where need be."""
    sampler = all_samplers()[name].factory()
    given = sampler.get_params()
    if given.get("k_neighbors") == NEIGHBOURS:
        sampler.set_params(k_neighbors=neighbours)
    if given.get("n_neighbors") == NEIGHBOURS and type(sampler).__module__.startswith("imblearn"):
        sampler.set_params(n_neighbors=neighbours)
    return sampler.set_params(random_state=seed) if "random_state" in given else sampler


def smote_of_levels(
    preparation: TablePreparation, X: Any, codes: Integers, seed: int
) -> tuple[Any, Any]:
    """Resample a table that has unordered columns with SMOTENC, or SMOTEN where it has no other."""
    plain, places = preparation.plain(X), preparation.nominal_places
    settings = {"k_neighbors": _neighbours(codes), "random_state": seed}
    if len(places) == plain.shape[1]:
        rows, labels = SMOTEN(**settings).fit_resample(plain, codes)
    else:
        sampler = SMOTENC(categorical_features=places, **settings)
        rows, labels = sampler.fit_resample(plain, codes)
    return preparation.encoded(np.asarray(rows, dtype=np.float64)), labels


def smote_of(part: ComparedTable) -> str:
    """Return which SMOTE a table gets."""
    ordered = [kind.has_order for kind in part.kinds]
    if all(ordered):
        return "SMOTE"
    return "SMOTENC" if any(ordered) else "SMOTEN"


def _neighbours(codes: Integers) -> int:
    """Return as many neighbours as the smallest class has, at most five."""
    return max(1, min(NEIGHBOURS, int(np.bincount(codes).min()) - 1))


def _new_rows(labels: Integers, grown: Integers) -> Integers:
    """Return the last rows of each class that grew, as many as it grew by."""
    places = [np.flatnonzero(labels == code)[-more:] for code, more in enumerate(grown) if more > 0]
    return np.sort(np.concatenate(places)) if places else np.zeros(0, dtype=np.intp)
