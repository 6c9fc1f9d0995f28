"""Keep the current folder off the import path of new Python processes.

Workers start with ``python -c`` or ``-m``, and Python then puts the current folder first on the
import path. A file ``random.py`` in that folder would be imported instead of Python's module.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "PYTHONSAFEPATH"


@contextmanager
def safe_path_for_children() -> Iterator[None]:
    """Set PYTHONSAFEPATH for processes that start within this context."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before
