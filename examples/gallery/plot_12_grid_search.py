"""
In a pipeline, with a grid search
=================================

The sampler stands where SMOTE would. Inside a pipeline it sees training folds only, and its
parameters are tuned like any other.
"""

import matplotlib.pyplot as plt
from imblearn.pipeline import Pipeline
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from counterbalance import CounterfactualOverSampler
from counterbalance.datasets import load_synthetic

data = load_synthetic(shape="long")
model = Pipeline(
    [
        ("sampler", CounterfactualOverSampler(random_state=0)),
        ("scaler", StandardScaler()),
        ("classifier", LogisticRegression()),
    ]
)
search = GridSearchCV(
    model,
    {"sampler__n_draws": [3, 10], "sampler__sampling_strategy": [0.25, 0.5, 1.0]},
    scoring="average_precision",
    cv=4,
).fit(data.X, data.y == "minority")
print("best:", search.best_params_)

# %%
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
results = search.cv_results_
for draws in (3, 10):
    here = [i for i, p in enumerate(results["params"]) if p["sampler__n_draws"] == draws]
    ax.errorbar(
        [results["params"][i]["sampler__sampling_strategy"] for i in here],
        results["mean_test_score"][here],
        yerr=results["std_test_score"][here],
        label=f"{draws} draws",
        capsize=3,
        marker="o",
    )
ax.set(xlabel="minority rows for each majority row", ylabel="average precision")
ax.legend()
plt.show()
