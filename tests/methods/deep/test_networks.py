"""Layers against finite differences, the optimiser against its formula, and the training loop."""

import sys

import numpy as np
import pytest

from counterbalance.errors import TableError
from counterbalance.methods.deep import networks as nn

autograd = pytest.importorskip("autograd")
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(6, 4))


def slopes_by_differences(loss, p, step=1e-6):
    """Central differences of a loss in every parameter, one by one."""
    slopes = {}
    for name, value in p.items():
        slope = np.zeros_like(value)
        for place in np.ndindex(value.shape):
            ends = []
            for sign in (1, -1):
                moved = {**p, name: value.copy()}
                moved[name][place] += sign * step
                ends.append(loss(moved))
            slope[place] = (ends[0] - ends[1]) / (2 * step)
        slopes[name] = slope
    return slopes


DENSE = nn.double(nn.new_dense("a", 4, 6, RNG))
NORMED = nn.double(nn.new_stack("a", (4, 6), RNG, normed=True))
LAYERS = {
    "dense": (DENSE, lambda p: nn.dense(p, "a", ROWS)),
    "leaky ReLU": (DENSE, lambda p: nn.leaky_relu(nn.dense(p, "a", ROWS))),
    "softmax": (DENSE, lambda p: nn.softmax(nn.dense(p, "a", ROWS))),
    "log softmax": (DENSE, lambda p: nn.log_softmax(nn.dense(p, "a", ROWS))),
    "batch norm": (NORMED, lambda p: nn.batch_norm(p, "a0", nn.dense(p, "a0", ROWS))),
    "stack": (
        nn.double(nn.new_stack("a", (4, 5, 3), RNG, normed=True)),
        lambda p: nn.stack(p, "a", ROWS),
    ),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_slopes_of_a_layer_are_those_of_finite_differences(layer):
    p, output = LAYERS[layer]
    weights = RNG.normal(size=output(p).shape)

    def loss(p):
        return nn.anp.sum(weights * output(p) ** 2)

    value, slopes = autograd.value_and_grad(loss)(p)
    assert value == pytest.approx(loss(p))
    for name, expected in slopes_by_differences(loss, p).items():
        np.testing.assert_allclose(slopes[name], expected, rtol=1e-5, atol=1e-6)


def test_batch_norm_standardises_a_batch_and_keeps_fixed_statistics():
    p = nn.new_stack("a", (4, 5), RNG, normed=True)
    out = nn.stack(nn.double(p), "a", ROWS)
    np.testing.assert_allclose(out.mean(axis=0), 0, atol=1e-9)
    fixed = nn.with_statistics(p, "a", ROWS)
    alone = nn.stack(fixed, "a", ROWS[:1])
    np.testing.assert_allclose(alone, out[:1], atol=1e-9)


def test_adam_takes_the_steps_of_its_publication():
    # the gradient of this loss is the slope itself
    trainer = nn.Trainer(
        {"w": np.array([1.0, -2.0])}, lambda p, slope: nn.anp.sum(p["w"] * slope), rate=0.01
    )
    mean = square = np.zeros(2)
    expected = trainer.p["w"]
    for step in range(1, 4):
        slope = np.array([0.3, -0.1]) * step
        trainer.step(slope)
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        expected = expected - 0.01 * (mean / (1 - 0.9**step)) / np.sqrt(square / (1 - 0.999**step))
        np.testing.assert_allclose(trainer.p["w"], expected, rtol=1e-4)


def test_training_stays_in_single_precision_and_lowers_the_loss():
    p = nn.new_dense("a", 4, 1, RNG)
    rows = ROWS.astype(np.float32)
    target = rows[:, :1] * 2

    def loss(p, rows, target):
        return nn.anp.mean((nn.dense(p, "a", rows) - target) ** 2)

    trainer = nn.Trainer(p, loss, rate=0.05)
    losses = [trainer.step(rows, target) for _ in range(200)]
    assert losses[-1] < losses[0] / 50
    assert {value.dtype for value in trainer.p.values()} == {np.dtype(np.float32)}


def test_training_without_autograd_names_its_install_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "autograd", None)
    with pytest.raises(ImportError, match=r"pip install 'counterbalance\[deep\]'"):
        nn.Trainer(DENSE, lambda p: p, rate=0.1)


def test_every_row_is_seen_once_in_a_pass_and_a_batch_is_never_larger_than_the_table():
    order = nn.batches(10, 4, np.random.default_rng(0))
    seen = np.concatenate([next(order) for _ in range(5)])
    np.testing.assert_array_equal(np.bincount(seen), np.full(10, 2))
    assert len(next(nn.batches(3, 64, np.random.default_rng(0)))) == 3


def test_training_ends_after_intervals_without_a_lower_loss():
    losses = [1.0] * nn.INTERVAL + [0.5] * nn.INTERVAL + [0.45] * (9 * nn.INTERVAL)
    stream = iter(losses)
    n_iter, means = nn.train(lambda: [next(stream), 7.0], len(losses), 2, 0.1)
    assert n_iter == 4 * nn.INTERVAL
    np.testing.assert_allclose(means, [[1.0, 7], [0.5, 7], [0.45, 7], [0.45, 7]])
    n_iter, means = nn.train(lambda: [1.0], 10 * nn.INTERVAL + 3, None, 0.1)
    assert (n_iter, len(means)) == (10 * nn.INTERVAL + 3, 11)
    assert nn.train(lambda: [1.0], 0, 2, 0.1)[0] == 0


def test_a_loss_that_is_not_finite_is_refused_with_a_remedy():
    with pytest.raises(TableError, match="learning_rate must let the loss stay finite"):
        nn.stalled([1.0, np.nan], 2, 0.1)


def test_a_constant_column_is_not_blown_up():
    rows, _, scale = nn.scaled(np.column_stack([np.arange(5.0), np.full(5, 7.0)]))
    np.testing.assert_array_equal(rows[:, 1], 0)
    assert scale[1] == 1
    assert rows[:, 0].std() == pytest.approx(1, rel=1e-6)
    assert rows.dtype == np.float32


@pytest.mark.parametrize("sizes", [(), (3, 0), (2.5,)])
def test_sizes_of_layers_are_positive_whole_numbers(sizes):
    with pytest.raises(TableError, match=r"for example hidden_sizes=\(128, 64\)"):
        nn.checked_sizes("hidden_sizes", sizes)
