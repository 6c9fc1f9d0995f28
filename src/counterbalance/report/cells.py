"""Cells: values of a table as text that a reader can take in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.table import containers, frames
from counterbalance.table.labels import plain

MISSING = "—"
# Texts longer than this are cut: a cell is to be recognised, not to be read out.
LONGEST = 60
# Numbers that are written in full: money, not the distances of stars.
LARGE, TOO_LARGE = 1e4, 1e12
# Digits to try, one after the other, until two values that differ look different.
DIGITS = (4, 6, 9, 17)


def cells_at(X: Any, m: int, positions: NDArray[np.intp]) -> list[Any]:
    """Return cells of the ``m``-th column of a table of any kind, as Python values."""
    column = containers.take(frames.column(X, m), positions)
    if hasattr(column, "toarray"):
        column = column.toarray().ravel()
    return [plain(cell) for cell in np.asarray(column, dtype=object).ravel().tolist()]


def as_text(value: Any, digits: int = DIGITS[0]) -> str:
    """Return a value as text: a number short, a missing one as a dash.

    >>> as_text(0.1 + 0.2), as_text(float("nan")), as_text(True)
    ('0.3', '—', 'True')
    """
    value = plain(value)
    if isinstance(value, float):
        if np.isnan(value):
            return MISSING
        in_full = digits == DIGITS[0] and LARGE <= abs(value) < TOO_LARGE
        return f"{value:.0f}" if in_full else f"{value:.{digits}g}"
    alone = np.empty(1, dtype=object)
    alone[0] = value
    if frames.missing(alone)[0]:
        return MISSING
    text = str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def pair_as_text(old: Any, new: Any) -> tuple[str, str]:
    """Return two different values as texts that differ, too.

    >>> pair_as_text(1.00001, 1.00002)
    ('1.00001', '1.00002')
    """
    for digits in DIGITS:
        texts = as_text(old, digits), as_text(new, digits)
        if texts[0] != texts[1]:
            return texts
    return texts
