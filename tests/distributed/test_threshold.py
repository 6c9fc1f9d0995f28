import dask
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterbalance.distributed import threshold
from counterbalance.distributed.engine import Engine
from counterbalance.distributed.found import Found, Kept, load, save, saved
from counterbalance.distributed.partitions import Place
from counterbalance.distributed.threshold import cut_found, find_cuts
from counterbalance.errors import EngineError
from counterbalance.search.inversions import Inversions
from counterbalance.search.selection import select

PLACE = Place(0, "", 0, 30)


def random_found(rng, n_rows, n_classes=3):
    factual, target = np.nonzero(rng.random((n_rows, n_classes)) < 0.6)
    n = len(factual)
    inversions = Inversions(
        factual,
        target.astype(np.int32),
        rng.integers(0, 9, n).astype(np.int32),
        rng.integers(1, 5, n).astype(np.int32),
        rng.choice([0.25, 0.5, 1.0, 3.75, 1e-9, 700.0], n),  # with many ties
    )
    zeros = np.zeros(n, dtype=np.int32)
    return Found(inversions, zeros, np.zeros(n_classes, np.intp), np.zeros(0, np.intp))


@given(st.integers(0, 2**32), st.sampled_from(["nearest", "random"]), st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_the_cut_takes_what_the_in_memory_selection_takes(seed, how, wanted):
    rng = np.random.default_rng(seed)
    whole = random_found(rng, 50)
    edges = np.sort(rng.integers(0, 50, 3))
    parts = [
        whole.take((whole.inversions.factual >= low) & (whole.inversions.factual < high))
        for low, high in zip([0, *edges], [*edges, 50], strict=True)
    ]
    counts = np.bincount(whole.inversions.target, minlength=3)
    few = threshold.FEW
    with dask.config.set(scheduler="synchronous"):
        try:
            threshold.FEW = 2  # so that digits are counted
            cuts = find_cuts(Engine(None, 0), parts, counts, {0: wanted, 2: 5}, how, 7)
        finally:
            threshold.FEW = few
    taken = Found.join([cut_found(part, cuts, how, 7) for part in parts], 3).inversions
    for target, n in ((0, wanted), (1, 0), (2, 5)):
        expected = select(whole.inversions.take(whole.inversions.target == target), n, how, 7)
        got = taken.take(taken.target == target)
        np.testing.assert_array_equal(got.factual, expected.factual)
        np.testing.assert_array_equal(got.distance, expected.distance)


def test_what_was_found_survives_on_disk_and_damage_is_noticed(tmp_path):
    found = random_found(np.random.default_rng(0), 30)
    path = tmp_path / "found.npz"
    assert saved(path, PLACE, 3) is None
    kept = save(found, path)
    assert kept == saved(path, PLACE, 3) == Kept(str(path))
    np.testing.assert_array_equal(load(kept).inversions.distance, found.inversions.distance)
    content = bytearray(path.read_bytes())
    content[content.index(found.inversions.distance.tobytes())] ^= 1
    path.write_bytes(content)
    assert saved(path, PLACE, 3) is None
    path.write_bytes(content[:100])
    assert saved(path, PLACE, 3) is None
    with pytest.raises(EngineError, match=r"absent\.npz is damaged since .*; run the same again"):
        load(Kept(str(tmp_path / "absent.npz")))


def test_what_was_found_elsewhere_is_not_taken_up(tmp_path):
    found = random_found(np.random.default_rng(0), 30)
    path = tmp_path / "found.npz"
    save(found, path)
    assert saved(path, PLACE, 3)
    assert saved(path, PLACE, 2) is None
    assert saved(path, Place(0, "", PLACE.n_rows, PLACE.n_rows), 3) is None
