import numpy as np
import pytest

from counterbalance.methods import CURESMOTE, SOMO, PeerFallbackWarning
from counterbalance.methods.clusters import (
    adjacent_units,
    best_unit,
    cure,
    mean_distance,
    scattered,
    trained_map,
)


def test_representatives_are_scattered():
    rows = np.array([[0.0], [1.0], [2.0], [9.0]])
    # Centre 3: farthest is 9, farthest from that is 0, then 2 (at 2 from 0, 7 from 9).
    chosen = scattered(rows, np.arange(4), np.array([3.0]), 3)
    np.testing.assert_array_equal(chosen, [3, 0, 2])


def clump(at):
    """Five pairs on a line near ``at``: no row of it is alone."""
    place = np.array([0.0, 0.01, 0.1, 0.11, 0.2, 0.21, 0.3, 0.31, 0.4, 0.41])
    return np.column_stack([at + place, at + place**2])


def test_clusters_are_found_and_an_isolated_row_is_dropped():
    rows = np.vstack([clump(0), clump(20), clump(40), [[200.0, 200.0]]])
    found = cure(rows, 3, 5, 0.5)
    members = sorted(sorted(members.tolist()) for members in found)
    assert members == [list(range(i, i + 10)) for i in (0, 10, 20)]


def test_new_rows_lie_between_a_row_and_its_cluster_centre():
    ours = np.vstack([clump(0), clump(20), [[200.0, 0.0]]])
    X = np.vstack([ours, np.random.default_rng(0).normal(10, 1, (100, 2))])
    y = np.repeat([1, 0], [21, 100])
    new = CURESMOTE(n_clusters=2, random_state=0).fit_resample(X, y)[0][121:]
    for row in new:
        ends = ours[:10] if row[0] < 10 else ours[10:20]
        centre = ends.mean(axis=0)
        # On a segment the distances to both ends add up to its length.
        length = np.linalg.norm(ends - centre, axis=1)
        detour = np.linalg.norm(row - centre) + np.linalg.norm(row - ends, axis=1) - length
        assert detour.min() < 1e-9


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
