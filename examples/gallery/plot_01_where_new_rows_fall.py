"""
Where new rows fall
===================

The synthetic table of the paper: 917 rows of one class, 83 of the other, four of those lost among
the majority. SMOTE and ADASYN draw lines between minority rows, also from the lost ones; the
counterfactuals start from majority rows and stop just beyond the boundary of f; the interior
sampler spreads rows where the class is.
"""

import matplotlib.pyplot as plt
from imblearn.over_sampling import ADASYN, SMOTE

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.datasets import load_synthetic

data = load_synthetic()
X, y = data.X.to_numpy(), (data.y == "minority").to_numpy()

samplers = [
    SMOTE(random_state=0),
    ADASYN(random_state=0),
    CounterfactualOverSampler(random_state=0),
    InteriorOverSampler(random_state=0),
]
figure, axes = plt.subplots(2, 2, figsize=(9, 8), sharex=True, sharey=True, layout="constrained")
for sampler, ax in zip(samplers, axes.flat, strict=True):
    X_new, _ = sampler.fit_resample(X, y)
    new = X_new[len(X) :]
    ax.scatter(*X[~y].T, s=6, c="0.75", label="majority")
    ax.scatter(*new.T, s=6, c="tab:orange", alpha=0.6, label="new")
    ax.scatter(*X[y].T, s=10, c="tab:blue", label="minority")
    ax.set_title(type(sampler).__name__)
axes[0, 0].legend(loc="best")
plt.show()
