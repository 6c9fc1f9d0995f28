"""SMOTE-IPF: SMOTE, then an iterative filter that removes noise from all classes."""

from typing import Any

import numpy as np
from imblearn.base import BaseSampler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._param_validation import StrOptions

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.methods.base import (
    AT_LEAST_TWO,
    OVER_STRATEGY,
    POSITIVE_INTEGER,
    POSITIVE_SHARE,
    SEED,
    DeclaredParameters,
    NeighbourOverSampler,
    RoundsIntegerColumns,
    dense,
    generator,
    parameter,
    seed_from,
    warn_fallback,
)
from counterbalance.methods.neighbours import smote

_MUCH = 0.1  # share of a class whose removal is worth a warning


class _PlainSMOTE(NeighbourOverSampler):
    """SMOTE on our template: it can also enlarge a class of two rows."""

    @property
    def _method_name(self) -> str:
        return "SMOTEIPF"

    def _from_minority(self, minority: Floats, n_samples: int, rng: np.random.Generator) -> Floats:
        return smote(minority, n_samples, self._neighbours_within(len(minority)), rng)


def stratified_partitions(codes: Any, n_partitions: int, rng: np.random.Generator) -> Integers:
    """Draw the partition of each row, so that each partition has its share of every class."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    parts = np.empty(len(codes), dtype=np.intp)
    parts[order] = np.arange(len(codes)) % n_partitions
    return parts


def noise_by_partitions(
    rows: Floats, codes: Any, n_partitions: int, voting: str, rng: np.random.Generator
) -> Mask:
    """Return the rows that the trees of the partitions, one tree each, put into another class.

    The tree of a partition is trained on all the others. ``"majority"`` requires more than
    half of the trees, including the tree of the row's own partition, the only one that has not
    seen the row; ``"consensus"`` requires all of them.
    """
    n_partitions = max(2, min(n_partitions, len(rows) // 2))
    parts = stratified_partitions(codes, n_partitions, rng)
    wrong = np.empty((n_partitions, len(rows)), dtype=bool)
    for part in range(n_partitions):
        tree = DecisionTreeClassifier(
            criterion="entropy", min_samples_leaf=2, random_state=seed_from(rng)
        )
        others = parts != part
        wrong[part] = tree.fit(rows[others], codes[others]).predict(rows) != codes
    needed = n_partitions if voting == "consensus" else n_partitions // 2 + 1
    own = wrong[parts, np.arange(len(rows))]
    noise: Mask = own & (wrong.sum(axis=0) >= needed)
    return noise


class SMOTEIPF(RoundsIntegerColumns, DeclaredParameters, BaseSampler):
    """SMOTE with an iterative-partitioning filter.

    J. A. Saez, J. Luengo, J. Stefanowski, F. Herrera, "SMOTE-IPF: Addressing the noisy and
    borderline examples problem in imbalanced classification by a re-sampling method with
    filtering", Information Sciences 2015.

    SMOTE balances the table. Then the table is repeatedly split into stratified partitions, and
    for each a decision tree is grown on all the others. A row is removed if more than half of
    the trees put it into another class and the tree of its own partition, which has not seen
    it, is one of them. The filter stops after three rounds in a row with few removals.

    By definition original rows of any class may be removed, and the classes end up nearly
    rather than exactly balanced, as with imbalanced-learn's SMOTEENN; like that one, this is
    not a ``BaseOverSampler``. There is no ``sample_indices_``, since most rows are new;
    ``n_removed_`` tells how many rows of each class the filter removed, and a warning is given
    if that is more than a tenth of a class.

    The partitions, the two conditions for a removal and the stopping rule are those of the
    filter that the authors published in KEEL.

    Departures: the trees are scikit-learn's (entropy, at least two rows in a leaf, not pruned)
    rather than C4.5. A round that would remove a whole class is not carried out, and a warning
    says so.

    Cost: at least three rounds of nine trees on the enlarged table, by definition more than 20
    times the work of SMOTE.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours for SMOTE.
    n_partitions : int, default=9
        Partitions, and hence trees, in a round; at least two.
    voting : {"majority", "consensus"}, default="majority"
        Whether more than half of the trees, or all, must disagree with a row's class. The tree
        of the row's own partition must disagree in either case.
    n_quiet_rounds : int, default=3
        Rounds in a row with few removals after which the filter stops.
    quiet_share : float, default=0.01
        Fewer removals than this share of the balanced table count as few.
    """

    _sampling_type = "over-sampling"
    sampling_strategy: Any = parameter(default="auto", rule=OVER_STRATEGY)
    random_state: Any = parameter(default=None, rule=SEED)
    n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)
    n_partitions: int = parameter(default=9, rule=AT_LEAST_TWO)
    voting: str = parameter(default="majority", rule=[StrOptions({"majority", "consensus"})])
    n_quiet_rounds: int = parameter(default=3, rule=POSITIVE_INTEGER)
    quiet_share: float = parameter(default=0.01, rule=POSITIVE_SHARE)

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        rng = generator(self.random_state)
        balanced = _PlainSMOTE(
            sampling_strategy=self.sampling_strategy,
            random_state=seed_from(rng),
            n_neighbors=self.n_neighbors,
        )
        X_new, y_new = balanced.fit_resample(X, y)
        classes, codes = np.unique(y_new, return_inverse=True)
        kept = self._filter(dense(X_new), codes, self.quiet_share * len(y_new), rng)
        removed = np.bincount(codes[~kept], minlength=len(classes))
        self.n_removed_ = {c: int(n) for c, n in zip(classes.tolist(), removed, strict=True)}
        largest = max(removed / np.bincount(codes))
        if largest > _MUCH:
            warn_fallback(
                "SMOTEIPF",
                f"the filter removed {largest:.0%} of a class as noise",
                "the classes are out of balance by the numbers in n_removed_",
            )
        return X_new[np.flatnonzero(kept)], y_new[kept]

    def _filter(self, rows: Floats, codes: Any, few: float, rng: np.random.Generator) -> Mask:
        kept = np.ones(len(rows), dtype=bool)
        quiet = 0
        while quiet < self.n_quiet_rounds:
            left = np.flatnonzero(kept)
            noise = noise_by_partitions(
                rows[left], codes[left], self.n_partitions, self.voting, rng
            )
            if len(np.unique(codes[left[~noise]])) < len(np.unique(codes)):
                warn_fallback(
                    "SMOTEIPF",
                    "the next round of the filter would remove a whole class",
                    "the filter stopped before it",
                )
                break
            kept[left[noise]] = False
            quiet = quiet + 1 if noise.sum() < few else 0
        return kept
