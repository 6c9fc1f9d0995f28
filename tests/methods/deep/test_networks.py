"""Layers against finite differences, the optimiser against its formula, jax against autograd."""

import numpy as np
import pytest

pytest.importorskip("autograd")

from counterbalance.methods.deep import networks as nn

AUTOGRAD = nn.backend_named("autograd")
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(6, 4))
SEQUENCES = RNG.normal(size=(3, 7, 4))


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
                ends.append(loss(np, moved))
            slope[place] = (ends[0] - ends[1]) / (2 * step)
        slopes[name] = slope
    return slopes


DENSE = nn.double(nn.new_dense("a", 4, 6, RNG))
CONVOLUTION = nn.double(nn.new_convolution("a", 3, 4, 6, RNG))
LAYERS = {
    "dense": (DENSE, lambda _, p: nn.dense(p, "a", ROWS)),
    "leaky ReLU": (DENSE, lambda np, p: nn.leaky_relu(np, nn.dense(p, "a", ROWS))),
    "sigmoid": (DENSE, lambda np, p: nn.sigmoid(np, nn.dense(p, "a", ROWS))),
    "softmax": (DENSE, lambda np, p: nn.softmax(np, nn.dense(p, "a", ROWS))),
    "log softmax": (DENSE, lambda np, p: nn.log_softmax(np, nn.dense(p, "a", ROWS))),
    "gate": (DENSE, lambda np, p: nn.gated(np, nn.dense(p, "a", ROWS))),
    "batch norm": (
        {**DENSE, **nn.double(nn.new_batch_norm("a", 6))},
        lambda np, p: nn.batch_norm(np, p, "a", nn.dense(p, "a", ROWS)),
    ),
    "stack": (
        nn.double(nn.new_stack("a", (4, 5, 3), RNG, normed=True)),
        lambda np, p: nn.stack(np, p, "a", ROWS, 2, normed=True),
    ),
    "convolution": (CONVOLUTION, lambda np, p: nn.convolution(np, p, "a", SEQUENCES)),
    "causal gated convolution": (
        CONVOLUTION,
        lambda np, p: nn.gated(np, nn.convolution(np, p, "a", SEQUENCES, dilation=2, causal=True)),
    ),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_slopes_of_a_layer_are_those_of_finite_differences(layer):
    p, output = LAYERS[layer]
    weights = RNG.normal(size=output(np, p).shape)

    def loss(np, p):
        return np.sum(weights * output(np, p) ** 2)

    value, slopes = AUTOGRAD.value_and_grad(lambda p: loss(AUTOGRAD.np, p))(p)
    assert value == pytest.approx(loss(np, p))
    for name, expected in slopes_by_differences(loss, p).items():
        np.testing.assert_allclose(slopes[name], expected, rtol=1e-5, atol=1e-6)


def test_a_convolution_is_the_sum_that_defines_it():
    comp = nn.convolution(np, CONVOLUTION, "a", SEQUENCES, dilation=2, causal=True)
    weight = CONVOLUTION["a.weight"].reshape(3, 4, 6)
    ref = np.zeros((3, 7, 6))
    for place in range(7):
        for tap in range(3):
            source = place - 2 * (2 - tap)
            if source >= 0:
                ref[:, place] += SEQUENCES[:, source] @ weight[tap]
    np.testing.assert_allclose(comp, ref)


def test_a_causal_convolution_does_not_see_what_comes_later():
    later = SEQUENCES.copy()
    later[:, 4:] = 9.0
    comp, ref = (nn.convolution(np, CONVOLUTION, "a", x, causal=True) for x in (later, SEQUENCES))
    np.testing.assert_array_equal(comp[:, :4], ref[:, :4])
    assert (comp[:, 4:] != ref[:, 4:]).any()


def test_batch_norm_standardises_a_batch_and_keeps_fixed_statistics():
    p = nn.new_stack("a", (4, 5), RNG, normed=True)
    out = nn.stack(np, nn.double(p), "a", ROWS, 1, normed=True)
    np.testing.assert_allclose(out.mean(axis=0), 0, atol=1e-9)
    fixed = nn.with_statistics(p, "a", ROWS, 1)
    alone = nn.stack(np, fixed, "a", ROWS[:1], 1, normed=True)
    np.testing.assert_allclose(alone, out[:1], atol=1e-9)


def test_adam_takes_the_steps_of_its_publication():
    p, moments = {"w": np.array([1.0, -2.0])}, None
    mean = square = np.zeros(2)
    expected = p["w"]
    moments = nn.no_moments(p)
    for step in range(1, 4):
        slope = np.array([0.3, -0.1]) * step
        p, moments = nn.adam(np, p, {"w": slope}, moments, rate=0.01)
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        expected = expected - 0.01 * (mean / (1 - 0.9**step)) / np.sqrt(square / (1 - 0.999**step))
        np.testing.assert_allclose(p["w"], expected, rtol=1e-4)


def test_training_stays_in_single_precision_and_lowers_the_loss():
    p = nn.new_dense("a", 4, 1, RNG)
    rows = ROWS.astype(np.float32)
    target = rows[:, :1] * 2

    def loss(p, rows, target):
        return AUTOGRAD.np.mean((nn.dense(p, "a", rows) - target) ** 2)

    trainer = nn.Trainer(AUTOGRAD, p, loss, rate=0.05)
    losses = [trainer.step(rows, target) for _ in range(200)]
    assert losses[-1] < losses[0] / 50
    assert {value.dtype for value in trainer.p.values()} == {np.dtype(np.float32)}


def test_jax_trains_as_autograd_does():
    pytest.importorskip("jax", reason="no jax: pip install jax")
    results = []
    for backend in (AUTOGRAD, nn.backend_named("jax")):
        p = nn.new_stack("a", (4, 5, 3), np.random.default_rng(1), normed=True)

        def loss(p, rows, xp=backend.np):
            return xp.mean(nn.stack(xp, p, "a", rows, 2, normed=True)[:, 0] ** 3)

        trainer = nn.Trainer(backend, p, loss, rate=0.01)
        for _ in range(5):
            trainer.step(ROWS.astype(np.float32))
        results.append(nn.double(trainer.p))
    for name in results[0]:
        np.testing.assert_allclose(results[0][name], results[1][name], atol=1e-3)


def test_a_missing_backend_names_its_install_line(monkeypatch):
    monkeypatch.setattr(nn, "find_spec", lambda _: None)
    nn.backend_named.cache_clear()
    try:
        with pytest.raises(ImportError, match="pip install jax"):
            nn.backend_named("jax")
        assert nn.backend_named("auto").name == "autograd"
    finally:
        nn.backend_named.cache_clear()
