"""Optional packages, and the extras that install them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The extra that installs a package, where its name differs.
EXTRA_OF = {
    "pyarrow": "parquet",
    "openpyxl": "xlsx",
    "matplotlib": "plot",
    "typer": "cli",
    "jinja2": "report",
}


def require(module: str, what: str, extra: str | None = None) -> Any:
    """Import a module that ``what`` needs; if it is missing, the error says how to install it."""
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
    """Import pandas; if it is missing, the error says how to install it."""
    return require("pandas", "a pandas table")
