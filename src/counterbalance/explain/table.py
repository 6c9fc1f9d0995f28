"""Explanations of many rows: a table, sentences, and the explanation of each row.

rows      positions in X, or new rows that the classifier (f in the paper) was not fitted to
answer    1 for the nearest of a row, 2 for another one, ...
changes   what would have to change, such as ``age 30 → 41, dose 2 → 3``
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from counterbalance.arrays import Floats, Integers
from counterbalance.constraints.rules import differs
from counterbalance.errors import ClassifierError, TableError
from counterbalance.explain.answers import FoundAnswers, Question, answer, fit_again
from counterbalance.explain.explanation import AcceptedRange, Answer, Explanation, Ranges
from counterbalance.extras import require
from counterbalance.prepare import Prepared
from counterbalance.result_table import ResultTable, as_html
from counterbalance.samplers.base import TableOverSampler
from counterbalance.samplers.counterfactual import CounterfactualOverSampler
from counterbalance.search.algorithm_1 import which_invert
from counterbalance.table import containers, frames
from counterbalance.table.dummies import with_groups
from counterbalance.table.labels import in_words, plain
from counterbalance.table.table import read_table

# Rows that are processed at a time, between two calls of ``progress``.
ROWS_AT_ONCE = 256
# How many answers a notebook shows.
SHOWN = 20
COLUMNS = ("row", "answer", "called", "to", "changes", "distance", "bound", "refits_agree")
BINARY = 2


def explain(
    model: Any,
    X: Any,
    y: Any = None,
    rows: Any = None,
    to: Any = None,
    *,
    row: int | None = None,
    n_answers: int | None = None,
    robust: float | None = 0.0,
    certify: bool | None = None,
    constraints: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> Explanation | Explanations:
    """Find the smallest changes of rows for which the model predicts the class ``to``.

    Parameters
    ----------
    model : fitted classifier, or CounterfactualOverSampler
        A fitted classifier or pipeline with scikit-learn's API, whose predictions are explained.
        Or a sampler: its estimator is fitted to X and y, and its constraints and seed are used.
    X : dataframe or array
        The table. It defines the values of each column and the distances between them.
    y : array-like, default=None
        The classes of the rows of X; by default the predictions of a fitted classifier.
    rows : int, list, mask, dataframe or array, default=None
        The rows to explain: a position in X, several, a mask of its rows, or new rows with the
        columns of X. All rows of X by default.
    to : label, default=None
        The class to reach; with two classes, by default the one that is not predicted for a row.
    row : int, default=None
        The same as ``rows`` with one position.
    n_answers : int, default=None
        Most answers for each row, the nearest first: by default 3 for one row, 1 for several.
        Further answers are selected to be near and diverse: the distance of one that shares a part
        p of its changes with an earlier answer is multiplied by 1 / (1 - p).
    robust : float, default=0.0
        A share of refits, from 0 to 1. The classifier is fitted again ten times, each time without
        a tenth of the rows. Only changes count for which it and at least this share of the refits
        predict ``to``; 0 only reports the share. ``None`` skips the refits. A model that is passed
        fitted has no refits.
    certify : bool, default=None
        Whether to prove a lower bound on the distance, for trees and linear classifiers. ``None``
        examines 150 boxes for each row. ``True`` examines up to 20,000, so that the answer may get
        nearer. ``False`` skips the proof, which is fastest.
    constraints : list, default=None
        The constraints of the answers (see :mod:`counterbalance.constraints`), for a fitted
        classifier; a sampler has constraints of its own.
    progress : callable, default=None
        Called with the number of rows that are done and the number of all rows.

    Returns
    -------
    found : Explanation or Explanations
        The explanation of one row for a single position, else the explanations of all rows.

    See Also
    --------
    counterbalance.CounterfactualOverSampler : One counterfactual of each row.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.arange(20).reshape(-1, 1), np.repeat(["low", "high"], [12, 8])
    >>> model = DecisionTreeClassifier().fit(X, y)
    >>> answer = explain(model, X, rows=7, to="high").answers[0]
    >>> answer.changes, answer.accepted["x0"].low, answer.gap
    ({'x0': (7, 12)}, 12, 0.0)
    >>> found = explain(model, X, rows=[7, 10], to="high")
    >>> found.sentences()[1]
    'Row 10 would be called high if x0 changed from 10 to 12: distance 0.4, proved the smallest.'
    """
    rows = _merge_rows(rows, row)
    single = isinstance(rows, (int, np.integer)) and not isinstance(rows, (bool, np.bool_))
    n_answers = (3 if single else 1) if n_answers is None else n_answers
    if n_answers < 1:
        raise TableError(f"n_answers must be at least 1, got {n_answers}; ask for one or more")
    if robust is not None and not 0 <= robust <= 1:
        raise TableError(f"robust must be a share from 0 to 1, got {robust}; for example 0.8")
    sampler, y = _as_sampler(model, X, y, constraints)
    prepared = sampler.prepare(X, y)
    known = prepared.predict()
    refits = tuple(fit_again(prepared, sampler, robust))
    prepared, ids, shown = _find_rows(prepared, rows, sampler)
    new = bool((ids >= len(known)).any())
    refits = tuple(replace(f, decode=prepared.f.decode) for f in refits)
    called = prepared.f.predict_codes(prepared.table.rows(ids), ids) if new else known[ids]
    target = _targets(prepared, called, to)
    question = Question(
        prepared, known, ids, called, target, n_answers, certify, refits, robust or 0.0
    )
    parts = []
    for start in range(0, max(len(ids), 1), ROWS_AT_ONCE):
        part = answer(question.take(np.arange(start, min(start + ROWS_AT_ONCE, len(ids)))))
        parts.append(replace(part, row=part.row + start))
        if progress is not None:
            progress(min(start + ROWS_AT_ONCE, len(ids)), len(ids))
    found = Explanations(question, FoundAnswers.join(parts), shown, sampler)
    return found[0] if single else found


def _merge_rows(rows: Any, row: int | None) -> Any:
    if row is not None and rows is not None:
        raise TableError("rows and row are both given; name the rows in one of them")
    return rows if row is None else row


def _as_sampler(
    model: Any, X: Any, y: Any, constraints: Any
) -> tuple[CounterfactualOverSampler, Any]:
    """Return a sampler whose classifier is the model, and the classes of the rows."""
    if isinstance(model, CounterfactualOverSampler):
        if constraints is not None:
            raise TableError("constraints are those of the sampler; give them to the sampler")
        if y is None:
            raise TableError("y must be given with a sampler, whose classifier is fitted to it")
        return model, y
    if isinstance(model, TableOverSampler) or not is_classifier(model):
        raise ClassifierError(
            f"model must be a fitted classifier or a CounterfactualOverSampler, got "
            f"{type(model).__name__}"
        )
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise ClassifierError(
            f"model {type(model).__name__} is not fitted; call its fit first, or pass "
            "CounterfactualOverSampler(estimator=model) and y"
        ) from None
    frozen = model if isinstance(model, FrozenEstimator) else FrozenEstimator(model)
    sampler = CounterfactualOverSampler(estimator=frozen, constraints=constraints, random_state=0)
    return sampler, np.asarray(model.predict(X)) if y is None else y


def _find_rows(
    prepared: Prepared, rows: Any, sampler: CounterfactualOverSampler
) -> tuple[Prepared, Integers, Integers]:
    """Return the table with the requested rows, their ids, and the numbers to show."""
    n_rows = len(prepared.labels.codes)
    if rows is None:
        return prepared, np.arange(n_rows), np.arange(n_rows)
    has_cells = frames.has_columns(rows) and len(rows.shape) > 1
    if has_cells or (np.ndim(rows) == 2):  # noqa: PLR2004  (a table)
        prepared = _with_rows(prepared, rows, sampler)
        places = np.arange(rows.shape[0] if hasattr(rows, "shape") else len(rows))
        return prepared, n_rows + places, places
    chosen = np.atleast_1d(np.asarray(rows))
    if chosen.dtype == bool:
        if len(chosen) != n_rows:
            raise TableError(
                f"rows is a mask of {len(chosen)} entries, but X has {n_rows} rows; give one "
                "entry for each row"
            )
        chosen = np.flatnonzero(chosen)
    whole = chosen.dtype.kind in "iu" or not chosen.size
    for one in chosen.tolist():
        if not whole or not 0 <= one < n_rows:
            raise TableError(
                f"row must be one of the {n_rows} rows, from 0 to {n_rows - 1}, got {one}; "
                "count from 0"
            )
    chosen = chosen.astype(np.intp)
    return prepared, chosen, chosen


def _with_rows(prepared: Prepared, rows: Any, sampler: CounterfactualOverSampler) -> Prepared:
    """Append new rows to the table; f, profile and rules stay the same."""
    table, native, n_rows = prepared.table, prepared.table.native, len(prepared.labels.codes)
    names = frames.column_names(native)
    if frames.has_columns(native):
        if containers.kind(rows) != containers.kind(native):
            raise TableError("rows must be a frame of the same kind as X")
        absent = [name for name in names if name not in list(rows.columns)]
        if absent:
            raise TableError(f"rows lacks the column {absent[0]!r} of X; give it all columns")
        rows = rows[names]
    elif frames.has_columns(rows) or np.shape(rows)[1] != len(names):
        raise TableError(f"rows must be an array of {len(names)} columns, as X is")
    _check_levels(prepared, rows)
    both = read_table(_below(native, rows), categorical_features=sampler.categorical_features)
    both = with_groups(both, table.groups)
    f, space = prepared.f, prepared.space
    if f.decode == table.decode:
        f = replace(f, decode=both.decode)
    profile, new = space.profile, both.rows(slice(n_rows, None))
    number = ~profile.nominal
    lower = np.where(number, np.fmin(profile.lower, np.fmin.reduce(new)), profile.lower)
    upper = np.where(number, np.fmax(profile.upper, np.fmax.reduce(new)), profile.upper)
    space = replace(space, profile=replace(profile, lower=lower, upper=upper))
    return replace(prepared, table=both, f=f, space=space)


def _below(native: Any, rows: Any) -> Any:
    """Return the table with new rows below it, in columns of the same kinds."""
    if containers.kind(native) == "polars":
        return containers.append(native, rows.cast(dict(native.schema)))
    if containers.kind(native) == "pandas":
        levels = {
            name: dtype for name, dtype in native.dtypes.items() if hasattr(dtype, "categories")
        }
        return containers.append(native, rows.astype(levels))
    return np.concatenate([native, np.asarray(rows)])


def _check_levels(prepared: Prepared, rows: Any) -> None:
    """Raise for categories that the table does not have."""
    table = prepared.table
    grouped = {m for group in table.groups for m in group.columns}
    for m, kind in enumerate(table.kinds):
        if not kind.has_levels or m in grouped:
            continue
        known = table.codes_of_levels(m)
        cells = np.array([*frames.cells_of(frames.column(rows, m)), None], dtype=object)[:-1]
        for cell in cells[~frames.missing(cells)]:
            if cell not in known:
                raise TableError(
                    f"rows has {cell!r} in the column {table.names[m]!r}, which X never has; the "
                    "search uses the values of X only: leave such rows out"
                )


def _targets(prepared: Prepared, called: Integers, to: Any) -> Integers:
    classes = [plain(label) for label in prepared.labels.classes]
    if to is None:
        if len(classes) != BINARY:
            raise TableError(f"to must be given, as there are several classes: {classes}")
        return np.asarray(1 - called, dtype=np.intp)
    if to not in classes:
        raise TableError(f"to must be a class of y, got {to!r}; the classes are {classes}")
    return np.full(len(called), classes.index(to), dtype=np.intp)


@dataclass(frozen=True, eq=False, repr=False)
class Explanations:
    """Explanations of several rows: a table, sentences, and the explanation of row ``k`` as [k]."""

    question: Question
    found: FoundAnswers
    shown: Integers
    """The number of each row: its position in X, or among the new rows."""
    sampler: CounterfactualOverSampler

    def __len__(self) -> int:
        return len(self.shown)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[place] for place in range(len(self)))

    @cached_property
    def counterfactuals(self) -> Any:
        """The rows with their changes, in the container of X: one for each line of ``table``."""
        return self.question.prepared.table.decode(self.found.codes, self._ids)

    @property
    def _ids(self) -> Integers:
        return np.asarray(self.question.ids[self.found.row])

    @cached_property
    def refits_agree(self) -> Floats:
        """For each answer, the share of refits that predict the target class, or nan."""
        question, row = self.question, self.found.row
        return question.agreed(self.found.codes, self._ids, question.target[row])

    @cached_property
    def _scores(self) -> tuple[Floats, Floats]:
        """The score of the class for every row, and for every answer."""
        question, row = self.question, self.found.row
        target = question.target
        before = question.scores(question.x, question.ids, target)
        return before, question.scores(self.found.codes, self._ids, target[row])

    @cached_property
    def _number(self) -> Integers:
        """The number of each answer within its row, from 0."""
        row = self.found.row
        return np.asarray(np.arange(len(row)) - np.searchsorted(row, row))

    @cached_property
    def _changes(self) -> list[dict[str, tuple[Any, Any]]]:
        """For each answer, each feature that changes with its value before and after."""
        table, x = self.question.prepared.table, self.question.x[self.found.row]
        names = [str(name) for name in table.names]
        after, before = (
            [_cells(native, m) for m in range(len(names))]
            for native in (self.counterfactuals, table.decode(x, self._ids))
        )
        changed = differs(table.unfolded(self.found.codes, self._ids), table.unfolded(x, self._ids))
        return [
            {names[m]: (before[m][k], after[m][k]) for m in np.flatnonzero(row).tolist()}
            for k, row in enumerate(changed)
        ]

    @property
    def gap(self) -> Floats:
        """For each answer distance / bound - 1: 0 where it is proved to be the nearest row."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.found.distance / self.found.bound - 1)

    @cached_property
    def table(self) -> Any:
        """A frame of the kind of X with a row for each answer; a record array if X is an array."""
        question, row = self.question, self.found.row
        labels = question.prepared.labels.classes
        columns = {
            "row": self.shown[row],
            "answer": self._number + 1,
            "called": [plain(labels[code]) for code in question.called[row]],
            "to": [plain(labels[code]) for code in question.target[row]],
            "changes": [as_text(changes) for changes in self._changes],
            "distance": self.found.distance,
            "bound": self.found.bound,
            "refits_agree": self.refits_agree,
        }
        kind = containers.kind(question.prepared.table.native)
        if kind in {"pandas", "polars"}:
            return require(kind, f"a table of {kind}").DataFrame(columns)
        arrays = [np.asarray(column) for column in columns.values()]
        records: Any = np.rec
        return records.fromarrays(arrays, names=list(COLUMNS))

    def sentences(self) -> list[str]:
        """Return a sentence for each answer."""
        question, refits = self.question, len(self.question.refits)
        labels = question.prepared.labels.classes
        lines = []
        for k, row in enumerate(self.found.row.tolist()):
            changes = " and ".join(
                f"{name} changed from {_written(before)} to {_written(after)}"
                for name, (before, after) in self._changes[k].items()
            )
            to = in_words(plain(labels[question.target[row]]))
            facts = [f"distance {self.found.distance[k]:.3g}"]
            if self.gap[k] == 0:
                facts.append("proved the smallest")
            elif self.gap[k] == self.gap[k] and np.isfinite(self.gap[k]):
                facts.append(f"at most {max(self.gap[k], 0.001):.1%} above the smallest")
            if refits:
                facts.append(f"{round(self.refits_agree[k] * refits)} of {refits} refits agree")
            lines.append(
                f"Row {self.shown[row]} would be called {to} if {changes}: {', '.join(facts)}."
            )
        return lines

    def __repr__(self) -> str:
        n_rows = len(np.unique(self.found.row))
        return f"Explanations({len(self)} rows, {len(self.found.row)} answers for {n_rows} of them)"

    def _repr_html_(self) -> str:
        lines, some = self.table, range(min(SHOWN, len(self.found.row)))
        columns = [
            _cells(lines, m) if not isinstance(lines, np.ndarray) else lines[name].tolist()
            for m, name in enumerate(COLUMNS)
        ]
        rows = [[_shown(column[k]) for column in columns] for k in some]
        notes = [] if len(some) == len(self.found.row) else [f"The first {SHOWN} answers."]
        return as_html(ResultTable("explanations", repr(self), COLUMNS, rows, notes))

    def __getitem__(self, place: int) -> Explanation:
        """Return the explanation of one of the rows."""
        question, prepared = self.question, self.question.prepared
        place = range(len(self))[place]
        classes = [plain(label) for label in prepared.labels.classes]
        row, target = int(question.ids[place]), int(question.target[place])
        own = prepared.labels.codes[row] if row < len(prepared.labels.codes) else None
        native = prepared.table.decode(question.x[[place]], np.array([row]))
        names = [str(name) for name in prepared.table.names]
        at = np.flatnonzero(self.found.row == place)
        return Explanation(
            row=int(self.shown[place]),
            own_class=None if own is None else classes[int(own)],
            called=classes[int(question.called[place])],
            to=classes[target],
            score=float(self._scores[0][place]),
            cells={name: _cells(native, m)[0] for m, name in enumerate(names)},
            answers=tuple(self._answer(int(k), place, row, target) for k in at),
            sampled=bool(len(at) and self.found.nearest[at[0]] and self._is_sampled(place)),
            refits=len(question.refits),
        )

    def _answer(self, k: int, place: int, row: int, target: int) -> Answer:
        question, found = self.question, self.found
        x, new = question.x[place], found.codes[k]
        ranges = Ranges(question.prepared.space, question.structure(target))
        changes, names = self._changes[k], [str(name) for name in question.prepared.table.names]
        accepted = {
            names[m]: _accepted(question.prepared, ranges, new, x, m, target, row)
            for m in np.flatnonzero(differs(new, x)).tolist()
            if names[m] in changes and not _is_dummy(question.prepared, m)
        }
        for name in changes.keys() - accepted.keys():  # a dummy column moves with its group
            accepted[name] = AcceptedRange(None, None, (changes[name][1],), exact=True)
        return Answer(
            changes,
            float(found.distance[k]),
            float(self._scores[1][k]),
            {name: accepted[name] for name in changes},
            float(self.refits_agree[k]),
            float(found.bound[k]),
        )

    def _is_sampled(self, place: int) -> bool:
        """Whether the first answer is the row that the sampler makes from a row."""
        question, labels = self.question, self.question.prepared.labels
        row, target = question.ids[place], question.target[place]
        if row >= len(labels.codes) or self.sampler.search != "minimum" or question.share > 0:
            return False
        own = labels.codes[row]
        if question.called[place] != own:
            return False
        wanted = np.zeros((1, len(labels.classes)), dtype=bool)
        wanted[0, target] = labels.counts[target] < labels.counts[own]
        space, x = question.prepared.space, question.x[[place]]
        structure = question.structure(int(target))
        return bool(which_invert(space, structure, x, np.array([row]), wanted).any())


def _is_dummy(prepared: Prepared, m: int) -> bool:
    return any(m in group.columns for group in prepared.table.groups)


def _accepted(
    prepared: Prepared, ranges: Ranges, new: Floats, x: Floats, m: int, target: int, row: int
) -> AcceptedRange:
    """Return the accepted values of a feature in the user's values."""
    span = ranges.find(new, x, m, target, row)
    ends = np.array([span.low, span.high]) if span.levels is None else span.levels
    rows = np.repeat(new[None, :], len(ends), axis=0)
    rows[:, m] = ends
    native = prepared.table.decode(rows, np.full(len(ends), row))
    values = tuple(_cells(native, m))
    if span.levels is not None:
        return AcceptedRange(None, None, values, span.exact)
    if span.low == span.high:
        return AcceptedRange(values[0], values[0], None, span.exact)
    profile = prepared.profile
    low = None if span.low <= profile.lower[m] else values[0]
    high = None if span.high >= profile.upper[m] else values[1]
    return AcceptedRange(low, high, None, span.exact)


def as_text(changes: dict[str, tuple[Any, Any]]) -> str:
    """Write changes in a line.

    >>> as_text({"age": (30, 41), "ward": ("A", "B")})
    'age 30 → 41, ward A → B'
    """
    return ", ".join(
        f"{name} {_written(before)} → {_written(after)}"
        for name, (before, after) in changes.items()
    )


def _written(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _cells(native: Any, m: int) -> list[Any]:
    """Return the cells of a column as plain values."""
    column = frames.column(native, m)
    cells = column.to_list() if frames.has_columns(native) else column.tolist()
    return [plain(cell) for cell in cells]


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
