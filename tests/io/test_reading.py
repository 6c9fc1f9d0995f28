"""A first row that looks like the rows below it is not taken for a header."""

import numpy as np
import pandas as pd
import pytest

from counterbalance.io import HeaderError, Reading, read_table_file

IRIS = "5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n"


@pytest.mark.parametrize(
    "text",
    [
        IRIS,
        "-0.37786573,1\n0.5,0\n0.7,1\n",
        "1,85,66,29,0,26.6,0.351,31,0\n8,183,64,0,0,23.3,0.672,32,1\n",
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
    assert rows.with_rows(rows.frame.head(0)) == text.encode()
    assert rows.with_rows(rows.frame.tail(1), np.array([0])).decode() == "\n".join(
        [text.split("\n")[0], *text.split("\n")[-2:]]
    )
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


def test_repeated_and_missing_names_are_numbered_with_a_note(tmp_path):
    path = tmp_path / "t.csv"
    text = ",dose, dose,age,dose\nA,1,2,3,4\nB,5,6,7,8\n"
    path.write_text(text)
    table = read_table_file(path)
    assert table.frame.columns.tolist() == ["Unnamed: 0", "dose", "dose.1", "age", "dose.2"]
    assert table.notes[0] == "2 columns are called 'dose'; this one is 'dose.1' here"
    new = table.with_rows(pd.DataFrame({"dose": [5], "dose.2": [4]})).decode()
    assert new == text + ",5,,,4\n"
