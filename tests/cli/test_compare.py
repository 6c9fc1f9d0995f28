"""counterbalance compare answers, writes what it says it writes, and refuses what it must."""

import csv
import json
import re

import pandas as pd
import pytest

from comparison_tables import mixed_table, two_clouds
from counterbalance.cli import main

SMALL = ["--quick", "--folds", "3", "--classifiers", "LR", "--methods", "SMOTE"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A file with a group, a day and hostile names, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    X, y = mixed_table()
    X = X.rename(columns={"dose": "<script>alert(1)</script>"})
    X["patient"] = [f"p{row // 4}" for row in range(len(X))]
    X["day"] = [f"2026-{1 + row // 28:02d}-{1 + row % 28:02d}" for row in range(len(X))]
    X["state"] = y
    path = tmp_path / "wards.csv"
    X.to_csv(path, index=False)
    return path


def compare(*options):
    return main(["compare", *map(str, options)])


def test_it_answers_in_words_and_writes_tables_summary_and_page(table, capsys):
    assert (
        compare(table, "--target", "state", "--groups", "patient", "--report", "r.html", *SMALL)
        == 0
    )
    out, err = capsys.readouterr()
    assert out.index("VERDICT: ") < out.index("95 % interval") < out.index("model = ")
    assert "Folds keep every group whole." in out
    assert "SMOTE is SMOTENC" in out
    folder = table.parent / "wards-comparison"
    assert f"tables and summary: {folder.name}" in err
    with (folder / "comparison.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["strategy"], row["threshold"]) for row in rows] == [
        ("none", "0.5"), ("none", "tuned"), ("SMOTE", "0.5"), ("SMOTE", "tuned"),
    ]  # fmt: skip
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["reproduce"].startswith("counterbalance compare wards.csv --target state --meth")
    assert str(table.parent) not in json.dumps(summary)
    names = {column["name"] for column in summary["data"]["columns"]}
    assert names == {"<script>alert(1)</script>", "visits", "ward", "smokes"}
    page = (table.parent / "r.html").read_text(encoding="utf-8")
    assert "VERDICT" not in page
    assert summary["verdict"]["headline"][:20] in page
    assert "<script>alert(1)" not in page


def test_json_is_all_that_stdout_holds_and_a_second_run_computes_nothing(table, capsys):
    options = (table, "--target", "state", "--time", "day", "--json", *SMALL)
    assert compare(*options) == 0
    first = capsys.readouterr()
    summary = json.loads(first.out)
    assert "train" not in summary["data"]["notes"]
    assert any("follow the time" in text for text in summary["verdict"]["caveats"])
    assert compare(*options) == 0
    again = capsys.readouterr()
    assert json.loads(again.out) == summary
    assert ", 0 of them now" in again.err


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--methods", "SMOTT"], 2, "got 'SMOTT' (near: 'SMOTE'"),
        (["--classifiers", "XGB"], 2, "module:object, got 'XGB'"),
        (["--classifiers", "nowhere:Net"], 2, "got 'nowhere:Net': No module"),
        (["--metric", "accuracy"], 2, "metric must be one of g_mean"),
        (["--folds", "1"], 2, "folds must be at least 2"),
        (["--jobs", "0"], 2, "must be a positive number, or -1"),
        (["--groups", "patient", "--time", "day"], 2, "cannot be used together"),
        (["--full", "--rows", "500"], 2, "--full cannot be used with --quick or --rows"),
        (["--full", "--quick"], 2, "--full cannot be used with --quick or --rows"),
        (["--groups", "pateint"], 1, "--groups must name a column of the table, got 'pateint'"),
        (["--time", "patient"], 1, "must hold numbers or dates"),
        (["--groups", "state"], 1, "--groups must be another column than the target"),
        (["--out", "wards.csv"], 1, "--out must be a folder"),
        (["--report", "wards.csv"], 1, "--report must not be the file that is read"),
    ],
)
def test_what_cannot_be_done_is_one_line_before_any_work(table, capsys, options, code, message):
    assert compare(table, "--target", "state", *options) == code
    out, err = capsys.readouterr()
    assert not out
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err
    assert sorted(path.name for path in table.parent.iterdir()) == ["wards.csv"]


def test_a_folder_that_is_a_link_is_refused(table, capsys):
    elsewhere = table.parent / "elsewhere"
    elsewhere.mkdir()
    (table.parent / "link").symlink_to(elsewhere)
    assert compare(table, "--target", "state", "--out", "link", *SMALL) == 1
    assert "--out must be a folder, and link is a link to " in capsys.readouterr().err
    assert not list(elsewhere.iterdir())


def test_a_table_with_too_few_rows_is_said_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = two_clouds(20, 3, apart=1)
    X.assign(y=y).to_csv("few.csv", index=False)
    assert compare("few.csv", "--target", "y") == 1
    assert "class 'yes' has 3; collect more" in capsys.readouterr().err


@pytest.fixture
def rare(tmp_path, monkeypatch):
    """A file with more rows than --quick takes, few of them of one class, and missing cells."""
    monkeypatch.chdir(tmp_path)
    X, y = two_clouds(2900, 100, apart=2)
    X["wound"] = [None if row % 3 else "dry" if row % 2 else "wet" for row in range(len(X))]
    X.assign(y=y).to_csv("rare.csv", index=False)
    return tmp_path


@pytest.mark.slow
def test_a_subsample_is_announced_first_and_keeps_the_minority(rare, capsys):
    assert compare("rare.csv", "--target", "y", "--report", "r.html", *SMALL) == 0
    out, err = capsys.readouterr()
    said = "1,000 of 3,000 rows are used, drawn at random: all 100 of class 'yes', 900 of 2,900"
    assert out.splitlines()[0] == "rare.csv, y: 3,000 rows, 2,900 of class no, 100 of class yes"
    assert " ".join(out.splitlines()[2:4]).startswith(said)
    assert said in " ".join(err.split())
    assert "ollect more" not in out
    summary = json.loads((rare / "rare-comparison/summary.json").read_text("utf-8"))
    assert summary["verdict"]["scope"].startswith(said)
    (wound,) = (c for c in summary["data"]["columns"] if c["name"] == "wound")
    assert 600 < wound["missing"] < 700  # of the rows used
    (note,) = summary["data"]["notes"]
    assert note.startswith("In all 3,000 rows of the file: 2,000 cells are missing")
    page = (rare / "r.html").read_text(encoding="utf-8")
    assert page.index("1,000 of 3,000 rows are used") < page.index(summary["verdict"]["headline"])
    # the verdict, then the table, then the picture, then words
    main = page.index('id="main"')
    places = [page.index(text, main) for text in (summary["verdict"]["headline"], "<table", "<img")]
    assert places == sorted(places)
    assert places[-1] < page.index('<ul class="sentences">')


@pytest.mark.slow
def test_full_uses_every_row_and_every_fold(rare, capsys):
    full = ("--full", "--folds", "3", "--repeats", "2", *SMALL[3:])
    assert compare("rare.csv", "--target", "y", *full) == 0
    out, err = capsys.readouterr()
    assert "rows are used" not in out + err
    assert "at most 12 trials" in err
    assert "12 trials, 12 of them now" in err
    assert "were saved" not in out
    summary = json.loads((rare / "rare-comparison/summary.json").read_text("utf-8"))
    assert summary["data"]["rows"] == summary["data"]["rows_of_file"] == 3000
    assert "--full" in summary["reproduce"]


def settings_of(**options):
    from counterbalance.cli.compare import make_settings  # noqa: PLC0415 - needs the extra

    usual = {"quick": False, "full": False, "methods": None, "classifiers": None, "sizes": {}}
    return make_settings(**{**usual, **options})


def test_default_and_all_stand_for_many_methods():
    assert settings_of(methods="default,prowsyn").strategies[-1] == "ProWSyn"
    assert len(settings_of(methods="all").strategies) > 30
    assert settings_of(methods="threshold").strategies == ("none",)


def test_what_matters_comes_first_and_full_is_everything():
    usual, full, quick = (settings_of(**{k: True} if k else {}) for k in ("", "full", "quick"))
    assert usual.strategies == ("none", "class weights", "SMOTE", "Interior", "Counterfactual")
    assert usual.classifiers == ("logistic regression", "gradient boosting")
    assert usual.adaptive
    assert usual.rows == 10_000
    assert len(full.strategies) == 8
    assert "random forest" in full.classifiers
    assert (full.rows, full.seconds, full.adaptive) == (0, 0, False)
    assert (quick.rows, quick.repeats, quick.seconds) == (1000, 1, 30)


def test_the_lines_to_paste_leave_out_what_compare_left_out(table, capsys):
    """Identifiers, dates and groups are columns of the file and none of the model."""
    assert compare(table, "--target", "state", "--groups", "patient", "--keep", "day", *SMALL) == 0
    out = capsys.readouterr().out
    start = out.index("    from ")
    lines = "\n".join(line[4:] for line in out[start : out.index("Be careful")].splitlines())
    assert "table.drop(columns=['state', " in lines
    space = {"table": pd.read_csv(table)}
    exec(lines, space)  # noqa: S102  (that they run is the test)
    summary = json.loads((table.parent / "wards-comparison/summary.json").read_text("utf-8"))
    used = [column["name"] for column in summary["data"]["columns"]]
    assert list(space["X"].columns) == used
    assert set(space["model"].predict(space["X"])) <= {"ill", "well"}


@pytest.mark.slow
def test_trust_is_said_where_it_is_asked_for(table, capsys):
    asked = (table, "--target", "state", "--keep", "patient", *SMALL)
    assert compare(*asked) == 0
    assert "Trust in the new labels" not in capsys.readouterr().out
    assert compare(*asked, "--trust") == 0
    assert "Trust in the new labels" in capsys.readouterr().out
    assert (table.parent / "wards-comparison/trust.csv").exists()


@pytest.mark.slow
def test_a_file_without_a_header_gets_the_same_options_as_balance(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = two_clouds(60, 30, apart=2)
    X.assign(y=y).to_csv("bare.csv", index=False, header=False)
    named = ("bare.csv", "--target", "column 3", *SMALL)
    assert compare(*named) == 1
    assert "--no-header" in capsys.readouterr().err
    assert compare(*named, "--no-header", "--json", "--number", "column 1") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["data"]["rows"] == 90
    assert "--number 'column 1'" in summary["reproduce"]
    assert "--no-header" in summary["reproduce"]


@pytest.mark.slow
def test_a_page_is_as_private_as_its_table_and_can_do_without_rows(table, capsys):
    table.chmod(0o600)
    asked = (table, "--target", "state", "--keep", "patient", *SMALL)
    assert compare(*asked, "--no-rows") == 1
    assert "--no-rows leaves rows out of a report; add --report FILE" in capsys.readouterr().err
    assert compare(*asked, "--report", "r.html", "--no-rows") == 0
    page, folder = table.parent / "r.html", table.parent / "wards-comparison"
    sections = re.findall(r'<section id="(\w+)"', page.read_text("utf-8"))
    assert "features" in sections
    assert not {"map", "explorer"} & set(sections)
    written = {"trials.jsonl", "summary.json", "comparison.csv"}
    assert {path.name for path in folder.iterdir()} == written
    for path in (page, folder, *folder.iterdir()):
        assert path.stat().st_mode & 0o077 == 0
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    assert "--keep patient" in summary["reproduce"]
