"""Tables of results, as text, markdown and csv, and the canvas of the figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from paper.trials import Frame

FAILED, ABSENT = "failed", "-"
RESOLUTION = 100


@dataclass(frozen=True, eq=False)
class Table:
    """A table of results."""

    name: str  # name of its files
    title: str  # what it shows
    columns: Sequence[str]  # headings
    rows: Sequence[Sequence[str]]  # the cells as text, row by row
    notes: Sequence[str] = ()  # what a reader has to know, one sentence each
    figures: Frame | None = None  # the same in full precision, for the csv file
    left: int = 1  # how many columns, counted from the first, hold texts

    def markdown(self, heading: str = "###") -> str:
        """Return the table as markdown, its title as a heading and its notes below.

        >>> print(Table("t", "Yield", ("f", "share"), [("LR", "0.9")], ("A note.",)).markdown())
        ### Yield
        <BLANKLINE>
        | f | share |
        |---|---:|
        | LR | 0.9 |
        <BLANKLINE>
        A note.
        <BLANKLINE>
        """
        rule = "|" + "---|" * self.left + "---:|" * (len(self.columns) - self.left)
        head, *body = (
            "| " + " | ".join(cell.strip().replace("|", "\\|") or " " for cell in line) + " |"
            for line in (self.columns, *self.rows)
        )
        notes = [line for note in self.notes for line in ("", note)]
        return "\n".join([f"{heading} {self.title}", "", head, rule, *body, *notes, ""])

    def csv(self) -> str:
        """Return the figures in full precision, or the cells where there are none."""
        cells = pd.DataFrame(list(self.rows), columns=list(self.columns))
        return str((cells if self.figures is None else self.figures).to_csv(index=False))


def bold(text: str, *, when: bool) -> str:
    """Return a text of markdown, bold if it is."""
    return f"**{text}**" if when else text


def new_figure(columns: int, rows: int, *, width: float = 4.2, height: float = 3.4) -> Any:
    """Return a figure, drawn without a screen, and its axes as a flat list."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(np.ravel(figure.subplots(rows, columns, squeeze=False)))


def save_figure(figure: Any, out: Path, name: str) -> None:
    """Save a figure as png and svg in the folder ``figures`` of the output."""
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": name}):  # the same bytes for the same figure
        figure.savefig(folder / f"{name}.png", dpi=RESOLUTION, metadata={"Software": None})
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})


def write(out: Path, name: str, page: str, tables: Iterable[Table], prefix: str = "") -> None:
    """Write a page and its tables as csv into the folder of the output."""
    out.mkdir(parents=True, exist_ok=True)
    out.joinpath(f"{name}.md").write_text(page, encoding="utf-8")
    for table in tables:
        out.joinpath(f"{prefix}{table.name}.csv").write_text(table.csv(), encoding="utf-8")
