import numpy as np

from counterbalance.methods import NRSBoundarySMOTE
from counterbalance.methods.nrs_boundary_smote import neighbourhoods


def test_neighbourhoods_by_hand():
    # Minority 0 and 1, majority 2 and 10. With w = 0 a radius reaches the nearest row.
    table = np.array([[0.0], [1.0], [2.0], [10.0]])
    radii, has_minority, has_majority = neighbourhoods(table, 2, 0.0)
    np.testing.assert_allclose(radii, [1, 1, 1, 8])
    np.testing.assert_array_equal(has_minority, [True, True, True, False])
    np.testing.assert_array_equal(has_majority, [False, True, True, True])
    # With w = 1 it reaches the farthest.
    np.testing.assert_allclose(neighbourhoods(table, 2, 1.0)[0], [10, 9, 8, 10])


def test_only_boundary_rows_are_seeds():
    # A clump of the minority far from the majority, and a row amid it.
    clump = np.linspace(-0.5, 0.5, 11)
    X = np.concatenate([clump, [50.0], np.linspace(49, 51, 60)])[:, None]
    y = np.repeat([1, 0], [12, 60])
    sampler = NRSBoundarySMOTE(n_neighbors=1, random_state=0)
    new = sampler.fit_resample(X, y)[0][72:, 0]
    # Every segment starts at 50 and ends at the nearest row of the clump.
    assert ((new >= 0.5) & (new <= 50)).all()
    assert (new > 1).any()


def test_the_majoritys_lower_region_is_spared(blobs):
    X, y = blobs
    new = NRSBoundarySMOTE(w=0.05, random_state=0).fit_resample(X, y)[0][len(y) :]
    table = np.vstack([X[y == 1], X[y == 0]])
    radii, has_minority, _ = neighbourhoods(table, 60, 0.05)
    core = np.flatnonzero(~has_minority)
    core = core[core >= 60]
    apart = np.linalg.norm(new[:, None] - table[core], axis=2)
    assert len(core)
    assert (apart > radii[core]).all()
