"""Networks written once on a numpy namespace, and the optimiser that trains them.

Glossary
    np          numpy as a backend gives it: autograd's, jax's, or numpy itself to predict
    p           the parameters of a network: a flat dict from "layer.weight" to array
    moments     Adam's running means of the slopes and of their squares
    x           (n, d) rows, or (n, length, channels) sequences

A layer is a function of ``np``, ``p``, its name and its input: it holds no state, so the same
line of code trains under autograd and jax and predicts under plain numpy. Training is in single
precision, prediction in double, so that an answer does not depend on the rows beside it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy  # noqa: ICN001  # np is the namespace that a layer is given

from counterbalance.arrays import Floats
from counterbalance.extras import require

Parameters = dict[str, Any]
SLOPE = 0.2  # of the leaky ReLU below zero
TINY = 1e-5  # added to a variance before its root is divided by


@dataclass(frozen=True)
class Backend:
    """What differentiates: a numpy namespace with gradients."""

    name: str
    np: Any  # namespace inside of a loss
    plain: Any  # namespace of the optimiser, which needs no gradient
    value_and_grad: Callable[..., Any]
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]]


@cache
def backend_named(name: str) -> Backend:
    """Return the backend; ``"auto"`` is jax where it is installed, else autograd."""
    if name == "auto":
        name = "jax" if find_spec("jax") is not None else "autograd"
    what = f"backend={name!r}"
    if name == "jax":
        if find_spec("jax") is None:
            raise ImportError(f"{what} needs jax, which is not installed; run: pip install jax")
        jax, jax_numpy = import_module("jax"), import_module("jax.numpy")
        return Backend("jax", jax_numpy, jax_numpy, jax.value_and_grad, jax.jit)
    autograd = require("autograd", what, extra="deep")
    wrapped = require("autograd.numpy", what, extra="deep")
    return Backend("autograd", wrapped, numpy, autograd.value_and_grad, lambda step: step)


# Layers ---------------------------------------------------------------------------------------


def new_dense(name: str, n_in: int, n_out: int, rng: numpy.random.Generator) -> Parameters:
    """Draw the weights of a dense layer (He et al. 2015)."""
    weight = rng.normal(size=(n_in, n_out)) * numpy.sqrt(2 / n_in)
    return single({f"{name}.weight": weight, f"{name}.bias": numpy.zeros(n_out)})


def dense(p: Any, name: str, x: Any) -> Any:
    """Give ``x @ weight + bias``."""
    return x @ p[f"{name}.weight"] + p[f"{name}.bias"]


def new_batch_norm(name: str, n: int) -> Parameters:
    """Give the gain and the shift of a batch norm."""
    return single({f"{name}.gain": numpy.ones(n), f"{name}.shift": numpy.zeros(n)})


def batch_norm(np: Any, p: Any, name: str, x: Any) -> Any:
    """Standardise each column by the batch, or by the statistics that ``p`` holds of it."""
    if f"{name}.mean" in p:
        mean, variance = p[f"{name}.mean"], p[f"{name}.variance"]
    else:
        mean, variance = batch_statistics(np, x)
    return (x - mean) / np.sqrt(variance + TINY) * p[f"{name}.gain"] + p[f"{name}.shift"]


def batch_statistics(np: Any, x: Any) -> tuple[Any, Any]:
    """Return mean and variance of each column."""
    mean = np.mean(x, axis=0)
    return mean, np.mean((x - mean) ** 2, axis=0)


def leaky_relu(np: Any, x: Any) -> Any:
    """Give x above zero and a fifth of it below."""
    return np.maximum(x, SLOPE * x)


def sigmoid(np: Any, x: Any) -> Any:
    """Give 1 / (1 + exp(-x)) without overflow."""
    return 0.5 * (np.tanh(0.5 * x) + 1)


def log_softmax(np: Any, x: Any) -> Any:
    """Give the logarithm of the softmax over the last axis."""
    x = x - np.max(x, axis=-1, keepdims=True)
    return x - np.log(np.sum(np.exp(x), axis=-1, keepdims=True))


def softmax(np: Any, x: Any) -> Any:
    """Give positive weights over the last axis that add up to one."""
    return np.exp(log_softmax(np, x))


def new_convolution(
    name: str, width: int, n_in: int, n_out: int, rng: numpy.random.Generator
) -> Parameters:
    """Draw the weights of a one-dimensional convolution."""
    weight = rng.normal(size=(width * n_in, n_out)) * numpy.sqrt(2 / (width * n_in))
    return single({f"{name}.weight": weight, f"{name}.bias": numpy.zeros(n_out)})


def convolution(  # shapes: x (n, length, c), weight (width * c, out)
    np: Any, p: Any, name: str, x: Any, *, dilation: int = 1, causal: bool = False
) -> Any:
    """Convolve along the sequence; a causal one sees the place itself and earlier ones only."""
    n, length, channels = x.shape
    width = p[f"{name}.weight"].shape[0] // channels
    reach = (width - 1) * dilation
    first = reach if causal else reach // 2  # how far back the first tap looks
    taps = []
    for back in range(first, first - reach - 1, -dilation):
        # a roll and a mask: the slope of a slice is far dearer under autograd
        places = numpy.arange(length) - back
        inside = ((places >= 0) & (places < length)).astype(x.dtype)[None, :, None]
        taps.append(np.roll(x, back, axis=1) * inside)
    windows = np.reshape(np.concatenate(taps, axis=2), (n * length, width * channels))
    return np.reshape(dense(p, name, windows), (n, length, -1))


def gated(np: Any, x: Any) -> Any:
    """Let the second half of the channels decide what passes of the first (Dauphin et al. 2017)."""
    value, gate = np.split(x, 2, axis=-1)
    return value * sigmoid(np, gate)


def new_stack(
    name: str, sizes: Sequence[int], rng: numpy.random.Generator, *, normed: bool = False
) -> Parameters:
    """Draw a stack of dense layers; with batch norm behind every hidden one if ``normed``."""
    p: Parameters = {}
    for i, (n_in, n_out) in enumerate(pairwise(sizes)):
        p |= new_dense(f"{name}{i}", n_in, n_out, rng)
        if normed:
            p |= new_batch_norm(f"{name}{i}", n_out)
    return p


def stack(np: Any, p: Any, name: str, x: Any, n_layers: int, *, normed: bool = False) -> Any:
    """Pass rows through dense layers with leaky ReLUs, each with its batch norm if ``normed``."""
    for i in range(n_layers):
        x = leaky_relu(np, dense(p, f"{name}{i}", x))
        if normed:
            x = batch_norm(np, p, f"{name}{i}", x)
    return x


def with_statistics(p: Parameters, name: str, x: Floats, n_layers: int) -> Parameters:
    """Fix the batch norms of a stack at their statistics over ``x``, in double precision."""
    p = double(p)
    for i in range(n_layers):
        x = leaky_relu(numpy, dense(p, f"{name}{i}", x))
        p[f"{name}{i}.mean"], p[f"{name}{i}.variance"] = batch_statistics(numpy, x)
        x = batch_norm(numpy, p, f"{name}{i}", x)
    return p


# Parameters and their training -------------------------------------------------------------------


def single(p: Parameters) -> Parameters:
    """Give the parameters in single precision, in which networks are trained."""
    return {name: numpy.asarray(value, dtype=numpy.float32) for name, value in p.items()}


def double(p: Parameters) -> Parameters:
    """Give the parameters as numpy arrays in double precision, in which networks predict."""
    return {name: numpy.asarray(value, dtype=numpy.float64) for name, value in p.items()}


def no_moments(p: Parameters) -> dict[str, Any]:
    """Give Adam's state before the first step."""
    zeros = {name: numpy.zeros_like(value) for name, value in p.items()}
    return {"mean": zeros, "square": dict(zeros), "step": numpy.float32(0)}


def adam(
    np: Any,
    p: Parameters,
    slopes: Parameters,
    moments: dict[str, Any],
    *,
    rate: float,
    decay: float = 0.9,
    square_decay: float = 0.999,
) -> tuple[Parameters, dict[str, Any]]:
    """Take one step of Adam (Kingma and Ba 2015); nothing is changed in place."""
    step = moments["step"] + 1
    # the two corrections for the zeros at the start, as one factor
    length = rate * np.sqrt(1 - square_decay**step) / (1 - decay**step)
    mean, square, moved = {}, {}, {}
    for name, slope in slopes.items():
        mean[name] = decay * moments["mean"][name] + (1 - decay) * slope
        square[name] = square_decay * moments["square"][name] + (1 - square_decay) * slope**2
        change = length * mean[name] / (np.sqrt(square[name]) + 1e-8)
        moved[name] = p[name] - change.astype(p[name].dtype)
    return moved, {"mean": mean, "square": square, "step": step}


class Trainer:
    """A network in training: its parameters, Adam's state, and the step of one loss.

    ``loss(p, *data)`` is a scalar. Data keep their shapes from step to step, so that a backend
    that compiles does so once.
    """

    def __init__(
        self,
        backend: Backend,
        p: Parameters,
        loss: Callable[..., Any],
        *,
        rate: float,
        decay: float = 0.9,
    ) -> None:
        gradient = backend.value_and_grad(loss)

        def step(p: Parameters, moments: dict[str, Any], *data: Any) -> Any:
            value, slopes = gradient(p, *data)
            return (*adam(backend.plain, p, slopes, moments, rate=rate, decay=decay), value)

        self.p = p
        self._moments = no_moments(p)
        self._step = backend.compiled(step)

    def step(self, *data: Any) -> Any:
        """Take a step and return the loss before it."""
        self.p, self._moments, value = self._step(self.p, self._moments, *data)
        return value
