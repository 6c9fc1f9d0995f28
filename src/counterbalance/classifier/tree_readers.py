"""Tree readers: convert the trees of a fitted ensemble from the form of its library.

    library         ensemble                                cell      goes left where
    scikit-learn    forests, decision tree, gradient        float32   cell <= threshold
                    boosting
                    histogram boosting                      float64   cell <= threshold
    LightGBM        gbdt, goss, dart                        float64   cell <= threshold
    XGBoost         gbtree                                  float32   cell < threshold

Every tree becomes a ``Tree`` whose rows go left where ``cell <= threshold``. A forest predicts the
class with the largest mean probability. Boosting adds raw scores, only of the second class if there
are two, to a start value. The start value is one number for each class, so it is added to the
leaves of the first tree; the rest is a plain sum over trees.

LightGBM and XGBoost models are recognised by their class and read from their own dump; neither
library is imported. Ensembles that are not a sum over such trees (splits of categories into sets,
linear leaves, averages, rounds skipped after early stopping) are not read.
"""

from __future__ import annotations

import json
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from counterbalance.arrays import Floats

Cell = type[np.floating[Any]]
# Boosters of other libraries, by the module and name of their class.
LIGHTGBM, XGBOOST = ("lightgbm.sklearn", "LGBMClassifier"), ("xgboost.sklearn", "XGBClassifier")
# LightGBM's boosting types whose leaves are simply added up.
ADDED_UP = frozenset({"gbdt", "gbrt", "goss", "dart"})
# LightGBM reads numbers of at most this size as zeros.
LIGHTGBM_ZERO = float(np.float32(1e-35))


class Tree(NamedTuple):
    """One tree: for each node its children, its split and, if it is a leaf, its value."""

    left: NDArray[Any]  # children of each node within the tree
    right: NDArray[Any]
    is_leaf: NDArray[np.bool_]
    feature: NDArray[Any]
    threshold: Floats
    missing_left: NDArray[Any]
    value: Floats  # (nodes, classes)
    depth: int


def is_forest(f: Any) -> bool:
    """Return whether f is a plain forest; a subclass may predict differently."""
    return type(f) in {RandomForestClassifier, ExtraTreesClassifier}


def tree_list(f: Any) -> tuple[list[Tree], int, Cell] | None:
    """Return the trees of f, its number of features, and its type of cells.

    None if f is not read: it is no forest, tree or boosting, or not a constant plus a sum over
    trees. Subclasses are not read, because they may predict differently.
    """
    kind = type(f).__module__, type(f).__name__
    n_features = int(getattr(f, "n_features_in_", 0))
    if is_forest(f) or type(f) is DecisionTreeClassifier:
        trees = [one.tree_ for one in getattr(f, "estimators_", [f])]
        return [_read(tree, tree.value[:, 0, :]) for tree in trees], n_features, np.float32
    if type(f) is HistGradientBoostingClassifier and f.is_categorical_ is None:
        return _read_histogram(f), n_features, np.float64
    if type(f) is GradientBoostingClassifier and (f.init is None or bool(f.init == "zero")):
        return _read_boosting(f), n_features, np.float32
    if kind == LIGHTGBM:
        dump = dict(f.booster_.dump_model())
        if _is_plain_lightgbm(f, dump):
            return _read_lightgbm(f, dump), n_features, np.float64
    if kind == XGBOOST:
        learner = dict(json.loads(bytes(f.get_booster().save_raw("json")))["learner"])
        if _is_plain_xgboost(f, learner):
            return _read_xgboost(f, learner), n_features, np.float32
    return None


def _read(tree: Any, value: Floats) -> Tree:
    left = tree.children_left
    missing = tree.missing_go_to_left
    return Tree(
        *(left, tree.children_right, left < 0, tree.feature, tree.threshold),
        *(missing, value, tree.max_depth),
    )


def _read_boosting(f: Any) -> list[Tree]:
    """Read the rounds of trees; the start value is f's score of any row minus their sum."""
    column = _raw_columns(f)
    zeros = np.zeros((1, f.n_features_in_), dtype=np.float32)
    start = np.zeros(len(f.classes_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of missing column names
        start[column] = f.decision_function(zeros)
    trees = []
    for one_round in f.estimators_:
        for c, one in zip(column, one_round, strict=True):
            value = f.learning_rate * one.tree_.value[:, 0, 0]
            trees.append(_read(one.tree_, _in_column(value, c, len(start))))
            start[c] -= f.learning_rate * one.tree_.predict(zeros)[0, 0]
    return [trees[0]._replace(value=trees[0].value + start), *trees[1:]]


def _read_histogram(f: Any) -> list[Tree]:
    column, n_classes = _raw_columns(f), len(f.classes_)
    trees = []
    for one_round in f._predictors:  # noqa: SLF001  (the trees have no public name)
        for c, one in zip(column, one_round, strict=True):
            nodes = one.nodes
            trees.append(
                Tree(
                    nodes["left"].astype(np.intp),
                    nodes["right"].astype(np.intp),
                    nodes["is_leaf"] > 0,
                    nodes["feature_idx"],
                    nodes["num_threshold"],
                    nodes["missing_go_to_left"],
                    _in_column(nodes["value"], c, n_classes),
                    int(nodes["depth"].max()),
                )
            )
    start = np.zeros(n_classes)
    start[column] = f._baseline_prediction.ravel()  # noqa: SLF001
    return [trees[0]._replace(value=trees[0].value + start), *trees[1:]]


def _raw_columns(f: Any) -> list[int]:
    """Return the classes that have a raw score: with two classes only the second."""
    return [1] if len(f.classes_) == 2 else list(range(len(f.classes_)))  # noqa: PLR2004


def _in_column(value: Floats, c: int, n_classes: int) -> Floats:
    values = np.zeros((len(value), n_classes))
    values[:, c] = value
    return values


def _from_start(trees: list[Tree], f: Any, raw: Floats) -> list[Tree]:
    """Add the start value to the first tree: f's score of a row of zeros minus its leaves' sum."""
    start = np.zeros(len(f.classes_))
    start[_raw_columns(f)] = np.ravel(raw)
    for tree in trees:
        node = 0
        while not tree.is_leaf[node]:
            node = (tree.left if tree.threshold[node] >= 0 else tree.right)[node]
        start -= tree.value[node]
    return [trees[0]._replace(value=trees[0].value + start), *trees[1:]]


def _zeros(f: Any) -> Floats:
    return np.zeros((1, int(f.n_features_in_)))


def _is_plain_lightgbm(f: Any, dump: dict[str, Any]) -> bool:
    nodes = [node for tree in dump["tree_info"] for node in _lightgbm_nodes(tree)]
    return (
        f.boosting_type in ADDED_UP
        and dump["objective"].startswith(("binary", "multiclass"))
        and all(node.get("decision_type", "<=") == "<=" for node in nodes)
        and all(node.get("missing_type") != "Zero" for node in nodes)
        and not any("leaf_coeff" in node for node in nodes)
    )


def _lightgbm_nodes(tree: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the nodes of a tree, each before its children."""
    nodes, waiting = [], [tree["tree_structure"]]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        waiting += [node[side] for side in ("right_child", "left_child") if side in node]
    return nodes


def _read_lightgbm(f: Any, dump: dict[str, Any]) -> list[Tree]:
    columns, trees = _raw_columns(f), []
    for number, tree in enumerate(dump["tree_info"]):
        nodes = _lightgbm_nodes(tree)
        place = {id(node): at for at, node in enumerate(nodes)}
        left, right = (
            np.array([place.get(id(node.get(side)), -1) for node in nodes])
            for side in ("left_child", "right_child")
        )
        threshold = np.array([node.get("threshold", 0.0) for node in nodes], dtype=float)
        # LightGBM reads a cell this near to zero as zero, so a threshold there moves to its end.
        near = np.abs(threshold) <= LIGHTGBM_ZERO
        end = np.where(threshold < 0, np.nextafter(-LIGHTGBM_ZERO, -np.inf), LIGHTGBM_ZERO)
        threshold = np.where(near, end, threshold)
        # If no cell was missing in training, a missing cell counts as zero.
        missing = [
            node["default_left"] if node.get("missing_type") == "NaN" else cut >= 0
            for node, cut in zip(nodes, threshold, strict=True)
        ]
        value = np.array([node.get("leaf_value", 0.0) for node in nodes], dtype=float)
        trees.append(
            Tree(
                *(left, right, left < 0),
                np.array([node.get("split_feature", -1) for node in nodes]),
                threshold,
                np.array(missing),
                _in_column(value, columns[number % len(columns)], len(f.classes_)),
                _depth(left, right),
            )
        )
    return _from_start(trees, f, f.booster_.predict(_zeros(f), raw_score=True))


def _is_plain_xgboost(f: Any, learner: dict[str, Any]) -> bool:
    booster = f.get_booster()
    stopped = "best_iteration" in booster.attributes()  # predict skips later rounds
    gaps = f.missing is None or bool(np.isnan(f.missing))
    if stopped or not gaps or learner["gradient_booster"]["name"] != "gbtree":
        return False
    trees = learner["gradient_booster"]["model"]["trees"]
    return (
        learner["objective"]["name"] in {"binary:logistic", "multi:softprob", "multi:softmax"}
        and all(tree["tree_param"]["size_leaf_vector"] in {"0", "1"} for tree in trees)
        and not any(any(tree["split_type"]) for tree in trees)
    )


def _read_xgboost(f: Any, learner: dict[str, Any]) -> list[Tree]:
    columns, booster = _raw_columns(f), f.get_booster()
    model = learner["gradient_booster"]["model"]
    trees = []
    for number, tree in zip(model["tree_info"], model["trees"], strict=True):
        left, right = (np.array(tree[f"{side}_children"]) for side in ("left", "right"))
        condition = np.array(tree["split_conditions"], dtype=np.float32)  # of a leaf its value
        is_leaf = left < 0
        # A cell below the threshold goes left: one up to the largest number below it.
        below = np.nextafter(condition, np.float32(-np.inf)).astype(float)
        value = np.where(is_leaf, condition.astype(float), 0.0)
        trees.append(
            Tree(
                *(left, right, is_leaf, np.array(tree["split_indices"]), below),
                np.array(tree["default_left"]),
                _in_column(value, columns[number if len(columns) > 1 else 0], len(f.classes_)),
                _depth(left, right),
            )
        )
    return _from_start(trees, f, booster.inplace_predict(_zeros(f), predict_type="margin"))


def _depth(left: NDArray[Any], right: NDArray[Any]) -> int:
    """Return the length of the longest path."""
    depth, level = 0, np.array([0])
    while (level := np.concatenate([left[level], right[level]])).size:
        level = level[level >= 0]
        depth += bool(level.size)
    return depth
