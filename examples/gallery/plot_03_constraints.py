"""
Constraints at work
===================

Without constraints a counterfactual may be impossible: a borrower who gets younger, a part that is
larger than its whole. Constraints say which changes make sense, and the search obeys them. The
loans
are simulated: the young and those who have used most of their credit fail more often.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import Increasing

rng = np.random.default_rng(0)
n = 700
limit = rng.lognormal(2, 0.4, n).round(1)
X = pd.DataFrame(
    {
        "age": rng.integers(18, 75, n),
        "limit": limit,
        "used": (limit * rng.beta(2, 2, n)).round(1),
    }
)
risk = 5 * X["used"] / X["limit"] - 0.08 * X["age"] + rng.normal(0, 0.5, n)
y = np.where(risk > 0.3, "failed", "repaid")

# One counterfactual for every factual that inverts.
every = {"sampling_strategy": "all", "n_draws": 30, "random_state": 0}
free = CounterfactualOverSampler(**every)
ruled = CounterfactualOverSampler(constraints=[Increasing("age"), "used <= limit"], **every)

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), sharex=True, sharey=True, layout="constrained")
for sampler, ax, title in zip((free, ruled), axes, ("no rule", "two rules"), strict=True):
    X_balanced, _ = sampler.fit_resample(X, y)
    table = sampler.provenance_.to_pandas()
    new = X_balanced.iloc[table["sample"]].reset_index(drop=True)
    old = X.iloc[table["factual"]].reset_index(drop=True)
    print(
        f"{title}: {(new['age'] < old['age']).sum()} of {len(new)} borrowers get younger, "
        f"{(new['used'] > new['limit']).sum()} use more than their limit"
    )
    broken = (new["used"] > new["limit"]) | (new["age"] < old["age"])
    for rows, colour, name in ((~broken, "tab:green", "possible"), (broken, "tab:red", "not")):
        ax.scatter(new["limit"][rows], new["used"][rows], s=9, c=colour, label=name)
    ax.axline((0, 0), slope=1, c="0.5", linewidth=1)
    ax.set(title=title, xlabel="limit")
axes[0].set_ylabel("used")
axes[0].legend(title="new row")
plt.show()
