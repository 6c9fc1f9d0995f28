"""The other resampling methods of the paper and of the literature, in imbalanced-learn's API.

Each is written from its publication; its docstring names the paper and says where it departs
from it. ``all_samplers`` returns all methods by name: ours, these, and imbalanced-learn's own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from counterbalance.methods.registry import METHODS, Method, all_samplers

if TYPE_CHECKING:
    from counterbalance.methods.base import PeerFallbackWarning
    from counterbalance.methods.clusters import CURESMOTE, SOMO
    from counterbalance.methods.counterfactuals import CFA, CounterfactualSMOTE
    from counterbalance.methods.deep import GAMO, DOSClassifier, GAMOClassifier, TextGAN
    from counterbalance.methods.density import ANS, CCR, ProWSyn
    from counterbalance.methods.mahalanobis import MDO, SWIM
    from counterbalance.methods.model_guided import NRAS, OUPS, SSO
    from counterbalance.methods.smote import (
        SMOTED,
        GaussianSMOTE,
        Lee,
        NRSBoundarySMOTE,
        PolynomFitSMOTE,
        WeightedSMOTE,
    )
    from counterbalance.methods.smote_ipf import SMOTEIPF
    from counterbalance.methods.under_sampling import (
        ClusteringUnderSampler,
        ClusterRandomUnderSampler,
        CUSBoostClassifier,
        SensitivityUnderSampler,
    )

__all__ = [
    "ANS",
    "CCR",
    "CFA",
    "CURESMOTE",
    "GAMO",
    "MDO",
    "NRAS",
    "OUPS",
    "SMOTED",
    "SMOTEIPF",
    "SOMO",
    "SSO",
    "SWIM",
    "CUSBoostClassifier",
    "ClusterRandomUnderSampler",
    "ClusteringUnderSampler",
    "CounterfactualSMOTE",
    "DOSClassifier",
    "GAMOClassifier",
    "GaussianSMOTE",
    "Lee",
    "Method",
    "NRSBoundarySMOTE",
    "PeerFallbackWarning",
    "PolynomFitSMOTE",
    "ProWSyn",
    "SensitivityUnderSampler",
    "TextGAN",
    "WeightedSMOTE",
    "all_samplers",
]

# Where each class is; its module, and scikit-learn with it, is loaded when it is first asked for.
_MODULES = {"GAMOClassifier": ".methods.deep", "PeerFallbackWarning": ".methods.base"} | {
    name: module
    for module, name in (method.where.split(":") for method in METHODS)
    if module.startswith(".methods.")
}


def __getattr__(name: str) -> Any:
    """Load a method when it is first asked for."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name], "counterbalance"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
