"""
A mixed table, as it is
=======================

Numbers, whole numbers, a category, a yes-no column and missing cells go in, and come out: no
encoding, no imputing. The table is simulated, so that the page needs no network.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from counterbalance import CounterfactualOverSampler
from counterbalance.displays import CounterfactualDisplay

rng = np.random.default_rng(0)
n = 600
X = pd.DataFrame(
    {
        "age": rng.integers(18, 80, n),
        "income": rng.lognormal(8, 0.4, n).round(2),
        "plan": pd.Categorical(rng.choice(["basic", "plus", "pro"], n, p=[0.6, 0.3, 0.1])),
        "paperless": rng.random(n) < 0.5,
        "calls": np.where(rng.random(n) < 0.1, np.nan, rng.poisson(2, n)),
    }
)
risk = 0.04 * (X["age"] - 50) - (X["plan"] == "basic") + 0.5 * X["calls"].fillna(0)
y = np.where(risk + rng.normal(0, 0.7, n) > 1.9, "leaves", "stays")

sampler = CounterfactualOverSampler(random_state=0)
X_balanced, y_balanced = sampler.fit_resample(X, y)
print(X_balanced.dtypes, "\n")
print(*sampler.provenance_.sentences(X_balanced)[:3], sep="\n")

# %%
# Which features the new rows change, and how often:
CounterfactualDisplay.from_sampler(sampler, X_balanced, y_balanced, kind="changes")
plt.show()
