"""GAMO and DOS, two deep methods that the paper cites, on numpy and autograd, CPU only."""

from counterbalance.methods.deep.dos import DOSClassifier
from counterbalance.methods.deep.gamo import GAMO, GAMOClassifier

__all__ = ["GAMO", "DOSClassifier", "GAMOClassifier"]
