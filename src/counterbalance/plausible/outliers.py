"""Outliers: how far out a new row lies, compared with the real rows of a class.

    reference   some real rows of the class (see ``evidence``)
    far         the distance of a row to its K-th nearest reference, by the method's own distance
    usual       the USUAL quantile of ``far`` of the references, each compared with the others
    score       far / usual: above 1 a row lies farther out than 95 % of the real rows

The score depends only on the row and the references, so the partitioning does not change it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from counterbalance.arrays import Floats, Integers, blocks
from counterbalance.plausible.evidence import Evidence
from counterbalance.profile import Profile

try:
    from counterbalance.plausible import nearest_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]

K = 5
USUAL = 0.95
# References of a class: enough for the quantile, few enough to be fast.
MOST_REFERENCES = 128
CELLS_AT_ONCE = 2**20


@dataclass(frozen=True)
class _Reference:
    """The references of one class: scaled numbers and codes of unordered columns."""

    numbers: Floats
    codes: Floats
    usual: float


@dataclass(frozen=True)
class Outliers:
    """Scores rows against the classes of a table."""

    profile: Profile
    classes: tuple[_Reference | None, ...]

    @classmethod
    def from_evidence(cls, evidence: Evidence, profile: Profile) -> Outliers:
        """Choose references from the sample of each class; a single row gives no scores."""
        found: list[_Reference | None] = []
        for code in range(evidence.n_classes):
            x = evidence.sample[evidence.classes == code]
            # The sample is in table order: choose rows at even distances.
            chosen = np.linspace(0, len(x) - 1, min(len(x), MOST_REFERENCES)).astype(np.intp)
            found.append(_reference(x[chosen], profile) if len(x) > 1 else None)
        return cls(profile, tuple(found))

    def scores(self, x: Floats, classes: Integers) -> Floats:
        """Return the score of each row in its class, nan if the class has no references."""
        result = np.full(len(x), np.nan)
        for code in np.unique(classes):
            reference = self.classes[code]
            if reference is None:
                continue
            here = np.flatnonzero(classes == code)
            for block in blocks(len(here), len(reference.numbers), CELLS_AT_ONCE):
                at = here[block]
                rows = x if len(at) == len(x) else x[at]
                result[at] = _nearest(*_split(rows, self.profile), reference)
            result[here] /= reference.usual
        return result


def _reference(x: Floats, profile: Profile) -> _Reference:
    numbers, codes = _split(x, profile)
    # Each reference is its own nearest one.
    own = _nth(_far(numbers, codes, numbers, codes), K)
    usual = float(np.quantile(own, USUAL)) or float(own.max())
    return _Reference(numbers, codes, usual or 1.0)


def _nearest(numbers: Floats, codes: Floats, reference: _Reference) -> Floats:
    """Return the distance of each row to its K-th nearest reference, or the farthest of fewer."""
    if kernel is None:
        return _nth(_far(numbers, codes, reference.numbers, reference.codes), K - 1)
    of_codes, far = reference.codes, np.empty(len(numbers))
    if not (codes.any() or of_codes.any()):  # no category, nothing missing
        codes, of_codes = codes[:, :0], of_codes[:, :0]
    kernel.how_far(
        np.ascontiguousarray(numbers),
        np.ascontiguousarray(codes),
        np.ascontiguousarray(reference.numbers),
        np.ascontiguousarray(of_codes),
        min(K, len(reference.numbers)),
        far,
    )
    return far


def _nth(far: Floats, n: int) -> Floats:
    """Return the n-th smallest distance of each row, or the largest if there are fewer."""
    n = min(n, far.shape[1] - 1)
    return np.asarray(np.partition(far, n, axis=1)[:, n])


def _split(x: Floats, profile: Profile) -> tuple[Floats, Floats]:
    """Return scaled numbers, and the codes: categories, and which cells are missing."""
    nominal = profile.nominal
    numbers, missing = x[:, ~nominal], np.isnan(x[:, ~nominal])
    numbers = np.where(missing, profile.median[~nominal], numbers) / profile.scale[~nominal]
    codes = np.where(np.isnan(x[:, nominal]), -1.0, x[:, nominal])
    return numbers, np.column_stack([codes, missing]) if missing.size else codes


def _far(numbers: Floats, codes: Floats, of_numbers: Floats, of_codes: Floats) -> Floats:
    """Return the distance of each row to each reference."""
    far = np.zeros((len(numbers), len(of_numbers)))
    if numbers.shape[1]:
        far = cdist(numbers, of_numbers, "cityblock")
    if codes.any() or of_codes.any():  # otherwise nothing is missing, and all have one category
        far += cdist(codes, of_codes, "hamming") * codes.shape[1]
    return far
