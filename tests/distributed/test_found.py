from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from counterbalance.distributed.found import Found, SavedFound, load, save, saved
from counterbalance.distributed.inputs import Place
from counterbalance.errors import EngineError
from counterbalance.search.inversions import Inversions
from counterbalance.search.references import References
from large_tables import random_found

PLACE = Place(0, "", 0, 30)


def test_saved_inversions_are_read_back_and_damage_is_noticed(tmp_path):
    found = random_found(np.random.default_rng(0), 30)
    path = tmp_path / "found.npz"
    assert saved(path, PLACE, 3) is None
    kept = save(found, path)
    assert kept == saved(path, PLACE, 3) == SavedFound(str(path))
    np.testing.assert_array_equal(load(kept).inversions.distance, found.inversions.distance)
    content = bytearray(path.read_bytes())
    content[content.index(found.inversions.distance.tobytes())] ^= 1
    path.write_bytes(content)
    assert saved(path, PLACE, 3) is None
    path.write_bytes(content[:100])
    assert saved(path, PLACE, 3) is None
    with pytest.raises(EngineError, match=r"absent\.npz was damaged after .*; run the same again"):
        load(SavedFound(str(tmp_path / "absent.npz")))


def test_what_another_partition_found_is_not_used(tmp_path):
    found = random_found(np.random.default_rng(0), 30)
    path = tmp_path / "found.npz"
    save(found, path)
    assert saved(path, PLACE, 3)
    assert saved(path, PLACE, 2) is None
    assert saved(path, Place(0, "", PLACE.n_rows, PLACE.n_rows), 3) is None


def test_changes_that_were_taken_back_are_saved_and_follow_their_inversions(tmp_path):
    rng = np.random.default_rng(2)
    found = random_found(rng, 30)
    bits = rng.integers(0, 256, (len(found.inversions), 2)).astype(np.uint8)
    found = replace(found, inversions=replace(found.inversions, taken_back=bits))
    kept = load(save(found, tmp_path / "found.npz"))
    assert saved(tmp_path / "found.npz", PLACE, 3)
    some = rng.random(len(bits)) < 0.5
    np.testing.assert_array_equal(kept.take(some).inversions.taken_back, bits[some])
    plain = random_found(rng, 30).inversions
    joined = Inversions.join([plain, kept.inversions]).taken_back
    np.testing.assert_array_equal(joined, np.concatenate([np.zeros((len(plain), 2)), bits]))
    short = replace(found, inversions=replace(found.inversions, taken_back=bits[1:]))
    save(short, tmp_path / "short.npz")
    assert saved(tmp_path / "short.npz", PLACE, 3) is None


def solved_found(rng, n_rows=30):
    """Return inversions that were solved for, and the rows themselves."""
    factual, target = np.nonzero(rng.random((n_rows, 3)) < 0.5)
    old = rng.normal(size=(n_rows, 4))[factual]
    new = np.where(rng.random(old.shape) < 0.6, old, rng.normal(size=old.shape))
    inversions = Inversions.solved(factual, target, rng.random(len(factual)), old, new)
    none = np.zeros(0, dtype=np.intp)
    source = np.zeros(len(factual), dtype=np.int32)
    references = References.of(np.arange(n_rows), rng.integers(0, 3, n_rows))
    return Found(inversions, source, np.zeros(3, dtype=np.intp), none, references), old, new


def test_changed_cells_are_saved_and_follow_their_inversions(tmp_path):
    rng = np.random.default_rng(1)
    found, old, new = solved_found(rng)
    kept = load(save(found, tmp_path / "found.npz"))
    assert saved(tmp_path / "found.npz", PLACE, 3)
    np.testing.assert_array_equal(kept.references.row, found.references.row)
    some = rng.random(len(old)) < 0.5
    taken = kept.take(some).inversions
    assert len(taken.changes.factual) == some.sum()
    here = (taken.factual >= 7) & (taken.factual < 19)
    block = kept.take(some).between(7, 19).moved_by(-7)
    rows = block.changes.apply(old[some][here], block.factual, block.target)
    np.testing.assert_array_equal(rows, new[some][here])


def test_changes_of_other_inversions_are_not_used(tmp_path):
    found, _, _ = solved_found(np.random.default_rng(1))
    path = tmp_path / "found.npz"
    arrays = dict(np.load(save(found, path).path))
    for name in ("changes_factual", "changes_count", "changes_value", "changes_feature"):
        changed = arrays[name][:-1] if arrays[name].dtype.kind == "f" else arrays[name] - 1
        np.savez(path, **arrays | {name: changed})
        assert saved(path, PLACE, 3) is None
    np.savez(path, **{name: arrays[name] for name in arrays if "changes" not in name})
    assert saved(path, PLACE, 3) is None


def test_references_are_the_same_for_any_cut(monkeypatch):
    monkeypatch.setattr("counterbalance.search.references.MOST_REFERENCES", 5)
    rng = np.random.default_rng(2)
    row, target = np.arange(100), rng.integers(0, 3, 100)
    whole = References.of(row, target)
    assert np.bincount(whole.target).tolist() == [5, 5, 5]
    edges = [0, 3, 40, 40, 77, 100]
    parts = [References.of(row[low:high], target[low:high]) for low, high in pairwise(edges)]
    joined = References.join([References.join(parts[:2]), References.join(parts[2:])])
    np.testing.assert_array_equal(joined.row, whole.row)
    np.testing.assert_array_equal(joined.target, whole.target)
