"""
Reading a case of fraud
=======================

Each new row says which real transaction it came from, what changed, and which score the classifier
(f in the paper) gives it: an analyst can check that. The transactions are simulated.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import Immutable

rng = np.random.default_rng(4)
n = 1500
X = pd.DataFrame(
    {
        "amount": rng.lognormal(3.4, 0.9, n).round(2),
        "hour": rng.integers(0, 24, n),
        "countries_today": rng.poisson(0.15, n) + 1,
        "card_age_years": rng.integers(0, 12, n),
        "chip": rng.random(n) < 0.8,
    }
)
suspicious = (
    0.012 * X["amount"] + 1.6 * (X["countries_today"] > 1) + 1.2 * (X["hour"] < 5) - 1.5 * X["chip"]
)
y = np.where(suspicious + rng.normal(0, 0.6, n) > 2.1, "fraud", "good")

sampler = CounterfactualOverSampler(constraints=[Immutable("card_age_years")], random_state=0)
X_balanced, y_balanced = sampler.fit_resample(X, y)
table = sampler.provenance_.to_pandas()
case = table[table["origin"] == "inversion"].sort_values("distance").iloc[0]
print(sampler.provenance_.sentences(X_balanced)[int(case.name)])
real, new = X.iloc[case["factual"]], X_balanced.iloc[case["sample"]]
print(pd.DataFrame({"real": real, "new": new}), "\n")

# %%
# f predicts fraud for every new row. Where an amount changes, the row lies just beyond the
# boundary, at a score of one half. A yes-no column cannot change by less than one step, so the
# score may be higher.
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.hist([table["score_before"], table["score_after"]], bins=25, label=["real row", "new row"])
ax.set(xlabel="f's score of fraud", ylabel="rows")
ax.legend()
plt.show()
