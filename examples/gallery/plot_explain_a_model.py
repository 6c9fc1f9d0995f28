"""
Explain a model, beside DiCE
============================

What would have to change for a tumour to be called malignant? ``explain`` takes the fitted model
and gives the nearest answer of every row, with a proof of how near any answer can be. DiCE [1]_
answers the same question for the same model and rows.

DiCE is not needed to run this page: ``benchmarks/beside_dice.py`` wrote down its answers.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from counterbalance.datasets import load_wisconsin
from counterbalance.explain import explain

data = load_wisconsin()
X, y = data.X.fillna(1).astype(int), data.y
model = RandomForestClassifier(100, random_state=0).fit(X, y)
rows = np.flatnonzero((y == "benign") & (model.predict(X) == "benign"))[:20]

start = time.process_time()
found = explain(model, X, rows=rows, to="malignant")
seconds = time.process_time() - start
print(found.sentences()[0])

# %%
# The answers of DiCE 0.12 (its genetic method, one answer a row), and the seconds that a row took.
# fmt: off
DICE = np.array(
    [
    [4, 1, 1, 3, 1, 5, 2, 1, 1],
    [5, 3, 3, 3, 6, 10, 3, 1, 1],
    [4, 1, 1, 3, 1, 5, 2, 1, 1],
    [1, 8, 8, 1, 2, 5, 4, 10, 1],
    [4, 1, 1, 3, 1, 5, 2, 1, 1],
    [4, 1, 1, 3, 1, 8, 1, 1, 1],
    [6, 3, 2, 1, 3, 4, 4, 1, 1],
    [10, 2, 2, 1, 2, 6, 1, 1, 2],
    [4, 1, 1, 3, 1, 5, 2, 1, 1],
    [4, 1, 1, 3, 1, 5, 2, 1, 1],
    [4, 1, 1, 3, 1, 5, 2, 1, 1],
    [4, 1, 1, 3, 1, 5, 2, 1, 1],
    [4, 1, 1, 3, 1, 5, 2, 1, 1],
    [4, 1, 1, 3, 1, 5, 2, 1, 1],
    [6, 3, 2, 1, 3, 4, 4, 1, 1],
    [4, 1, 1, 3, 1, 5, 2, 1, 1],
    [4, 1, 1, 3, 1, 5, 3, 1, 1],
    [4, 1, 1, 3, 1, 5, 2, 1, 1],
    [4, 1, 1, 3, 1, 5, 2, 1, 1],
    [4, 1, 1, 3, 1, 5, 2, 1, 1],
    ]
)
# fmt: on
DICE_SECONDS = 0.2526

# %%
# Both are put to the model, and the distance is measured with the same scales.
scale = found.question.prepared.profile.scale
answers = {"ours": found.counterfactuals, "DiCE": pd.DataFrame(DICE, columns=X.columns)}
lines, distance = {}, {}
for name, frame in answers.items():
    change = np.abs(frame.to_numpy() - X.iloc[rows].to_numpy())
    distance[name] = (change / scale).sum(axis=1)
    lines[name] = {
        "valid": f"{(model.predict(frame) == 'malignant').mean():.0%}",
        "distance, median": f"{np.median(distance[name]):.2f}",
        "features that change": f"{(change > 0).sum(axis=1).mean():.1f}",
        "ms a row": f"{1e3 * (seconds / len(rows) if name == 'ours' else DICE_SECONDS):.0f}",
        "proved within 5 %": f"{(found.gap <= 0.05).mean():.0%}" if name == "ours" else "",
    }
print(pd.DataFrame(lines))

# %%
# Row by row: the answers, and the proved bound below which there is none.
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
order, place = np.argsort(distance["ours"]), np.arange(len(rows))
for name, colour in (("DiCE", "C1"), ("ours", "C0")):
    ax.scatter(place, distance[name][order], color=colour, label=name)
ax.plot(place, found.found.bound[order], color="0.4", label="no answer is nearer")
ax.set(xlabel="row", ylabel="distance", yscale="log")
ax.legend()
plt.show()

# %%
# .. [1] R. K. Mothilal, A. Sharma, C. Tan, Explaining machine learning classifiers through diverse
#    counterfactual explanations, FAT* 2020.
