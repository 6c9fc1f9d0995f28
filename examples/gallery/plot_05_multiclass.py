"""
More than two classes
=====================

Rows of every class may become rows of every smaller class. The provenance says from which class to
which each new row went.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_classification

from counterbalance import CounterfactualOverSampler

X, y = make_classification(
    900,
    n_features=6,
    n_informative=4,
    n_classes=4,
    n_clusters_per_class=1,
    weights=[0.55, 0.25, 0.14, 0.06],
    random_state=1,
)
sampler = CounterfactualOverSampler(random_state=0)
sampler.fit_resample(X, y)
table = sampler.provenance_.to_pandas()
counts = pd.crosstab(table["from_class"], table["to_class"])

figure, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
ax.imshow(counts, cmap="Blues")
ax.set(
    xticks=range(counts.shape[1]),
    yticks=range(counts.shape[0]),
    xticklabels=counts.columns,
    yticklabels=counts.index,
    xlabel="to class",
    ylabel="from class",
    title="new rows",
)
for i, row in enumerate(counts.to_numpy()):
    for j, count in enumerate(row):
        dark = count > counts.to_numpy().max() / 2
        ax.text(j, i, count, ha="center", va="center", color="white" if dark else "black")
plt.show()
