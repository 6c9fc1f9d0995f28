"""The six classifiers of the paper, what stands before them, their measures, and both as text.

The paper names the classifiers and gives no settings. They get scaled features and otherwise
scikit-learn's defaults, with these exceptions: gradient boosting is the histogram kind, the only
one that is quick on 784 pixels, and logistic regression may iterate longer, so that it converges.
The small ones are for a study of some ten thousand fits. None of them weighs the classes: the
resampling is what is compared.

    counts    (C, C) whole numbers: rows of true class i that were put into class j
    recall    diagonal / row sum
    precision diagonal / column sum

A setting that is typed into a text goes stale when the code changes, so pages print the objects
that run (`as_call`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from platform import python_version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from counterbalance.arrays import Floats
from counterbalance.errors import IdentifierWarning, ShortfallWarning
from counterbalance.methods import PeerFallbackWarning

CLASSIFIERS = ("SVM", "KNN", "NN", "GBDT", "RF", "LR")
SMALL_NET = {"hidden_layer_sizes": (50,), "learning_rate_init": 0.005, "max_iter": 100}
SMALL_FOREST = {"n_estimators": 50}
SVM_CACHE = 1000  # MB of kernel rows kept: less time, the same result
BINARY = 2


@contextmanager
def expected_warnings() -> Iterator[None]:
    """Silence what a page says in words: fall-backs, and iterations that end early."""
    expected = (IdentifierWarning, ShortfallWarning, PeerFallbackWarning, ConvergenceWarning)
    with warnings.catch_warnings():
        for kind in expected:
            warnings.simplefilter("ignore", kind)
        yield


def prepare() -> Any:
    """Return the imputer, encoder and scaler that every classifier gets its rows from, unfitted.

    It is fitted to a training fold, like everything else that learns from rows.
    """
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    nominal = make_column_selector(dtype_include=["category", "object"])
    plain = make_column_selector(dtype_exclude=["category", "object"])
    return make_column_transformer((numbers, plain), (categories, nominal))


def make_classifier(name: str, seed: int, *, small: bool = False) -> Any:
    """Return a classifier of the paper, unfitted; `small` nets and forests fit faster.

    >>> make_classifier("KNN", seed=0)
    KNeighborsClassifier()
    """
    net, forest = (SMALL_NET, SMALL_FOREST) if small else ({}, {})
    makers = {
        "SVM": lambda: SVC(cache_size=SVM_CACHE),
        "KNN": KNeighborsClassifier,
        "NN": lambda: MLPClassifier(**net, random_state=seed),
        "GBDT": lambda: HistGradientBoostingClassifier(early_stopping=False, random_state=seed),
        "RF": lambda: RandomForestClassifier(**forest, random_state=seed),
        "LR": lambda: LogisticRegression(max_iter=1000, random_state=seed),
    }
    return makers[name]()


# --- measures -------------------------------------------------------------------------


def recalls(counts: ArrayLike) -> Floats:
    """Return the recall of each class that has rows.

    >>> recalls([[8, 2], [1, 3]]).tolist()
    [0.8, 0.75]
    """
    counts = np.asarray(counts, dtype=float)
    rows = counts.sum(axis=1)
    return np.asarray(np.diag(counts)[rows > 0] / rows[rows > 0])


def g_mean(counts: ArrayLike) -> float:
    """Return the geometric mean of the recalls; with two classes the root of TPR x TNR.

    >>> round(g_mean([[8, 2], [1, 3]]), 4)
    0.7746
    """
    recall = recalls(counts)
    return float(np.prod(recall) ** (1 / len(recall)))


def f_measure(counts: ArrayLike, *, macro: bool = False) -> float:
    """Return the F-measure of the minority, the second of two classes; of more the mean over all.

    With ``macro`` it is the mean over all classes of two as well.

    >>> round(f_measure([[8, 2], [1, 3]]), 4), round(f_measure([[8, 2], [1, 3]], macro=True), 4)
    (0.6667, 0.7544)
    """
    counts = np.asarray(counts, dtype=float)
    # a class that nothing was put into and that has no row counts as zero
    sizes = np.maximum(counts.sum(axis=0) + counts.sum(axis=1), 1)
    each = 2 * np.diag(counts) / sizes
    return float(each.mean() if macro or len(counts) > BINARY else each[1])


# --- as text --------------------------------------------------------------------------


def descriptions(*, small: bool = False) -> str:
    """Return a list of the classifiers, each as the call that makes it."""
    made = {name: make_classifier(name, 0, small=small) for name in CLASSIFIERS}
    return "\n".join(f"- **{name}**: `{as_call(f)}`" for name, f in made.items())


def as_call(estimator: Any) -> str:
    """Write an estimator as the call that makes it: all that is not at its default, seeds aside.

    >>> as_call(LogisticRegression(max_iter=1000, random_state=3))
    'LogisticRegression(max_iter=1000)'
    """
    if isinstance(estimator, Pipeline):
        return " -> ".join(as_call(step) for _, step in estimator.steps)
    seeds = [name for name in estimator.get_params() if name.endswith("random_state")]
    bare = clone(estimator).set_params(**dict.fromkeys(seeds))
    return " ".join(bare.__repr__(N_CHAR_MAX=10_000).split())


def f_of(sampler: Any) -> Any:
    """Return the classifier that a sampler fits as f to a small table of numbers."""
    X, y = np.arange(24.0).reshape(12, 2), np.repeat(["majority", "minority"], [8, 4])
    small = clone(sampler).set_params(sampling_strategy="auto", random_state=0)
    with expected_warnings():
        small.fit_resample(X, y)
    return small.estimator_


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python, of the library and of packages."""
    known = ("counterbalance", "numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas")
    return {"python": python_version(), **{name: version(name) for name in (*known, *packages)}}
