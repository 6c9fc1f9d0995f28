"""Tables on the screen: drawn with rich in a terminal, plain columns elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterbalance.experiments.reproduction.tables import Table


def show_tables(tables: Iterable[Table]) -> None:
    """Show tables on stdout."""
    from counterbalance.experiments.reproduction.tables import as_text  # noqa: PLC0415 - the extra cli

    if sys.stdout.isatty() and _show_rich(tables):
        return
    for table in tables:
        sys.stdout.write(as_text(table) + "\n")


def _show_rich(tables: Iterable[Table]) -> bool:
    """Draw the tables with rich; False if it is not installed."""
    try:
        from rich.console import Console  # noqa: PLC0415 - an extra
        from rich.table import Table as Drawn  # noqa: PLC0415 - an extra
        from rich.text import Text  # noqa: PLC0415 - an extra
    except ImportError:
        return False
    console = Console()
    for table in tables:
        drawn = Drawn(title=Text(table.title, style="bold"), title_justify="left")
        for place, column in enumerate(table.columns):
            drawn.add_column(Text(column), justify="right" if place else "left")
        for row in table.rows:
            style = "dim" if row[0].startswith("  ") else None
            drawn.add_row(*(Text(cell) for cell in row), style=style)
        console.print(drawn)
        for note in table.notes:
            console.print(Text(note, style="italic"))
        console.print()
    return True
