"""The net is scikit-learn's to the last bit, whatever the rows are and wherever training ends."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn import neural_network
from sklearn.exceptions import ConvergenceWarning

from counterbalance.trials import net
from counterbalance.trials.classifiers import as_call, make_classifier
from counterbalance.trials.net import MLPClassifier

ATTRIBUTES = (
    *("loss_curve_", "loss_", "best_loss_", "n_iter_", "t_", "n_layers_", "n_outputs_"),
    *("out_activation_", "validation_scores_", "best_validation_score_"),
)


def table(rows, features, classes, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    score = X[:, 0] + 0.5 * rng.normal(size=rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    return X.astype(dtype), np.array([f"class {code}" for code in y])


def fitted(module, X, y, weights=None, **parameters):
    """Fit, and return the classifier with the kinds of the warnings."""
    f = module.MLPClassifier(**{"random_state": 3, "max_iter": 12, **parameters})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f.fit(X, y, *([] if weights is None else [weights]))
    return f, [warning.category for warning in caught]


def assert_same(X, y, **parameters):
    """Compare every bit of what is learned; return the net."""
    (mine, my_warnings), (theirs, their_warnings) = (
        fitted(module, X, y, **parameters) for module in (net, neural_network)
    )
    for ours, others in ((mine.coefs_, theirs.coefs_), (mine.intercepts_, theirs.intercepts_)):
        assert [(a.dtype, a.tobytes()) for a in ours] == [(a.dtype, a.tobytes()) for a in others]
    for name in ATTRIBUTES:
        assert getattr(mine, name) == getattr(theirs, name), name
        assert type(getattr(mine, name)) is type(getattr(theirs, name)), name
    assert mine.predict_proba(X).tobytes() == theirs.predict_proba(X).tobytes()
    assert my_warnings == their_warnings
    return mine


@pytest.fixture(name="own_steps")
def count_own_steps(monkeypatch):
    """Count the epochs that our loop trains, so that a silent fall-back shows."""
    epochs = []
    real = net._Training.epoch
    monkeypatch.setattr(net._Training, "epoch", lambda *given: epochs.append(0) or real(*given))
    return epochs


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_bit_is_that_of_scikit_learn(own_steps, dtype, classes, order):
    X, y = table(450, 7, classes, dtype)
    f = assert_same(np.array(X, order=order), y)
    if sklearn.__version__.startswith(net.FOLLOWED):
        assert len(own_steps) == f.n_iter_


@given(
    rows=st.integers(12, 460),
    features=st.integers(1, 30),
    classes=st.integers(2, 4),
    single=st.booleans(),
    seed=st.integers(0, 99),
    layers=st.sampled_from([(100,), (50,), (1,), (8, 5), (6, 4, 3)]),
)
def test_so_it_is_for_any_shape_of_table_and_net(rows, features, classes, single, seed, layers):
    X, y = table(rows, features, classes, np.float32 if single else np.float64, seed)
    assert_same(X, y, hidden_layer_sizes=layers, random_state=seed, max_iter=4)


def test_training_ends_at_the_same_iteration_where_the_loss_stands_still():
    X, y = table(300, 4, 2)
    f = assert_same(X, y, max_iter=200, tol=0.02, n_iter_no_change=3)
    assert f.n_iter_ < 200


def test_a_net_that_has_not_converged_warns_as_scikit_learn_does():
    X, y = table(120, 4, 2)
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        MLPClassifier(max_iter=5, random_state=0).fit(X, y)
    f = assert_same(X, y, max_iter=5)
    assert f.n_iter_ == 5


def test_columns_of_zeros_and_rows_far_out_change_nothing():
    X, y = table(260, 6, 2)
    X[:, 2], X[::40, 3] = 0.0, 1e6
    assert_same(X, y)


@pytest.mark.parametrize(
    "setting",
    [
        {"solver": "sgd"},
        {"activation": "tanh"},
        {"batch_size": 32},
        {"shuffle": False},
        {"early_stopping": True},
        {"warm_start": True},
    ],
    ids=str,
)
def test_a_setting_that_is_not_followed_is_left_to_scikit_learn(own_steps, setting):
    X, y = table(150, 4, 2)
    assert_same(X, y, **setting)
    assert not own_steps


def test_weights_and_another_release_are_left_to_scikit_learn(own_steps, monkeypatch):
    X, y = table(150, 4, 2)
    assert_same(X, y, weights=np.linspace(0.5, 2.0, len(y)))
    monkeypatch.setattr(sklearn, "__version__", "0.1.dev")
    assert_same(X, y)
    assert not own_steps


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_numbers_that_grow_beyond_all_bounds_are_refused_as_by_scikit_learn():
    X, y = table(60, 3, 2)
    with pytest.raises(ValueError, match="non-finite"), np.errstate(all="ignore"):
        MLPClassifier(learning_rate_init=1e308, random_state=0).fit(X, y)


def test_a_net_survives_pickle_and_trains_on():
    X, y = table(150, 4, 3)
    f, _ = fitted(net, X, y)
    again = pickle.loads(pickle.dumps(f))  # noqa: S301 - our own
    assert again.predict_proba(X).tobytes() == f.predict_proba(X).tobytes()
    before = [coefficients.copy() for coefficients in f.coefs_]
    f.partial_fit(X, y)
    assert not np.array_equal(before[0], f.coefs_[0])


def test_the_studies_train_it_and_write_it_as_scikit_learns():
    assert isinstance(make_classifier("NN", 0), MLPClassifier)
    assert as_call(make_classifier("NN", 0)) == as_call(
        neural_network.MLPClassifier(random_state=0)
    )
