"""Variants of SMOTE: Lee, Gaussian, D, CV, Weighted, NRSBoundary, polynom-fit and IPF.

Glossary of NRSBoundary-SMOTE, which oversamples a rough set's boundary
    delta           (n,)  radius of a row's neighbourhood
    boundary        minority rows with both classes in their neighbourhood
    lower region    majority rows with only majority rows in their neighbourhood
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from imblearn.base import BaseSampler
from numpy.polynomial import polynomial
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import pairwise_distances_chunked, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from counterbalance.arrays import Floats, Integers, Mask, Rng
from counterbalance.errors import TableError
from counterbalance.methods import neighbours as nb
from counterbalance.methods.base import (
    OVER_CONSTRAINTS,
    OneVsRestMixin,
    OneVsRestOverSampler,
    dense,
    generator,
    shared_doc,
)
from counterbalance.sklearn_private import HasMethods, Interval, StrOptions

_FEW = 0.01  # fewer removals than this share of the table count as few to SMOTE-IPF
_MUCH = 0.1  # a larger share of a class is removed with a warning


@shared_doc
class Lee(OneVsRestOverSampler):
    """Over-sampling with rejection.

    J. Lee, N. Kim, J.-H. Lee, "An Over-sampling Technique with Rejection for Imbalanced Class
    Learning", IMCOM 2015.

    A row made by SMOTE is kept only if at most ``rejection_level`` of its nearest neighbours
    in the original table belong to other classes; otherwise another one is drawn.

    Departures: after 20 rounds the least faulty of the rejected rows are accepted, with a warning;
    the paper sets no limit. Slow if many are rejected.

    Parameters
    ----------
    {common_parameters}
    n_neighbors : int, default=5
        Neighbours, both for SMOTE and for the rejection.
    rejection_level : float, default=0.5
        Largest share of other classes among a new row's neighbours.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "rejection_level": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_neighbors: int = 5,
        rejection_level: float = 0.5,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors
        self.rejection_level = rejection_level

    def _make_samples(self, minority: Floats, majority: Floats, n_samples: int, rng: Rng) -> Floats:
        k = self._capped(self.n_neighbors, len(minority) - 1)
        return self._drawn_until_accepted(
            n_samples,
            draw=lambda n: nb.smote(minority, n, k, rng),
            fault=lambda rows: 1 - nb.minority_share(rows, minority, majority, self.n_neighbors),
            limit=self.rejection_level,
        )


@shared_doc
class GaussianSMOTE(OneVsRestOverSampler):
    """Gaussian-based SMOTE.

    H. Lee, J. Kim, S. Kim, "Gaussian-Based SMOTE Algorithm for Solving Skewed Class
    Distributions", International Journal of Fuzzy Logic and Intelligent Systems 2017.

    The position on SMOTE's segment between a seed and one of its nearest minority rows is drawn
    from a normal distribution whose mean is a uniform draw between 0 and 1, so new rows spread
    more and may lie slightly beyond the two rows.

    Parameters
    ----------
    {common_parameters}
    n_neighbors : int, default=5
        Nearest minority rows from which the other end is drawn.
    sigma : float, default=0.05
        Standard deviation of the position, as a fraction of the segment's length.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "sigma": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_neighbors: int = 5,
        sigma: float = 0.05,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors
        self.sigma = sigma

    def _make_samples(self, minority: Floats, _: Floats, n_samples: int, rng: Rng) -> Floats:
        _, indices = nb.nearest_others(minority, self._capped(self.n_neighbors, len(minority) - 1))
        seeds = rng.integers(len(minority), size=n_samples)
        ends = nb.drawn_neighbours(seeds, indices, rng)
        fraction = rng.normal(rng.random(n_samples), self.sigma)
        return nb.between(minority[seeds], minority[ends], fraction)


@shared_doc
class SMOTED(OneVsRestOverSampler):
    """SMOTE-D, a deterministic version of SMOTE.

    F. R. Torres, J. A. Carrasco-Ochoa, J. F. Martinez-Trinidad, "SMOTE-D a Deterministic
    Version of SMOTE", MCPR 2016.

    A minority row gets new rows in proportion to the standard deviation of the distances to
    its nearest minority rows; each segment to such a neighbour gets its part by its length,
    and the new rows are evenly spaced on it. The numbers are rounded so that they add up to the
    requested number. Nothing is drawn and the seed has no effect.

    Parameters
    ----------
    {common_parameters}
    n_neighbors : int, default=5
        Nearest minority rows to which segments are drawn.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")]
    }

    def __init__(
        self, *, sampling_strategy: Any = "auto", random_state: Any = None, n_neighbors: int = 5
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors

    def _make_samples(self, minority: Floats, _: Floats, n_samples: int, _rng: Rng) -> Floats:
        k = self._capped(self.n_neighbors, len(minority) - 1)
        distances, indices = nb.nearest_others(minority, k)
        deviation, total = distances.std(axis=1), distances.sum(axis=1, keepdims=True)
        of_row = deviation if deviation.sum() > 0 else np.ones(len(minority))
        of_segment = np.divide(distances, total, out=np.zeros_like(distances), where=total > 0)
        counts = nb.allocate((of_row[:, None] * of_segment).ravel(), n_samples)
        start = np.repeat(minority, k, axis=0)
        return nb.evenly_between(start, minority[indices.ravel()], counts)


def closeness_weights(minority: Floats) -> Floats:
    """Return the weight of each row: 1 for the row nearest to all others, 0 for the farthest.

    It is one minus the sum of the row's Euclidean distances to the others, scaled to [0, 1].
    """
    total = cdist(minority, minority).sum(axis=1)
    width = total.max() - total.min()
    if width <= 1e-12 * total.max():
        return np.ones(len(minority))
    return np.asarray(1 - (total - total.min()) / width)


@shared_doc
class CVSMOTE(OneVsRestOverSampler):
    """SMOTE whose number of neighbours is chosen by cross-validation.

    A. Sakho, E. Malherbe, E. Scornet, "Do we need rebalancing strategies? A theoretical and
    empirical study around SMOTE and its variants", 2024 (arXiv 2402.03819).

    For each number of neighbours the training part of every fold is resampled by SMOTE, and a
    classifier fitted to it; the number with the best mean ROC AUC on the folds' test parts is
    used. ``n_neighbors_`` holds that of each class.

    Departures: the forest has 20 trees, not 100. The authors' published code keeps
    the last number of its list, whatever the scores; here the best one is kept, as in the paper.
    Slow: some 17 numbers in five folds are 85 forests.

    Parameters
    ----------
    {common_parameters}
    estimator : classifier or None, default=None
        Classifier with ``predict_proba``. None: a random forest of 20 trees.
    n_neighbors : array-like of int or None, default=None
        Numbers to choose from. None: the authors': 1 to 14, and the square root, 1, 10, 50 and
        70 % of the rows of the class.
    cv : int, default=5
        Folds; as many as the class has rows if that is less.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "n_neighbors": ["array-like", None],
        "cv": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        estimator: Any = None,
        n_neighbors: Any = None,
        cv: int = 5,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.estimator = estimator
        self.n_neighbors = n_neighbors
        self.cv = cv

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        self.n_neighbors_: dict[Any, int] = {}
        return super()._fit_resample(X, y)

    def _resample_class(
        self, table: Floats, y: Any, label: Any, n_samples: int, rng: Rng
    ) -> tuple[Floats, Any, Floats]:
        ours = y == label
        k = self._best_k(table, ours, n_samples, rng)
        self.n_neighbors_[label] = k
        return table, y, nb.smote(table[ours], n_samples, k, rng)

    def _best_k(self, table: Floats, ours: Mask, n_samples: int, rng: Rng) -> int:
        n_ours = int(ours.sum())
        if self.n_neighbors is None:
            shares = np.array([0.01, 0.1, 0.5, 0.7, n_ours**-0.5])
            candidates = np.array([*range(1, 15), *(shares * n_ours).astype(int)])
        else:
            candidates = np.asarray(self.n_neighbors)
            if candidates.dtype.kind not in "iu" or not (candidates > 0).all():
                raise TableError(
                    "n_neighbors must be whole numbers of at least 1 to choose from, "
                    f"got {self.n_neighbors!r}"
                )
        n_folds = min(self.cv, n_ours, len(ours) - n_ours)
        most = n_ours - -(-n_ours // max(n_folds, 1)) - 1  # neighbours of a row in a training part
        numbers = [k for k in np.unique(candidates).tolist() if 1 <= k <= most]
        if not numbers:
            return self._capped(max(1, int(candidates.min())), n_ours - 1)
        if len(numbers) == 1:
            return int(numbers[0])
        seed = nb.seed_from(rng)
        classifier = self.estimator or RandomForestClassifier(20, random_state=seed)
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        scores = np.zeros(len(numbers))
        for train, test in folds.split(table, ours):
            rows = table[train][ours[train]]
            n_new = round(n_samples * len(rows) / n_ours)
            labels = np.concatenate([ours[train], np.ones(n_new, dtype=bool)])
            for place, k in enumerate(numbers):
                new = nb.smote(rows, n_new, k, np.random.default_rng(seed))
                f = clone(classifier).fit(np.vstack([table[train], new]), labels)
                scores[place] += roc_auc_score(ours[test], f.predict_proba(table[test])[:, 1])
        return int(numbers[int(scores.argmax())])


@shared_doc
class WeightedSMOTE(OneVsRestOverSampler):
    """Weighted SMOTE.

    M. R. Prusty, T. Jayanthi, K. Velusamy, "Weighted-SMOTE: A modification to SMOTE for event
    classification in sodium cooled fast reactors", Progress in Nuclear Energy 2017.

    The number of new rows of a seed is proportional to one minus the scaled sum of its
    distances to all minority rows, so rows in the middle of the class get more and the outermost
    row none. The numbers are rounded so that they add up to the requested number.

    Parameters
    ----------
    {common_parameters}
    n_neighbors : int, default=5
        Nearest minority rows from which the other end of the segment is drawn.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")]
    }

    def __init__(
        self, *, sampling_strategy: Any = "auto", random_state: Any = None, n_neighbors: int = 5
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors

    def _make_samples(self, minority: Floats, _: Floats, n_samples: int, rng: Rng) -> Floats:
        _, indices = nb.nearest_others(minority, self._capped(self.n_neighbors, len(minority) - 1))
        seeds = nb.repeated(nb.allocate(closeness_weights(minority), n_samples))
        return nb.towards_neighbours(minority, seeds, indices, rng)


def neighbourhoods(table: Floats, n_minority: int, w: float) -> tuple[Floats, Mask, Mask]:
    """Return each row's radius and whether its neighbourhood holds minority and majority rows.

    The radius is the distance to the nearest other row plus ``w`` times the difference to the
    farthest one. A row is in its own neighbourhood. The minority comes first in the table.
    """

    def reduced(block: Floats, start: int) -> Floats:
        rows = np.arange(len(block))
        block[rows, start + rows] = np.inf
        near = block.min(axis=1)
        block[rows, start + rows] = 0.0
        delta = near + w * (block.max(axis=1) - near)
        inside = block <= delta[:, None]
        return np.column_stack(
            [delta, inside[:, :n_minority].any(axis=1), inside[:, n_minority:].any(axis=1)]
        )

    found = np.vstack(list(pairwise_distances_chunked(table, reduce_func=reduced)))
    return found[:, 0], found[:, 1] > 0, found[:, 2] > 0


@shared_doc
class NRSBoundarySMOTE(OneVsRestOverSampler):
    """Boundary oversampling by neighbourhood rough sets.

    F. Hu, H. Li, "A Novel Boundary Oversampling Algorithm Based on Neighborhood Rough Set
    Model: NRSBoundary-SMOTE", Mathematical Problems in Engineering 2013.

    Each row has a neighbourhood whose radius depends on its distances to all others. Minority
    rows with majority rows in it form the boundary, and only they are seeds of SMOTE. A new row
    is rejected if it falls into the neighbourhood of a majority row that holds majority rows
    only, so that the majority's lower approximation is not damaged.

    Departures: if the boundary is empty all minority rows are seeds, with a warning; after 20
    rounds the least faulty of the rejected rows are taken, with a warning. Slow: the distances
    between all pairs of rows are needed.

    Parameters
    ----------
    {common_parameters}
    n_neighbors : int, default=5
        Nearest minority rows from which the other end of the segment is drawn.
    w : float, default=0.005
        Size of the neighbourhoods: 0 reaches the nearest row, 1 the farthest.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "w": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_neighbors: int = 5,
        w: float = 0.005,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors
        self.w = w

    def _make_samples(self, minority: Floats, majority: Floats, n_samples: int, rng: Rng) -> Floats:
        table = np.vstack([minority, majority])
        ours = np.arange(len(table)) < len(minority)
        delta, has_minority, has_majority = neighbourhoods(table, len(minority), self.w)
        boundary = np.flatnonzero(ours & has_majority)
        lower = ~ours & ~has_minority
        if not len(boundary):
            self._warn(
                "no minority row has a majority row in its neighbourhood",
                "all minority rows are seeds; a larger w avoids this",
            )
            boundary = np.flatnonzero(ours)
        _, indices = nb.nearest_others(minority, self._capped(self.n_neighbors, len(minority) - 1))

        def draw(n: int) -> Floats:
            seeds = boundary[rng.integers(len(boundary), size=n)]
            return nb.towards_neighbours(minority, seeds, indices, rng)

        def damaged(rows: Floats) -> Floats:
            """Count the neighbourhoods of the majority's lower region that each row falls into."""
            return nb.balls_holding(rows, table[lower], delta[lower]).astype(np.float64)

        return self._drawn_until_accepted(n_samples, draw, damaged)


def all_pairs(n_rows: int, n_samples: int, rng: Rng) -> tuple[Integers, Integers]:
    """Return both ends of all pairs of rows; if there are more than samples, of drawn ones."""
    n_pairs = n_rows * (n_rows - 1) // 2
    numbers = np.arange(n_pairs)
    if n_pairs > n_samples:
        numbers = np.sort(rng.choice(n_pairs, size=n_samples, replace=False))
    # Pair number p joins row j to an earlier row i with p = j (j - 1) / 2 + i.
    j = ((1 + np.sqrt(1 + 8 * numbers)) / 2).astype(np.intp)
    return numbers - j * (j - 1) // 2, j


@shared_doc
class PolynomFitSMOTE(OneVsRestOverSampler):
    """Oversampling by polynomial fitting, in four topologies.

    S. Gazzah, N. Essoukri Ben Amara, "New Oversampling Approaches Based on Polynomial Fitting
    for Imbalanced Data Sets", DAS 2008.

    New rows are evenly spaced on the segments from each minority row to their mean
    (``"star"``), between each row and the next one in the table (``"bus"``), or between every
    two rows (``"mesh"``); or they lie on a polynomial fitted to each feature over the table's
    order (``"polynomial"``).

    Departures: the paper multiplies the class by whole numbers; here the number is exact, and
    the segments that carry one more row are drawn.

    Parameters
    ----------
    {common_parameters}
    topology : {{"star", "bus", "mesh", "polynomial"}}, default="star"
        Curves through the minority on which the new rows lie.
    degree : int, default=3
        Degree of the polynomial; only used by ``"polynomial"``.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "topology": [StrOptions({"star", "bus", "mesh", "polynomial"})],
        "degree": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        topology: str = "star",
        degree: int = 3,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.topology = topology
        self.degree = degree

    def _make_samples(self, minority: Floats, _: Floats, n_samples: int, rng: Rng) -> Floats:
        if self.topology == "polynomial":
            # The place of a row in the table is scaled to [-1, 1]: better conditioned.
            place = np.linspace(-1.0, 1.0, len(minority))
            curves = polynomial.polyfit(place, minority, min(self.degree, len(minority) - 1))
            where = np.linspace(-1.0, 1.0, n_samples + 2)[1:-1]
            return np.asarray(polynomial.polyval(where, curves).T, dtype=np.float64)
        if self.topology == "star":
            start, end = minority, np.broadcast_to(minority.mean(axis=0), minority.shape)
        elif self.topology == "bus":
            start, end = minority[:-1], minority[1:]
        else:
            i, j = all_pairs(len(minority), n_samples, rng)
            start, end = minority[i], minority[j]
        n_each, n_more = divmod(n_samples, len(start))
        counts = np.full(len(start), n_each)
        counts[rng.choice(len(start), size=n_more, replace=False)] += 1
        return nb.evenly_between(start, end, counts)


def stratified_partitions(codes: Any, n_partitions: int, rng: Rng) -> Integers:
    """Draw the partition of each row, so that each partition has its share of every class."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    parts = np.empty(len(codes), dtype=np.intp)
    parts[order] = np.arange(len(codes)) % n_partitions
    return parts


def noise_by_partitions(rows: Floats, codes: Any, n_partitions: int, voting: str, rng: Rng) -> Mask:
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
            criterion="entropy", min_samples_leaf=2, random_state=nb.seed_from(rng)
        )
        others = parts != part
        wrong[part] = tree.fit(rows[others], codes[others]).predict(rows) != codes
    needed = n_partitions if voting == "consensus" else n_partitions // 2 + 1
    own = wrong[parts, np.arange(len(rows))]
    return np.asarray(own & (wrong.sum(axis=0) >= needed))


@shared_doc
class SMOTEIPF(OneVsRestMixin, BaseSampler):
    """SMOTE with an iterative-partitioning filter.

    J. A. Saez, J. Luengo, J. Stefanowski, F. Herrera, "SMOTE-IPF: Addressing the noisy and
    borderline examples problem in imbalanced classification by a re-sampling method with
    filtering", Information Sciences 2015.

    SMOTE balances the table. Then the table is repeatedly split into stratified partitions, and
    for each a decision tree is grown on all the others. A row is removed if more than half of
    the trees put it into another class and the tree of its own partition, which has not seen
    it, is one of them. The filter stops after three rounds in a row with few removals. This is
    the filter of the authors' code in KEEL.

    By definition original rows of any class may be removed, so the classes are only nearly
    balanced, as with imbalanced-learn's SMOTEENN; like SMOTEENN, this is
    not a ``BaseOverSampler``. ``n_removed_`` says how many rows of each class the filter
    removed, and a warning is given if that is more than a tenth of a class.

    Departures: the trees are scikit-learn's (entropy, at least two rows in a leaf, not pruned)
    rather than C4.5. A round that would remove a whole class is not carried out, with a warning.

    Parameters
    ----------
    {common_parameters}
    n_neighbors : int, default=5
        Neighbours for SMOTE.
    n_partitions : int, default=9
        Partitions, and hence trees, in a round; at least two.
    voting : {{"majority", "consensus"}}, default="majority"
        Whether more than half of the trees, or all, must disagree with a row's class.
    n_quiet_rounds : int, default=3
        Rounds in a row that remove less than 1 % of the table after which the filter stops.
    """

    _sampling_type = "over-sampling"
    _parameter_constraints = OVER_CONSTRAINTS | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_partitions": [Interval(Integral, 2, None, closed="left")],
        "voting": [StrOptions({"majority", "consensus"})],
        "n_quiet_rounds": [Interval(Integral, 1, None, closed="left")],
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
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy)
        self.random_state = random_state
        self.n_neighbors = n_neighbors
        self.n_partitions = n_partitions
        self.voting = voting
        self.n_quiet_rounds = n_quiet_rounds

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        rng = generator(self.random_state)
        table, y = self._resample_classes(dense(X), y, generator(nb.seed_from(rng)))
        classes, codes = np.unique(y, return_inverse=True)
        kept = self._filter(table, codes, rng)
        removed = np.bincount(codes[~kept], minlength=len(classes))
        self.n_removed_ = {c: int(n) for c, n in zip(classes.tolist(), removed, strict=True)}
        largest = max(removed / np.bincount(codes))
        if largest > _MUCH:
            self._warn(
                f"the filter removed {largest:.0%} of a class as noise",
                "the classes are out of balance by the numbers in n_removed_",
            )
        return self._in_form_of(X, table[kept]), y[kept]

    def _make_samples(self, minority: Floats, _: Floats, n_samples: int, rng: Rng) -> Floats:
        k = self._capped(self.n_neighbors, len(minority) - 1)
        return nb.smote(minority, n_samples, k, rng)

    def _filter(self, rows: Floats, codes: Any, rng: Rng) -> Mask:
        """Return the rows that are left when the filter stops."""
        kept, n_quiet = np.ones(len(rows), dtype=bool), 0
        while n_quiet < self.n_quiet_rounds:
            left = np.flatnonzero(kept)
            noise = noise_by_partitions(
                rows[left], codes[left], self.n_partitions, self.voting, rng
            )
            if len(np.unique(codes[left[~noise]])) < len(np.unique(codes)):
                self._warn(
                    "the next round of the filter would remove a whole class",
                    "the filter stopped before it",
                )
                break
            kept[left[noise]] = False
            n_quiet = n_quiet + 1 if noise.sum() < _FEW * len(rows) else 0
        return kept
