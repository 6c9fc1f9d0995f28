"""SMOTE-IPF: SMOTE, then an iterative filter that takes noise out of all classes."""

from typing import Any, ClassVar

import numpy as np
from imblearn.base import BaseSampler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._param_validation import StrOptions

from counterbalance.peers.allocation import Floats
from counterbalance.peers.base import Mask, NeighbourOverSampler, dense, generator, seed_from
from counterbalance.peers.fallback import warn_fallback
from counterbalance.peers.interpolation import smote
from counterbalance.peers.neighbours import capped
from counterbalance.peers.rules import OVER_RULES, POSITIVE_INTEGER, POSITIVE_SHARE, Rules

_MUCH = 0.1  # share of a class whose removal is worth a warning


class _PlainSMOTE(NeighbourOverSampler):
    """SMOTE in the template of the peers: it also serves a class of two rows."""

    _method = "SMOTEIPF"

    def _synthesise(
        self,
        minority: Floats,
        majority: Floats,  # noqa: ARG002  # SMOTE does not look at it
        n_samples: int,
        rng: np.random.Generator,
    ) -> Floats:
        k = capped(self.n_neighbors, len(minority) - 1, "SMOTEIPF")
        return smote(minority, n_samples, k, rng)


def noise_by_partitions(
    rows: Floats, codes: Any, n_partitions: int, voting: str, rng: np.random.Generator
) -> Mask:
    """Rows that the trees of the partitions, one tree each, put into another class.

    ``"majority"`` asks for more than half of the trees, ``"consensus"`` for all of them.
    """
    n_partitions = max(1, min(n_partitions, len(rows) // 2))
    wrong = np.zeros(len(rows), dtype=np.intp)
    for part in np.array_split(rng.permutation(len(rows)), n_partitions):
        tree = DecisionTreeClassifier(
            criterion="entropy", min_samples_leaf=2, random_state=seed_from(rng)
        )
        wrong += tree.fit(rows[part], codes[part]).predict(rows) != codes
    needed = n_partitions if voting == "consensus" else n_partitions // 2 + 1
    noise: Mask = wrong >= needed
    return noise


class SMOTEIPF(BaseSampler):  # type: ignore[misc, unused-ignore]  # imblearn is untyped
    """SMOTE with an iterative-partitioning filter.

    J. A. Saez, J. Luengo, J. Stefanowski, F. Herrera, "SMOTE-IPF: Addressing the noisy and
    borderline examples problem in imbalanced classification by a re-sampling method with
    filtering", Information Sciences 2015.

    SMOTE balances the table. Then, again and again, the table is cut into partitions, a
    decision tree is grown on each, and the rows that most trees put into another class are
    removed, until too few are removed for three rounds on end.

    By definition original rows of any class may go and the classes end near to balance rather
    than on it, as with imbalanced-learn's SMOTEENN; like that one this is no
    ``BaseOverSampler``. ``sample_indices_`` is not given, since most rows are new;
    ``n_removed_`` tells how many rows of each class the filter took, and a warning is given
    where it took more than a tenth of one.

    Departures: the trees are scikit-learn's (entropy, at least two rows in a leaf) in place of
    C4.5. A round that would remove a whole class is not carried out, and a warning says so.

    Cost: at least three rounds of nine trees on the enlarged table, by definition more than 20
    times the work of SMOTE.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows each class gets, in imbalanced-learn's terms.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    n_neighbors : int, default=5
        Neighbours for SMOTE.
    n_partitions : int, default=9
        Partitions, and so trees, in a round.
    voting : {"majority", "consensus"}, default="majority"
        Whether more than half of the trees, or all, must disagree with a row's class.
    n_quiet_rounds : int, default=3
        Rounds on end with few removals after which the filter stops.
    quiet_share : float, default=0.01
        Share of the original table that counts as few.
    """

    _sampling_type = "over-sampling"
    _parameter_constraints: ClassVar[Rules] = {
        **OVER_RULES,
        "n_neighbors": POSITIVE_INTEGER,
        "n_partitions": POSITIVE_INTEGER,
        "voting": [StrOptions({"majority", "consensus"})],
        "n_quiet_rounds": POSITIVE_INTEGER,
        "quiet_share": POSITIVE_SHARE,
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_neighbors: int = 5,
        n_partitions: int = 9,
        voting: str = "majority",
        n_quiet_rounds: int = 3,
        quiet_share: float = 0.01,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy)
        self.random_state = random_state
        self.n_neighbors = n_neighbors
        self.n_partitions = n_partitions
        self.voting = voting
        self.n_quiet_rounds = n_quiet_rounds
        self.quiet_share = quiet_share

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        rng = generator(self.random_state)
        balanced = _PlainSMOTE(
            sampling_strategy=self.sampling_strategy,
            random_state=seed_from(rng),
            n_neighbors=self.n_neighbors,
        )
        X_new, y_new = balanced.fit_resample(X, y)
        classes, codes = np.unique(y_new, return_inverse=True)
        kept = self._filter(dense(X_new), codes, self.quiet_share * len(y), rng)
        removed = np.bincount(codes[~kept], minlength=len(classes))
        self.n_removed_ = {c: int(n) for c, n in zip(classes.tolist(), removed, strict=True)}
        largest = max(removed / np.bincount(codes))
        if largest > _MUCH:
            warn_fallback(
                "SMOTEIPF",
                f"the filter took {largest:.0%} of a class as noise",
                "the classes are out of balance by what n_removed_ says",
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
