"""What is odd in a user's table is recognised and said, with what is done about it."""

import numpy as np
import pandas as pd
import pytest

from counterbalance.cli.table_checks import diagnose
from counterbalance.errors import TableError
from counterbalance.io.column_checks import Topic

N = 60
RISK = ["low"] * 45 + ["high"] * 15


def frame(**columns):
    rng = np.random.default_rng(0)
    base = {"age": rng.integers(20, 90, N), "ward": rng.choice(["A", "B"], N), "risk": RISK}
    return pd.DataFrame({**base, **columns})


def test_what_is_recognised_is_kept_out_unless_it_is_asked_for():
    table = frame(nr=range(N), born=pd.date_range("2020", periods=N), const=1, gone=np.nan)
    diagnosis = diagnose(table, "risk")
    assert diagnosis.features == ("age", "ward", "const")
    assert diagnosis.kept == ("nr", "born", "gone")
    topics = [finding.topic for finding in diagnosis.findings]
    assert topics == [Topic.IDENTIFIER, Topic.DATE, Topic.CONSTANT, Topic.EMPTY]
    assert "--use nr uses it" in diagnosis.findings[0].text
    assert diagnose(table, "risk", use=["nr"]).features == ("age", "ward", "nr", "const")
    assert diagnose(table, "risk", keep=["age"]).kept[0] == "age"


def test_a_column_that_says_the_class_is_named():
    diagnosis = diagnose(frame(code=[{"low": 0, "high": 1}[label] for label in RISK]), "risk")
    assert [finding.topic for finding in diagnosis.findings] == [Topic.LEAK]
    assert "--use code uses it" in diagnosis.findings[0].text


def test_missing_cells_are_counted():
    diagnosis = diagnose(frame(dose=[1.5, None, 2.5] * 20), "risk")
    assert diagnosis.findings[-1].text.startswith("20 cells are missing, in dose")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("Risk", r"near: 'risk'"),
        ("many", "120 classes|60 classes"),
        ("measure", "looks like a quantity.*regression"),
        ("whole", "looks like a quantity"),
        ("halves", "looks like a quantity.*classes with names"),
        ("one", "one class only"),
        ("gone", "empty in every row"),
        ("gaps", "empty in 5 of 60 rows, the first is row 0.*--drop-missing-target"),
    ],
)
def test_a_target_that_cannot_be_one_is_refused_with_the_remedy(target, message):
    table = frame(
        many=[f"class {i}" for i in range(N)],
        measure=np.linspace(0, 1, N),
        whole=np.arange(N) * 3,
        halves=[0.5, 1.5] * 30,
        one="x",
        gone=None,
        gaps=[None] * 5 + RISK[5:],
    )
    with pytest.raises(TableError, match=message):
        diagnose(table, target)


def test_five_hundred_classes_are_refused_and_thirty_are_said():
    table = pd.DataFrame({"a": np.arange(3000) % 7, "y": [f"c{i % 500}" for i in range(3000)]})
    with pytest.raises(TableError, match="500 classes in 3,000 rows; at most 100"):
        diagnose(table, "y")
    table["y"] = [f"c{i % 30}" for i in range(3000)]
    topics = [finding.topic for finding in diagnose(table, "y").findings]
    assert topics == [Topic.MANY_CLASSES, Topic.BALANCED]


def test_rows_without_a_class_are_dropped_on_request():
    diagnosis = diagnose(frame(risk=[None] * 5 + RISK[5:]), "risk", drop_missing_target=True)
    assert diagnosis.rows.tolist() == list(range(5, N))
    assert diagnosis.findings[0].topic is Topic.DROPPED


def test_small_and_look_alike_classes_are_said():
    labels = [*RISK[:-2], "High ", "rare"]
    texts = [finding.text for finding in diagnose(frame(risk=labels), "risk").findings]
    assert any("'rare' has one row only" in text for text in texts)
    assert any("'high' and 'High ' differ in case or spaces" in text for text in texts)


def test_a_table_that_is_none_is_refused():
    with pytest.raises(TableError, match="'age' is there more than once"):
        diagnose(pd.DataFrame([[1, 2, "x"]], columns=["age", "age", "risk"]), "risk")
    with pytest.raises(TableError, match="header but no rows"):
        diagnose(frame().head(0), "risk")
    with pytest.raises(TableError, match=r"no column can be used.*identifier"):
        diagnose(pd.DataFrame({"nr": range(N), "risk": RISK}), "risk")
    with pytest.raises(TableError, match="neither kept nor used"):
        diagnose(frame(), "risk", keep=["risk"])


def test_constant_columns_are_named_in_one_line():
    diagnosis = diagnose(frame(**{f"c{k}": 1 for k in range(17)}), "risk")
    (one,) = [finding.text for finding in diagnosis.findings if "one value" in finding.text]
    assert one.startswith("17 columns hold one value in every row")


def test_the_target_under_another_name_is_left_out_unless_it_is_used():
    table = frame(code=[{"low": 0, "high": 1}[label] for label in RISK])
    assert "code" in diagnose(table, "risk").kept
    assert "code" in diagnose(table, "risk", use=["code"]).features
