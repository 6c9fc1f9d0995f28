"""Fit: f, fitted where the rows are.

    sample     rows drawn by a number that belongs to each row's id, the same for any
               partitioning; all rows if they fit into a worker's memory
    trainer    a Dask classifier of LightGBM or XGBoost, as the user passes it
    local      the ordinary classifier that training leaves behind, which one worker can call

An ordinary classifier is fitted on one worker, by the in-memory code: to the whole table if it
fits (then f is the in-memory f), otherwise to a sample with the table's class shares and at least
FEWEST_OF_CLASS rows of each class, or all that there are.

A trainer is fitted by all workers at once. It sees the codes of the table (see ``scan``) and of
the classes, so any columns and labels will do. Every row takes part, and all rows together have to
fit into the memory of all workers.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import dask.array as da
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline, make_pipeline

from counterbalance import prepare
from counterbalance.arrays import Floats
from counterbalance.classifier.agreement import Agreement, sampled
from counterbalance.classifier.fit import check_classifier, check_takes
from counterbalance.constraints.together import Levels
from counterbalance.distributed.engine import DaskEngine
from counterbalance.distributed.inputs import Partition, Place, blocks
from counterbalance.distributed.scan import TableLayout, with_block
from counterbalance.errors import ClassifierError, EngineError
from counterbalance.plausible.evidence import Evidence
from counterbalance.prepare import Choices
from counterbalance.search.draws import stream, uniform
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.labels import read_labels
from counterbalance.table.table import read_table

# Draws 0, 1, ... belong to the perturbations of a row; this one decides whether it is sampled.
SAMPLE_DRAW = 2**40
FEWEST_OF_CLASS = 1_000
# The share of a worker's memory for the rows that f is fitted to.
SHARE_FOR_FIT = 0.25
# Rows from which the brackets and the cuts of the statistics are estimated.
ROWS_FOR_STATISTICS = 100_000
TRAINERS = ("lightgbm.dask", "xgboost.dask")
# A cell during training: its code, the library's copy of it, and its bin.
BYTES_PER_TRAINED_CELL = 24


@dataclass(frozen=True)
class SampleRates:
    """Which share of the rows is drawn: of each class for f, of all for the statistics."""

    fit: Floats
    statistics: float

    @property
    def whole(self) -> bool:
        """Whether f gets every row."""
        return bool(np.all(self.fit >= 1))


@dataclass(frozen=True)
class Sample:
    """Rows drawn from a partition."""

    rows: pd.DataFrame  # for f, target included
    codes: Floats  # for the statistics

    @classmethod
    def join(cls, parts: list[Sample]) -> Sample:
        """Concatenate the samples of partitions, in their order."""
        rows = [part.rows for part in parts if len(part.rows)] or [parts[0].rows]
        return cls(pd.concat(rows), np.concatenate([part.codes for part in parts]))


def make_rates(layout: TableLayout, most_rows: int, *, fit: bool, statistics: bool) -> SampleRates:
    """Return rates that draw about ``most_rows`` rows for f, or all if there are no more."""
    n = int(layout.counts.sum())
    rates = np.zeros(len(layout.counts))
    if fit:
        least = np.minimum(layout.counts, FEWEST_OF_CLASS) / layout.counts
        rates = np.maximum(min(1.0, most_rows / n), least)
    return SampleRates(rates, min(1.0, ROWS_FOR_STATISTICS / n) if statistics else 0.0)


def sample_partition(
    partition: Partition,
    place: Place,
    layout: TableLayout,
    rates: SampleRates,
    seed: int,
    size: int,
    levels: Levels | None,
) -> tuple[Sample, Evidence]:
    """Draw the rows whose random number is below their rate, and look for what goes together.

    Without ``levels``, no pairs of them are looked for.
    """
    first = place.first
    drawn = [Sample(layout.empty, np.zeros((0, len(layout.features))))]
    evidence = Evidence.none(len(layout.features), len(layout.classes), levels)
    for block in blocks(partition, size):
        classes = layout.class_codes(block)
        evidence = with_block(evidence, block, first, classes, layout)
        if rates.statistics or rates.fit.any():
            lot = uniform(stream(seed, first + np.arange(len(block)), SAMPLE_DRAW), 0)
            fit, measured = block[lot < rates.fit[classes]], block[lot < rates.statistics]
            codes = layout.encode(measured) if len(measured) else drawn[0].codes
            drawn.append(Sample(fit, codes))
        first += len(block)
    return Sample.join(drawn), evidence


def fit_f(
    samples: list[Sample],
    choices: Choices,
    layout: TableLayout,
    random_state: np.random.RandomState,
) -> tuple[Any, bool]:
    """Return f, fitted, and whether it knows every level of every column."""
    rows = Sample.join(samples).rows
    X = rows[layout.features]
    table = read_table(X, categorical_features=layout.categorical, integer_features=layout.integer)
    labels = read_labels(rows[layout.target])
    if choices.estimator is not None:
        check_takes(choices.classifier(table), table)
    f = prepare.fit_f(table, labels, None, choices, random_state)
    complete = all(
        len(np.unique(column[~np.isnan(column)])) == layout.n_levels(m)
        for m, column in enumerate(map(table.column, range(len(layout.features))))
        if layout.kinds[m].has_levels
    )
    return f, complete


def fit_judges(
    samples: list[Sample], layout: TableLayout, rates: SampleRates, seed: int
) -> Agreement:
    """Fit the judges that a selection by agreement asks; a sampled row stands for its class."""
    rows = Sample.join(samples).rows
    codes = layout.class_codes(rows)
    at, weight = sampled(codes, seed)
    x, n_classes = layout.encode(rows.iloc[at]), len(layout.classes)
    weight = weight / rates.fit[codes[at]]
    return Agreement.fit(x, codes[at], weight, layout.nominal, n_classes)


def is_trainer(f: Any) -> bool:
    """Say whether f is a Dask classifier, trained by all workers at once."""
    return type(f).__module__.startswith(TRAINERS)


class CodeClassifier(ClassifierMixin, BaseEstimator):
    """A fitted classifier of class codes that answers with labels.

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
        """Refuse: it can only be fitted on the workers."""
        del X, y
        raise ClassifierError("this classifier was trained on Dask workers; train it there again")

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        return np.asarray(self.classes[np.asarray(self.local.predict(X)).astype(np.intp)])

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row."""
        return np.asarray(self.local.predict_proba(X), dtype=np.float64)


def train(
    engine: DaskEngine,
    parts: list[tuple[Any, int]],
    trainer: Any,
    layout: TableLayout,
    random_state: np.random.RandomState,
    size: int,
) -> Pipeline:
    """Train on all rows; return a classifier that takes rows of the table.

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
    shared_layout, width = engine.constant(layout), len(layout.features) + 1
    blocks_of = [
        da.from_delayed(
            engine.task(codes_of, part, shared_layout, size), (n_rows, width), np.float64
        )
        for part, n_rows in parts
        if n_rows
    ]
    codes = engine.keep([da.concatenate(blocks_of)], "fit f")[0]
    engine.progress("fit f", 0, 1)
    own = type(trainer)(**_settings(trainer, layout, random_state))
    own.client = engine.client
    try:
        with warnings.catch_warnings():
            # LightGBM warns that it overrides its own default with the threads of the workers.
            warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored")
            own.fit(codes[:, :-1], codes[:, -1].astype(np.int64))
    except Exception as error:
        raise ClassifierError(f"estimator {name} could not be trained: {error}") from error
    engine.progress("fit f", 1, 1)
    encoder = TableEncoder(categorical_features=layout.categorical, integer_features=layout.integer)
    return make_pipeline(encoder.fit(layout.sketch), CodeClassifier(local_of(own), layout.classes))


def codes_of(partition: Partition, layout: TableLayout, size: int) -> Floats:
    """Return the rows of a partition as codes; the last column holds those of the classes."""
    return np.concatenate(
        [
            np.column_stack([layout.encode(block), layout.class_codes(block)])
            for block in blocks(partition, size)
        ]
    )


def _check_fits(client: Any, memory: int, layout: TableLayout, name: str) -> None:
    needed = int(layout.counts.sum()) * len(layout.features) * BYTES_PER_TRAINED_CELL
    n_threads = sum(client.nthreads().values())
    if needed > n_threads * memory / 2:
        raise EngineError(
            f"estimator {name} is trained on all rows at once, some {needed / 1e9:.1f} GB, and "
            f"may take half of the {n_threads * memory / 1e9:.1f} GB of all workers; add "
            "workers, or pass the library's ordinary classifier, which is fitted to a sample"
        )


def _settings(
    trainer: Any, layout: TableLayout, random_state: np.random.RandomState
) -> dict[str, Any]:
    """Return the parameters of the trainer, with class codes in place of labels, and a seed."""
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
    """Return the ordinary classifier behind a trained one, set to the one thread of a task."""
    if hasattr(trained, "to_local"):
        local = trained.to_local()
    else:
        from xgboost import XGBClassifier  # noqa: PLC0415  (the trainer's own library)

        local = XGBClassifier()
        local.load_model(bytearray(trained.get_booster().save_raw()))
    return local.set_params(n_jobs=1)
