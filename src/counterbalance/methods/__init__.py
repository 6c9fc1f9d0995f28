"""Every other resampler of the paper, in imbalanced-learn's API.

Each is written from its publication; its docstring names it and says where it departs.
``all_samplers`` gives them by name, imbalanced-learn's own among them.
"""

from counterbalance.methods.ans import ANS
from counterbalance.methods.ccr import CCR
from counterbalance.methods.cfa import CFA
from counterbalance.methods.cluster_random_under_sampling import ClusterRandomUnderSampler
from counterbalance.methods.clustering_under_sampling import ClusteringUnderSampler
from counterbalance.methods.counterfactual_smote import CounterfactualSMOTE
from counterbalance.methods.cure_smote import CURESMOTE
from counterbalance.methods.cusboost import CUSBoostClassifier
from counterbalance.methods.deep import GAMO, DOSClassifier, GAMOClassifier, TextGAN
from counterbalance.methods.fallback import PeerFallbackWarning
from counterbalance.methods.gaussian_smote import GaussianSMOTE
from counterbalance.methods.lee import Lee
from counterbalance.methods.mdo import MDO
from counterbalance.methods.nras import NRAS
from counterbalance.methods.nrs_boundary_smote import NRSBoundarySMOTE
from counterbalance.methods.oups import OUPS
from counterbalance.methods.polynom_fit_smote import PolynomFitSMOTE
from counterbalance.methods.prowsyn import ProWSyn
from counterbalance.methods.registry import Peer, all_samplers
from counterbalance.methods.sensitivity_under_sampling import SensitivityUnderSampler
from counterbalance.methods.smote_d import SMOTED
from counterbalance.methods.smote_ipf import SMOTEIPF
from counterbalance.methods.somo import SOMO
from counterbalance.methods.sso import SSO
from counterbalance.methods.swim import SWIM
from counterbalance.methods.weighted_smote import WeightedSMOTE

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
    "NRSBoundarySMOTE",
    "Peer",
    "PeerFallbackWarning",
    "PolynomFitSMOTE",
    "ProWSyn",
    "SensitivityUnderSampler",
    "TextGAN",
    "WeightedSMOTE",
    "all_samplers",
]
