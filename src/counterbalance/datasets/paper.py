"""The paper's data sets: Wisconsin (WBC, bundled: see wisconsin.md), Fashion-MNIST, questionnaire.

Two classes of Fashion-MNIST are made imbalanced as in the paper (FMN), 2,990 : 200. The paper
does not say which two classes it took. `PAIRS` has two hard pairs, garments that look alike:
T-shirts against shirts, the pair that classifiers confuse most, and pullovers against coats. The
first class of a pair is the majority.

The simulated questionnaire has the published shape of the hospital's data (ILC). The in-house
lung cancer data of the paper are private. This table is made by a random generator: no row is a
patient, and no figure computed from it is a figure of the paper. It has what was published:
12,330 rows, 120 features in seven groups, mixed types, and classes of 4.366 : 1.

Every group has a latent trait, a standard normal; a part of it is common to all groups, a
person's way of life. A feature of the group is its loading times the trait plus noise, cut into
the feature's kind. The risk is a weighted sum of the traits with one product and a threshold in
age, plus noise; the 2,298 rows of highest risk are the minority.

How strong the signal is (`COMMON`, `PRODUCT`, `NOISE`) was set once, by the figures of the paper's
peers alone: k-means SMOTE and the sampling step of CUSBoost score about .86 in G-mean on the mean
of four classifiers, as they do in the paper's Table III, where single figures go from .82 to .89.
Our own samplers had no part in it.
"""

from __future__ import annotations

import csv
import gzip
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from counterbalance.datasets.dataset import Dataset, not_found
from counterbalance.errors import TableError
from counterbalance.extras import require_pandas

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    from numpy.typing import NDArray

SOURCE = "UCI Machine Learning Repository 15, doi 10.24432/C5HP4Z, CC BY 4.0 (bundled)"
DESCRIPTION = (
    "A row is a fine needle aspirate of a breast mass, nine cytological grades from 1 to 10; "
    "16 cells of BareNuclei are missing. The class is the diagnosis: benign or malignant."
)


def read_wisconsin() -> tuple[NDArray[np.float64], NDArray[np.str_], list[str]]:
    """Read Wisconsin breast cancer as plain arrays; needs no pandas.

    Returns
    -------
    X : ndarray of shape (699, 9)
        Grades from 1 to 10; a missing cell is NaN.
    y : ndarray of shape (699,)
        ``"benign"`` (458 rows) or ``"malignant"`` (241 rows).
    names : list of str
        Names of the nine features.

    Examples
    --------
    >>> X, y, names = read_wisconsin()
    >>> X.shape, names[0]
    ((699, 9), 'ClumpThickness')
    """
    file = resources.files("counterbalance.datasets") / "wisconsin.csv"
    header, *rows = csv.reader(file.read_text(encoding="utf-8").splitlines())
    X = np.array([[float(cell or "nan") for cell in row[:-1]] for row in rows])
    y = np.array([row[-1] for row in rows])
    return X, y, header[:-1]


def load_wisconsin() -> Dataset:
    """Load Wisconsin breast cancer (WBC): 699 rows, 9 features, 458 benign : 241 malignant.

    BareNuclei is float because 16 of its cells are missing, the other features are integers.

    Examples
    --------
    >>> load_wisconsin().class_counts
    {'benign': 458, 'malignant': 241}
    """
    pandas = require_pandas()
    values, labels, names = read_wisconsin()
    X = pandas.DataFrame(values, columns=names)
    whole = [name for name in names if X[name].notna().all()]
    X = X.astype(dict.fromkeys(whole, "int64"))
    y = pandas.Series(labels.astype(object), name="Class", dtype=object)
    return Dataset("wisconsin", X, y, SOURCE, DESCRIPTION)


ROWS = 12_330
ROWS_AT_RISK = 2_298
# group: (features, weight of its trait in the risk)
GROUPS = {
    "basic": (12, 0.9),
    "diet": (24, 0.5),
    "environment": (16, 0.8),
    "routine": (22, 1.0),
    "psychology": (18, 0.3),
    "history": (18, 1.1),
    "female": (10, 0.2),
}
KINDS = ("frequency", "yes_no", "choice", "measure", "count")
CHOICES = ("never", "formerly", "sometimes", "daily")
# share of a trait's variance that all traits have in common; weights in the risk
COMMON, PRODUCT, THRESHOLD, NOISE = 0.6, 0.9, 0.8, 1.5
UNANSWERED = 0.03


def load_questionnaire(random_state: int = 0) -> Dataset:
    """Make the simulated stand-in for ILC: 12,330 rows, 120 features, 10,032 : 2,298.

    The names of the features are those of the groups (basic information, diet, living
    environment, routines and habits, psychology and emotions, past and family history,
    female physiology) with a number. Their kinds take turns: a frequency from 0 to 4
    (integer), yes or no (boolean), a choice (category), a measure (float) and a count
    (integer). Measures and choices are unanswered in 3 % of the cells, and the group
    ``female`` is missing for men, who are not asked.

    Parameters
    ----------
    random_state : int, default=0
        Seed of the simulation; shape and class counts hold for every seed.
    """
    pandas = require_pandas()
    rng = np.random.default_rng(random_state)
    common = np.sqrt(COMMON) * rng.standard_normal(ROWS)
    traits = {g: common + np.sqrt(1 - COMMON) * rng.standard_normal(ROWS) for g in GROUPS}
    columns: dict[str, Any] = {}
    for group, (features, _) in GROUPS.items():
        for number in range(1, features + 1):
            kind = KINDS[number % len(KINDS)]
            columns[f"{group}_{number:02d}"] = _answers(rng, traits[group], kind)
    columns["basic_01"] = np.clip(np.rint(55 + 12 * traits["basic"]), 18, 95).astype(np.int64)
    columns["basic_02"] = pandas.Categorical(rng.choice(["female", "male"], ROWS))
    X = pandas.DataFrame(columns)
    not_asked = [name for name in X if name.startswith("female_")]
    X[not_asked] = X[not_asked].astype(dict.fromkeys(_plain(X[not_asked]), float))
    X[not_asked] = X[not_asked].mask(X["basic_02"] == "male")
    y = pandas.Series("low", index=X.index, name="risk", dtype=object)
    y[np.argsort(-_risk(rng, traits))[:ROWS_AT_RISK]] = "high"
    return Dataset(
        "questionnaire (simulated)",
        X,
        y,
        f"simulated by counterbalance with random_state={random_state}; not the hospital's data",
        "A row is an imagined person who answered a questionnaire in seven groups; the "
        "class is an imagined risk, high or low.",
    )


def _answers(rng: np.random.Generator, trait: NDArray[np.float64], kind: str) -> Any:
    """Return one column: loading times trait plus noise, cut into the kind."""
    pandas = require_pandas()
    loading = rng.uniform(-0.8, 0.8)
    value = loading * trait + np.sqrt(1 - loading**2) * rng.standard_normal(len(trait))
    unanswered = rng.random(len(trait)) < UNANSWERED
    if kind == "frequency":
        return np.digitize(value, [-1.2, -0.3, 0.4, 1.2])
    if kind == "yes_no":
        return value > rng.uniform(-0.5, 1.5)
    if kind == "count":
        return np.floor(np.exp(0.6 * value + 0.5)).astype(np.int64)
    if kind == "measure":
        return np.where(unanswered, np.nan, np.round(50 + 10 * value, 1))
    codes = np.digitize(value, [0.0, 0.7, 1.3])
    return pandas.Categorical.from_codes(np.where(unanswered, -1, codes), categories=CHOICES)


def _risk(rng: np.random.Generator, traits: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    risk = sum(weight * traits[group] for group, (_, weight) in GROUPS.items())
    risk = risk + PRODUCT * traits["routine"] * traits["history"]
    risk = risk + THRESHOLD * (traits["basic"] > 1)
    return np.asarray(risk + NOISE * rng.standard_normal(ROWS))


def _plain(X: pd.DataFrame) -> list[str]:
    """Return the columns that cannot hold a missing cell: integers and booleans."""
    return [str(name) for name, dtype in X.dtypes.items() if dtype.kind in "ib"]


CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
PAIRS = (("T-shirt/top", "Shirt"), ("Pullover", "Coat"))
DEBIAN = Path("/usr/share/datasets/fashion-mnist")
IMAGES = "train-images-idx3-ubyte"
LABELS = "train-labels-idx1-ubyte"
ROWS_TRAINING = 60_000
ROWS_MAJORITY = 2_990
ROWS_MINORITY = 200
WAYS = (
    "on Debian and Ubuntu: apt-get install dataset-fashion-mnist",
    f"give the folder that holds {IMAGES}.gz and {LABELS}.gz: load_fashion(path=folder)",
    "download from OpenML (scikit-learn keeps the file): load_fashion(download=True)",
)


def load_fashion(
    classes: tuple[str, str] = PAIRS[0],
    *,
    path: str | PathLike[str] | None = None,
    download: bool = False,
    random_state: int = 0,
) -> Dataset:
    """Load two classes of Fashion-MNIST (FMN): 3,190 rows, 784 features, 2,990 : 200.

    Rows are chosen with a seed among the 60,000 training images, in their published order.

    Parameters
    ----------
    classes : pair of str, default=("T-shirt/top", "Shirt")
        Majority and minority. A second hard pair is ("Pullover", "Coat").
    path : path-like, optional
        Folder with the training files, gzipped or not. By default the folder of
        Debian's package `dataset-fashion-mnist`.
    download : bool, default=False
        Whether the images may be fetched from OpenML when they are not found.
    random_state : int, default=0
        Seed of the choice of rows.
    """
    codes = _codes(classes)
    pandas = require_pandas()
    images, labels = _read(DEBIAN if path is None else Path(path), download=download)
    rng = np.random.default_rng(random_state)
    sizes = (ROWS_MAJORITY, ROWS_MINORITY)
    chosen = rng.permutation(
        np.concatenate(
            [
                rng.choice(np.flatnonzero(labels == code), size, replace=False)
                for code, size in zip(codes, sizes, strict=True)
            ]
        )
    )
    names = [f"pixel_{place}" for place in range(images.shape[1])]
    y = np.array(CLASSES, dtype=object)[labels[chosen]]
    return Dataset(
        f"fashion {classes[0]} : {classes[1]}",
        pandas.DataFrame(images[chosen].astype(np.int64), columns=names),
        pandas.Series(y, name="garment", dtype=object),
        "Fashion-MNIST, Zalando Research, MIT licence",
        "A row is an image of a garment, 28 by 28 pixels from 0 to 255.",
    )


def _codes(classes: tuple[str, str]) -> list[int]:
    pair = tuple(classes)
    if len(pair) != len(set(pair)) or len(pair) != len(PAIRS[0]) or not set(pair) <= set(CLASSES):
        raise TableError(
            f"classes must be two different names of {list(CLASSES)}, got {classes!r}; "
            f"for example classes={PAIRS[0]!r}"
        )
    return [CLASSES.index(name) for name in pair]


def _read(folder: Path, *, download: bool) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the training images, one per row, and their labels."""
    files = [_file(folder, name) for name in (IMAGES, LABELS)]
    if None not in files:
        images, labels = (_idx(file) for file in files if file is not None)
        return images.reshape(len(images), -1), labels
    if download:
        return _openml()
    raise not_found("Fashion-MNIST", [str(folder)], WAYS)


def _file(folder: Path, name: str) -> Path | None:
    return next((f for f in (folder / f"{name}.gz", folder / name) if f.is_file()), None)


def _idx(file: Path) -> NDArray[np.uint8]:
    """Read an idx file: two zeros, the code of uint8, the rank, the shape, the cells."""
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    if raw[:3] != b"\x00\x00\x08":
        raise TableError(f"{file} must be an idx file of bytes; its first bytes are {raw[:4]!r}")
    rank = raw[3]
    shape = np.frombuffer(raw, ">u4", rank, offset=4).astype(int)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(shape)


def _openml() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    from sklearn.datasets import fetch_openml  # noqa: PLC0415 - only when a download is asked for

    images, labels = fetch_openml(
        "Fashion-MNIST", version=1, return_X_y=True, as_frame=False, parser="auto"
    )
    # OpenML has the 60,000 training images first and then the 10,000 test images
    training = slice(ROWS_TRAINING)
    return images[training].astype(np.uint8), labels[training].astype(np.uint8)
