"""
Should this table be resampled?
===============================

``compare`` cross-validates strategies and classifiers on the user's own table and answers in
words. The picture shows what it rests on: a dot for each strategy with its interval, and a dashed
line for what the plain classifier reaches without resampling.
"""

import matplotlib.pyplot as plt

from counterbalance.compare import Settings, compare
from counterbalance.datasets import load_synthetic
from counterbalance.displays import ComparisonDisplay

data = load_synthetic()
settings = Settings(
    strategies=("none", "SMOTE", "Counterfactual", "Interior"),
    classifiers=("logistic regression",),
    folds=3,
    repeats=1,
    inner_folds=2,
    draws=0,
    rows=500,
)
found = compare(data.X, data.y, settings=settings)
print(found.verdict.headline)

# %%
ComparisonDisplay.from_comparison(found)
plt.show()
