"""``counterbalance explain``: what would have to change for one row to be called another class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterbalance.cli.options import (
    Decreasing,
    DropMissingTarget,
    Immutable,
    Increasing,
    Json,
    Keep,
    Seed,
    TableFile,
    Target,
    Use,
    make_sampler,
)
from counterbalance.cli.terminal import note, say, show_json, show_tables, working
from counterbalance.cli.user_table import UserTable, read_user_table
from counterbalance.errors import TableError
from counterbalance.io.reading import Reading
from counterbalance.result_table import ResultTable

if TYPE_CHECKING:
    from counterbalance.explain import Explanation

NAME = "explain"
SUMMARY = "Show what would have to change for one row to be called another class."
DESCRIPTION = (
    "Show the nearest counterfactuals of one row, each with different features changed: what "
    "would have to change for a classifier, trained on the table, to call the row another class. "
    "It says what the classifier would answer, not what would happen in the world."
)
EXAMPLES = (
    (
        "three ways for the first row to be called high",
        "counterbalance explain patients.csv --target risk --row 0 --to high",
    ),
    (
        "without changes that nobody can make",
        "counterbalance explain patients.csv --target risk --row 0 --to low --increasing age",
    ),
)
BINARY = 2
SAME = "·"
# Numbers in this range are written in full: money, not astronomical distances.
LARGE, TOO_LARGE = 1e4, 1e12


def execute(
    table: TableFile,
    *,
    target: Target,
    row: Annotated[
        int,
        typer.Option(
            metavar="N", help="Number of the row; the first below the header is 0.", min=0
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS", help="Class to reach; may be left out if there are only two."
        ),
    ] = None,
    ways: Annotated[int, typer.Option(metavar="N", help="Counterfactuals at most.", min=1)] = 3,
    keep: Keep = None,
    use: Use = None,
    immutable: Immutable = None,
    increasing: Increasing = None,
    decreasing: Decreasing = None,
    seed: Seed = 0,
    drop_missing_target: DropMissingTarget = False,
    json: Json = False,
    reading: Reading,
) -> int:
    """Explain one row."""
    from counterbalance.explain import explain

    user = read_user_table(
        table,
        target,
        keep=keep,
        use=use,
        drop_missing_target=drop_missing_target,
        reading=reading,
    )
    if row >= len(user.y):
        raise TableError(
            f"--row must be one of the {len(user.y)} rows, from 0 to {len(user.y) - 1}, got {row}; "
            "count from 0 below the header"
        )
    label = _other_class(user, row, to)
    rules = {"--immutable": immutable, "--increasing": increasing, "--decreasing": decreasing}
    counts = {name: int(count) for name, count in user.y.value_counts().items()}
    sampler = make_sampler(user, counts, rules, [], seed)
    with working("searching for counterfactuals"):
        found = explain(sampler, user.X, user.y, row, label, n_ways=ways)
    if json:
        show_json(_plain(found))
    else:
        _show(found)
    if found.called == found.to:
        note(
            f"the classifier calls row {row} {found.to} already, though its class is "
            f"{found.own_class}: nothing would have to change; explain a row that it gets right"
        )
        return 0
    if not found.ways:
        raise TableError(
            f"no change was found that makes the classifier call row {row} {found.to}; free "
            "columns from --immutable, --increasing and --decreasing, or try another --to or --row"
        )
    return 0


def _other_class(user: UserTable, row: int, to: str | None) -> Any:
    own = user.y.iloc[row]
    classes = user.y.unique().tolist()
    if to is None:
        if len(classes) > BINARY:
            listed = ", ".join(map(str, classes))
            raise TableError(f"--to must be given, as there are several classes: {listed}")
        return next(label for label in classes if label != own)
    label = user.label(to, "--to")
    if label == own:
        others = ", ".join(str(other) for other in classes if other != own)
        raise TableError(
            f"--to must be another class than that of row {row}, got {to}; choose one of: {others}"
        )
    return label


def _show(found: Explanation) -> None:
    about = f"row {found.row}, class {found.own_class}"
    called = "" if found.called == found.own_class else f" (the classifier calls it {found.called})"
    say(f"{about}{called}\n")
    if not found.ways:
        return
    changed = [name for name in found.cells if any(name in way.changes for way in found.ways)]
    rows = [
        (
            name,
            _cell(found.cells[name]),
            *(_cell(way.changes[name][1]) if name in way.changes else SAME for way in found.ways),
        )
        for name in changed
    ]
    rows.append(("distance", "0", *(f"{way.distance:.3g}" for way in found.ways)))
    if found.score == found.score:
        scores = (found.score, *(way.score for way in found.ways))
        rows.append((f"score of {found.to}", *(f"{score:.2f}" for score in scores)))
    ways = tuple(f"way {k + 1}" for k in range(len(found.ways)))
    title = f"What would make the classifier call it {found.to}"
    same = any(SAME in row for row in rows)
    notes = (f"{SAME} stays as it is, and so do all other features",) if same else ()
    show_tables([ResultTable("ways", title, ("feature", "now", *ways), rows, notes)])


def _plain(found: Explanation) -> dict[str, Any]:
    return {
        "row": found.row,
        "class": found.own_class,
        "called": found.called,
        "to": found.to,
        "score": found.score,
        "values": found.cells,
        "ways": [
            {
                "distance": way.distance,
                "score": way.score,
                "changes": {
                    name: {"before": before, "after": after}
                    for name, (before, after) in way.changes.items()
                },
            }
            for way in found.ways
        ],
    }


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if LARGE <= abs(value) < TOO_LARGE else f"{value:.4g}"
