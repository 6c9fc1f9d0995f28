import numpy as np
import pytest

from counterbalance.distributed.found import SavedFound, load, save, saved
from counterbalance.distributed.inputs import Place
from counterbalance.errors import EngineError
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
