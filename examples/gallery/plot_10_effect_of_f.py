"""
The effect of the classifier
============================

The classifier (f in the paper) decides where the boundary is, and so where the new rows lie. The
same table with four classifiers.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler
from counterbalance.displays import BoundaryDisplay

X, y = make_classification(
    1000, n_features=2, n_redundant=0, n_clusters_per_class=1, weights=[0.92], random_state=4
)
X = pd.DataFrame(X, columns=["x1", "x2"])
choices = {
    "the default": None,
    '"ridge", the loss of the paper': "ridge",
    "logistic regression, balanced": LogisticRegression(class_weight="balanced"),
    "random forest": RandomForestClassifier(50, min_samples_leaf=5, random_state=0),
}
figure, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
for (name, f), ax in zip(choices.items(), axes.flat, strict=True):
    sampler = CounterfactualOverSampler(estimator=f, random_state=0)
    balanced = sampler.fit_resample(X, y)
    BoundaryDisplay.from_sampler(
        sampler, *balanced, features=["x1", "x2"], grid_resolution=100, ax=ax
    )
    ax.set_title(name)
plt.show()
