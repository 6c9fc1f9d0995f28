"""
In a pipeline, with a grid search
=================================

The sampler is used as SMOTE is. Inside a pipeline it sees training folds only, and its parameters
are tuned like any other. Here full balance is not the best: the F-measure of a logistic regression
is higher with two minority rows for every five of the majority.
"""

import matplotlib.pyplot as plt
from imblearn.pipeline import Pipeline
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from counterbalance import CounterfactualOverSampler

X, y = make_classification(
    1000, n_features=6, n_informative=4, weights=[0.9], class_sep=0.7, random_state=5
)
model = Pipeline(
    [
        ("sampler", CounterfactualOverSampler(random_state=0)),
        ("scaler", StandardScaler()),
        ("classifier", LogisticRegression()),
    ]
)
search = GridSearchCV(
    model,
    {"sampler__n_draws": [3, 10], "sampler__sampling_strategy": [0.2, 0.4, 0.6, 0.8, 1.0]},
    scoring="f1",
    cv=4,
).fit(X, y)
print("best:", search.best_params_)

# %%
# The bars are one standard deviation over the folds.
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
results = search.cv_results_
for shift, draws in ((-0.005, 3), (0.005, 10)):
    here = [i for i, p in enumerate(results["params"]) if p["sampler__n_draws"] == draws]
    ax.errorbar(
        [results["params"][i]["sampler__sampling_strategy"] + shift for i in here],
        results["mean_test_score"][here],
        yerr=results["std_test_score"][here],
        label=f"{draws} draws",
        capsize=3,
        marker="o",
    )
ax.set(xlabel="minority rows for each majority row", ylabel="F-measure")
ax.legend()
plt.show()
