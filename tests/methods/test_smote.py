import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from counterbalance.errors import TableError
from counterbalance.methods import (
    CVSMOTE,
    SMOTED,
    GaussianSMOTE,
    Lee,
    NRSBoundarySMOTE,
    PeerFallbackWarning,
    PolynomFitSMOTE,
    WeightedSMOTE,
)
from counterbalance.methods import neighbours as nb
from counterbalance.methods.smote import closeness_weights, neighbourhoods


def test_lee_makes_no_row_with_more_majority_than_minority_neighbours(blobs):
    X, y = blobs
    X_new, _ = Lee(random_state=0).fit_resample(X, y)
    nearest = np.argsort(cdist(X_new[len(y) :], X), axis=1)[:, :5]
    assert ((y[nearest] == 0).sum(axis=1) <= 2).all()


def test_lee_gives_up_with_a_warning_if_every_row_is_rejected():
    # Two minority rows, each in the middle of a majority clump.
    clump = np.linspace(-0.1, 0.1, 9)
    X = np.concatenate([[0.0, 10.0], clump, clump + 10, np.linspace(1, 9, 60)])[:, None]
    y = np.repeat([1, 0], [2, 78])
    with pytest.warns(PeerFallbackWarning, match="still rejected"):
        _, y_new = Lee(n_neighbors=1, rejection_level=0.0).fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [78, 78])


def gaussian_positions(sigma):
    X = np.concatenate([[0.0, 1.0], np.full(20_002, 9.0)])[:, None]
    y = np.repeat([1, 0], [2, 20_002])
    sampler = GaussianSMOTE(n_neighbors=1, sigma=sigma, random_state=0)
    return sampler.fit_resample(X, y)[0][len(y) :, 0]


def test_gaussian_smote_with_sigma_zero_is_smote():
    new = gaussian_positions(0.0)
    assert ((new >= 0) & (new <= 1)).all()
    np.testing.assert_allclose(new.std(), np.sqrt(1 / 12), rtol=0.02)


def test_gaussian_smote_adds_normal_noise_to_a_uniform_position():
    new = gaussian_positions(0.3)
    # Variances of independent draws add up.
    np.testing.assert_allclose(new.std(), np.sqrt(1 / 12 + 0.3**2), rtol=0.02)
    assert (new < 0).any()
    assert (new > 1).any()


def test_smote_d_numbers_and_positions_by_hand():
    # Distances 0: (1, 3), 1: (1, 2), 3: (2, 3); standard deviations 1, 1/2, 1/2. Eight rows:
    # 4, 2, 2. By length: 0 gives 1 and 3; 1 gives 2/3 and 4/3; 3 gives 4/5 and 6/5.
    X = np.concatenate([[0.0, 1.0, 3.0], np.full(11, -9.0)])[:, None]
    y = np.repeat([1, 0], [3, 11])
    new = SMOTED(n_neighbors=2).fit_resample(X, y)[0][14:, 0]
    expected = [0.5, 0.75, 1.5, 2.25, 0.5, 2.0, 2.0, 1.5]
    np.testing.assert_allclose(np.sort(new), np.sort(expected))


def test_smote_d_gives_the_same_rows_whatever_the_seed(blobs):
    X, y = blobs
    first = SMOTED(random_state=0).fit_resample(X, y)[0]
    second = SMOTED(random_state=99).fit_resample(X, y)[0]
    np.testing.assert_array_equal(first, second)


def test_weighted_smote_weights_by_hand():
    # Sums of distances 6, 5 and 9: scaled 1/4, 0 and 1, and subtracted from 1.
    weights = closeness_weights(np.array([[0.0], [1.0], [5.0]]))
    np.testing.assert_allclose(weights, [0.75, 1.0, 0.0])


def test_weighted_smote_makes_nothing_from_the_outermost_row():
    X = np.concatenate([[0.0, 1.0, 5.0], np.full(24, -9.0)])[:, None]
    y = np.repeat([1, 0], [3, 24])
    new = WeightedSMOTE(n_neighbors=1, random_state=0).fit_resample(X, y)[0][27:, 0]
    assert len(new) == 21
    assert ((new >= 0) & (new <= 1)).all()


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


def made(minority, n_new, **parameters):
    minority = np.asarray(minority, dtype=float)
    n_majority = len(minority) + n_new
    X = np.vstack([minority, np.full((n_majority, minority.shape[1]), -9.0)])
    y = np.repeat([1, 0], [len(minority), n_majority])
    return PolynomFitSMOTE(random_state=0, **parameters).fit_resample(X, y)[0][len(y) :]


def test_star_spaces_rows_evenly_from_each_row_to_the_mean():
    new = made([[0, 0], [3, 0], [0, 3]], 6, topology="star")
    # The mean is (1, 1); two rows on each arm, at one and two thirds.
    arms = [(0, 0), (3, 0), (0, 3)]
    expected = [np.add(a, np.subtract((1, 1), a) * t) for a in arms for t in (1 / 3, 2 / 3)]
    np.testing.assert_allclose(new, expected)


def test_bus_joins_each_row_to_the_next():
    np.testing.assert_allclose(made([[0], [1], [3]], 2, topology="bus"), [[0.5], [2.0]])


def test_mesh_joins_every_two_rows():
    new = made([[0], [1], [3]], 3, topology="mesh")
    np.testing.assert_allclose(np.sort(new.ravel()), [0.5, 1.5, 2.0])


def test_mesh_draws_distinct_pairs_if_there_are_more_than_needed():
    # Row i at 2 ** i: the middle of a pair names it.
    new = made(2.0 ** np.arange(20)[:, None], 50, topology="mesh")
    assert len(np.unique(new)) == 50
    pairs = 2 * new.ravel()
    assert all(int(p).bit_count() == 2 for p in pairs)


def test_polynomial_follows_the_curve_of_the_rows():
    t = np.arange(10.0)
    new = made(np.column_stack([t, 1 + t**2, t**3]), 25, topology="polynomial", degree=3)
    np.testing.assert_allclose(new[:, 1], 1 + new[:, 0] ** 2, atol=1e-9)
    np.testing.assert_allclose(new[:, 2], new[:, 0] ** 3, atol=1e-9)


@pytest.mark.parametrize("topology", ["star", "bus", "mesh"])
def test_segments_carry_numbers_that_differ_by_at_most_one(topology):
    assert len(made([[0], [1], [3], [7]], 17, topology=topology)) == 17


def auc_of_cross_validation(X, y, k, seed):
    """The mean ROC AUC of CV-SMOTE for one number of neighbours, written out."""
    scores = []
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    for train, test in folds.split(X, y == 1):
        rows = X[train][y[train] == 1]
        n_new = round(240 * len(rows) / 60)
        new = nb.smote(rows, n_new, k, np.random.default_rng(seed))
        f = GaussianNB().fit(np.vstack([X[train], new]), np.append(y[train], np.ones(n_new)))
        scores.append(roc_auc_score(y[test], f.predict_proba(X[test])[:, 1]))
    return np.mean(scores)


def test_cv_smote_uses_the_number_of_neighbours_with_the_best_roc_auc(blobs):
    X, y = blobs
    numbers = [1, 2, 5, 10, 20, 30]
    sampler = CVSMOTE(estimator=GaussianNB(), n_neighbors=numbers, cv=3, random_state=0)
    sampler.fit_resample(X, y)
    seed = nb.seed_from(np.random.default_rng(0))
    scores = [auc_of_cross_validation(X, y, k, seed) for k in numbers]
    assert sampler.n_neighbors_ == {1: numbers[int(np.argmax(scores))]}
    assert sampler.n_neighbors_[1] != numbers[-1]


def test_cv_smote_chooses_among_the_numbers_that_a_small_class_has():
    X = np.random.default_rng(0).normal(size=(40, 2))
    for n_few in (2, 3, 4, 7):
        y = np.repeat([1, 0], [n_few, 40 - n_few])
        sampler = CVSMOTE(random_state=0)
        _, y_new = sampler.fit_resample(X, y)
        assert (y_new == 1).sum() == 40 - n_few
        assert 1 <= sampler.n_neighbors_[1] < n_few


@pytest.mark.parametrize("numbers", [[0, 3], [1.5], ["a"]])
def test_cv_smote_refuses_numbers_of_neighbours_that_are_none(numbers, blobs):
    with pytest.raises(TableError, match="n_neighbors must be whole numbers of at least 1"):
        CVSMOTE(n_neighbors=numbers).fit_resample(*blobs)
