"""The main job on bundled data: balance a table, read what was made, keep everything.

Writes to demo/: balanced.csv, provenance.csv and counterfactuals.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterbalance import CounterfactualOverSampler
from counterbalance.datasets import load_wisconsin

FOLDER = Path("demo")
TOLD = 5


def main() -> None:
    """Balance Wisconsin breast cancer as it is: whole numbers, 16 missing cells."""
    data = load_wisconsin()
    X, y = data.X, data.y
    missing = X.isna().sum().sum()
    print(f"{data.name}: {X.shape[0]} rows, {X.shape[1]} columns, {missing} missing cells\n")

    # BareNuclei has missing cells, so pandas keeps it as floats; its grid is recognised.
    sampler = CounterfactualOverSampler(random_state=0)
    X_balanced, y_balanced = sampler.fit_resample(X, y)

    counts = pd.DataFrame({"before": y.value_counts(), "after": y_balanced.value_counts()})
    print(counts.to_string(), "\n")
    for (larger, smaller), got in sampler.yield_.items():
        print(
            f"{got.inversions} of {got.factuals} {larger} rows can be turned into {smaller}; "
            f"{got.used} were chosen\n"
        )
    print("\n".join(sampler.provenance_.sentences(X_balanced)[:TOLD]))

    FOLDER.mkdir(exist_ok=True)
    X_balanced.assign(Class=y_balanced).to_csv(FOLDER / "balanced.csv", index=False)
    sampler.provenance_.to_csv(FOLDER / "provenance.csv")
    draw(X, y.to_numpy(), X_balanced, sampler)
    print(f"\nwrote balanced.csv, provenance.csv and counterfactuals.png to {FOLDER}/")


def draw(
    X: pd.DataFrame, y: np.ndarray, X_balanced: pd.DataFrame, sampler: CounterfactualOverSampler
) -> None:
    """Show where the new rows lie, and which features made the difference."""
    plane = make_pipeline(SimpleImputer(), StandardScaler(), PCA(2)).fit(X)
    real, all_rows = plane.transform(X), plane.transform(X_balanced)
    new = all_rows[len(X) :]
    provenance = sampler.provenance_
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(12, 5.2), width_ratios=[3, 2], layout="constrained"
    )
    start, end = real[provenance["factual"]], new
    for a, b in zip(start, end, strict=True):
        left.plot(*zip(a, b, strict=True), color="0.75", linewidth=0.6, zorder=1)
    for label, colour in (("benign", "tab:green"), ("malignant", "tab:red")):
        points = real[y == label]
        left.scatter(*points.T, s=14, color=colour, alpha=0.6, linewidths=0, label=f"{label}, real")
    left.scatter(*new.T, s=22, marker="^", color="tab:blue", label="malignant, new", zorder=3)
    left.set(
        title="Every new row and the real row it came from",
        xlabel="first principal component",
        ylabel="second principal component",
    )
    left.legend(frameon=False)
    share = pd.Series(provenance.changed_mask().mean(axis=0), index=X.columns).sort_values()
    right.barh(share.index, share, color="tab:blue")
    right.set(title="How often each feature changed", xlabel="share of the new rows", xlim=(0, 1))
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FOLDER / "counterfactuals.png", dpi=130)


if __name__ == "__main__":
    main()
