"""
Where new rows fall
===================

A thousand rows, one in twelve of the small class, some of them noise among the majority. SMOTE and
ADASYN interpolate between minority rows, also from the noise. Counterfactuals start from majority
rows and lie just beyond the boundary of a classifier. The interior sampler makes rows within the
class.
"""

import matplotlib.pyplot as plt
from imblearn.over_sampling import ADASYN, SMOTE
from sklearn.datasets import make_classification

from counterbalance import CounterfactualOverSampler, InteriorOverSampler

X, y = make_classification(
    1000, n_features=2, n_redundant=0, n_clusters_per_class=1, weights=[0.92], random_state=4
)
y = y == 1

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
