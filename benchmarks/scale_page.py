"""What the runs of ``scale.py`` say: the table of them, the aims, and their place in a document.

A run is known by what is run, on how many million rows, on how many workers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

MILLION = 1_000_000
MARKS = ("<!-- figures of make bench-scale -->", "<!-- end of the figures -->")
# The aims: to the floor, two workers to one, and how much the rows a second may differ.
MOST_TO_FLOOR, LEAST_SPEED_UP, MOST_DIFFERENCE = 3.0, 1.8, 0.15


def written(
    made: dict[str, list[dict[str, Any]]],
    planned: dict[str, tuple[str, int, int]],
    millions: list[int],
) -> str:
    """Return the table of the median runs, and which aims are met."""
    figures = medians(made)
    most = max((len(made[name]) for name in figures), default=0)
    return (
        f"{table_of(figures, planned)}\n\nEach row is the median of at most {most} runs, by its "
        f"seconds.\n\n{aims_of(figures, millions)}"
    )


def put_into(page: Path, text: str) -> None:
    """Put a text between the two marks of a document."""
    before, rest = page.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    page.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")


def medians(made: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return the median run of each name, by its seconds; the faster of the two in the middle."""
    return {
        name: sorted(times, key=lambda one: one["seconds"])[(len(times) - 1) // 2]
        for name, times in made.items()
        if times and "seconds" in times[0]
    }


def table_of(figures: dict[str, Any], planned: dict[str, tuple[str, int, int]]) -> str:
    """Return the figures as a table in Markdown, with the ratios to the floor of the same size."""
    lines = [
        (
            "| run | rows | workers | seconds | to the floor | rows a second | CPU µs a row | "
            "to the floor | largest worker | load |"
        ),
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, (what, n, workers) in planned.items():
        if name not in figures:
            continue
        one, base = figures[name], figures.get(f"floor, {n} million, {workers}", {})
        seconds, cpu = one["seconds"], one["cpu_seconds"]
        by_time = f"{seconds / base['seconds']:.1f}" if base else ""
        by_cpu = f"{cpu / base['cpu_seconds']:.1f}" if base else ""
        new = f", {one['new_rows']:,} new" if "new_rows" in one else ""
        lines.append(
            f"| {what} | {n} million{new} | {workers} | {seconds:.1f} | {by_time} | "
            f"{n * MILLION / seconds:,.0f} | {cpu / n:.1f} | {by_cpu} | "
            f"{one['peak_gigabytes_of_a_worker']:.2f} GB | {one['load']:.1f} |"
        )
    return "\n".join(lines)


def aims_of(figures: dict[str, Any], millions: list[int]) -> str:
    """Say which aims are met, for each sampler, as far as the runs are there."""
    middle = millions[len(millions) // 2]
    lines = ["| aim | linear | interior |", "|---|---:|---:|"]

    def seconds(what: str, n: int, workers: int = 2) -> float:
        found = figures.get(f"{what}, {n} million, {workers}", {}).get("seconds")
        return float("nan") if found is None else float(found)

    def rates(what: str) -> list[float]:
        return [n / seconds(what, n) for n in millions]

    def line(aim: str, values: list[float], form: str, is_met: Callable[[float], bool]) -> None:
        cells = [
            "not run" if value != value else f"{value:{form}} {'yes' if is_met(value) else 'no'}"  # noqa: PLR0124  (nan)
            for value in values
        ]
        lines.append(f"| {aim} | {' | '.join(cells)} |")

    both = ("linear", "interior")
    line(
        f"{millions[-1]} million rows: at most {MOST_TO_FLOOR:g} times the floor",
        [seconds(what, millions[-1]) / seconds("floor", millions[-1]) for what in both],
        ".2f",
        lambda value: value <= MOST_TO_FLOOR,
    )
    line(
        f"{middle} million rows: two workers at least {LEAST_SPEED_UP:g} times as fast as one",
        [seconds(what, middle, 1) / seconds(what, middle) for what in both],
        ".2f",
        lambda value: value >= LEAST_SPEED_UP,
    )
    line(
        f"rows a second flat within {MOST_DIFFERENCE:.0%}, {millions[0]} to {millions[-1]} million",
        [max(rates(what)) / min(rates(what)) - 1 for what in both],
        ".0%",
        lambda value: value <= MOST_DIFFERENCE,
    )
    return "\n".join(lines)
