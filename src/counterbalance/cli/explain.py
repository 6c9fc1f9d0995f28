"""``counterbalance explain``: the smallest changes for which another class is predicted."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from counterbalance.cli import options as shared
from counterbalance.cli.rules import GivenRules, given_rules, make_sampler
from counterbalance.cli.terminal import Progress, note, say, show_json, show_tables, working
from counterbalance.cli.user_table import UserTable, make_reading, read_user_table
from counterbalance.errors import ConstraintError, TableError
from counterbalance.result_table import ResultTable

if TYPE_CHECKING:
    import numpy as np

    from counterbalance.explain import Answer, Explanation, Explanations

EXAMPLES = {
    "three answers for the first row to be called high": "counterbalance explain patients.csv "
    "--target risk --row 0 --to high",
    "without changes that nobody can make": "counterbalance explain patients.csv --target risk "
    "--row 0 --to low --increasing age",
    "the nearest answer of every row above 60, written to a file": "counterbalance explain "
    "patients.csv --target risk --where 'age > 60' --out old.csv",
    "only answers that hold if a tenth of the table were not there": "counterbalance explain "
    "patients.csv --target risk --row 0 --robust 1",
}
BINARY = 2
# At most this many answers to several rows are shown.
MOST_SHOWN = 20
# Numbers in this range are written in full: money, not astronomical distances.
LARGE, TOO_LARGE = 1e4, 1e12


def explain(
    table: shared.Table,
    *,
    target: shared.Target,
    row: Annotated[
        int | None,
        shared.valued("N", "Number of the row; the first below the header is 0.", min=0),
    ] = None,
    rows: Annotated[
        str | None, shared.valued("N,N", "Numbers of several rows, such as 0,5,9.")
    ] = None,
    where: Annotated[
        str | None,
        shared.valued("TEXT", "Rows for which this holds, such as 'age > 60' or 'ward == A'."),
    ] = None,
    every: Annotated[bool, shared.flag("--all", "All rows.")] = False,
    out: Annotated[
        Path | None, shared.valued("FILE", "A csv file for the answers to several rows.")
    ] = None,
    to: Annotated[
        str | None,
        shared.valued("CLASS", "Class to reach; may be left out if there are only two."),
    ] = None,
    answers: Annotated[
        int | None,
        shared.valued(
            "N",
            "Answers at most: near ones that change other features.",
            min=1,
            show_default="3, of several rows 1",
        ),
    ] = None,
    robust: Annotated[
        float,
        shared.valued(
            "SHARE",
            "Only answers that at least this share of ten refits of the classifier accept, each "
            "fitted without a tenth of the rows; 0 only shows the share, -1 skips the refits.",
            min=-1,
            max=1,
        ),
    ] = 0.0,
    certify: Annotated[
        bool | None,
        shared.flag(
            "--certify/--no-certify",
            "Search until the nearest answer is proved, or skip the proof, which is fastest.",
            show_default="a short proof",
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
    transitions: shared.Transitions = None,
    at_least: shared.AtLeast = None,
    cost: shared.Cost = None,
    max_changed: shared.MaxChanged = None,
    number: shared.Number = None,
    text: shared.Text = None,
    na: shared.Na = None,
    header: shared.Header = None,
    sheet: shared.Sheet = None,
) -> int:
    """Show the smallest changes of rows for which a classifier predicts another class.

    A classifier is trained on the table. The first answer is the nearest; the others change other
    features. Every change is needed, and is shown with all values that the classifier would accept
    in its place. Each answer has a bound, which says how much nearer any answer could be, and the
    number of refits that agree. For several rows, the nearest answer of each is shown or written
    to a file. An answer says what the classifier would predict, not what would happen in the world.
    """
    from counterbalance.explain import Explanation
    from counterbalance.explain import explain as find_answers

    rules = given_rules(
        immutable,
        increasing,
        decreasing,
        range_,
        one_of,
        constraint,
        transitions,
        at_least,
        cost,
        max_changed=max_changed,
    )
    if sum((row is not None, rows is not None, where is not None, every)) != 1:
        raise TableError(
            "one of --row, --rows, --where and --all must be given; for example --row 0"
        )
    if out is not None and (row is not None or out.suffix.lower() != ".csv"):
        raise TableError(f"--out must be a csv file for several rows, got {str(out)!r}")
    reading = make_reading(header, number, text, na, sheet)
    user = read_user_table(
        table, target, keep=keep, use=use, drop_missing_target=drop_missing_target, reading=reading
    )
    chosen = _requested_rows(user, row, rows, where)
    label = _other_class(user, None if row is None else int(chosen[0]), to)
    counts = {name: int(count) for name, count in user.y.value_counts().items()}
    sampler = make_sampler(user, counts, rules, seed)
    with working("searching for counterfactuals") as tell:
        shown = Progress(tell)
        found = find_answers(
            sampler,
            user.X,
            user.y,
            chosen if row is None else row,
            label,
            n_answers=answers,
            robust=None if robust < 0 else robust,
            certify=certify,
            progress=lambda done, total: shown("rows", done, total),
        )
    if isinstance(found, Explanation):
        _one_row(found, max(robust, 0.0), rules, json=json)
    else:
        _several_rows(found, out, json=json)
    return 0


def _requested_rows(user: UserTable, row: int | None, rows: str | None, where: str | None) -> Any:
    """Return the positions of the requested rows."""
    import numpy as np

    n_rows = len(user.y)
    if where is not None:
        return _where(user, where)
    if row is None and rows is None:
        return np.arange(n_rows)
    option, texts = ("--row", [str(row)]) if rows is None else ("--rows", rows.split(","))
    for text in texts:
        if not text.strip().isdecimal() or int(text) >= n_rows:
            raise TableError(
                f"{option} must be one of the {n_rows} rows, from 0 to {n_rows - 1}, got "
                f"{text.strip()}; count from 0 below the header"
            )
    return np.array([int(text) for text in texts])


def _where(user: UserTable, text: str) -> np.ndarray[Any, Any]:
    """Return the rows for which a comparison holds: of numbers, or of a category with a text."""
    import numpy as np

    from counterbalance.constraints import relations

    names, frame = list(map(str, user.X.columns)), user.X
    column, sign, value = (part.strip(" `'\"") for part in re.split("(==|!=)", text + "==")[:3])
    if column in names and not _is_number(frame.iloc[:, names.index(column)]):
        cells = frame.iloc[:, names.index(column)]
        holds: Any = ((cells.astype(str) == value) == (sign == "==")) & cells.notna()
    else:
        used: list[int] = []

        def place(name: str) -> int:
            used.append(names.index(user.columns([name], "--where")[0]))
            if not _is_number(frame.iloc[:, used[-1]]):
                raise ConstraintError(
                    f"--where compares {name!r}, which has no numbers; write '{name} == VALUE'"
                )
            return used[-1]

        try:
            relation = relations.parse(text, place)
        except ConstraintError as error:
            raise TableError(str(error).replace("the relation", "--where")) from None
        x = np.zeros(frame.shape)
        for m in used:
            x[:, m] = frame.iloc[:, m].to_numpy(dtype=float, na_value=np.nan)
        holds = relation.holds(x) & ~np.isnan(x).any(axis=1)
    found = np.flatnonzero(np.asarray(holds))
    if not found.size:
        raise TableError(f"--where {text!r} holds for no row; loosen it")
    return found


def _is_number(column: Any) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(column) and not is_bool_dtype(column))


def _several_rows(found: Explanations, out: Path | None, *, json: bool) -> None:
    from counterbalance.io.atomic import written_whole
    from counterbalance.rows.provenance import inert

    lines = found.table
    if out is not None:
        texts = lines.assign(changes=[inert(text) for text in lines["changes"]])
        with written_whole(out) as part:
            texts.to_csv(part, index=False, encoding="utf-8")
        note(f"{len(lines)} answers to {len(found)} rows written to {out}")
    if json:
        show_json(lines.to_dict("records"))
    elif out is None:
        columns = [str(name) for name in lines.columns]
        shown = lines.head(MOST_SHOWN).to_dict("list")
        rows = list(
            zip(*([_cell(value) for value in shown[name]] for name in columns), strict=True)
        )
        more = len(lines) - len(rows)
        notes = [f"{more} more answers: write all of them with --out FILE"] if more else []
        show_tables([ResultTable("answers", "Answers", columns, rows, notes, left=5)])
    left = len(found) - lines["row"].nunique()
    if left:
        note(
            f"{left} of {len(found)} rows have no answer: the classifier calls them the class "
            "already, or no change was found"
        )


def _one_row(found: Explanation, robust: float, rules: GivenRules, *, json: bool) -> None:
    from counterbalance.table.labels import in_words

    if json:
        show_json(_plain(found))
    else:
        _show(found, robust)
    if found.called == found.to:
        note(
            f"the classifier calls row {found.row} {in_words(found.to)} already, though its class "
            f"is {found.own_class}: nothing would have to change; explain a row that it gets right"
        )
    elif not found.answers:
        agreed = "" if not robust else f", with {robust:.0%} of its refits,"
        lower = "lower --robust, " if robust else ""
        loosen = f"loosen {', '.join(rules.given)}, or " if rules.given else ""
        raise TableError(
            f"no change was found that makes the classifier{agreed} call row {found.row} "
            f"{in_words(found.to)}; {lower}{loosen}try another --to or --row"
        )


def _other_class(user: UserTable, row: int | None, to: str | None) -> Any:
    """Return the class to reach; None if each of several rows gets the other of two classes."""
    own = None if row is None else user.y.iloc[row]
    classes = user.y.unique().tolist()
    if to is None:
        if len(classes) > BINARY:
            listed = ", ".join(map(str, classes))
            raise TableError(f"--to must be given, as there are several classes: {listed}")
        return None if row is None else next(label for label in classes if label != own)
    label = user.label(to, "--to")
    if row is not None and label == own:
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
    _show_bound(found)
    who = f"the classifier and {robust:.0%} of its refits say" if robust else "the classifier says"
    say(f"accepted: the values for which {who} {in_words(found.to)}, with the other changes kept")
    if any(not one.exact for answer in found.answers for one in answer.accepted.values()):
        say("about: the classifier was evaluated at some points only, and the ends are bisected")
    if found.sampled:
        say("answer 1 is the counterfactual that balance finds for this row")


def _show_bound(found: Explanation) -> None:
    gap = found.answers[0].gap
    if gap == 0:
        say("no answer is nearer than answer 1: this is proved")
    elif math.isfinite(gap):
        say(f"answer 1 is at most {max(gap, 0.001):.1%} farther than the nearest: this is proved")


def _table(found: Explanation, number: int) -> ResultTable:
    answer = found.answers[number]
    rows = [
        (name, _cell(before), _cell(after), answer.accepted[name].tell(after))
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
                "bound": answer.bound,
                "score": answer.score,
                "robust": answer.robust,
                "changes": {
                    name: {
                        "before": before,
                        "after": after,
                        "accepted": vars(answer.accepted[name]),
                    }
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
