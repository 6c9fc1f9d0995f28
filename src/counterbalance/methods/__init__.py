"""The other resampling methods of the paper and of the literature, in imbalanced-learn's API.

Each is written from its publication; its docstring names the paper and says where it departs
from it. ``all_samplers`` returns all methods by name: ours, these, and imbalanced-learn's own.
"""

from importlib import import_module
from typing import Any

from counterbalance.methods.registry import METHODS, Method, all_samplers

# The module of each class. It is imported, with scikit-learn, at the first access to the class.
_MODULES = {"GAMOClassifier": ".methods.deep", "PeerFallbackWarning": ".methods.base"} | {
    name: module
    for module, name in (method.where.split(":") for method in METHODS)
    if module.startswith(".methods.")
}

__all__ = ["Method", "all_samplers"]
__all__ += list(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a method at its first access."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name], "counterbalance"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
