"""An xlsx file comes back with the values and number formats of its cells."""

import datetime as dt
import zipfile

import numpy as np
import pandas as pd
import pytest

from counterbalance.errors import TableError
from counterbalance.io import Reading, encode_frame, encode_with_rows, read_table_file

openpyxl = pytest.importorskip("openpyxl")

DAY = dt.datetime(2020, 1, 2)  # noqa: DTZ001 - a spreadsheet has no zones
ROWS = [
    ["id", "born", "pay", "share", "ok", "ward", "zip", "mixed"],
    [1, DAY, 84835.5, 0.125, True, "A", "00123", 1],
    [2, DAY, None, 0.5, False, "=B+1", "01111", "x"],
    [3, None, 1200, 0.25, True, "", "00123", 2.5],
]


@pytest.fixture
def path(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "people"
    for row in ROWS:
        sheet.append(row)
    sheet["F3"].data_type = "s"
    for cell in ("C2", "C4"):
        sheet[cell].number_format = "$#,##0.00"
    sheet["D2"].number_format = "0.0%"
    book.create_sheet("notes").append(["only", "words"])
    book.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


def values(path, sheet=None):
    book = openpyxl.load_workbook(path)
    return [[cell.value for cell in row] for row in (book[sheet] if sheet else book.active).rows]


def test_columns_get_the_type_of_their_cells(path):
    frame = read_table_file(path).frame
    kinds = ["int64", "str", "float64", "float64", "bool", "str", "str", "str"]
    assert frame.dtypes.astype(str).tolist() == kinds
    assert frame["born"].tolist()[0] == "2020-01-02"
    assert frame["mixed"].tolist() == ["1", "x", "2.5"]


def with_rows(path, out, new=None, rows=None):
    table = read_table_file(path)
    out.write_bytes(encode_with_rows(table, out, table.frame.head(0) if new is None else new, rows))
    return out


def test_old_cells_keep_value_type_and_format_and_new_ones_take_the_format(path, tmp_path):
    new = pd.DataFrame(
        {"pay": [99.5, None], "ok": [False, True], "ward": ["=B+1", "A"], "mixed": ["2.5", "x"]}
    )
    out = with_rows(path, tmp_path / "out.xlsx", new)
    got = values(out, "people")
    assert got[:4] == values(path, "people")
    assert values(out, "notes") == [["only", "words"]]
    assert got[4] == [None, None, 99.5, None, False, "=B+1", None, 2.5]
    assert got[5] == [None, None, None, None, True, "A", None, "x"]
    sheet = openpyxl.load_workbook(out)["people"]
    assert sheet["F3"].data_type == sheet["F5"].data_type == "s"
    assert sheet["C5"].number_format == sheet["C2"].number_format == "$#,##0.00"
    assert sheet["B2"].is_date


def test_a_sheet_is_given_by_name_or_number_and_a_note_lists_the_others(path):
    assert "'people' is read" in read_table_file(path).notes[0]
    for sheet in ("notes", "2"):
        assert read_table_file(path, Reading(sheet=sheet)).frame.columns.tolist() == [
            "only",
            "words",
        ]
    with pytest.raises(TableError, match=r"near: 'notes'.*its sheets are 'people', 'notes'"):
        read_table_file(path, Reading(sheet="note"))
    found = read_table_file(path, Reading(target="words"))  # that has it
    assert found.frame.columns.tolist() == ["only", "words"]
    assert "'notes' is read" in found.notes[0]
    (path.parent / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match=r"--sheet goes with \.xlsx files"):
        read_table_file(path.parent / "t.csv", Reading(sheet="1"))


def test_the_same_table_gives_the_same_bytes(path, tmp_path):
    outs = [with_rows(path, tmp_path / name) for name in ("a.xlsx", "b.xlsx")]
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_some_rows_can_be_left_out(path, tmp_path):
    out = with_rows(path, tmp_path / "out.xlsx", pd.DataFrame({"ward": ["A"]}), np.array([0, 2]))
    got = values(out)
    assert [row[0] for row in got] == ["id", 1, 3, None]
    assert got[1] == values(path, "people")[1]
    assert got[3][5] == "A"


def test_other_formats_become_xlsx_and_back(tmp_path):
    text = 'id,pay,zip,big,odd\n1,"$1,200.50",007,900719925474099301,a\x1bb\n2,"$5.00",012,7,=1\n'
    (tmp_path / "t.csv").write_text(text)
    out = with_rows(tmp_path / "t.csv", tmp_path / "t.xlsx")
    assert values(out)[1] == [1, 1200.5, "007", "900719925474099301", "a_x001B_b"]
    assert openpyxl.load_workbook(out).active["E3"].data_type == "s"  # no formula
    back = read_table_file(with_rows(out, tmp_path / "back.csv")).frame
    assert back["pay"].tolist() == [1200.5, 5]
    assert back["zip"].tolist() == ["007", "012"]
    assert back["big"].tolist() == [900719925474099301, 7]


def test_formulas_are_read_as_their_results(tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, "=A2*2"], [2, 3]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")  # openpyxl computes nothing: the result is missing
    assert read_table_file(tmp_path / "t.xlsx").frame["b"].isna().tolist() == [True, False]


def test_empty_rows_around_a_table_are_dropped(tmp_path):
    book = openpyxl.Workbook()
    for row in ([], [], ["a", "b"], [1, 2], [None, 3], [], []):
        book.active.append(row)
    book.active["Z1"] = None
    book.save(tmp_path / "t.xlsx")
    assert read_table_file(tmp_path / "t.xlsx").frame.shape == (2, 2)


@pytest.mark.parametrize("broken", ["empty", "no sheet", "half"])
def test_a_broken_file_is_reported_in_one_sentence(path, broken):
    if broken == "empty":
        book = openpyxl.Workbook()
        book.save(path)
    elif broken == "no sheet":
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("hello.txt", "hello")
    else:
        path.write_bytes(path.read_bytes()[:-700])
    with pytest.raises(TableError, match=r"is empty|cannot be read|is not an \.xlsx file"):
        read_table_file(path)


def test_what_the_format_cannot_hold_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text(f"a,b\n{'x' * 40_000},1\ny,2\n")
    with pytest.raises(TableError, match="at most 32,767 characters, and one has 40,000"):
        encode_frame(read_table_file(tmp_path / "t.csv").frame, tmp_path / "t.xlsx")
