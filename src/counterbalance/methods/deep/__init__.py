"""Two deep systems that the paper cites, GAMO and DOS, on numpy and autograd, CPU only."""

from counterbalance.methods.deep.dos import DOSClassifier
from counterbalance.methods.deep.gamo import GAMO, GAMOClassifier

__all__ = ["GAMO", "DOSClassifier", "GAMOClassifier"]
