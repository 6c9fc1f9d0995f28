"""Forest: scikit-learn's forests of trees, asked without the work that the search can do without.

scikit-learn dispatches every tree, which costs some 65 microseconds whatever the number of
rows. What is returned here is the same, to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from counterbalance.arrays import Floats

# After half of the trees, the votes are looked at each time so many more have voted.
TREES_BETWEEN_LOOKS = 10
# More than rounding can add to a sum of votes.
ROUNDING = 1e-6


def is_forest(f: Any) -> bool:
    """Tell a plain forest: a subclass may predict in a way of its own."""
    return type(f) in {RandomForestClassifier, ExtraTreesClassifier}


def features_asked(forest: Any) -> NDArray[np.bool_]:
    """Say of each feature whether any tree looks at it: all others never change an answer."""
    asked = np.zeros(forest.n_features_in_, dtype=bool)
    for tree in forest.estimators_:
        asked[tree.tree_.feature[tree.tree_.feature >= 0]] = True
    return asked


def forest_probability(forest: Any, X: NDArray[Any]) -> Floats:
    """Return what ``forest.predict_proba`` does."""
    rows = np.ascontiguousarray(X, dtype=np.float32)
    votes = np.zeros((len(rows), forest.n_classes_))
    for tree in forest.estimators_:
        votes += tree.tree_.predict(rows)
    return votes / len(forest.estimators_)


def walk_forest(forest: Any, X: NDArray[Any]) -> NDArray[Any]:
    """Predict like ``forest.predict``, label by label, without all of its work.

    A row leaves once its leading class is ahead by more than all trees to come could give
    another one.
    """
    rows = np.ascontiguousarray(X, dtype=np.float32)
    going = np.arange(len(rows))
    votes = np.zeros((len(rows), forest.n_classes_))
    winner = np.empty(len(rows), dtype=np.intp)
    trees = forest.estimators_
    for left, tree in zip(reversed(range(len(trees))), trees, strict=True):
        votes += tree.tree_.predict(rows)
        if left % TREES_BETWEEN_LOOKS or left > len(trees) // 2:
            continue
        ahead = np.partition(votes, -2, axis=1)
        decided = ahead[:, -1] - ahead[:, -2] > left + ROUNDING
        if left == 0:
            decided[:] = True
            votes /= len(trees)  # as the forest does: a tie after division is a tie
        winner[going[decided]] = np.argmax(votes[decided], axis=1)
        rows, votes, going = rows[~decided], votes[~decided], going[~decided]
        if not going.size:
            break
    return np.asarray(forest.classes_.take(winner))
