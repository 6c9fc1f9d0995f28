import numpy as np

from counterbalance.methods import GaussianSMOTE


def places(sigma):
    X = np.concatenate([[0.0, 1.0], np.full(20_002, 9.0)])[:, None]
    y = np.repeat([1, 0], [2, 20_002])
    sampler = GaussianSMOTE(n_neighbors=1, sigma=sigma, random_state=0)
    return sampler.fit_resample(X, y)[0][len(y) :, 0]


def test_without_blur_it_is_smote():
    new = places(0.0)
    assert ((new >= 0) & (new <= 1)).all()
    np.testing.assert_allclose(new.std(), np.sqrt(1 / 12), rtol=0.02)


def test_the_place_is_a_uniform_draw_blurred_by_a_normal_one():
    new = places(0.3)
    # Variances of independent draws add up.
    np.testing.assert_allclose(new.std(), np.sqrt(1 / 12 + 0.3**2), rtol=0.02)
    assert (new < 0).any()
    assert (new > 1).any()
