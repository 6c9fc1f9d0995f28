"""What commands show is text for people, JSON for machines, and never obeyed by a terminal."""

import io
import json
import sys

import numpy as np

from counterbalance.cli import terminal
from counterbalance.result_table import ResultTable

TABLE = ResultTable(
    "t", "Title", ("name", "n"), [("[red]x[/red]", "1"), ("\x1b[31my", "22")], ("note",)
)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def drawn(monkeypatch, **environment):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    terminal.show_tables([TABLE])
    return stream.getvalue()


def test_a_pipe_gets_plain_columns(capsys):
    terminal.show_tables([TABLE])
    out = capsys.readouterr().out
    assert "[red]x[/red]   1" in out
    assert "\x1b" not in out


def test_a_terminal_gets_colours_unless_no_color_is_set(monkeypatch):
    assert "\x1b[1m" in drawn(monkeypatch)
    plain = drawn(monkeypatch, NO_COLOR="1")
    assert "\x1b" not in plain
    assert "[red]x[/red]" in plain


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
