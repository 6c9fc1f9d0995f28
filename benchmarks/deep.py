"""The deep methods GAMO and DOS, measured on Fashion-MNIST.

    PYTHONPATH=. python benchmarks/deep.py [--picture FILE]

T-shirts against shirts, 2,990 : 200 (Debian's dataset-fashion-mnist), two stratified
halves, each trained on once and tested on once. Resamplers see pixels from 0 to 255; the six
classifiers of the paper see them scaled. GAMO's own classifier and DOS are used without these
classifiers.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from imblearn.over_sampling import SMOTE
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.methods import GAMO, DOSClassifier, GAMOClassifier
from paper.classifiers import CLASSIFIERS, f_measure, g_mean, make_classifier
from paper.datasets.fashion import load_fashion

SIDE = 28
SHOWN = 8


def samplers(seed: int) -> dict[str, Any]:
    """Return the resamplers of the comparison."""
    return {
        "none": None,
        "SMOTE": SMOTE(random_state=seed),
        "GAMO": GAMO(random_state=seed),
        "Counterfactual": CounterfactualOverSampler(
            estimator="ridge", on_shortfall="fill", random_state=seed
        ),
        "Interior": InteriorOverSampler(random_state=seed),
    }


def figures(y: Any, predicted: Any, score: Any) -> list[float]:
    """G-mean, F-measure of the minority, and area under the ROC curve."""
    counts = confusion_matrix(y, predicted)
    return [g_mean(counts), f_measure(counts), float(roc_auc_score(y, score))]


def scores_of(fitted: Any, X: Any) -> Any:
    """Return what ranks the rows towards class 1."""
    if hasattr(fitted, "decision_function"):
        return fitted.decision_function(X)
    return fitted.predict_proba(X)[:, 1]


def images(picture: Path) -> None:
    """Compare on Fashion-MNIST and draw the images that GAMO generated."""
    data = load_fashion("T-shirt/top", "Shirt")
    X = data.X.to_numpy().astype(float)
    y = (np.asarray(data.y) == "Shirt").astype(int)
    found: dict[tuple[str, str], list[list[float]]] = {}
    seconds: dict[str, list[float]] = {}
    halves = StratifiedKFold(2, shuffle=True, random_state=0)
    for fold, (train, test) in enumerate(halves.split(X, y)):
        for name, sampler in samplers(fold).items():
            start = time.perf_counter()
            rows, labels = X[train], y[train]
            if sampler is not None:
                rows, labels = sampler.fit_resample(rows, labels)
            seconds.setdefault(name, []).append(time.perf_counter() - start)
            scaler = StandardScaler().fit(rows)
            for classifier in CLASSIFIERS:
                f = make_classifier(classifier, fold).fit(scaler.transform(rows), labels)
                seen = scaler.transform(X[test])
                line = figures(y[test], f.predict(seen), scores_of(f, seen))
                found.setdefault((name, classifier), []).append(line)
            if name == "GAMO":
                own = GAMOClassifier(sampler).fit(X[train], y[train])
                line = figures(y[test], own.predict(X[test]), own.predict_proba(X[test])[:, 1])
                found.setdefault(("GAMO's classifier", "-"), []).append(line)
                if fold == 0:
                    describe(sampler, X[train], y[train], rows[len(train) :])
                    draw(sampler, X[train], y[train], rows[len(train) :], picture)
        start = time.perf_counter()
        dos = DOSClassifier(random_state=fold).fit(X[train], y[train])
        seconds.setdefault("DOS", []).append(time.perf_counter() - start)
        line = figures(y[test], dos.predict(X[test]), dos.predict_proba(X[test])[:, 1])
        found.setdefault(("DOS", "-"), []).append(line)
        print(f"(fold {fold}: DOS took {dos.n_iter_} steps, spread {np.round(dos.spread_, 3)})")
        for classifier in ("KNN", "LR"):
            f = make_classifier(classifier, fold).fit(dos.targets_, dos.target_labels_)
            seen = dos.transform(X[test])
            line = figures(y[test], f.predict(seen), scores_of(f, seen))
            found.setdefault(("DOS targets", classifier), []).append(line)
    show(found, seconds)


def show(found: dict[tuple[str, str], list[list[float]]], seconds: dict[str, list[float]]) -> None:
    """Print a line for each method and classifier, and the mean of the six."""
    print("\n| method | classifier | G-mean | F-measure | ROC AUC |\n|---|---|---|---|---|")
    for (name, classifier), lines in found.items():
        cells = " | ".join(f"{value:.3f}" for value in np.mean(lines, axis=0))
        print(f"| {name} | {classifier} | {cells} |")
    print("\n| method | G-mean | F-measure | ROC AUC | seconds |\n|---|---|---|---|---|")
    for name in dict.fromkeys(name for name, _ in found):
        own = [np.mean(lines, axis=0) for (method, _), lines in found.items() if method == name]
        cells = " | ".join(f"{value:.3f}" for value in np.mean(own, axis=0))
        took = f"{np.mean(seconds[name]):.1f}" if name in seconds else ""
        print(f"| {name} | {cells} | {took} |", flush=True)


def describe(sampler: Any, X: Any, y: Any, new: Any) -> None:
    """Print how many sources a new row has and how far it is from the real ones."""
    weights = sampler.weights_.toarray()[:, y == 1]
    effective = 1 / (weights**2).sum(axis=1)
    real = X[y == 1]
    apart, among = cdist(new, real).min(axis=1), cdist(real, real)
    np.fill_diagonal(among, np.inf)
    print(
        f"(GAMO: {sampler.n_iter_} steps; losses of classifier, discriminator and generator at the "
        f"start {np.round(sampler.losses_[0], 2)} and end {np.round(sampler.losses_[-1], 2)}; "
        f"effective sources of a row, median {np.median(effective):.1f}; heaviest weight, median "
        f"{np.median(weights.max(axis=1)):.2f}; rows with any weight: "
        f"{int((weights.max(axis=0) > 0).sum())} of {len(real)}; distance to the nearest real one, "
        f"median {np.median(apart):.0f}, among real ones {np.median(among.min(axis=1)):.0f})"
    )


def draw(sampler: Any, X: Any, y: Any, new: Any, picture: Path) -> None:
    """Draw generated images above their nearest real ones and their heaviest source."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # an extra, for this part only

    chosen = np.random.default_rng(0).choice(len(new), SHOWN, replace=False)
    real = np.flatnonzero(y == 1)
    figure = Figure(figsize=(SHOWN * 1.1 + 0.9, 4.1), layout="constrained")
    axes = figure.subplots(3, SHOWN)
    for column, at in enumerate(chosen):
        nearest = real[np.linalg.norm(X[real] - new[at], axis=1).argmin()]
        weights = sampler.weights_[[at]].toarray()[0]
        heaviest = int(weights.argmax())
        for line, (image, title) in enumerate(
            (
                (new[at], ""),
                (X[nearest], f"distance {np.linalg.norm(X[nearest] - new[at]):.0f}"),
                (X[heaviest], f"weight {weights[heaviest]:.2f}"),
            )
        ):
            axis = axes[line, column]
            axis.imshow(image.reshape(SIDE, SIDE), cmap="gray_r", vmin=0, vmax=255)
            axis.set(xticks=[], yticks=[])
            axis.set_title(title, fontsize=8)
    for line, text in enumerate(("generated", "nearest real", "heaviest source")):
        axes[line, 0].set_ylabel(text, fontsize=9)
    figure.savefig(picture, dpi=120)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path, default=Path("docs/gamo-images.png"))
    warnings.simplefilter("ignore", ConvergenceWarning)
    start = time.perf_counter()
    images(parser.parse_args().picture)
    print(f"({time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
