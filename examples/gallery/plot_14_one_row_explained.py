"""
One row, explained
==================

What would have to change for this tumour to be called malignant? ``explain`` gives several
answers that differ, nearest first.
"""

import matplotlib.pyplot as plt
import numpy as np

from counterbalance import CounterfactualOverSampler
from counterbalance.datasets import load_wisconsin
from counterbalance.explain import explain

data = load_wisconsin()
sampler = CounterfactualOverSampler(random_state=0)
found = explain(sampler, data.X, data.y, row=0, to="malignant")
for answer in found.answers:
    print(answer.changes, f"distance {answer.distance:.2f}, score {answer.score:.2f}")

# %%
# The cells of the row, and what each answer makes of them:
names = list(found.cells)
height = 0.8 / (len(found.answers) + 1)
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
place = np.arange(len(names))
ax.barh(place, list(found.cells.values()), height, color="0.6", label="the row")
for number, answer in enumerate(found.answers, start=1):
    cells = [answer.changes.get(name, (0, np.nan))[1] for name in names]
    ax.barh(place + number * height, cells, height, label=f"answer {number}")
ax.set_yticks(place + 0.4, names)
ax.invert_yaxis()
ax.legend()
plt.show()
