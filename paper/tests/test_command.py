"""``python -m paper`` explains itself, refuses what it cannot do, and does what it is asked."""

import json
from contextlib import closing

import pandas as pd
import pytest

from paper import __main__ as command
from paper.__main__ import main, make_parser, settings_of
from paper.tables import Table
from paper.trials import Store


def settings(*options):
    return settings_of(make_parser().parse_args(["reproduce", *options]))


def test_an_option_wins_over_quick_and_quick_over_the_defaults():
    assert settings().folds == 10
    assert settings("--quick").folds == 2
    assert settings("--quick", "--folds", "3").folds == 3
    chosen = settings("--datasets", "WBC", "PBC", "--rows", "900", "--methods", "ours", "SMOTE")
    assert (chosen.datasets, chosen.methods) == (("WBC", "PBC"), ("ours", "SMOTE"))
    assert (chosen.rows_of("FMN"), chosen.runs_of("ILC")) == (900, 2)
    assert settings("--runs", "100").runs_of("ILC") == 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "COMMAND"),
        (["reproduct"], "reproduct"),
        (["reproduce", "--datasets", "iris"], "choose from"),
        (["reproduce", "--methods", "SMOT"], "choose from"),
        (["reproduce", "--folds", "1"], "must be at least 2, got 1"),
        (["reproduce", "--rows", "20"], "must be at least 200, got 20"),
        (["reproduce", "--runs", "many"], "must be at least 1, got many"),
        (["study", "--suite", "finals"], "choose from"),
        (["study", "--repeats", "first"], "got first"),
        (["study", "--methods", "SMOOTH"], "choose from"),
        (["rivals", "--methods", "boost"], "choose from"),
        (["forget"], "--store"),
    ],
)
def test_a_command_that_is_not_understood_ends_with_two(options, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(options)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["study", "--datasets", "glass2", "nosuch"], "'nosuch' was not found"),
        (["datasets", "car-godo"], "near: 'car-good'"),
        (["study", "--tables-only", "--out", "{}"], "--store must be the file of an earlier run"),
        (["reproduce", "--tables-only", "--out", "{}"], "leave out --tables-only"),
    ],
)
def test_what_cannot_be_done_ends_with_one_and_one_line(options, message, capsys, tmp_path):
    assert main([option.format(tmp_path / "out") for option in options]) == 1
    said = capsys.readouterr().err
    assert said.startswith("paper: error: ")
    assert message in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_data_set_is_shown_and_saved(tmp_path, capsys):
    out = tmp_path / "gunnels.csv"
    assert main(["datasets", "gunnels", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "rows=1592, features=9" in said
    assert "Predict Gunnel = 1." in said
    table = pd.read_csv(out)
    assert table.shape == (1592, 10)
    assert table.columns[-1] == "Gunnel"


def test_all_data_sets_are_listed(capsys):
    assert main(["datasets"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["acs12"].endswith("field, open half")
    assert lines["abalone19"].endswith("KEEL")


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--method", "SMOTE"], {"interior", "ours, as printed", "CCR", None}),
        (["--method", "SMOTE", "CCR"], {"interior", "ours, as printed", None}),
        (["--ours"], {"SMOTE", "CCR"}),
        (["--ours", "--method", "CCR"], {"SMOTE"}),
    ],
)
def test_methods_are_forgotten(options, left, tmp_path, capsys):
    path = tmp_path / "trials.sqlite"
    names = ("SMOTE", "CCR", "interior", "ours, as printed")
    with closing(Store(path)) as store:
        store.put({"setting": "T"}, json.dumps({}), None, 0.0)
        for name in names:
            store.put({"method": name}, json.dumps({}), None, 0.0)
    assert main(["forget", *options, "--store", str(path)]) == 0
    assert capsys.readouterr().out == f"{5 - len(left)} trials deleted\n"
    with closing(Store(path)) as store:
        assert {json.loads(key).get("method") for key in store.known()} == left


def test_the_protocol_runs_the_shuffles_that_are_asked_for(monkeypatch, tmp_path):
    seen = {}
    monkeypatch.setattr(
        command,
        "study",
        lambda _, suites, methods, **how: seen.update(suites=suites, methods=methods, **how) or [],
    )
    options = ["--datasets", "Pima", "--methods", "SMOTE", "--repeats", "3"]
    assert main(["protocol", *options, "--out", str(tmp_path)]) == 0
    assert seen["suites"] == {"as they are": ("Pima",)}
    assert seen["methods"] == ("none", "SMOTE")
    assert (seen["folds"], seen["repeats"]) == (5, (0, 1, 2))


def test_a_quick_study_takes_two_tables_of_each_suite(monkeypatch, tmp_path):
    seen = {}

    def study(_, suites, methods, **how):
        seen.update(suites=suites, methods=methods, **how)
        return []

    monkeypatch.setattr(command, "study", study)
    options = ["--suite", "development", "field-open", "--methods", "CCR", "--quick"]
    assert main(["study", *options, "--out", str(tmp_path)]) == 0
    assert {name: len(sets) for name, sets in seen["suites"].items()} == {
        "development": 2,
        "field-open": 2,
    }
    assert (seen["folds"], seen["rows"], seen["repeats"]) == (2, 300, (0,))
    assert seen["methods"] == ("none", "CCR")


def test_trials_that_failed_end_the_reproduction_with_one(monkeypatch, tmp_path, capsys):
    note = "Failed: long ours, 1 of 1 trials: ValueError: no"
    table = Table("areas", "Table II", ("shape", "method"), [("long", "failed")], (note,))
    monkeypatch.setattr(command, "reproduce", lambda *_, **__: [table])
    assert main(["reproduce", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert note in said.out
    assert "run again with --retry-failed" in said.err
