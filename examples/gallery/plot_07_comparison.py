"""
Should this table be resampled?
===============================

``compare`` cross-validates strategies and classifiers on the user's own table and answers in
words. The picture shows what it rests on: a dot for each strategy with its interval, and a dashed
line for what the plain classifier reaches without resampling.
"""

import tempfile
from pathlib import Path

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
# The trials run in processes of their own, which read this file: only the first may start them.
if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "trials"
        found = compare(X, y, store=store, settings=settings, progress=False)
    print(found.verdict.headline)

# %%
if __name__ == "__main__":
    ComparisonDisplay.from_comparison(found)
    plt.show()
