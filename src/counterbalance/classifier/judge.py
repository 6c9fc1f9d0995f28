"""Judge: f, asked about encoded rows and answering in class codes.

f          a fitted scikit-learn classifier
classes    the labels in sorted order; a class code is a position in it
decode     turns encoded rows into what f takes
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.pipeline import Pipeline

from counterbalance.arrays import Floats, Integers
from counterbalance.classifier import response
from counterbalance.classifier.fit import cannot_take
from counterbalance.classifier.linear import Screen, answers_by_score, largest_score, linear_screen
from counterbalance.classifier.trees import Trees, read_trees
from counterbalance.errors import ClassifierError
from counterbalance.table import containers
from counterbalance.table.encoder import Rescaler
from counterbalance.table.labels import plain
from counterbalance.table.table import Columns, Table

Labels = NDArray[Any]

# Rows that f is asked about first.
TRIED = 20


@dataclass(frozen=True, eq=False)
class Classifier:
    """The fitted f, asked about encoded rows and answering in class codes."""

    f: Any
    classes: Labels
    decode: Callable[[Floats, Integers], Any]
    screen: Screen | None = None
    own: bool = False  # whether it is ours, which changes no rows that it is shown
    moves_cells: bool = False  # whether decoding moves cells to where f can tell them apart

    @cached_property
    def trees(self) -> Trees:
        """The trees that f is made of, where it is (see ``has_trees``)."""
        return read_trees(self.f)

    def __call__(self, x: Floats, rows: Integers) -> Integers:
        """Return the code of the class that f puts each row of ``x`` into, -1 for an unknown label.

        ``rows`` are the factuals that they were made from: a missing cell reaches f in
        the form that it has there. A linear f is asked only where rounding may decide.
        """
        if self.screen is None:
            return self._answer(self._shown(x, rows))
        said = self.screen.certain(x)
        asked = np.flatnonzero(said < 0)
        if asked.size:
            said[asked] = self._answer(self._shown(x[asked], rows[asked]))
        return said

    def on_candidates(self, x: Floats, rows: Integers) -> Integers:
        """Do the same for rows that are known to be sound: f need not check them once more."""
        X = self.decode(x, rows)
        if answers_by_score(self.f, X):
            return self._codes(largest_score(self.f, X))
        with config_context(assume_finite=True):
            return self._answer(X)

    def scores(self, x: Floats, rows: Integers) -> Floats | None:
        """Return f's score of each class for each row, (n, C), or None where f has none.

        A row whose largest decision is not of the class that f says has no score: nan. Each row
        is looked at by itself, so that none depends on those that it is asked about with.
        """
        X = self._shown(x, rows)
        score: Floats | None
        if hasattr(self.f, "predict_proba"):
            score = response.probabilities(self.f, X)
        elif hasattr(self.f, "decision_function"):
            score = response.decisions(self.f, X)
            if score is None:
                return None
            said = response.predictions(self.f, X)
            score[self.f.classes_[score.argmax(axis=1)] != said] = np.nan
        else:
            return None
        codes = self._codes(self.f.classes_)
        result = np.full((len(x), len(self.classes)), np.nan)
        result[:, codes[codes >= 0]] = score[:, codes >= 0]
        return result

    @property
    def takes_codes(self) -> bool:
        """Whether f takes the encoded rows as they are."""
        return self.decode is _as_is

    def codes_of_f(self) -> Integers:
        """Return the code of each class that f knows, -1 for one that the labels lack."""
        return self._codes(self.f.classes_)

    def _answer(self, X: Any) -> Integers:
        return self._codes(response.predictions(self.f, X))

    def _shown(self, x: Floats, rows: Integers) -> Any:
        """Return rows for f to look at: of its own, where f is the user's and may change them."""
        X = self.decode(x, rows)
        return X.copy() if X is x and not self.own else X

    def _codes(self, labels: Labels) -> Integers:
        place = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        return np.where(self.classes[place] == labels, place, -1)


def judge(
    f: Any, table: Table, classes: Labels, *, own: bool = False, ends: Any = None
) -> Classifier:
    """Wrap the fitted f for the search.

    Our ``own`` f was fitted to the very codes of this table, behind an encoder: there is
    no need to decode them and encode them again. ``ends`` are two rows with the least and the
    largest cells that f will see, if the table is a part of a larger one.
    """
    _check_classes(f, classes)
    if own and isinstance(f, Pipeline):
        moved = [step for step in f[:-1] if isinstance(step, Rescaler)]
        decode = _moved_by(moved[0]) if moved else _as_is
        return Classifier(f[-1], classes, decode, own=own, moves_cells=bool(moved))
    if not own:
        _try(f, table)
    decode = _as_is if table.is_encoded else table.decode
    screen = linear_screen(f, _ends(table) if ends is None else ends, classes)
    return Classifier(f, classes, decode, screen, own=own)


def _ends(table: Table) -> Any:
    """Return rows with the least and the largest cells that f sees; None if codes stand for any."""
    if any(kind.has_levels for kind in table.kinds):
        return None
    if not isinstance(table, Columns):
        return table.native
    ends = np.array([table.codes.min(axis=0), table.codes.max(axis=0)])
    return ends.astype(f"f{table.grid.width.max()}")  # the dtype of the matrix that f makes of it


def _try(f: Any, table: Table) -> None:
    """Ask f about a few rows before everything hangs on its answers."""
    rows = np.arange(min(TRIED, table.native.shape[0]))
    try:
        response.check_leaves_input(f, containers.copy(table.decode(table.rows(rows), rows)))
    except ClassifierError as error:
        if error.__cause__ is None:
            raise
        raise ClassifierError(cannot_take(f, table, error.__cause__)) from error.__cause__


def _moved_by(rescaler: Rescaler) -> Callable[[Floats, Integers], Floats]:
    return lambda x, _: rescaler.transform(x)


def check_not_constant(f: Classifier, answers: Integers, x: Floats) -> None:
    """Refuse an f that says one class only and gives the first rows ``x`` one score only."""
    if len(np.unique(answers)) > 1:
        return
    scores = f.scores(x, np.arange(len(x)))
    known = None if scores is None else scores[~np.isnan(scores).all(axis=1)]
    if known is None or not len(known) or np.all(np.ptp(known, axis=0) == 0):
        label = plain(f.classes[answers[0]])
        if f.own:
            raise ClassifierError(
                f"the default f ({type(f.f).__name__}) gives every row the class {label!r} and "
                "the same score: it finds nothing in X that tells the classes apart, so no row can "
                "be inverted; add columns or rows, or pass another classifier as estimator"
            )
        raise ClassifierError(
            f"estimator {type(f.f).__name__} predicts class {label!r} for every row and can "
            "invert none; pass one that tells the classes apart, for example "
            "estimator=None or LogisticRegression(class_weight='balanced')"
        )


def _as_is(x: Floats, rows: Integers) -> Floats:
    del rows
    return x


def _check_classes(f: Any, classes: Labels) -> None:
    known = getattr(f, "classes_", None)
    if known is None or isinstance(known, list):
        raise ClassifierError(
            f"estimator {type(f).__name__} has no classes_ of a single output after fit; "
            "use a classifier that follows scikit-learn's conventions"
        )
    absent = [label for label in classes.tolist() if label not in set(np.asarray(known).tolist())]
    if absent:
        raise ClassifierError(
            f"the estimator never saw the class {absent[0]!r} and cannot predict it; its classes "
            f"are {np.asarray(known).tolist()}; fit it to data with every class of y"
        )
