"""The command line explains itself and ends with the right code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from counterbalance import __version__
from counterbalance.cli import main
from counterbalance.cli.app import COMMANDS, run
from counterbalance.search import structure

SOURCE = Path(__file__).parents[2] / "src"


@pytest.mark.parametrize("options", [["--help"], ["balance", "--help"], ["--version"]])
def test_help_and_version_exit_with_zero(options, capsys):
    assert main(options) == 0
    assert "counterbalance" in capsys.readouterr().out


def test_every_command_and_option_says_what_it_does(capsys):
    for command in COMMANDS:
        assert main([command.__name__, "--help"]) == 0
        out = capsys.readouterr().out
        assert "Examples:" in out
        assert f"counterbalance {command.__name__}" in out
        assert "--debug" in out
    main(["balance", "--help"])
    out = capsys.readouterr().out
    options = ("--target", "--out", "--seed", "--jobs", "--constraint", "--report")
    assert all(name in out for name in options)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["balanse"],
        ["reproduce"],
        ["datasets"],
        ["datasets", "KEEL"],
        ["balance", "t.csv", "--target", "y", "--sede", "3"],
        ["balance", "t.csv", "--target", "y", "--seed", "many"],
        ["balance", "t.csv", "--target", "y", "--jobs", "0"],
    ],
)
def test_a_command_that_is_not_understood_ends_with_two(options, capsys):
    assert main(options) == 2
    said = capsys.readouterr().err
    assert said.startswith("counterbalance: error: ")
    assert "--help" in said
    assert said.count("\n") == 1


def run_command(*options, code="from counterbalance.cli import main; sys.exit(main())", **more):
    return subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", f"import sys; {code}", *options],
        env={**os.environ, "PYTHONPATH": str(SOURCE), **more},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_the_extra_one_line_says_how_to_install_it():
    hidden = (
        "import importlib.util as u; find = u.find_spec; "
        "u.find_spec = lambda name, *more: None if name == 'typer' else find(name, *more); "
        "from counterbalance.cli import main; sys.exit(main())"
    )
    ended = run_command("methods", code=hidden)
    assert ended.returncode == 1
    assert "pip install 'counterbalance[cli]'" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_help_loads_nothing_heavy():
    code = (
        "from counterbalance.cli import main; main(['--help']); "
        "heavy = {'numpy', 'pandas', 'sklearn', 'rich', 'matplotlib'} & set(sys.modules); "
        "sys.exit(', '.join(heavy) or 0)"
    )
    ended = run_command(code=code)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_balance_loads_only_what_it_needs(tmp_path):
    table = "".join(f"{row},{row % 7},{'ab'[row % 4 == 0]}\n" for row in range(40))
    (tmp_path / "t.csv").write_text("n,x,y\n" + table)
    unneeded = "{'openpyxl', 'pyarrow', 'matplotlib', 'jinja2', 'dask', 'distributed', 'polars'}"
    ours = "{'counterbalance.compare', 'counterbalance.report', 'counterbalance.distributed'}"
    code = (
        "import imblearn.over_sampling; before = set(sys.modules); "
        "from counterbalance.cli import main; main(['balance', sys.argv[1], '--target', 'y']); "
        f"loaded = ({unneeded} | {ours}) & (set(sys.modules) - before); "
        "sys.stdout.write('loaded: ' + ', '.join(sorted(loaded)))"
    )
    ended = run_command(str(tmp_path / "t.csv"), code=code)
    assert ended.stdout.endswith("loaded: "), ended.stdout + ended.stderr


def test_a_shell_can_complete_commands_and_options():
    def complete(words):
        more = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        asked = run_command(_COUNTERBALANCE_COMPLETE="complete_bash", **more)
        return asked.stdout.split()

    assert complete("counterbalance ba") == ["balance"]
    assert complete("counterbalance balance --prov") == ["--provenance"]
    ended = run_command(
        "--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    )
    assert ended.returncode == 0
    assert "_COUNTERBALANCE_COMPLETE" in ended.stdout


def test_debug_shows_where_an_error_came_from(tmp_path, capsys):
    options = ["balance", str(tmp_path / "none.csv"), "--target", "y"]
    assert main(options) == 1
    assert "Traceback" not in capsys.readouterr().err
    assert main([*options, "--debug"]) == 1
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert said.splitlines()[-1].startswith("counterbalance: error: TABLE must be a file")


def test_a_fault_of_counterbalance_is_reported_on_one_line(monkeypatch, capsys):
    def break_down():
        raise KeyError("lost")

    monkeypatch.setattr("counterbalance.methods.all_samplers", break_down)
    assert main(["methods"]) == 1
    said = capsys.readouterr().err
    assert "KeyError: 'lost'; this is a bug of counterbalance" in said
    assert said.count("\n") == 1


def test_a_reader_that_goes_away_is_not_an_error():
    command = f"{sys.executable} -m counterbalance methods | head -n 1"
    ended = subprocess.run(  # noqa: S602 - a pipe is the test
        command,
        shell=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_version_says_whether_the_kernel_is_there(capsys, monkeypatch):
    assert run(["--version"]) == 0
    with_kernel = capsys.readouterr().out
    monkeypatch.setattr(structure, "kernel", None)
    assert run(["--version"]) == 0
    without = capsys.readouterr().out
    assert ", without the compiled kernel" in without
    assert with_kernel.startswith(f"counterbalance {__version__}, with")
