"""Extras: packages that some parts need and others do without."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The extra that brings a package, where it is not called the same.
EXTRA_OF = {
    "pyarrow": "parquet",
    "openpyxl": "xlsx",
    "matplotlib": "plot",
    "typer": "cli",
    "jinja2": "report",
}


def require(module: str, what: str, extra: str | None = None) -> Any:
    """Return a module that ``what`` needs, or say how to install it (by ``extra``, if given)."""
    package = module.split(".", maxsplit=1)[0]
    try:
        return import_module(module)
    except ImportError as error:
        extra = extra or EXTRA_OF.get(package, package)
        raise ImportError(
            f"{what} needs {package}, which is not installed; "
            f"run: pip install 'counterbalance[{extra}]'"
        ) from error


def require_pandas() -> Any:
    """Return the module pandas, or say how to install it."""
    return require("pandas", "a pandas table")
