"""New Python processes import nothing from the folder in which the user happens to stand.

Python puts the current folder in front of the path of a process that starts with ``-c`` or
``-m``, which is how every worker starts. A ``random.py`` in a folder of downloads would then be
run in place of Python's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "PYTHONSAFEPATH"


@contextmanager
def safe_path_for_children() -> Iterator[None]:
    """Keep the current folder off the path of the processes that are started meanwhile."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before
