"""Scikit-learn's net, the same to the last bit in half the time on small tables.

On a table of some columns a step of training takes scikit-learn longer to arrange (lists of new
arrays, one for each layer and operation) than to compute. Here all parameters lie in one array, so
that Adam is a dozen operations for any number of layers, and results go into buffers that are kept.

    W, b    coefficients and intercepts of a layer; a    what it gives; d    error at its input
    g       gradient of all parameters; m, v    its first and second moment (Adam)

What is added to what, and in which order and precision, is scikit-learn's, so coefficients, loss
curve and the iteration at which it ends are too; the tests compare every bit. That holds for the
releases of `FOLLOWED`. With another one, or a setting that is not followed, scikit-learn itself
runs.
"""

import warnings
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.special import expit, xlogy
from sklearn import neural_network
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import shuffle

FOLLOWED = ("1.9.",)
BATCH = 200  # rows of a step where the batch size is "auto"
# Settings that are followed; every other one may have any value.
SETTINGS = {
    "solver": "adam",
    "activation": "relu",
    "batch_size": "auto",
    "shuffle": True,
    "early_stopping": False,
    "warm_start": False,
    "verbose": False,
}

Array = NDArray[Any]  # of double or single precision, as the rows are


class MLPClassifier(neural_network.MLPClassifier):
    """Scikit-learn's class with a quicker ``fit``; ``partial_fit`` after it starts Adam afresh.

    >>> X, y = np.arange(40.0).reshape(20, 2) / 40, np.repeat(["no", "yes"], 10)
    >>> mine = MLPClassifier(max_iter=500, tol=0.01, random_state=0).fit(X, y)
    >>> theirs = neural_network.MLPClassifier(**mine.get_params()).fit(X, y)
    >>> mine.loss_curve_ == theirs.loss_curve_
    True
    """

    def _fit_stochastic(self, X: Any, y: Any, sample_weight: Any, *others: Any) -> None:
        (*_, incremental) = others
        is_followed = sklearn.__version__.startswith(FOLLOWED) and all(
            getattr(self, name) == value for name, value in SETTINGS.items()
        )
        is_sparse = not isinstance(X, np.ndarray)
        if not is_followed or incremental or sample_weight is not None or is_sparse:
            super()._fit_stochastic(X, y, sample_weight, *others)
            return
        training = _Training(self)
        places = np.arange(len(X))
        self.n_iter_ = 0
        for _ in range(self.max_iter):
            places = shuffle(places, random_state=self._random_state)
            self.loss_ = training.epoch(X, y, places)
            self.n_iter_ += 1
            self.t_ += len(X)
            self.loss_curve_.append(self.loss_)
            self._update_no_improvement_count(False, None, None, None)  # noqa: FBT003 - not ours
            if self._no_improvement_count > self.n_iter_no_change:
                return
        warnings.warn(
            f"the net has not converged after max_iter={self.max_iter} iterations; raise it",
            ConvergenceWarning,
            stacklevel=2,
        )


class _Training:
    """The parameters of a net in one array, its moments, and the buffers of a step."""

    def __init__(self, net: Any) -> None:
        self._net = net
        layers = len(net.coefs_)
        self._parameters, views = _in_one([*net.coefs_, *net.intercepts_])
        net.coefs_, net.intercepts_ = views[:layers], views[layers:]
        self._W, self._b = views[:layers], views[layers:]
        self._g, gradients = _in_one([np.zeros_like(view) for view in views])
        self._g_W, self._g_b = gradients[:layers], gradients[layers:]
        self._coefficients = sum(W.size for W in self._W)
        self._m, self._v = np.zeros_like(self._g), np.zeros_like(self._g)
        self._spare = np.empty_like(self._g)
        # the rate is a double, and so is the update, also of a net in single precision
        self._update = np.empty(self._g.shape)
        self._steps = 0
        self._buffers: dict[int, tuple[list[Array], list[Array], list[Array], Array]] = {}

    def epoch(self, X: Array, y: Array, places: NDArray[np.intp]) -> float:
        """Train with all rows once, in this order; return the mean loss."""
        total: Any = 0.0
        for start in range(0, len(places), BATCH):
            batch = places[start : start + BATCH]
            total += self._step(X[batch], y[batch]) * len(batch)
        return total / len(places)  # type: ignore[no-any-return]

    def _step(self, X: Array, y: Array) -> Any:
        """Move the parameters by the rows of a batch; return the loss before."""
        a, d, is_active, spare = self._buffers_for(len(X))
        self._forward(X, a, spare)
        loss = self._loss(y, a[-1], spare)
        np.subtract(a[-1], y, out=d[-1])
        for layer in range(len(d) - 1, -1, -1):
            below = a[layer - 1] if layer else X
            np.matmul(below.T, d[layer], out=self._g_W[layer])
            np.add.reduce(d[layer], axis=0, out=self._g_b[layer])
            if layer:
                np.matmul(d[layer], self._W[layer].T, out=d[layer - 1])
                np.not_equal(below, 0, out=is_active[layer - 1])
                d[layer - 1] *= is_active[layer - 1]
        penalty = self._spare[: self._coefficients]
        np.multiply(self._parameters[: self._coefficients], self._net.alpha, out=penalty)
        self._g[: self._coefficients] += penalty
        self._g /= len(X)
        self._adam()
        return loss

    def _forward(self, X: Array, a: Sequence[Array], spare: Array) -> None:
        """Write what each layer gives into `a`."""
        below = X
        for W, b, given in zip(self._W, self._b, a, strict=True):
            np.matmul(below, W, out=given)
            np.add(given, b, out=given)
            if given is not a[-1]:
                np.maximum(given, 0, out=given)
            below = given
        last = a[-1]
        if self._net.out_activation_ != "softmax":
            expit(last, out=last)
            return
        # the maximum is the same in any order, and of a few columns quicker one by one
        np.subtract(last, reduce(np.maximum, last.T)[:, np.newaxis], out=spare)
        np.exp(spare, out=last)
        last /= np.add.reduce(last, axis=1)[:, np.newaxis]

    def _loss(self, y: Array, probability: Array, spare: Array) -> Any:
        """Return the log loss of a batch and the penalty."""
        smallest = np.finfo(probability.dtype).eps
        clipped = np.clip(probability, smallest, 1 - smallest, out=spare)
        gain = xlogy(y, clipped)
        if self._net.out_activation_ != "softmax":
            gain = gain + xlogy(1 - y, 1 - clipped)
        squares: Any = 0
        for W in self._W:
            flat = W.ravel()
            squares += np.dot(flat, flat)
        loss = -(np.add.reduce(gain, axis=0) / len(y)).sum()
        return loss + 0.5 * self._net.alpha * squares / len(y)

    def _adam(self) -> None:
        net, g, m, v, spare = self._net, self._g, self._m, self._v, self._spare
        self._steps += 1
        m *= net.beta_1
        np.multiply(g, 1 - net.beta_1, out=spare)
        m += spare
        v *= net.beta_2
        np.multiply(g, g, out=spare)
        spare *= 1 - net.beta_2
        v += spare
        rate = net.learning_rate_init * np.sqrt(1 - net.beta_2**self._steps)
        np.multiply(m, -(rate / (1 - net.beta_1**self._steps)), out=self._update)
        np.sqrt(v, out=spare)
        spare += net.epsilon
        self._update /= spare
        self._parameters += self._update

    def _buffers_for(self, rows: int) -> tuple[list[Array], list[Array], list[Array], Array]:
        """Return what each layer gives, its error, where it is active; a spare for the last."""
        if rows not in self._buffers:  # the last batch of an epoch is smaller
            shapes = [(rows, W.shape[1]) for W in self._W]
            a, d = ([np.empty(shape, self._g.dtype) for shape in shapes] for _ in range(2))
            is_active = [np.empty(shape, bool) for shape in shapes]
            self._buffers[rows] = a, d, is_active, np.empty(shapes[-1], self._g.dtype)
        return self._buffers[rows]


def _in_one(arrays: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Copy arrays into one, and return it with a view of each."""
    one = np.concatenate([array.ravel() for array in arrays])
    ends = np.cumsum([array.size for array in arrays])
    pieces = np.split(one, ends[:-1])
    return one, [piece.reshape(a.shape) for piece, a in zip(pieces, arrays, strict=True)]
