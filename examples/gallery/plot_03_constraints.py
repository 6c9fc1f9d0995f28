"""
Constraints at work
===================

Without any rule a counterfactual may ask for what cannot be: a tumour that shrinks, four features
that change at once. Rules say which changes make sense, and the search obeys them.
"""

import matplotlib.pyplot as plt

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import Immutable, Increasing, MaxChanged
from counterbalance.datasets import load_wisconsin

data = load_wisconsin()
X, y = data.X.fillna(data.X.median()), data.y

free = CounterfactualOverSampler(random_state=0)
ruled = CounterfactualOverSampler(
    constraints=[Immutable("Mitoses"), Increasing("CellSize"), MaxChanged(3)], random_state=0
)

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for sampler, ax, title in zip((free, ruled), axes, ("no rule", "three rules"), strict=True):
    X_balanced, _ = sampler.fit_resample(X, y)
    table = sampler.provenance_.to_pandas()
    new = X_balanced.iloc[table["sample"]].reset_index(drop=True)
    old = X.iloc[table["factual"]].reset_index(drop=True)
    n_changed = (new != old).sum(axis=1)
    ax.hist(n_changed, bins=range(1, 11), align="left", rwidth=0.8)
    ax.set(title=title, xlabel="features changed in a new row")
    print(title, "| Mitoses changed:", (new["Mitoses"] != old["Mitoses"]).sum())
    print(title, "| cells that shrink:", (new["CellSize"] < old["CellSize"]).sum())
axes[0].set_ylabel("new rows")
plt.show()
