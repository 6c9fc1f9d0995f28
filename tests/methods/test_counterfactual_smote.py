import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from counterbalance.methods import CounterfactualSMOTE, PeerFallbackWarning


def test_every_new_row_is_predicted_minority(blobs):
    X, y = blobs
    new = CounterfactualSMOTE(random_state=0).fit_resample(X, y)[0][len(y) :]
    judged = KNeighborsClassifier(5).fit(X, y).predict(new)
    assert (judged == 1).all()


def test_new_rows_lie_just_across_the_boundary():
    # One neighbour as judge: between 0 and 10 the boundary is at 5.
    X = np.concatenate([[10.0, 10.0], np.zeros(12)])[:, None]
    y = np.repeat([1, 0], [2, 12])
    new = CounterfactualSMOTE(n_neighbors=1, n_steps=5, random_state=0).fit_resample(X, y)[0][14:]
    assert ((new >= 5) & (new <= 5 + 10 / 2**5)).all()


def test_warns_if_no_minority_row_is_safe():
    X = np.concatenate([[0.0, 10.0], np.linspace(-5, 15, 60)])[:, None]
    y = np.repeat([1, 0], [2, 60])
    with pytest.warns(PeerFallbackWarning, match="puts every minority row"):
        _, y_new = CounterfactualSMOTE(random_state=0).fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [60, 60])
