"""A table of results is written as text and as html."""

from counterbalance.result_table import ResultTable, as_html, as_text


def test_a_table_is_written_as_text():
    table = ResultTable("t", "Yield", ("f", "share"), [("LR", "0.9"), ("a|b", "1")], ["A note."])
    assert as_text(table) == "Yield\n\nf    share\nLR     0.9\na|b      1\n\nA note.\n"


def test_no_text_of_a_table_becomes_html():
    assert "<b>" not in as_html(ResultTable("t", "<b>", ("<b>",), [("<b>",)], ["<b>"]))
