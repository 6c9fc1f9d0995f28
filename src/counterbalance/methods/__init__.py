"""The other resampling methods of the paper and of the literature, in imbalanced-learn's API.

Each is written from its publication; its docstring names the paper and says where it departs
from it. ``all_samplers`` returns all methods by name: ours, these, and imbalanced-learn's own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from counterbalance.methods.catalogue import Method
from counterbalance.methods.registry import all_samplers

if TYPE_CHECKING:
    from counterbalance.methods.ans import ANS
    from counterbalance.methods.base import PeerFallbackWarning
    from counterbalance.methods.ccr import CCR
    from counterbalance.methods.cfa import CFA
    from counterbalance.methods.counterfactual_smote import CounterfactualSMOTE
    from counterbalance.methods.cure_smote import CURESMOTE
    from counterbalance.methods.cusboost import ClusterRandomUnderSampler, CUSBoostClassifier
    from counterbalance.methods.deep import GAMO, DOSClassifier, GAMOClassifier, TextGAN
    from counterbalance.methods.mdo import MDO
    from counterbalance.methods.nrs_boundary_smote import NRSBoundarySMOTE
    from counterbalance.methods.polynom_fit_smote import PolynomFitSMOTE
    from counterbalance.methods.propensity import NRAS, OUPS
    from counterbalance.methods.prowsyn import ProWSyn
    from counterbalance.methods.smote import SMOTED, GaussianSMOTE, Lee, WeightedSMOTE
    from counterbalance.methods.smote_ipf import SMOTEIPF
    from counterbalance.methods.somo import SOMO
    from counterbalance.methods.sso import SSO
    from counterbalance.methods.swim import SWIM
    from counterbalance.methods.under_sampling import (
        ClusteringUnderSampler,
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
_MODULES = {
    "ANS": ".ans",
    "PeerFallbackWarning": ".base",
    "CCR": ".ccr",
    "CFA": ".cfa",
    "CounterfactualSMOTE": ".counterfactual_smote",
    "CURESMOTE": ".cure_smote",
    "ClusterRandomUnderSampler": ".cusboost",
    "CUSBoostClassifier": ".cusboost",
    "GAMO": ".deep",
    "DOSClassifier": ".deep",
    "GAMOClassifier": ".deep",
    "TextGAN": ".deep",
    "MDO": ".mdo",
    "NRSBoundarySMOTE": ".nrs_boundary_smote",
    "PolynomFitSMOTE": ".polynom_fit_smote",
    "NRAS": ".propensity",
    "OUPS": ".propensity",
    "ProWSyn": ".prowsyn",
    "SMOTED": ".smote",
    "GaussianSMOTE": ".smote",
    "Lee": ".smote",
    "WeightedSMOTE": ".smote",
    "SMOTEIPF": ".smote_ipf",
    "SOMO": ".somo",
    "SSO": ".sso",
    "SWIM": ".swim",
    "ClusteringUnderSampler": ".under_sampling",
    "SensitivityUnderSampler": ".under_sampling",
}


def __getattr__(name: str) -> Any:
    """Load a method when it is first asked for."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
