"""Every other resampler of the paper, in imbalanced-learn's API.

Each is written from its publication; its docstring names it and says where it departs.
``all_samplers`` gives them by name, imbalanced-learn's own among them.
"""

from counterbalance.peers.ans import ANS
from counterbalance.peers.ccr import CCR
from counterbalance.peers.cfa import CFA
from counterbalance.peers.cluster_random_under_sampling import ClusterRandomUnderSampler
from counterbalance.peers.clustering_under_sampling import ClusteringUnderSampler
from counterbalance.peers.counterfactual_smote import CounterfactualSMOTE
from counterbalance.peers.cure_smote import CURESMOTE
from counterbalance.peers.cusboost import CUSBoostClassifier
from counterbalance.peers.fallback import PeerFallbackWarning
from counterbalance.peers.gaussian_smote import GaussianSMOTE
from counterbalance.peers.lee import Lee
from counterbalance.peers.mdo import MDO
from counterbalance.peers.nras import NRAS
from counterbalance.peers.nrs_boundary_smote import NRSBoundarySMOTE
from counterbalance.peers.oups import OUPS
from counterbalance.peers.polynom_fit_smote import PolynomFitSMOTE
from counterbalance.peers.prowsyn import ProWSyn
from counterbalance.peers.registry import Peer, all_samplers
from counterbalance.peers.sensitivity_under_sampling import SensitivityUnderSampler
from counterbalance.peers.smote_d import SMOTED
from counterbalance.peers.smote_ipf import SMOTEIPF
from counterbalance.peers.somo import SOMO
from counterbalance.peers.sso import SSO
from counterbalance.peers.swim import SWIM
from counterbalance.peers.weighted_smote import WeightedSMOTE

__all__ = [
    "ANS",
    "CCR",
    "CFA",
    "CURESMOTE",
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
    "GaussianSMOTE",
    "Lee",
    "NRSBoundarySMOTE",
    "Peer",
    "PeerFallbackWarning",
    "PolynomFitSMOTE",
    "ProWSyn",
    "SensitivityUnderSampler",
    "WeightedSMOTE",
    "all_samplers",
]
