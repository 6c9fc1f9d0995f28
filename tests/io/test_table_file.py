"""The result is the file itself, byte by byte, with new rows below."""

import gzip

import numpy as np
import pandas as pd
import pytest

from counterbalance.errors import DataNotFoundError, TableError
from counterbalance.io import (
    check_suffix,
    encode_with_rows,
    near_names,
    read_table_file,
    write_table_file,
)
from counterbalance.io.number_style import read_column

TEXT = (
    'nr,größe,note,yes,zip,"a ""b"""\n'
    '1,3.10,"x, y",TRUE,00123,=1+1\n'
    '2,,"two\nlines",false,01111,-5\n'
    "3,4.5,NA,TRUE,00123,@x\n"
)
NEW = pd.DataFrame(
    {
        "größe": [3.1, 2.25],
        "note": ["x, y", None],
        "yes": [False, True],
        "zip": ["01111", "00123"],
        'a "b"': ["@x", "=1+1"],
    }
)


def read(path, content):
    path.write_bytes(content)
    return read_table_file(path)


def test_columns_get_the_type_of_their_cells(tmp_path):
    frame = read(tmp_path / "t.csv", TEXT.encode()).frame
    assert frame.dtypes.astype(str).tolist() == ["int64", "float64", "str", "bool", "str", "str"]
    assert frame.columns.tolist() == ["nr", "größe", "note", "yes", "zip", 'a "b"']
    assert frame["note"].tolist()[:2] == ["x, y", "two\nlines"]
    assert frame.isna().sum().tolist() == [0, 1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        (["1", "", "3"], "Int64"),
        (["1", "NA", "3.5"], "float64"),
        (["", "NA", "null"], "float64"),
        (["true", "", "False"], "boolean"),
        (["007", "12"], "str"),
        (["0.5", "00.7"], "float64"),
        (["1", "x"], "str"),
        ([" 1", "2 "], "int64"),
        (["99999999999999999999"], "float64"),
        (["1e5", "-inf"], "float64"),
    ],
)
def test_a_column_gets_the_narrowest_type_that_holds_its_cells(cells, dtype):
    assert str(read_column(pd.Series(cells, dtype=str)).series.dtype) == dtype


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.txt"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_bytes_of_the_file_stay_and_new_rows_are_in_its_dialect(tmp_path, name, encoding):
    separator = "\t" if ".tsv" in name else ";"
    content = TEXT.replace(",", separator).encode(encoding)
    stored = gzip.compress(content) if name.endswith("gz") else content
    table = read(tmp_path / name, stored)
    written = encode_with_rows(table, tmp_path / f"out_{name}", NEW)
    assert written.startswith(stored)
    written = gzip.decompress(written) if name.endswith("gz") else written
    assert written.startswith(content)
    assert written.decode(encoding).count("\ufeff") == 0
    assert len(read(tmp_path / f"out_{name}", written).frame) == 5


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_last_line_without_an_end_gets_one(tmp_path, end):
    content = b"a,b\n1,x\n2,y" + end.encode()
    for stored in (content, gzip.compress(content)):
        table = read(tmp_path / "t.csv", stored)
        written = table.with_rows(pd.DataFrame({"a": [2], "b": ["x"]}))
        plain = gzip.decompress(written) if written.startswith(b"\x1f\x8b") else written
        assert plain == b"a,b\n1,x\n2,y\n2,x\n"
        assert table.with_rows(table.frame.head(0)) == stored


def test_packing_follows_the_name_of_the_result(tmp_path):
    content = TEXT.encode()
    for stored in (content, gzip.compress(content)):
        table = read(tmp_path / "t.csv", stored)
        none = table.frame.head(0)
        assert encode_with_rows(table, tmp_path / "o.csv", none) == content
        packed = encode_with_rows(table, tmp_path / "o.csv.gz", none)
        assert gzip.decompress(packed) == content


def test_some_rows_can_be_left_out(tmp_path):
    table = read(tmp_path / "t.csv", TEXT.encode())
    written = table.with_rows(NEW.head(0), np.array([0, 2])).decode()
    lines = TEXT.split("\n")
    assert written == "\n".join([*lines[:2], *lines[-2:]])


def test_spaces_in_front_of_every_cell_do_not_matter(tmp_path):
    table = read(tmp_path / "t.csv", b"age, pay, job\n39, <=50K, A\n50, >50K, B\n38, <=50K, A\n")
    assert table.frame["pay"].tolist() == ["<=50K", ">50K", "<=50K"]
    new = pd.DataFrame({"age": [40], "pay": [">50K"], "job": ["A"]})
    assert table.with_rows(new).decode().endswith("\n40, >50K, A\n")


def test_new_rows_write_a_value_as_the_column_already_does(tmp_path):
    lines = read(tmp_path / "t.csv", TEXT.encode()).with_rows(NEW).decode()
    assert lines.startswith(TEXT)
    assert lines.removeprefix(TEXT) == ',3.10,"x, y",false,01111,@x\n,2.25,NA,TRUE,00123,=1+1\n'


def test_decimal_commas_and_line_ends_are_kept(tmp_path):
    text = "a;b\r\n1,50;x\r\n2,25;y\r\n"
    table = read(tmp_path / "t.csv", text.encode())
    assert table.frame["a"].tolist() == [1.5, 2.25]
    written = table.with_rows(pd.DataFrame({"a": [1.5, 7.25], "b": ["y", "x"]}))
    assert written.decode() == text + "1,50;y\r\n7,25;x\r\n"


def test_large_whole_numbers_stay_exact_beside_missing_cells():
    large = ["900719925474099301", "", "900719925474099303"]
    values = read_column(pd.Series(large, dtype=str)).series
    assert values.dropna().tolist() == [int(large[0]), int(large[2])]


def test_a_semicolon_alone_does_not_mean_decimal_commas(tmp_path):
    frame = read(tmp_path / "t.csv", b"a;b\n1,2;3.5\nx;4.5\n").frame
    assert frame["a"].tolist() == ["1,2", "x"]
    assert frame["b"].tolist() == [3.5, 4.5]


def test_the_same_table_gives_the_same_bytes_even_packed(tmp_path):
    table = read(tmp_path / "t.csv", TEXT.encode())
    for name in ("a.csv.gz", "a.tsv", "a.parquet"):
        path = tmp_path / name
        assert encode_with_rows(table, path, NEW) == encode_with_rows(table, path, NEW)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
def test_an_arrow_schema_stays_as_it_is(tmp_path, name):
    pa = pytest.importorskip("pyarrow")
    from decimal import Decimal  # noqa: PLC0415

    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("small", pa.int16()),
            pa.field("single", pa.float32()),
            pa.field("level", pa.dictionary(pa.int8(), pa.string())),
            pa.field("price", pa.decimal128(8, 2)),
            pa.field("when", pa.date32()),
            pa.field("ok", pa.bool_()),
        ],
        metadata={"made": "by hand"},
    )
    table = pa.table(
        {
            "id": [1, 2, 3],
            "small": [1, None, 3],
            "single": [0.1, 0.2, None],
            "level": ["a", "b", None],
            "price": [Decimal("1.50"), None, Decimal("2.25")],
            "when": [18000, None, 18002],
            "ok": [True, None, False],
        },
        schema=schema,
    )
    path = tmp_path / name
    if name == "t.parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, schema) as writer:
            writer.write_table(table)
    file = read_table_file(path)
    assert str(file.frame["small"].dtype) == "Int64"
    assert file.frame["price"].tolist()[0] == 1.5
    new = pd.DataFrame(
        {
            "small": pd.array([2, None], dtype="Int64"),
            "single": np.array([0.5, np.nan], dtype="float32"),
            "level": pd.Series(["b", None], dtype="category"),
            "price": [3.75, np.nan],
            "ok": pd.array([True, None], dtype="boolean"),
        }
    )
    (tmp_path / f"out_{name}").write_bytes(file.with_rows(new))
    again = read_table_file(tmp_path / f"out_{name}").table
    assert again.slice(0, 3).to_pylist() == table.to_pylist()
    assert [(f.name, f.type) for f in again.schema] == [(f.name, f.type) for f in schema]
    assert again.schema.metadata[b"made"] == b"by hand"
    assert again.slice(3).to_pylist()[0] == {
        "id": None,
        "small": 2,
        "single": 0.5,
        "level": "b",
        "price": Decimal("3.75"),
        "when": None,
        "ok": True,
    }


def test_a_table_can_be_written_in_another_format(tmp_path):
    pytest.importorskip("pyarrow")
    table = read(tmp_path / "t.csv", TEXT.encode())
    write_table_file(table, tmp_path / "t.parquet")
    write_table_file(read_table_file(tmp_path / "t.parquet"), tmp_path / "back.csv")
    back = read_table_file(tmp_path / "back.csv").frame
    pd.testing.assert_frame_equal(back, table.frame)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"\n\n", "is empty"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", r"line 3, saw 3; fix that line"),
        ("t.csv", b"PK\x03\x04\0\0", "not a text file"),
        ("t.csv.gz", gzip.compress(b"a,b\n" * 99, mtime=0)[:-9], "packed with gzip but broken"),
        ("t.csv", b"\xff\xfea", "claims to be utf-16-le but is not"),
        ("t.parquet", b"a,b\n", "is not a .parquet file"),
        ("t.feather", b"a,b\n", "is not a .feather file"),
        ("t.xls", b"x", "must end in one of"),
        ("t.xlsx", b"x", "is not an .xlsx file"),
        ("t", b"x", "must end in one of"),
    ],
)
def test_a_file_that_is_not_a_table_is_refused_with_the_reason(tmp_path, name, content, message):
    with pytest.raises(TableError, match=message):
        read(tmp_path / name, content)


def test_a_gzipped_file_is_recognised_without_its_suffix(tmp_path):
    assert len(read(tmp_path / "t.csv", gzip.compress(TEXT.encode())).frame) == 3


def test_a_guessed_encoding_is_noted(tmp_path):
    assert "read as cp1252" in read(tmp_path / "t.csv", TEXT.encode("cp1252")).notes[0]
    assert read(tmp_path / "t.csv", TEXT.encode()).notes == ()


def test_a_folder_or_a_missing_file_is_refused_with_similar_names(tmp_path):
    (tmp_path / "patients.csv").touch()
    with pytest.raises(DataNotFoundError, match="is a folder"):
        read_table_file(tmp_path)
    with pytest.raises(DataNotFoundError, match=r"near: 'patients\.csv'"):
        read_table_file(tmp_path / "Patient.csv")


def test_similar_names_ignore_case_and_spaces():
    assert near_names("RISK", [" risk", "age"]) == " (near: ' risk')"
    assert near_names("risk", ["risk level", "age"]) == " (near: 'risk level')"
    assert near_names("risk", ["age"]) == ""


def test_gzipped_binary_formats_are_refused(tmp_path):
    with pytest.raises(TableError, match=r"first four also with \.gz"):
        check_suffix(tmp_path / "t.parquet.gz")
