"""``counterbalance explain``: what would have to change for one row to be called another class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from counterbalance.cli import options as shared
from counterbalance.cli.rules import given_rules, make_sampler
from counterbalance.cli.terminal import note, say, show_json, show_tables, working
from counterbalance.cli.user_table import UserTable, make_reading, read_user_table
from counterbalance.errors import TableError
from counterbalance.result_table import ResultTable

if TYPE_CHECKING:
    from counterbalance.explain import Answer, Explanation

EXAMPLES = {
    "three answers for the first row to be called high": "counterbalance explain patients.csv "
    "--target risk --row 0 --to high",
    "without changes that nobody can make": "counterbalance explain patients.csv --target risk "
    "--row 0 --to low --increasing age",
    "only answers that hold if a tenth of the table were not there": "counterbalance explain "
    "patients.csv --target risk --row 0 --robust 1",
}
BINARY = 2
# Numbers in this range are written in full: money, not astronomical distances.
LARGE, TOO_LARGE = 1e4, 1e12


def explain(
    table: shared.Table,
    *,
    target: shared.Target,
    row: Annotated[
        int,
        shared.valued("N", "Number of the row; the first below the header is 0.", min=0),
    ],
    to: Annotated[
        str | None,
        shared.valued("CLASS", "Class to reach; may be left out if there are only two."),
    ] = None,
    answers: Annotated[
        int,
        shared.valued("N", "Answers at most: near ones that change other features.", min=1),
    ] = 3,
    robust: Annotated[
        float | None,
        shared.valued(
            "SHARE",
            "Only answers that at least this share of ten refits of the classifier agree "
            "with, each fitted without a tenth of the rows; 0 only tells the share.",
            min=0,
            max=1,
        ),
    ] = None,
    keep: shared.Keep = None,
    use: shared.Use = None,
    seed: shared.Seed = 0,
    drop_missing_target: shared.DropMissingTarget = False,
    json: shared.Json = False,
    immutable: shared.Immutable = None,
    increasing: shared.Increasing = None,
    decreasing: shared.Decreasing = None,
    range_: shared.Range = None,
    one_of: shared.OneOf = None,
    constraint: shared.Relation = None,
    max_changed: shared.MaxChanged = None,
    number: shared.Number = None,
    text: shared.Text = None,
    na: shared.Na = None,
    header: shared.Header = None,
    sheet: shared.Sheet = None,
) -> int:
    """Show what would have to change for one row to be called another class.

    A classifier is trained on the table. The first answer is the row that balance makes of this
    row, the others are near and change other features. Every change is needed, and beside it stand
    all values that the classifier would accept in its place. It says what the classifier would
    answer, not what would happen in the world.
    """
    from counterbalance.explain import explain as find_answers
    from counterbalance.table.labels import in_words

    rules = given_rules(
        immutable, increasing, decreasing, range_, one_of, constraint, max_changed=max_changed
    )
    reading = make_reading(header, number, text, na, sheet)
    user = read_user_table(
        table, target, keep=keep, use=use, drop_missing_target=drop_missing_target, reading=reading
    )
    if row >= len(user.y):
        raise TableError(
            f"--row must be one of the {len(user.y)} rows, from 0 to {len(user.y) - 1}, got {row}; "
            "count from 0 below the header"
        )
    label = _other_class(user, row, to)
    counts = {name: int(count) for name, count in user.y.value_counts().items()}
    sampler = make_sampler(user, counts, rules, seed)
    with working("searching for counterfactuals"):
        found = find_answers(sampler, user.X, user.y, row, label, n_answers=answers, robust=robust)
    if json:
        show_json(_plain(found))
    else:
        _show(found, robust)
    if found.called == found.to:
        note(
            f"the classifier calls row {row} {in_words(found.to)} already, though its class is "
            f"{found.own_class}: nothing would have to change; explain a row that it gets right"
        )
        return 0
    if not found.answers:
        agreed = "" if not robust else f", with {robust:.0%} of its refits,"
        lower = "lower --robust, " if robust else ""
        loosen = f"loosen {', '.join(rules.given)}, or " if rules.given else ""
        raise TableError(
            f"no change was found that makes the classifier{agreed} call row {row} "
            f"{in_words(found.to)}; {lower}{loosen}try another --to or --row"
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


def _show(found: Explanation, robust: float | None) -> None:
    from counterbalance.table.labels import in_words

    right = found.called == found.own_class
    called = "" if right else f" (the classifier calls it {in_words(found.called)})"
    say(f"row {found.row}, class {found.own_class}{called}\n")
    if not found.answers:
        return
    several = f", {len(found.answers)} answers" if len(found.answers) > 1 else ""
    say(f"What would make the classifier call it {in_words(found.to)}{several}:\n")
    show_tables([_table(found, number) for number in range(len(found.answers))])
    who = f"the classifier and {robust:.0%} of its refits say" if robust else "the classifier says"
    say(f"accepted: the values for which {who} {in_words(found.to)}, with the other changes kept")
    if any(not room.exact for answer in found.answers for room in answer.room.values()):
        say("about: the classifier was asked at some points only, and the ends are bisected")
    if found.sampled:
        say("answer 1 is the counterfactual that balance finds for this row")


def _table(found: Explanation, number: int) -> ResultTable:
    answer = found.answers[number]
    rows = [
        (name, _cell(before), _cell(after), answer.room[name].tell(after))
        for name, (before, after) in answer.changes.items()
    ]
    title = f"Answer {number + 1}: {_facts(found, answer)}"
    return ResultTable("answer", title, ("feature", "now", "then", "accepted"), rows)


def _facts(found: Explanation, answer: Answer) -> str:
    from counterbalance.table.labels import in_words

    facts = [f"distance {answer.distance:.3g}"]
    if found.score == found.score:
        facts.append(f"score of {in_words(found.to)} {found.score:.2f} → {answer.score:.2f}")
    if found.refits:
        facts.append(f"{round(answer.robust * found.refits)} of {found.refits} refits agree")
    return ", ".join(facts)


def _plain(found: Explanation) -> dict[str, Any]:
    return {
        "row": found.row,
        "class": found.own_class,
        "called": found.called,
        "to": found.to,
        "score": found.score,
        "refits": found.refits,
        "sampled": found.sampled,
        "values": found.cells,
        "answers": [
            {
                "distance": answer.distance,
                "score": answer.score,
                "robust": answer.robust,
                "changes": {
                    name: {"before": before, "after": after, "accepted": vars(answer.room[name])}
                    for name, (before, after) in answer.changes.items()
                },
            }
            for answer in found.answers
        ],
    }


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if LARGE <= abs(value) < TOO_LARGE else f"{value:.4g}"
