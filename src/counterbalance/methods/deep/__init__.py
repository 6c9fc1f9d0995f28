"""The paper's deep systems: GAMO, DOS and text-GAN, on numpy and autograd, CPU only."""

from counterbalance.methods.deep.dos import DOSClassifier
from counterbalance.methods.deep.gamo import GAMO, GAMOClassifier
from counterbalance.methods.deep.text_gan import TextGAN, is_url

__all__ = ["GAMO", "DOSClassifier", "GAMOClassifier", "TextGAN", "is_url"]
