"""Balance imbalanced data with counterfactuals."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterbalance import errors
    from counterbalance.classifier.fit import paper_classifier
    from counterbalance.estimators.resampled import ResampledClassifier
    from counterbalance.samplers.counterfactual import CounterfactualOverSampler
    from counterbalance.samplers.interior import InteriorOverSampler
    from counterbalance.table.encoder import TablePreparation

__version__ = "0.3.0"

__all__ = [
    "CounterfactualOverSampler",
    "InteriorOverSampler",
    "ResampledClassifier",
    "TablePreparation",
    "errors",
    "paper_classifier",
    "show_versions",
]

# The module of each public name, imported on first use.
_MODULES = {
    "CounterfactualOverSampler": "counterbalance.samplers.counterfactual",
    "InteriorOverSampler": "counterbalance.samplers.interior",
    "ResampledClassifier": "counterbalance.estimators.resampled",
    "TablePreparation": "counterbalance.table.encoder",
    "paper_classifier": "counterbalance.classifier.fit",
}


def __getattr__(name: str) -> Any:
    """Import a public name, and scikit-learn with it, on first use."""
    from importlib import import_module  # noqa: PLC0415  (lazily)

    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name == "errors":
        return import_module("counterbalance.errors")
    raise AttributeError(f"module 'counterbalance' has no attribute {name!r}")


def show_versions() -> None:
    """Print versions, and whether the kernels are compiled, for a bug report."""
    import sys  # noqa: PLC0415  (lazily, as everything here)
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    from counterbalance.search.structure import kernel_status  # noqa: PLC0415

    print(f"counterbalance {__version__}, {kernel_status()}")  # noqa: T201  (its purpose)
    print(f"python {sys.version.split()[0]} on {sys.platform}")  # noqa: T201
    for package in (
        "numpy",
        "scipy",
        "scikit-learn",
        "imbalanced-learn",
        "narwhals",
        "pandas",
        "polars",
    ):
        try:
            print(package, version(package))  # noqa: T201
        except PackageNotFoundError:
            print(package, "is not installed")  # noqa: T201


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
