import numpy as np

from counterbalance.methods import CURESMOTE
from counterbalance.methods.cure_smote import cure, scattered


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
    members = sorted(sorted(c.members.tolist()) for c in found)
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
