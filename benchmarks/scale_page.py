"""The results of ``scale.py``: format their table, and put it into a document.

A run is identified by its name and its millions of rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

MILLION = 1_000_000
MARKS = ("<!-- figures of make bench-scale -->", "<!-- end of the figures -->")
HEADS = (
    "run",
    "rows",
    "seconds",
    "to the floor",
    "CPU µs a row",
    "to the floor",
    "largest worker",
    "load",
)


def written(made: dict[str, list[dict[str, Any]]], planned: dict[str, tuple[str, int]]) -> str:
    """Return a table of the median runs in Markdown, with the ratios to the floor of their size."""
    figures = {
        name: sorted(times, key=lambda one: one["seconds"])[(len(times) - 1) // 2]
        for name, times in made.items()
        if times
    }
    lines = [f"| {' | '.join(HEADS)} |", f"|---|{'---:|' * (len(HEADS) - 1)}"]
    for name, (what, n) in planned.items():
        if name not in figures:
            continue
        one, base = figures[name], figures.get(f"floor, {n} million")
        seconds, cpu = (
            (f"{one[key] / scale:.1f}", f"{one[key] / base[key]:.1f}" if base else "")
            for key, scale in (("seconds", 1), ("cpu_seconds", n))
        )
        new = f", {one['new_rows']:,} new" if "new_rows" in one else ""
        cells = [what, f"{n} million{new}", *seconds, *cpu]
        cells += [f"{one['peak_gigabytes_of_a_worker']:.2f} GB", f"{one['load']:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    most = max((len(made[name]) for name in figures), default=0)
    return "\n".join(lines) + f"\n\nEach row is the median of at most {most} runs, by its seconds."


def put_into(page: Path, text: str) -> None:
    """Put a text between the two marks of a document."""
    before, rest = page.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    page.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")
