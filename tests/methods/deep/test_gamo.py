import numpy as np
import pytest

pytest.importorskip("autograd")

from counterbalance.errors import TableError
from counterbalance.methods import PeerFallbackWarning
from counterbalance.methods.deep import GAMO, GAMOClassifier

FEW = {
    "max_iter": 30,
    "batch_size": 16,
    "hidden_sizes": (16,),
    "generator_sizes": (16, 8),
    "n_noise": 5,
    "random_state": 0,
}


def test_a_new_row_is_the_convex_combination_that_its_weights_say(blobs):
    X, y = blobs
    sampler = GAMO(**FEW)
    X_new, y_new = sampler.fit_resample(X, y)
    np.testing.assert_array_equal(X_new[: len(X)], X)
    np.testing.assert_array_equal(np.bincount(y_new), [300, 300])
    weights = sampler.weights_.toarray()
    np.testing.assert_allclose(X_new[len(X) :], weights @ X)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert weights.min() >= 0
    assert not weights[:, y == 0].any()


def test_several_classes_get_rows_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(140, 4))
    y = np.repeat(["a", "b", "c"], [80, 20, 40])
    sampler = GAMO(**FEW)
    X_new, y_new = sampler.fit_resample(X, y)
    assert [(y_new == label).sum() for label in "abc"] == [80, 80, 80]
    for weights, label in zip(sampler.weights_.toarray(), y_new[140:], strict=True):
        assert set(y[weights > 0]) == {label}
    assert len(X_new) == 240


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_and_nothing_global_changes(blobs):
    X, y = blobs
    before = np.random.get_state()[1].copy()  # noqa: NPY002  # that it stays as it is
    first, second = (GAMO(**FEW).fit_resample(X, y)[0] for _ in range(2))
    other = GAMO(**{**FEW, "random_state": 1}).fit_resample(X, y)[0]
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.slow
def test_the_classifier_of_the_game_finds_the_minority(blobs):
    X, y = blobs
    settings = {**FEW, "max_iter": 150, "learning_rate": 0.01}
    fitted = GAMOClassifier(GAMO(**settings)).fit(X, y)
    assert (fitted.predict(X)[y == 1] == 1).mean() > 0.7
    sampler = GAMO(**settings)
    rows, _ = sampler.fit_resample(X, y)
    np.testing.assert_array_equal(fitted.sampler_.weights_ @ X, rows[len(X) :])
    assert sampler.losses_.shape == fitted.sampler_.losses_.shape == (3, 3)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)


@pytest.mark.slow
def test_training_stops_early_where_the_loss_no_longer_falls(blobs):
    X, y = blobs
    sampler = GAMO(**{**FEW, "max_iter": 2000, "n_iter_no_change": 1, "tol": 10.0})
    sampler.fit_resample(X, y)
    # the first interval is better than nothing, the second is not better by ten
    assert sampler.n_iter_ == 100


def test_a_balanced_table_gets_no_rows_and_a_classifier_all_the_same(blobs):
    X, y = blobs
    even = np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:60]])
    sampler = GAMO(**FEW)
    X_new, y_new = sampler.fit_resample(X[even], y[even])
    np.testing.assert_array_equal(X_new, X[even])
    np.testing.assert_array_equal(y_new, y[even])
    assert sampler.weights_.shape == (0, 120)
    fitted = GAMOClassifier(sampler).fit(X[even], y[even])
    assert (fitted.predict(X[even]) == y[even]).mean() > 0.5


def test_a_large_class_combines_a_choice_of_its_rows(blobs):
    X, y = blobs
    sampler = GAMO(**FEW, max_anchors=10)
    sampler.fit_resample(X, y)
    assert len(np.unique(sampler.weights_.indices)) <= 10


def test_whole_numbers_of_a_frame_stay_whole(blobs):
    pandas = pytest.importorskip("pandas")
    X, y = blobs
    frame = pandas.DataFrame({"a": X[:, 0], "b": np.round(X[:, 1] * 10).astype(int)})
    new, _ = GAMO(**FEW).fit_resample(frame, y)
    assert new["b"].dtype == frame["b"].dtype


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_sizes": ()}, "hidden_sizes must hold at least one layer"),
        ({"generator_sizes": (8, 0)}, "generator_sizes must hold at least one layer"),
        ({"learning_rate": 1e30}, "learning_rate must let the loss stay finite"),
    ],
)
def test_bad_settings_are_refused_with_a_remedy(blobs, change, message):
    X, y = blobs
    with pytest.raises(TableError, match=message), np.errstate(all="ignore"):
        GAMO(**{**FEW, **change}).fit_resample(X, y)


def test_a_class_of_one_row_is_refused_and_one_of_equal_rows_is_warned_of():
    X = np.arange(24.0).reshape(12, 2)
    with pytest.raises(TableError, match="at least 2 rows of class 1 for GAMO"):
        GAMO(**FEW).fit_resample(X, (np.arange(12) == 11).astype(int))
    X[8:] = 1.0
    with pytest.warns(PeerFallbackWarning, match="all 4 rows of class 1 are the same"):
        GAMO(**FEW).fit_resample(X, (np.arange(12) >= 8).astype(int))
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        GAMO(**FEW).fit_resample(X, (np.arange(12) >= 8).astype(int))
