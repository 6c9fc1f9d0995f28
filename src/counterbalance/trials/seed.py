"""Seeds: a pure function of what is computed, so that no order of work changes a figure."""

from __future__ import annotations

import zlib


def seed_of(*names: str | int) -> int:
    """Return a seed that belongs to these names.

    Examples
    --------
    >>> seed_of("WBC", "ours", 0, 3)
    1435577967
    """
    return zlib.crc32("/".join(map(str, names)).encode()) >> 1
