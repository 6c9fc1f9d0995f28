import numpy as np

from counterbalance.methods import WeightedSMOTE
from counterbalance.methods.weighted_smote import closeness_weights


def test_weights_by_hand():
    # Sums of distances 6, 5 and 9: scaled 1/4, 0 and 1, and turned over.
    weights = closeness_weights(np.array([[0.0], [1.0], [5.0]]))
    np.testing.assert_allclose(weights, [0.75, 1.0, 0.0])


def test_the_outermost_row_makes_nothing():
    X = np.concatenate([[0.0, 1.0, 5.0], np.full(24, -9.0)])[:, None]
    y = np.repeat([1, 0], [3, 24])
    new = WeightedSMOTE(n_neighbors=1, random_state=0).fit_resample(X, y)[0][27:, 0]
    assert len(new) == 21
    assert ((new >= 0) & (new <= 1)).all()
