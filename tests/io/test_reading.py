"""A first row that looks like the rows below it is not taken for a header."""

import pandas as pd
import pytest

from counterbalance.io import HeaderError, Reading, read_table_file, write_table_file
from counterbalance.io.reading import looks_like_rows

IRIS = "5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n"


@pytest.mark.parametrize(
    "text",
    [
        IRIS,
        "-0.37786573,1\n0.5,0\n0.7,1\n",
        "1,85,66,29,0,26.6,0.351,31,0\n8,183,64,0,0,23.3,0.672,32,1\n",
        "p,x,s\ne,x,s\np,b,s\n",
        "2020-01-02,a\n2020-01-03,b\n",
        "true,x\nfalse,y\n",
        "?,1.5,a\n2,2.5,b\n",
        '"$1,200.00",a\n"$1,300.00",b\n',
    ],
)
def test_a_file_without_a_header_is_refused_until_the_user_says_so(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(HeaderError, match=r"seems to have no header.*--no-header.*--header"):
        read_table_file(path)
    rows = read_table_file(path, Reading(header=False))
    assert len(rows.frame) == text.count("\n")
    assert rows.frame.columns.tolist()[:2] == ["column 1", "column 2"]
    write_table_file(rows, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == text
    assert len(read_table_file(path, Reading(header=True)).frame) == text.count("\n") - 1


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n",
        "a,a\n1,2\n",
        "0,1,2\n5.1,3.5,x\n",  # as pandas writes an array
        ",0,1\n0,5.1,3.5\n",
        "country,2019,2020,2021\nA,1.5,2.5,3.5\n",
        "name,city\nAda,London\nEmmy,Erlangen\n",
        "a,b\n",
        "age,risk\n,high\n,low\n",
        "x,y\n?,1\n2,?\n",
    ],
)
def test_a_header_is_recognised(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert len(read_table_file(path).frame) == text.count("\n") - 1


def test_a_first_row_of_texts_is_a_row_only_if_all_of_them_occur_below():
    below = pd.DataFrame({0: ["a", "b"], 1: ["c", "d"]}, dtype=str)
    assert looks_like_rows(["a", "d"], below)
    assert not looks_like_rows(["a", "name"], below)


def test_a_converted_file_has_no_header_if_its_source_has_none(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    (tmp_path / "t.csv").write_text(IRIS)
    write_table_file(
        read_table_file(tmp_path / "t.csv", Reading(header=False)), tmp_path / "t.xlsx"
    )
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert [cell.value for cell in sheet[1]] == [5.1, 3.5, "setosa"]
    with pytest.raises(HeaderError):
        read_table_file(tmp_path / "t.xlsx")
