"""The paper's deep systems: GAMO, DOS and text-GAN, on numpy with gradients, CPU only."""

from counterbalance.methods.deep.dos import DOSClassifier
from counterbalance.methods.deep.gamo import GAMO, GAMOClassifier

__all__ = ["GAMO", "DOSClassifier", "GAMOClassifier"]
