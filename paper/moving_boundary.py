"""How the rounds of CounterfactualClassifier move the boundary of f, on the synthetic table.

python -m paper.moving_boundary FOLDER    # prints the rounds, draws figures/moving_boundary.png
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from paper.counterfactual import CounterfactualClassifier
from paper.datasets.synthetic import load_synthetic
from paper.tables import new_figure, save_figure

STEPS = 160


def main(folder: Path) -> None:
    """Fit the classifier, print its history, and draw a panel for each round."""
    table = load_synthetic(shape="round")
    X, y = table.X.to_numpy(), table.y.to_numpy()
    model = CounterfactualClassifier(random_state=0).fit(X, y)
    sys.stdout.write(pd.DataFrame(model.history_).round(3).to_string(index=False) + "\n")
    share, p = (y == "minority").mean(), model.predict_proba(X)[:, 1].mean()
    sys.stdout.write(f"share of the minority {share:.3f}, mean probability {p:.3f}\n")
    sides = [np.linspace(X[:, k].min() - 0.3, X[:, k].max() + 0.3, STEPS) for k in range(2)]
    grid = np.column_stack([side.ravel() for side in np.meshgrid(*sides)])
    figure, panels = new_figure(len(model.history_), 1, width=3.3, height=3.5)
    for number, ax in enumerate(panels):
        votes = [track.members[number].f.predict_proba(grid)[:, 1] for track in model.tracks_]
        level = np.mean(votes, axis=0).reshape(STEPS, STEPS)
        ax.contourf(*sides, level, levels=[0.5, 1.01], colors=["#D55E00"], alpha=0.18)
        ax.contour(*sides, level, levels=[0.5], colors="black", linewidths=1)
        for label, colour in (("majority", "#0072B2"), ("minority", "#D55E00")):
            ax.scatter(*X[y == label].T, s=7, color=colour, linewidths=0)
        ax.set_title(f"round {number}", fontsize=9)
    save_figure(figure, folder, "moving_boundary")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
