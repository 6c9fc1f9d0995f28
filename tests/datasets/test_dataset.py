"""A user's table is read in the format of its suffix; an error says what is wrong with it."""

import importlib.util
import sys

import pandas as pd
import pytest

from counterbalance.datasets import DataNotFoundError, load_table
from counterbalance.errors import TableError

TABLE = pd.DataFrame(
    {
        "age": [31, 45, 62, 58],
        "weight": [70.5, None, 81.0, 66.0],
        "city": ["Ulm", None, "Bonn", "Ulm"],
        "smoker": [True, False, True, True],
        "risk": ["low", "low", "high", "low"],
    }
)
needs_pyarrow = pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is None, reason="pyarrow is not installed"
)
WRITERS = {
    "t.csv": lambda path: TABLE.to_csv(path, index=False),
    "t.CSV": lambda path: TABLE.to_csv(path, index=False),
    "t.v2.csv.gz": lambda path: TABLE.to_csv(path, index=False),
    "t.tsv": lambda path: TABLE.to_csv(path, index=False, sep="\t"),
    "t.tsv.gz": lambda path: TABLE.to_csv(path, index=False, sep="\t"),
}


def check(data):
    assert data.class_counts == {"low": 3, "high": 1}
    assert list(data.X.columns) == ["age", "weight", "city", "smoker"]
    assert [str(dtype) for dtype in data.X.dtypes] == ["int64", "float64", "category", "bool"]
    assert data.X["city"].isna().tolist() == [False, True, False, False]
    assert data.y.name == "risk"


@pytest.mark.parametrize("name", WRITERS)
def test_text_files_are_read_by_their_suffix(tmp_path, name):
    WRITERS[name](tmp_path / name)
    check(load_table(tmp_path / name, target="risk"))


@needs_pyarrow
@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_parquet_and_feather_are_read(tmp_path, name):
    path = tmp_path / name
    TABLE.to_parquet(path) if path.suffix == ".parquet" else TABLE.to_feather(path)
    check(load_table(str(path), target="risk"))


def test_without_pyarrow_the_error_names_the_install_line(tmp_path, monkeypatch):
    tmp_path.joinpath("t.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"counterbalance\[parquet\]"):
        load_table(tmp_path / "t.parquet", target="risk")


def test_the_error_for_a_missing_file_names_similar_ones(tmp_path):
    WRITERS["t.csv"](tmp_path / "patients.csv")
    with pytest.raises(DataNotFoundError, match=r"near: 'patients.csv'"):
        load_table(tmp_path / "patient.csv", target="risk")


def test_the_error_for_an_unknown_target_names_similar_columns_and_all_columns(tmp_path):
    WRITERS["t.csv"](tmp_path / "t.csv")
    with pytest.raises(TableError, match=r"'rsk' \(near: 'risk'\).*age, weight, city"):
        load_table(tmp_path / "t.csv", target="rsk")


@pytest.mark.parametrize("name", ["t.xls", "t", "t.parquet.gz"])
def test_the_error_for_an_unknown_suffix_names_the_known_ones(tmp_path, name):
    tmp_path.joinpath(name).touch()
    with pytest.raises(TableError, match=r"\.csv, \.tsv, .*\.parquet"):
        load_table(tmp_path / name, target="risk")


def test_a_target_with_missing_cells_is_refused(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(TableError, match="1 of 4 rows"):
        load_table(tmp_path / "t.csv", target="city")
