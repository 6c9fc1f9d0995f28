"""Tables of results, as text and as html."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill

FAILED = "failed"
ABSENT = "-"
NOTE_WIDTH = 100


@dataclass(frozen=True)
class ResultTable:
    """A table of results."""

    name: str  # name of its files
    title: str  # what it shows
    columns: Sequence[str]  # column headings; the first column names the rows
    rows: Sequence[Sequence[str]]  # the cells as text, row by row
    notes: Sequence[str] = ()  # what readers must know, one sentence each
    left: int = 1  # how many columns, counted from the first, hold texts and are left-aligned


def as_text(table: ResultTable) -> str:
    """Write a table in plain columns, texts left-aligned and numbers right-aligned.

    Examples
    --------
    >>> print(as_text(ResultTable("t", "Yield", ("f", "share"), [("LR", "0.9"), ("SVM", "0.85")])))
    Yield
    <BLANKLINE>
    f    share
    LR     0.9
    SVM   0.85
    <BLANKLINE>
    """
    lines = [table.columns, *table.rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.columns))]
    text = [table.title, ""] if table.title else []
    for line in lines:
        cells = [
            cell.ljust(width) if place < table.left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(cells).rstrip())
    notes = [fill(note, NOTE_WIDTH) for note in table.notes]
    return "\n".join([*text, *_spaced(notes), ""])


def as_html(table: ResultTable) -> str:
    """Write a table as html for a notebook, with its title above and its notes below.

    Examples
    --------
    >>> as_html(ResultTable("t", "Yield", ("f",), [("<LR>",)]))
    '<h4>Yield</h4><table><tr><th>f</th></tr><tr><td>&lt;LR&gt;</td></tr></table>'
    """
    lines = [_html_line("th", table.columns), *(_html_line("td", row) for row in table.rows)]
    notes = "".join(f"<p>{escape(note)}</p>" for note in table.notes)
    return f"<h4>{escape(table.title)}</h4><table>{''.join(lines)}</table>{notes}"


def _html_line(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _spaced(notes: Sequence[str]) -> list[str]:
    return [line for note in notes for line in ("", note)]
