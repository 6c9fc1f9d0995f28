"""What the three systems share while they train: parameters, batches, patience, progress."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from counterbalance.arrays import Floats, Integers
from counterbalance.errors import TableError
from counterbalance.methods.base import (
    NOT_NEGATIVE_REAL,
    POSITIVE_INTEGER,
    POSITIVE_REAL,
    Rule,
    check_labels,
    parameter,
)
from counterbalance.methods.base import DeclaredParameters as Declared

Singles = NDArray[np.float32]

BACKENDS: Rule = [StrOptions({"auto", "autograd", "jax"})]
PROGRESS: Rule = [StrOptions({"auto"}), "boolean"]
SIZES: Rule = [tuple, list]
INTERVAL = 50  # steps whose mean loss is compared with that of earlier ones
QUIET_SECONDS = 3.0  # a shorter fit shows no bar

SHARED_DOC = """
    learning_rate : float
        Step of the optimiser Adam.
    batch_size : int
        Rows of one training step.
    max_iter : int
        Most training steps.
    tol : float, default=1e-4
        A loss that falls by less counts as not falling.
    n_iter_no_change : int or None, default=10
        Training stops after so many times 50 steps without a lower loss; ``None`` never stops it
        early.
    backend : {"auto", "autograd", "jax"}, default="auto"
        What differentiates the networks; "auto" is jax where it is installed, else autograd. The
        draws are the same, the figures agree within rounding; for the same bits on every machine
        name one.
    progress : bool or "auto", default="auto"
        Whether a bar is shown; "auto" shows one on a terminal if rich is installed and the fit
        takes more than a few seconds.
"""


class TrainingParameters(Declared):
    """The parameters that all three systems take."""

    learning_rate: float = parameter(default=1e-3, rule=POSITIVE_REAL)
    batch_size: int = parameter(default=64, rule=POSITIVE_INTEGER)
    max_iter: int = parameter(default=2000, rule=POSITIVE_INTEGER)
    tol: float = parameter(default=1e-4, rule=NOT_NEGATIVE_REAL)
    n_iter_no_change: Any = parameter(default=10, rule=[*POSITIVE_INTEGER, None])
    backend: str = parameter(default="auto", rule=BACKENDS)
    progress: Any = parameter(default="auto", rule=PROGRESS)

    _shared_doc = SHARED_DOC

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.__doc__:
            cls.__doc__ = cls.__doc__.replace("\n    %(training)s\n", cls._shared_doc)


def checked_rows(model: Any, X: Any, y: Any, **rules: Any) -> tuple[Any, Any]:
    """Check the parameters of a classifier and what it is fitted to."""
    model._validate_params()  # noqa: SLF001  # as scikit-learn's own classifiers do in ``fit``
    check_labels(y)
    X, y = validate_data(model, X, y, **rules)
    check_classification_targets(y)
    return X, y


class NetworkClassifier(ABC):
    """Gives a classifier with a network its probabilities and labels."""

    classes_: Any

    @abstractmethod
    def _probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class for each row."""

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        check_is_fitted(self)
        return self._probabilities(validate_data(self, X, reset=False, dtype=np.float64))

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        likely = self.predict_proba(X)
        return self.classes_[likely.argmax(axis=1)]


def checked_sizes(name: str, sizes: Any) -> tuple[int, ...]:
    """Return the sizes of hidden layers, or say what they must be."""
    found = tuple(sizes)
    if not found or not all(isinstance(n, (int, np.integer)) and n > 0 for n in found):
        raise TableError(
            f"{name} must hold at least one layer, each a positive whole number of units, got "
            f"{sizes!r}; for example {name}=(128, 64)"
        )
    return found


def batches(n_rows: int, size: int, rng: np.random.Generator) -> Iterator[Integers]:
    """Give positions for one step after the other, for ever, each pass in a new order.

    A batch is never larger than the table; what a pass leaves over begins the next one.
    """
    size = min(size, n_rows)
    waiting: Integers = np.empty(0, dtype=np.intp)
    while True:
        while len(waiting) < size:
            waiting = np.concatenate([waiting, rng.permutation(n_rows)])
        yield waiting[:size]
        waiting = waiting[size:]


class Patience:
    """Says when the mean loss of ``INTERVAL`` steps has not fallen for some time."""

    def __init__(self, n_iter_no_change: int | None, tol: float) -> None:
        self._patience, self._tol = n_iter_no_change, tol
        self._best, self._waited = np.inf, 0
        self._recent: list[float] = []
        self.history: list[float] = []
        """Mean loss of each interval."""

    def over(self, loss: Any) -> bool:
        """Take note of a step's loss and say whether to stop."""
        self._recent.append(float(loss))
        return len(self._recent) >= INTERVAL and self.judged()

    def judged(self) -> bool:
        """Close the interval and say whether to stop."""
        if not self._recent:
            return False
        mean, self._recent = float(np.mean(self._recent)), []
        return self.spent(mean)

    def spent(self, mean: float) -> bool:
        """Take note of an interval's loss and say whether to stop."""
        self.history.append(mean)
        if not np.isfinite(mean):
            raise TableError(
                f"learning_rate must let the loss stay finite, it became {mean}; give a smaller "
                "one, or scale columns with very large values"
            )
        self._waited = 0 if mean < self._best - self._tol else self._waited + 1
        self._best = min(self._best, mean)
        return self._patience is not None and self._waited >= self._patience


class Bar:
    """A bar on stderr for a fit that takes long, if it is wanted; else nothing."""

    def __init__(self, text: str, total: int, wanted: Any) -> None:
        self._text, self._total = text, total
        self._wanted = sys.stderr.isatty() if wanted == "auto" else bool(wanted)
        self._begun = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._late = QUIET_SECONDS if wanted == "auto" else 0.0

    def __enter__(self) -> Self:
        return self

    def advance(self, done: int) -> None:
        """Show that so many steps are done."""
        if not self._wanted:
            return
        if self._bar is None:
            if time.monotonic() - self._begun < self._late:
                return
            self._start()
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
            if done % 10 == 0:
                self._bar.refresh()

    def _start(self) -> None:
        try:
            from rich.console import Console  # noqa: PLC0415 - an extra
            from rich.progress import Progress  # noqa: PLC0415 - an extra
        except ImportError:
            self._wanted = False
            return
        # without a refreshing thread: a fit may be one of many in a pool
        self._bar = Progress(console=Console(stderr=True), auto_refresh=False)
        self._task = self._bar.add_task(self._text, total=self._total)
        self._bar.start()

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def scaled(X: Floats, mean: Floats, scale: Floats) -> Singles:
    """Give the rows as the networks train on them."""
    return ((X - mean) / scale).astype(np.float32)


def scaling(X: Floats) -> tuple[Floats, Floats]:
    """Mean and scale of each column; a constant one has scale 1."""
    mean, scale = X.mean(axis=0), X.std(axis=0)
    # a column as flat as its rounding would be blown up into noise
    flat = scale <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
    return mean, np.where(flat, 1.0, scale)


def one_hot(codes: Integers, n_classes: int) -> Singles:
    """Give a column for each class."""
    return np.eye(n_classes, dtype=np.float32)[codes]
