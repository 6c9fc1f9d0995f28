"""F-measure and G-mean, from the counts of a confusion matrix.

    counts    (C, C) whole numbers: rows of true class i that were put into class j
    recall    diagonal / row sum
    precision diagonal / column sum

With two classes the F-measure is that of the minority class, with more it is the mean over
the classes (macro). The G-mean is the geometric mean of the recalls: with two classes the
square root of TPR x TNR, as the paper prints it.
"""

import numpy as np
from numpy.typing import ArrayLike

from counterbalance.arrays import Floats

BINARY = 2


def recalls(counts: ArrayLike) -> Floats:
    """Return the recall of each class.

    >>> recalls([[8, 2], [1, 3]]).tolist()
    [0.8, 0.75]
    """
    counts = np.asarray(counts, dtype=float)
    return _share(np.diag(counts), counts.sum(axis=1))


def g_mean(counts: ArrayLike) -> float:
    """Return the geometric mean of the recalls of the classes that have rows.

    >>> round(g_mean([[8, 2], [1, 3]]), 4)
    0.7746
    """
    counts = np.asarray(counts, dtype=float)
    recall = recalls(counts)[counts.sum(axis=1) > 0]
    return float(np.prod(recall) ** (1 / len(recall)))


def f_measure(counts: ArrayLike, minority: int | None = None) -> float:
    """Return the F-measure of the class at the place ``minority``, or the mean over all classes.

    >>> round(f_measure([[8, 2], [1, 3]], minority=1), 4)
    0.6667
    >>> round(f_measure([[8, 2], [1, 3]]), 4)
    0.7544
    """
    counts = np.asarray(counts, dtype=float)
    right = 2 * np.diag(counts)
    each = _share(right, counts.sum(axis=0) + counts.sum(axis=1))
    return float(each.mean() if minority is None else each[minority])


def _share(part: Floats, whole: Floats) -> Floats:
    """Divide; a class that nothing was put into and that has no row counts as zero."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
