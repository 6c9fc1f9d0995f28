"""Two classes of Fashion-MNIST, made imbalanced as in the paper (FMN): 2,990 : 200.

The training images are looked for in the folder that the environment variable FASHION_MNIST names,
by default that of Debian's package; FASHION_MNIST=openml fetches them from OpenML.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

from counterbalance.datasets import Dataset
from counterbalance.errors import DataNotFoundError, TableError

CLASSES = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)
VARIABLE = "FASHION_MNIST"
DEBIAN = "/usr/share/datasets/fashion-mnist"
IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
ROWS_TRAINING = 60_000
ROWS_MAJORITY, ROWS_MINORITY = 2_990, 200

Bytes = NDArray[np.uint8]


def load_fashion(majority: str, minority: str) -> Dataset:
    """Load two classes of the images: 3,190 rows, 784 features, 2,990 : 200.

    Rows are chosen with a fixed seed among the 60,000 training images, in their published order.
    """
    images, labels = _read(os.environ.get(VARIABLE, DEBIAN))
    rng = np.random.default_rng(0)
    sizes = {majority: ROWS_MAJORITY, minority: ROWS_MINORITY}
    chosen = [
        rng.choice(np.flatnonzero(labels == CLASSES.index(name)), size, replace=False)
        for name, size in sizes.items()
    ]
    rows = rng.permutation(np.concatenate(chosen))
    names = [f"pixel_{place}" for place in range(images.shape[1])]
    return Dataset(
        f"fashion {majority} : {minority}",
        pd.DataFrame(images[rows].astype(np.int64), columns=names),
        pd.Series(np.array(CLASSES, dtype=object)[labels[rows]], name="garment", dtype=object),
        "Fashion-MNIST, Zalando Research, MIT licence",
        "A row is an image of a garment, 28 by 28 pixels from 0 to 255.",
    )


def _read(where: str) -> tuple[Bytes, Bytes]:
    """Return the training images, one per row, and their labels."""
    if where == "openml":
        images, labels = fetch_openml("Fashion-MNIST", version=1, return_X_y=True, as_frame=False)
        training = slice(ROWS_TRAINING)  # the test images follow
        return images[training].astype(np.uint8), labels[training].astype(np.uint8)
    found = [next(Path(where).glob(f"{name}*"), None) for name in (IMAGES, LABELS)]
    if None in found:
        raise DataNotFoundError(
            f"Fashion-MNIST was not found in {where}. Ways to get it: apt-get install "
            f"dataset-fashion-mnist (Debian, Ubuntu); set {VARIABLE} to the folder that holds "
            f"{IMAGES}.gz and {LABELS}.gz; set {VARIABLE}=openml to download it"
        )
    images, labels = (_idx(file) for file in found if file is not None)
    return images.reshape(len(images), -1), labels


def _idx(file: Path) -> Bytes:
    """Read an idx file: two zeros, the code of uint8, the rank, the shape, the cells."""
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    if raw[:3] != b"\x00\x00\x08":
        raise TableError(f"{file} must be an idx file of bytes; its first bytes are {raw[:4]!r}")
    rank = raw[3]
    shape = np.frombuffer(raw, ">u4", rank, offset=4).astype(int)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(shape)
