"""
The boundary before and after
=============================

A random forest trained on the table as it is, and on the table with counterfactuals added: the area
of the small class grows at the boundary.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.displays import BoundaryDisplay

X, y = make_classification(
    1000, n_features=2, n_redundant=0, n_clusters_per_class=1, weights=[0.92], random_state=4
)
X = pd.DataFrame(X, columns=["x1", "x2"])
sampler = CounterfactualOverSampler(random_state=0)
X_balanced, y_balanced = sampler.fit_resample(X, y)


def forest():
    return RandomForestClassifier(100, min_samples_leaf=3, random_state=0)


figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
options = {"features": ["x1", "x2"], "grid_resolution": 120}
before = forest().fit(X, y)
BoundaryDisplay.from_estimator(before, X, y, ax=left, **options)
after = forest().fit(X_balanced, y_balanced)
BoundaryDisplay.from_estimator(after, X_balanced, y_balanced, n_real=len(X), ax=right, **options)
left.set_title("as it is")
right.set_title("with counterfactuals")
plt.show()
