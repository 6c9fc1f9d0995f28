"""A table of results is written for people and, in full precision, for programs."""

import csv
import io

from counterbalance.result_table import ResultTable, as_csv, as_text


def test_a_table_is_written_as_text_and_csv():
    table = ResultTable("t", "Yield", ("f", "share"), [("LR", "0.9"), ("a|b", "1")], ["A note."])
    assert as_text(table) == "Yield\n\nf    share\nLR     0.9\na|b      1\n\nA note.\n"
    assert as_csv(table) == "f,share\nLR,0.9\na|b,1\n"


def test_the_figures_of_a_csv_file_are_read_back_with_the_same_bits():
    table = ResultTable("t", "Yield", ("f",), [("LR",)], records=[{"f": "LR", "share": 0.1 + 0.2}])
    (row,) = csv.DictReader(io.StringIO(as_csv(table)))
    assert float(row["share"]) == 0.1 + 0.2
