"""
Tumours: a table of numbers
===========================

699 tumours, nine cell features from 1 to 10, 241 of them malignant, 16 missing cells: the
Wisconsin breast cancer table, which comes with the package. We ask whether it should be resampled
at all, look at new rows one by one, and end with a classifier whose probabilities can be used.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import brier_score_loss, f1_score
from sklearn.model_selection import train_test_split

from counterbalance import CounterfactualOverSampler, InteriorOverSampler, ResampledClassifier
from counterbalance.compare import Settings, compare
from counterbalance.datasets import load_wisconsin
from counterbalance.displays import ComparisonDisplay, CounterfactualDisplay
from counterbalance.explain import explain

data = load_wisconsin()
X, y = data.X, data.y
print(y.value_counts())
X.describe().loc[["count", "mean", "min", "max"]].round(1)

# %%
# Hold out test rows before anything else. A new row is a near copy of a real one: resampling before
# the split would test a model on copies of its training rows.
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# Should it be resampled at all?
# ------------------------------
#
# ``compare`` cross-validates strategies on the training rows, with everything learned inside the
# folds. These settings are small, so that the page is built in seconds; the defaults are not.
settings = Settings(
    strategies=("none", "SMOTE", "Counterfactual", "Interior"),
    classifiers=("logistic regression",),
    folds=3,
    repeats=1,
    inner_folds=2,
    draws=0,
)
found = compare(X_train, y_train, settings=settings)
print(found.verdict.headline)
for sentence in found.verdict.sentences:
    print("-", sentence)

# %%
# A dot for each strategy with its interval, a dashed line for the classifier without resampling.
# (In a notebook, ``found`` on a line of its own shows the verdict and all its tables.)
ComparisonDisplay.from_comparison(found)
plt.show()

# %%
# This table is easy to classify, and resampling is not needed. Counterfactuals are for reading.
#
# New rows that can be read
# -------------------------
#
# For every benign tumour that the classifier (f in the paper) gets right, the sampler looks for the
# smallest change for which it predicts malignant. Changed cells are marked:
sampler = CounterfactualOverSampler(random_state=0)
X_balanced, y_balanced = sampler.fit_resample(X_train, y_train)
sampler.provenance_

# %%
# The same in words, and which features change most:
print(*sampler.provenance_.sentences(X_balanced)[:3], sep="\n")
CounterfactualDisplay.from_sampler(sampler, X_balanced, y_balanced, kind="changes")
plt.show()

# %%
# Ask about one tumour
# --------------------
#
# Several answers that differ, each with the values that f would accept, and with the share of ten
# refits of f that agree.
found = explain(sampler, X_train, y_train, row=1, to="malignant")
print("row 1 is", found.own_class)
for answer in found.answers:
    print(f"distance {answer.distance:.2f}, {answer.robust:.0%} of the refits agree")
    for name, (before, after) in answer.changes.items():
        print(f"   {name}: {before} -> {after}, accepted {answer.accepted[name].tell(after)}")

# %%
# A classifier to deploy
# ----------------------
#
# ``ResampledClassifier`` resamples inside, corrects the probabilities for the shares that the
# classes really have, and tunes the threshold on rows that it has not learned from. With
# ``"passthrough"`` it tunes the threshold alone.
forest = RandomForestClassifier(random_state=0)
models = {
    "as it is": forest,
    "threshold alone": ResampledClassifier(forest, "passthrough", threshold="f1", random_state=0),
    "resampled": ResampledClassifier(
        forest, InteriorOverSampler(), threshold="f1", calibration="sigmoid", random_state=0
    ),
}
malignant = y_test == "malignant"
for name, model in models.items():
    model.fit(X_train, y_train)
    f1 = f1_score(malignant, model.predict(X_test) == "malignant")
    brier = brier_score_loss(malignant, model.predict_proba(X_test)[:, 1])
    print(f"{name:16} F-measure {f1:.3f}, Brier score {brier:.3f}")

# %%
# The held-out rows agree with the verdict: leave this table as it is.
model
