"""How the rounds of CounterfactualClassifier move the boundary of f, on the synthetic table.

Give a file name to get the picture in docs/deploy.md (needs matplotlib):

    python examples/moving_boundary.py moving_boundary.png
"""

from __future__ import annotations

import sys

import numpy as np

from counterbalance import CounterfactualClassifier
from counterbalance.datasets import load_synthetic

table = load_synthetic(shape="round")
X, y = table.X.to_numpy(), table.y.to_numpy()
model = CounterfactualClassifier(random_state=0).fit(X, y)

print("round  counterfactuals  dropped  distance  calls that changed")
for r in model.history_:
    moved = "" if r.number == 0 else f"  {r.distance:8.2f}  {r.changed:18.1%}"
    print(f"{r.number:5}  {r.found:15,}  {r.dropped:7,}{moved}")
share, p = float((y == "minority").mean()), model.predict_proba(X)[:, 1]
print(f"share of the minority {share:.3f}, mean probability {p.mean():.3f}")


def minority_vote(number: int, rows: np.ndarray) -> np.ndarray:
    """Return the mean score of the minority by the f of one round, as they were fitted."""
    scores = [f.predict_proba(rows)[:, 1] for f in model.estimators_[number]]
    return np.mean(scores, axis=0)


if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    sides = [np.linspace(X[:, k].min() - 0.3, X[:, k].max() + 0.3, 160) for k in range(2)]
    grid = np.column_stack([side.ravel() for side in np.meshgrid(*sides)])
    n = len(model.history_)
    figure, panels = plt.subplots(
        1, n, figsize=(3.3 * n, 3.5), sharex=True, sharey=True, layout="constrained"
    )
    lines = [minority_vote(number, grid).reshape(160, 160) for number in range(n)]
    for number, ax in enumerate(panels):
        ax.contourf(*sides, lines[number], levels=[0.5, 1.01], colors=["#D55E00"], alpha=0.18)
        if number:
            ax.contour(*sides, lines[number - 1], levels=[0.5], colors="0.55", linestyles=":")
        ax.contour(*sides, lines[number], levels=[0.5], colors="black", linewidths=1)
        for label, colour in (("majority", "#0072B2"), ("minority", "#D55E00")):
            ax.scatter(*X[y == label].T, s=7, color=colour, linewidths=0, label=label)
        r = model.history_[number]
        told = "the table alone" if number == 0 else f"{r.changed:.1%} of the calls changed"
        ax.set_title(f"round {number}: {told}", fontsize=9)
        ax.set_xlabel(table.X.columns[0])
    panels[0].set_ylabel(table.X.columns[1])
    panels[0].legend(frameon=False, fontsize=8, loc="lower left")
    figure.savefig(sys.argv[1], dpi=110)
