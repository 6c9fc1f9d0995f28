"""Two classes of Fashion-MNIST, made imbalanced as in the paper (FMN): 2,990 : 200.

The paper does not say which two classes it took. `PAIRS` has two hard pairs, garments
that look alike: T-shirts against shirts, the pair that classifiers confuse most, and
pullovers against coats. The first class of a pair is the majority.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from counterbalance.datasets.dataset import Dataset, not_found
from counterbalance.errors import TableError
from counterbalance.extras import require_pandas

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

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
