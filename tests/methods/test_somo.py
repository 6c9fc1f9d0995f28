import numpy as np
import pytest

from counterbalance.methods import SOMO, PeerFallbackWarning
from counterbalance.methods.somo import adjacent_units, best_unit, mean_distance, trained_map


class KnownUnits(SOMO):
    """SOMO on a map of two units, split at 5."""

    def _units(self, table, side, rng):  # noqa: ARG002  # the units are known
        return (table[:, 0] > 5).astype(int)


def made(between_share):
    # Unit 0 holds 0 and 1: mean distance 1, sparsity 1 / 2. Unit 1 holds 10 and 12: 4 / 2.
    X = np.array([0.0, 1, 10, 12, *([-50.0] * 1), *([60.0] * 1)])[:, None]
    y = np.array([1, 1, 1, 1, 0, 0])
    sampler = KnownUnits(
        sampling_strategy={1: 14}, side=2, between_share=between_share, random_state=0
    )
    return sampler.fit_resample(X, y)[0][len(y) :, 0]


def test_sparse_units_get_more_in_inverse_proportion_to_density():
    new = made(between_share=0.0)
    assert ((new >= 0) & (new <= 1)).sum() == 2
    assert ((new >= 10) & (new <= 12)).sum() == 8


def test_the_other_part_lies_between_neighbouring_units():
    new = made(between_share=1.0)
    assert len(new) == 10
    assert ((new >= 0) & (new <= 12)).all()
    assert ((new > 1) & (new < 10)).any()


def test_overlapping_blobs_are_balanced(blobs):
    X, y = blobs
    _, y_new = SOMO(random_state=0).fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [300, 300])


def test_without_a_unit_of_its_own_the_minority_gets_smote_and_a_warning():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(10, 2)) * 0.01, rng.normal(size=(500, 2)) * 0.01])
    with pytest.warns(PeerFallbackWarning, match="SMOTE was used"):
        SOMO(random_state=0).fit_resample(X, np.repeat([1, 0], [10, 500]))


def test_units_side_by_side_on_the_map_are_near_in_space():
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(400, 2))
    units = trained_map(rows, 5, 20, rng)
    pairs = adjacent_units(5)
    assert len(pairs) == 40
    beside = np.linalg.norm(units[pairs[:, 0]] - units[pairs[:, 1]], axis=1).mean()
    assert beside < mean_distance(units) / 2
    assert len(np.unique(best_unit(rows, units))) == 25
