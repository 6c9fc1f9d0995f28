"""
Images with GAMO
================

The deep system that the paper cites combines images of the small class by a generator that a
classifier and a discriminator train. Eights made of 40 handwritten ones, beside counterfactuals
that start as a three.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from counterbalance import CounterfactualOverSampler
from counterbalance.methods import GAMO

digits = load_digits()
threes, eights = digits.data[digits.target == 3], digits.data[digits.target == 8][:40]
X = np.vstack([threes, eights])
y = np.array(["three"] * len(threes) + ["eight"] * len(eights))

made = {
    "real eights": eights,
    "GAMO": GAMO(max_iter=600, random_state=0).fit_resample(X, y)[0][len(X) :],
    "counterfactuals of threes": CounterfactualOverSampler(random_state=0).fit_resample(X, y)[0][
        len(X) :
    ],
}
figure, axes = plt.subplots(3, 8, figsize=(8, 3.6), layout="constrained")
for (name, rows), line in zip(made.items(), axes, strict=True):
    for image, ax in zip(rows[:: max(1, len(rows) // 8)], line, strict=False):
        ax.imshow(image.reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
plt.show()
