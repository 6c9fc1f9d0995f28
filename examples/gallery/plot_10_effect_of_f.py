"""
The effect of f
===============

f decides where the boundary is, and so where the new rows lie. The same table with four of them.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler
from counterbalance.datasets import load_synthetic
from counterbalance.displays import BoundaryDisplay

data = load_synthetic()
choices = {
    "the default": None,
    '"ridge", the loss of the paper': "ridge",
    "logistic regression, balanced": LogisticRegression(class_weight="balanced"),
    "random forest": RandomForestClassifier(50, min_samples_leaf=5, random_state=0),
}
figure, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
for (name, f), ax in zip(choices.items(), axes.flat, strict=True):
    sampler = CounterfactualOverSampler(estimator=f, random_state=0)
    balanced = sampler.fit_resample(data.X, data.y)
    BoundaryDisplay.from_sampler(
        sampler, *balanced, features=["x1", "x2"], grid_resolution=100, ax=ax
    )
    ax.set_title(name)
plt.show()
