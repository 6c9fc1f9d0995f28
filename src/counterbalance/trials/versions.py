"""Versions of Python, of this package and of those that an experiment computes with."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

import counterbalance


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python, of this package and of ``packages``."""
    found = {"python": platform.python_version(), "counterbalance": counterbalance.__version__}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found
