import numpy as np

from counterbalance.methods import SMOTED


def test_numbers_and_places_by_hand():
    # Distances 0: (1, 3), 1: (1, 2), 3: (2, 3); standard deviations 1, 1/2, 1/2. Eight rows:
    # 4, 2, 2. By length: 0 gives 1 and 3; 1 gives 2/3 and 4/3; 3 gives 4/5 and 6/5.
    X = np.concatenate([[0.0, 1.0, 3.0], np.full(11, -9.0)])[:, None]
    y = np.repeat([1, 0], [3, 11])
    new = SMOTED(n_neighbors=2).fit_resample(X, y)[0][14:, 0]
    expected = [0.5, 0.75, 1.5, 2.25, 0.5, 2.0, 2.0, 1.5]
    np.testing.assert_allclose(np.sort(new), np.sort(expected))


def test_it_gives_the_same_rows_twice_whatever_the_seed(blobs):
    X, y = blobs
    first = SMOTED(random_state=0).fit_resample(X, y)[0]
    second = SMOTED(random_state=99).fit_resample(X, y)[0]
    np.testing.assert_array_equal(first, second)
