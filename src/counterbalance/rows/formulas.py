"""Formulas: texts that a spreadsheet would run, made plain before they are exported.

A cell that begins with ``=``, ``+``, ``-`` or ``@`` (or with a tab or a line end before it) is
a formula to a spreadsheet. A user's own table is written as it was read; a file that we make
from it (the provenance, a report's export) puts an apostrophe before such a text.
"""

from __future__ import annotations

STARTERS = ("=", "+", "-", "@", "\t", "\r", "\n")


def inert(text: str) -> str:
    """Return the text as one that no spreadsheet runs; numbers stay what they are.

    Examples
    --------
    >>> inert("=HYPERLINK(0)"), inert("-1.5"), inert("age")
    ("'=HYPERLINK(0)", '-1.5', 'age')
    """
    return f"'{text}" if text.startswith(STARTERS) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
