"""
The same rows from Dask
=======================

A table in seven partitions gives the rows that it gives in memory, to the last bit.
"""

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

from counterbalance import CounterfactualOverSampler
from counterbalance.distributed import fit_resample

X, y = make_classification(
    1000, n_features=2, n_redundant=0, n_clusters_per_class=1, weights=[0.92], random_state=4
)
X = pd.DataFrame(X, columns=["x1", "x2"])
table = X.assign(label=y)
sampler = CounterfactualOverSampler(random_state=0)

in_memory, _ = sampler.fit_resample(X, table["label"])
in_pieces = fit_resample(sampler, dd.from_pandas(table, npartitions=7), "label")
from_dask = in_pieces.frame.compute()[["x1", "x2"]]
print("same bytes:", np.array_equal(in_memory.to_numpy(), from_dask.to_numpy()))

# %%
figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
new = from_dask.iloc[len(X) :]
ax.scatter(X["x1"], X["x2"], s=5, c="0.75", label="real")
ax.scatter(new["x1"], new["x2"], s=5, c="tab:orange", label="new, from seven partitions")
ax.legend()
plt.show()
