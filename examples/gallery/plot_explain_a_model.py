"""
Explain a model, beside DiCE
============================

What would have to change for a tumour to be called malignant? ``explain`` takes the fitted model
and gives the nearest answer of every row, with a proof of how near any answer can be. DiCE [1]_
answers the same question for the same model and rows.

DiCE is not needed to run this page: its answers were written down by ``benchmarks/beside_dice.py``.
"""

import json
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from counterbalance import datasets
from counterbalance.explain import explain

data = datasets.load_wisconsin()
X, y = data.X.fillna(1).astype(int), data.y
model = RandomForestClassifier(100, random_state=0).fit(X, y)
rows = np.flatnonzero((y == "benign") & (model.predict(X) == "benign"))[:40]

start = time.process_time()
found = explain(model, X, rows=rows, to="malignant")
seconds = time.process_time() - start
print(found.sentences()[0])

# %%
# The distance of DiCE's answers is measured with the same scales, and each is put to the model.
folder = Path.cwd()  # of this page
with (folder / "dice_answers.json").open(encoding="utf-8") as file:
    dice = json.load(file)
scale = found.question.prepared.profile.scale
answers = np.array(dice["answers"])
change = np.abs(answers - X.iloc[rows].to_numpy())
theirs = (change / scale).sum(axis=1)
valid = model.predict(X.iloc[:0].reindex(range(len(rows))).assign(**dict(zip(X, answers.T)))) == (
    "malignant"
)
table = found.table
ours_changed = [len(one.answers[0].changes) for one in found]
print("                         ours   DiCE")
print(f"valid                   {1:5.0%}  {valid.mean():5.0%}")
print(f"distance, median        {table['distance'].median():5.2f}  {np.median(theirs[valid]):5.2f}")
print(
    f"features that change    {np.mean(ours_changed):5.1f}  {(change > 0).sum(axis=1).mean():5.1f}"
)
print(f"ms a row                {1e3 * seconds / len(rows):5.0f}  {1e3 * dice['seconds']:5.0f}")
print(f"proved within 5 %       {(found.gap <= 0.05).mean():5.0%}")

# %%
# Row by row: our answer, the proved bound below which there is none, and DiCE's answer.
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
order = np.argsort(table["distance"])
place = np.arange(len(rows))
ax.scatter(place, theirs[order], color="C1", label="DiCE")
ax.scatter(place, table["distance"].to_numpy()[order], color="C0", label="ours")
ax.plot(place, table["bound"].to_numpy()[order], color="0.4", label="no answer is nearer")
ax.set(xlabel="row", ylabel="distance", yscale="log")
ax.legend()
plt.show()

# %%
# .. [1] R. K. Mothilal, A. Sharma, C. Tan, Explaining machine learning classifiers through diverse
#    counterfactual explanations, FAT* 2020.
