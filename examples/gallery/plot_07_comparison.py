"""
Should this table be resampled?
===============================

``compare`` cross-validates strategies and classifiers on the user's own table and answers in words.
The plot shows the evidence: a dot for each strategy with its interval, and a dashed line for the
classifier without resampling.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from counterbalance.compare import Settings, compare
from counterbalance.displays import ComparisonDisplay

X, y = make_classification(
    1000, n_features=2, n_redundant=0, n_clusters_per_class=1, weights=[0.92], random_state=4
)
settings = Settings(
    strategies=("none", "SMOTE", "Counterfactual", "Interior"),
    classifiers=("logistic regression",),
    folds=3,
    repeats=1,
    inner_folds=2,
    draws=0,
    rows=500,
)
found = compare(X, y, settings=settings)
print(found.verdict.headline)

# %%
ComparisonDisplay.from_comparison(found)
plt.show()
