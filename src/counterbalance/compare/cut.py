"""Cut: which rows of a large table are compared on, and how figures speak of all of it.

    N_c        rows of class c in the whole table, N of all classes
    n_c        rows of it that are kept, n of all classes
    weight     (N_c / N) / (n_c / n): what a kept row counts for in a metric
    prior      the class shares that a model was fitted at

Rows are drawn by class share, but a small class keeps all it has up to n / 2C: what resampling
is about must not be thrown away first. So the minority may have a larger share among the kept
rows than in the table, and three things bring that back: metrics that depend on the share of a
class (F1, average precision, Brier, calibration) weigh the rows, thresholds are tuned with the
same weights, and the probabilities of a model are moved from the share it was fitted at to the
share that it would have been fitted at with all rows (as in a case-control study). G-mean,
balanced accuracy and ROC AUC of two classes do not depend on the shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterbalance.arrays import Floats, Integers

LEAST_SHARE = 1e-12  # of a class that a sampler left nothing of


@dataclass(frozen=True, eq=False)
class Cut:
    """How many rows of each class were there, and how many are kept."""

    whole: Integers
    kept: Integers

    @cached_property
    def shifts(self) -> bool:
        """Whether the classes have other shares now, beyond rounding."""
        by_share = self.kept.sum() * self.shares
        return bool((np.abs(self.kept - by_share) >= 1).any())

    @property
    def shares(self) -> Floats:
        """The share of each class in the whole table."""
        return np.asarray(self.whole / self.whole.sum())

    @cached_property
    def weights(self) -> Floats:
        """What a row of each class counts for."""
        return np.asarray(self.shares / (self.kept / self.kept.sum()))

    def prior_on_all_rows(self, before: Floats, after: Floats) -> Floats:
        """Return the class shares that a strategy would have made of all rows.

        Parameters
        ----------
        before, after : array of shape (C,)
            Class shares of a training part of the kept rows, and what the strategy made of it.

        A strategy that balances the kept rows balances all rows too; one that leaves the shares
        alone leaves those of all rows alone. In between, it goes the same part of the way
        towards balance, on the scale of log shares.
        """
        start, end, real = (_centred(share) for share in (before, after, before * self.weights))
        length = float(start @ start)
        left = float(np.clip(end @ start / length, 0, 1)) if length else 1.0
        odds = np.exp(end + left * (real - start))
        return np.asarray(odds / odds.sum())


def kept_counts(counts: Integers, rows: int) -> Integers:
    """Return how many rows each class keeps of ``counts`` when ``rows`` are kept in all.

    Examples
    --------
    >>> kept_counts(np.array([47_559, 701]), 1000).tolist()
    [750, 250]
    >>> kept_counts(np.array([47_559, 701]), 10_000).tolist()
    [9299, 701]
    >>> kept_counts(np.array([7000, 3000]), 1000).tolist()
    [700, 300]
    """
    by_share = rows * counts / counts.sum()
    least = np.minimum(counts, rows // (2 * len(counts)))
    above = np.maximum(by_share - least, 0)
    room = rows - np.maximum(by_share, least).sum() + above.sum()
    wanted = least + above * (room / above.sum())
    kept = np.floor(wanted).astype(np.intp)
    most_left = np.argsort(kept - wanted, kind="stable")  # the largest remainder first
    kept[most_left[: rows - int(kept.sum())]] += 1
    return np.asarray(kept)


def kept_rows(codes: Integers, kept: Integers) -> Integers:
    """Draw so many rows of each class, always the same ones, in their order."""
    rng = np.random.default_rng(0)
    drawn = [
        rng.permutation(np.flatnonzero(codes == code))[:count] for code, count in enumerate(kept)
    ]
    return np.sort(np.concatenate(drawn))


def _centred(shares: Floats) -> Floats:
    logs = np.log(np.maximum(shares, LEAST_SHARE))
    return np.asarray(logs - logs.mean())
