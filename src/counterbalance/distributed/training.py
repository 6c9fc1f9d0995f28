"""Training: f, trained by all workers at once, by a library that can.

    trainer    a Dask classifier of LightGBM or XGBoost, as the user passes it
    local      the ordinary classifier that it leaves behind, which one worker can ask

The trainer sees the codes of the table (see ``layout``) and the codes of the classes: so any
table will do, whatever its columns and labels are called. Every row takes part, and has to
fit the memory of all workers together.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import dask.array as da
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline, make_pipeline

from counterbalance.arrays import Floats
from counterbalance.classifier.fit import check_classifier
from counterbalance.distributed.engine import Engine
from counterbalance.distributed.layout import Layout
from counterbalance.distributed.partitions import Partition, blocks
from counterbalance.errors import ClassifierError, EngineError
from counterbalance.table.encoder import TableEncoder

LIBRARIES = ("lightgbm.dask", "xgboost.dask")
# A cell as code, as the library's copy of it, and its bin.
BYTES_PER_CELL = 24


def is_trainer(f: Any) -> bool:
    """Say whether f is trained by all workers at once."""
    return type(f).__module__.startswith(LIBRARIES)


class OfCodes(ClassifierMixin, BaseEstimator):
    """A fitted classifier that knows the classes by their codes only.

    Parameters
    ----------
    local : classifier
        Fitted to class codes 0, 1, ...
    classes : ndarray
        The label of each code.
    """

    def __init__(self, local: Any, classes: NDArray[Any]) -> None:
        self.local = local
        self.classes = classes

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of their codes."""
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> Self:
        """Refuse: it is fitted on the workers."""
        del X, y
        raise ClassifierError("this classifier was trained on Dask workers; train it there again")

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        return np.asarray(self.classes[np.asarray(self.local.predict(X)).astype(np.intp)])

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row."""
        return np.asarray(self.local.predict_proba(X), dtype=np.float64)


def train(
    engine: Engine,
    parts: list[tuple[Any, int]],
    trainer: Any,
    layout: Layout,
    random_state: np.random.RandomState,
    size: int,
) -> Pipeline:
    """Train on all rows; return what takes rows of the table and says labels.

    ``parts`` are the partitions, each with its number of rows.
    """
    check_classifier(trainer)
    name = type(trainer).__name__
    if engine.client is None:
        raise EngineError(
            f"estimator is the Dask classifier {name}, which needs a cluster to be trained on; "
            "pass client=distributed.Client(...)"
        )
    _check_fits(engine.client, engine.memory, layout, name)
    laid, width = engine.constant(layout), len(layout.features) + 1
    blocks_of = [
        da.from_delayed(engine.task(codes_of, part, laid, size), (n_rows, width), np.float64)
        for part, n_rows in parts
        if n_rows
    ]
    codes = engine.keep([da.concatenate(blocks_of)], "fit f")[0]
    engine.progress("fit f", 0, 1)
    own = type(trainer)(**_settings(trainer, layout, random_state))
    own.client = engine.client
    try:
        with warnings.catch_warnings():
            # LightGBM says of its own default that it takes the threads of the workers instead.
            warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored")
            own.fit(codes[:, :-1], codes[:, -1].astype(np.int64))
    except Exception as error:
        raise ClassifierError(f"estimator {name} could not be trained: {error}") from error
    engine.progress("fit f", 1, 1)
    encoder = TableEncoder(categorical_features=layout.categorical, integer_features=layout.integer)
    return make_pipeline(encoder.fit(layout.sketch), OfCodes(local_of(own), layout.classes))


def codes_of(partition: Partition, layout: Layout, size: int) -> Floats:
    """Return the rows of a partition as codes, those of their classes behind."""
    return np.concatenate(
        [
            np.column_stack([layout.encode(block), layout.class_codes(block)])
            for block in blocks(partition, size)
        ]
    )


def _check_fits(client: Any, memory: int, layout: Layout, name: str) -> None:
    needed = int(layout.counts.sum()) * len(layout.features) * BYTES_PER_CELL
    n_threads = sum(client.nthreads().values())
    if needed > n_threads * memory / 2:
        raise EngineError(
            f"estimator {name} is trained on all rows at once, some {needed / 1e9:.1f} GB, which "
            f"may take half of the {n_threads * memory / 1e9:.1f} GB of all workers; add "
            "workers, or pass the library's ordinary classifier: it is fitted to a sample"
        )


def _settings(trainer: Any, layout: Layout, random_state: np.random.RandomState) -> dict[str, Any]:
    """Return the parameters of the trainer, with class codes for labels and a seed."""
    settings = dict(trainer.get_params(deep=False))
    settings.pop("client", None)
    weights = settings.get("class_weight")
    if isinstance(weights, dict):
        codes = {label: code for code, label in enumerate(layout.classes.tolist())}
        strange = [label for label in weights if label not in codes]
        if strange:
            raise ClassifierError(
                f"class_weight of the estimator names the class {strange[0]!r}, which the target "
                f"does not have; its classes are {list(codes)}"
            )
        settings["class_weight"] = {codes[label]: weight for label, weight in weights.items()}
    seed = random_state.randint(np.iinfo(np.int32).max)
    if settings.get("random_state") is None:
        settings["random_state"] = seed
    return settings


def local_of(trained: Any) -> Any:
    """Return the ordinary classifier behind a trained one, for the one thread of a task."""
    if hasattr(trained, "to_local"):
        local = trained.to_local()
    else:
        from xgboost import XGBClassifier  # noqa: PLC0415  (the trainer's own library)

        local = XGBClassifier()
        local.load_model(bytearray(trained.get_booster().save_raw()))
    return local.set_params(n_jobs=1)
