"""
The boundary before and after
=============================

A random forest trained on the table as it is, and on the table with counterfactuals added. What
was called majority for lack of examples is now contested.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.datasets import load_synthetic
from counterbalance.displays import BoundaryDisplay

data = load_synthetic()
sampler = CounterfactualOverSampler(random_state=0)
X_balanced, y_balanced = sampler.fit_resample(data.X, data.y)


def forest():
    return RandomForestClassifier(100, min_samples_leaf=3, random_state=0)


figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
options = {"features": ["x1", "x2"], "grid_resolution": 120}
before = forest().fit(data.X, data.y)
BoundaryDisplay.from_estimator(before, data.X, data.y, ax=left, **options)
after = forest().fit(X_balanced, y_balanced)
BoundaryDisplay.from_estimator(
    after, X_balanced, y_balanced, n_real=len(data.X), ax=right, **options
)
left.set_title("as it is")
right.set_title("with counterfactuals")
plt.show()
