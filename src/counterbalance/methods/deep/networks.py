"""Networks: layers, the optimiser, and the training loop that both methods share.

Glossary
    p           the parameters of a network: a flat dict from "layer.weight" to array
    moments     Adam's running means of the gradient and of its square
    x           (n, d) rows

A layer is a function of ``p``, its name and its input: it holds no state. It is written on
autograd's numpy, which is numpy itself if no gradient is requested. Training is in single
precision, prediction in double, so that a prediction does not depend on the rows beside it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from counterbalance.arrays import Floats, Integers, Rng
from counterbalance.errors import TableError
from counterbalance.extras import require
from counterbalance.methods.base import check_labels
from counterbalance.sklearn_private import Interval

# Without autograd nothing can be trained, and a Trainer says so.
anp: Any = import_module("autograd.numpy" if find_spec("autograd") else "numpy")
Parameters = dict[str, Any]
Singles = NDArray[np.float32]
SLOPE = 0.2  # of the leaky ReLU below zero
TINY = 1e-5  # added to a variance before its root is divided by
INTERVAL = 50  # steps whose mean loss is compared with that of earlier ones

# Constraints of the parameters that both systems have.
CONSTRAINTS: dict[str, list[Any]] = {
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
}


def new_dense(name: str, n_in: int, n_out: int, rng: Rng) -> Parameters:
    """Draw the weights of a dense layer (He et al. 2015)."""
    weight = rng.normal(size=(n_in, n_out)) * np.sqrt(2 / n_in)
    return single({f"{name}.weight": weight, f"{name}.bias": np.zeros(n_out)})


def dense(p: Any, name: str, x: Any) -> Any:
    """Return ``x @ weight + bias``."""
    return x @ p[f"{name}.weight"] + p[f"{name}.bias"]


def batch_norm(p: Any, name: str, x: Any) -> Any:
    """Standardise each column by the batch, or by the statistics that ``p`` holds of it."""
    if f"{name}.mean" in p:
        mean, variance = p[f"{name}.mean"], p[f"{name}.variance"]
    else:
        mean, variance = batch_statistics(x)
    return (x - mean) / anp.sqrt(variance + TINY) * p[f"{name}.gain"] + p[f"{name}.shift"]


def batch_statistics(x: Any) -> tuple[Any, Any]:
    """Return mean and variance of each column."""
    mean = anp.mean(x, axis=0)
    return mean, anp.mean((x - mean) ** 2, axis=0)


def leaky_relu(x: Any) -> Any:
    """Return x above zero and a fifth of it below."""
    return anp.maximum(x, SLOPE * x)


def log_softmax(x: Any) -> Any:
    """Return the logarithm of the softmax over the last axis."""
    x = x - anp.max(x, axis=-1, keepdims=True)
    return x - anp.log(anp.sum(anp.exp(x), axis=-1, keepdims=True))


def softmax(x: Any) -> Any:
    """Return positive weights over the last axis that add up to one."""
    return anp.exp(log_softmax(x))


def new_stack(name: str, sizes: Sequence[int], rng: Rng, *, normed: bool = False) -> Parameters:
    """Draw a stack of dense layers, each with batch norm behind it if ``normed``."""
    p: Parameters = {}
    for i, (n_in, n_out) in enumerate(pairwise(sizes)):
        p |= new_dense(f"{name}{i}", n_in, n_out, rng)
        if normed:
            gain, shift = np.ones(n_out), np.zeros(n_out)
            p |= single({f"{name}{i}.gain": gain, f"{name}{i}.shift": shift})
    return p


def stack(p: Any, name: str, x: Any) -> Any:
    """Pass rows through dense layers with leaky ReLUs, and batch norm where ``p`` has it."""
    layer = 0
    while f"{name}{layer}.weight" in p:
        x = leaky_relu(dense(p, f"{name}{layer}", x))
        if f"{name}{layer}.gain" in p:
            x = batch_norm(p, f"{name}{layer}", x)
        layer += 1
    return x


def with_statistics(p: Parameters, name: str, x: Floats) -> Parameters:
    """Fix the batch norms of a stack at their statistics over ``x``, in double precision."""
    p = double(p)
    layer = 0
    while f"{name}{layer}.weight" in p:
        x = leaky_relu(dense(p, f"{name}{layer}", x))
        p[f"{name}{layer}.mean"], p[f"{name}{layer}.variance"] = batch_statistics(x)
        x = batch_norm(p, f"{name}{layer}", x)
        layer += 1
    return p


def single(p: Parameters) -> Parameters:
    """Return the parameters in single precision, in which networks are trained."""
    return {name: np.asarray(value, dtype=np.float32) for name, value in p.items()}


def double(p: Parameters) -> Parameters:
    """Return the parameters in double precision, in which networks predict."""
    return {name: np.asarray(value, dtype=np.float64) for name, value in p.items()}


class Trainer:
    """A network in training: its parameters ``p``, and Adam (Kingma and Ba 2015) on one loss.

    ``loss(p, *data)`` is a scalar.
    """

    def __init__(
        self, p: Parameters, loss: Callable[..., Any], *, rate: float, decay: float = 0.9
    ) -> None:
        autograd = require("autograd", "training a network", extra="deep")
        self._gradient = autograd.value_and_grad(loss)
        self._rate, self._decay, self._square_decay = rate, decay, 0.999
        self.p = p
        self._mean = {name: np.zeros_like(value) for name, value in p.items()}
        self._square = dict(self._mean)
        self._n_steps = np.float32(0)

    def step(self, *data: Any) -> Any:
        """Take a step and return the loss before it."""
        value, gradient = self._gradient(self.p, *data)
        self._n_steps += 1
        decay, square_decay, n_steps = self._decay, self._square_decay, self._n_steps
        # the two corrections for the zeros at the start, as one factor
        length = self._rate * np.sqrt(1 - square_decay**n_steps) / (1 - decay**n_steps)
        moved = {}
        for name, slope in gradient.items():
            self._mean[name] = decay * self._mean[name] + (1 - decay) * slope
            self._square[name] = square_decay * self._square[name] + (1 - square_decay) * slope**2
            change = length * self._mean[name] / (np.sqrt(self._square[name]) + 1e-8)
            moved[name] = self.p[name] - change.astype(self.p[name].dtype)
        self.p = moved
        return value


def checked_rows(model: Any, X: Any, y: Any, **rules: Any) -> tuple[Any, Any]:
    """Check the parameters of a classifier and its training table."""
    model._validate_params()  # noqa: SLF001  # as scikit-learn's own classifiers do in ``fit``
    check_labels(y)
    X, y = validate_data(model, X, y, **rules)
    check_classification_targets(y)
    return X, y


class NetworkClassifier(ABC):
    """Base class of classifiers with a network: probabilities and labels."""

    classes_: Any

    @abstractmethod
    def _probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class for each row."""

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, in the order of ``classes_``, for each row."""
        check_is_fitted(self)
        return self._probabilities(validate_data(self, X, reset=False, dtype=np.float64))

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row."""
        likely = self.predict_proba(X)
        return self.classes_[likely.argmax(axis=1)]


def checked_sizes(name: str, sizes: Any) -> tuple[int, ...]:
    """Return the sizes of hidden layers; raise if one is not a positive whole number."""
    found = tuple(sizes)
    if not found or not all(isinstance(n, (int, np.integer)) and n > 0 for n in found):
        raise TableError(
            f"{name} must hold at least one layer, each a positive whole number of units, got "
            f"{sizes!r}; for example {name}=(128, 64)"
        )
    return found


def batches(n_rows: int, size: int, rng: Rng) -> Iterator[Integers]:
    """Yield positions for one step after the other, without end, each pass in a new order.

    A batch is never larger than the table; the remainder of a pass begins the next one.
    """
    size = min(size, n_rows)
    waiting: Integers = np.empty(0, dtype=np.intp)
    while True:
        while len(waiting) < size:
            waiting = np.concatenate([waiting, rng.permutation(n_rows)])
        yield waiting[:size]
        waiting = waiting[size:]


def stalled(losses: Sequence[float], n_iter_no_change: int | None, tol: float) -> bool:
    """Say whether a loss has not fallen by ``tol`` for ``n_iter_no_change`` times."""
    if not np.isfinite(losses[-1]):
        raise TableError(
            f"learning_rate must let the loss stay finite, it became {losses[-1]}; give a smaller "
            "one, or scale columns with very large values"
        )
    best = np.minimum.accumulate([np.inf, *losses])[:-1]
    fell = losses < best - tol
    return n_iter_no_change is not None and not fell[-n_iter_no_change:].any()


def train(
    step: Callable[[], list[float]], n_steps: int, n_iter_no_change: int | None, tol: float
) -> tuple[int, Any]:
    """Take steps until the first of their losses no longer falls; return how many, and the losses.

    The losses are the means of every 50 steps: (n_intervals, n_losses).
    """
    means: list[Any] = []
    recent: list[list[float]] = []
    n_iter = 0
    for n_iter in range(1, n_steps + 1):
        recent.append(step())
        if len(recent) == INTERVAL or n_iter == n_steps:
            means.append(np.mean(recent, axis=0))
            recent = []
            if stalled([mean[0] for mean in means], n_iter_no_change, tol):
                break
    return n_iter, np.array(means)


def scaled(X: Floats) -> tuple[Singles, Floats, Floats]:
    """Return the rows as the networks train on them, and mean and scale of each column."""
    mean, scale = X.mean(axis=0), X.std(axis=0)
    # a column that varies by its rounding only would be scaled up to noise
    scale = np.where(scale <= 1e-12 * np.maximum(np.abs(mean), 1e-300), 1.0, scale)
    return ((X - mean) / scale).astype(np.float32), mean, scale


def one_hot(codes: Integers, n_classes: int) -> Singles:
    """Return a column for each class."""
    return np.eye(n_classes, dtype=np.float32)[codes]
