"""
Draws and the minimum
=====================

More draws find more inversions, and nearer ones. ``search="minimum"`` brings each factual that a
draw inverts to its nearest inversion, at a fraction of the distance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from counterbalance import CounterfactualOverSampler

X, y = make_classification(800, n_features=8, n_informative=5, weights=[0.9], random_state=2)
settings = {f"T = {t}": {"n_draws": t, "search": "perturb"} for t in (1, 3, 10, 30)}
settings["minimum, T = 10"] = {}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, options in settings.items():
    sampler = CounterfactualOverSampler(sampling_strategy="all", random_state=0, **options)
    sampler.fit_resample(X, y)
    (counts,) = sampler.yield_.values()
    left.bar(name, counts.share, color="tab:blue")
    distance = np.sort(sampler.provenance_.to_pandas()["distance"])
    right.plot(distance, np.arange(1, len(distance) + 1) / counts.factuals, label=name)
left.set(ylabel="share of the factuals that inverted", ylim=(0, 1.05))
right.set(xlabel="distance to the factual", ylabel="share of the factuals within it", xscale="log")
right.legend()
plt.show()
