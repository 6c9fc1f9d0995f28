"""What a counterfactual is, in one picture: the front page of the documentation shows it.

Give a file name to get the picture (needs matplotlib):

    python examples/one_picture.py docs/figures/one-picture.png
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.svm import SVC

from counterbalance import CounterfactualOverSampler

rng = np.random.default_rng(3)
angle = rng.uniform(0.1, np.pi - 0.1, 22)
large = rng.normal([0, -0.35], [0.9, 0.4], (110, 2))
small = np.column_stack([1.5 * np.cos(angle), 1.5 * np.sin(angle)]) + rng.normal(0, 0.12, (22, 2))
X, y = np.vstack([large, small]), np.repeat(["large", "small"], [110, 22])

sampler = CounterfactualOverSampler(
    estimator=SVC(gamma=0.7, class_weight="balanced"),
    sampling_strategy={"small": 62},
    random_state=0,
)
X_balanced, y_balanced = sampler.fit_resample(X, y)
new = X_balanced[len(X) :]
factual = X[sampler.provenance_["factual"]]
print(f"{len(new)} rows of the large class, each moved just beyond the boundary")

if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.6, 4.6), layout="constrained")
    side = np.linspace(-2.8, 2.8, 300), np.linspace(-2.0, 2.0, 300)
    points = np.column_stack([part.ravel() for part in np.meshgrid(*side)])
    score = sampler.estimator_.decision_function(points).reshape(300, 300)
    ax.contourf(*side, score, levels=[-np.inf, 0, np.inf], colors=["#0072b2", "#d55e00"], alpha=0.1)
    ax.contour(*side, score, levels=[0], colors="0.3", linewidths=1.2)
    for start, end in zip(factual, new, strict=True):
        ax.plot(*zip(start, end, strict=True), c="0.55", linewidth=0.7, zorder=1)
    ax.scatter(*large.T, s=16, c="#0072b2", label="a row of the large class")
    ax.scatter(*small.T, s=26, c="#d55e00", label="a row of the small class")
    ax.scatter(
        *new.T,
        s=26,
        c="#d55e00",
        edgecolors="0.15",
        marker="^",
        label="new: changed by the least that crosses",
    )
    ax.text(-1.1, 1.75, "the classifier says: small class", fontsize=9, color="#a04000")
    ax.text(0.8, -1.85, "the classifier says: large class", fontsize=9, color="#00507f")
    ax.set(xlim=(-2.8, 2.8), ylim=(-2.0, 2.0), xticks=[], yticks=[])
    ax.legend(loc="lower left", frameon=False, fontsize=9)
    figure.savefig(sys.argv[1], dpi=150)
