"""What commands show is text for people, JSON for machines, and never obeyed by a terminal."""

import io
import json
import sys
import time
import warnings

import numpy as np
from pandas.errors import PerformanceWarning

from counterbalance.cli import terminal
from counterbalance.result_table import ResultTable

TABLE = ResultTable(
    "t", "Title", ("name", "n"), [("[red]x[/red]", "1"), ("\x1b[31my", "22")], ("note",)
)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def test_a_pipe_gets_plain_columns(capsys):
    terminal.show_tables([TABLE])
    out = capsys.readouterr().out
    assert "[red]x[/red]   1" in out
    assert "\x1b" not in out


def test_a_terminal_is_told_what_takes_longer_than_two_seconds(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(terminal, "AFTER", 0.01)
    with terminal.working("searching") as tell:
        tell("search: 3 of 9")
        deadline = time.monotonic() + 60
        while "search: 3 of 9 (0 s)" not in stream.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert stream.getvalue().endswith("\r\x1b[K")  # the line is gone
    stream.truncate(0)
    monkeypatch.setattr(terminal, "AFTER", 60)
    with terminal.working("searching"):
        pass
    assert "searching" not in stream.getvalue()


def test_advice_to_programmers_does_not_reach_the_user(capsys):
    with terminal.working("searching"):
        warnings.warn("for the user", UserWarning, stacklevel=1)
        warnings.warn("DataFrame is highly fragmented", PerformanceWarning, stacklevel=1)
        warnings.warn("overflow encountered in multiply", RuntimeWarning, stacklevel=1)
    assert capsys.readouterr().err == "counterbalance: for the user\n"


def test_json_is_valid_whatever_the_values_are(capsys):
    value = {1: np.int64(3), "nan": float("nan"), "list": (np.float64(0.5), None), "é": "\x1b"}
    terminal.show_json(value)
    out = capsys.readouterr().out
    assert json.loads(out) == {"1": 3, "nan": None, "list": [0.5, None], "é": "\x1b"}
    assert "\x1b" not in out


def test_a_sentence_is_broken_between_words_on_a_terminal_and_not_in_a_pipe(monkeypatch, capsys):
    text = "2,621 of 2,621 new rows are counterfactuals, each the nearest one found for its row."
    terminal.say(text)
    assert capsys.readouterr().out == f"{text}\n"
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "30")
    terminal.say(text)
    lines = stream.getvalue().splitlines()
    assert " ".join(lines) == text
    assert max(map(len, lines)) <= 30
