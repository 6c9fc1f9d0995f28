import numpy as np

from counterbalance.methods import SensitivityUnderSampler
from counterbalance.methods.sensitivity_under_sampling import imbalance_sensitivity


def test_sensitivity_by_hand():
    # Ratio 4, so s = 1/5; k = 4; two minority rows near: p = 2.2 / 5 = 0.44.
    p = 0.44
    q = 4 * p / (4 * p + 1 - p)
    np.testing.assert_allclose(imbalance_sensitivity(np.array([2]), 4, 4.0), [q - p])


def test_safe_rows_and_noise_are_less_sensitive_than_the_border():
    sensitivity = imbalance_sensitivity(np.arange(6), 5, 10.0)
    assert sensitivity[1] > sensitivity[0]
    assert sensitivity[1] > sensitivity[5]


def test_rows_at_the_border_are_kept_more_often():
    rng = np.random.default_rng(0)
    border, safe = rng.normal(3, 0.5, (200, 2)), rng.normal(-20, 1, (200, 2))
    X, y = np.vstack([rng.normal(3, 0.5, (60, 2)), border, safe]), np.repeat([1, 0], [60, 400])
    sampler = SensitivityUnderSampler(random_state=0)
    X_new, y_new = sampler.fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [60, 60])
    kept = X_new[y_new == 0]
    assert (kept[:, 0] > -10).sum() > 1.5 * (kept[:, 0] < -10).sum()
