"""The command runs no Python file that happens to lie in the folder where it is started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from comparison_tables import two_clouds

pytestmark = pytest.mark.slow

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
# what Python, its libraries and our own modules import in a new process
NAMES = ["random", "numpy"]
if os.environ.get("COUNTERBALANCE_ATTACK"):
    NAMES += ["json", "signal", "tempfile", "sklearn", "pandas", "sqlite3", "counterbalance"]
HOSTILE = """
from pathlib import Path
with Path(__file__).parents[1].joinpath("was-run").open("a") as file:
    file.write(f"{__name__}\\n")
raise SystemExit("hostile code was run")
"""
COMPARE = [
    "compare", "clouds.csv", "--target", "y", "--quick", "--folds", "2", "--methods", "SMOTE",
]  # fmt: skip
STUDY = ["study", "--datasets", "glass2", "--methods", "SMOTE", "--folds", "2", "--rows", "200"]
REPRODUCE = [
    "reproduce", "--quick", "--datasets", "WBC", "--folds", "2", "--splits", "1", "--seeds", "1",
    "--rows", "200",
]  # fmt: skip


@pytest.fixture
def started(tmp_path):
    """A folder of a user, and what starts the command as an installed script would."""
    script = tmp_path / "bin" / "counterbalance"
    script.parent.mkdir()
    script.write_text(
        "import sys\nfrom counterbalance.cli import main\n\n"
        "if __name__ == '__main__':\n    sys.exit(main())\n"
    )
    folder = tmp_path / "downloads"
    folder.mkdir()
    X, y = two_clouds(90, 30, apart=2)
    X.assign(y=y).to_csv(folder / "clouds.csv", index=False)

    def start(*options, path=()):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCE, *path])}
        environment.pop("PYTHONSAFEPATH", None)
        return subprocess.run(  # noqa: S603 - our own script
            [sys.executable, str(script), *options],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    return folder, start


@pytest.mark.parametrize("name", NAMES)
def test_compare_runs_no_file_of_the_current_folder(started, name):
    folder, start = started
    folder.joinpath(f"{name}.py").write_text(HOSTILE)
    done = start(*COMPARE, "--classifiers", "LR", "--report", "page.html", "--jobs", "2")
    assert not folder.joinpath("was-run").exists(), folder.joinpath("was-run").read_text()
    assert done.returncode == 0, done.stderr
    assert "VERDICT" in done.stdout


@pytest.mark.skipif(
    not os.environ.get("COUNTERBALANCE_ATTACK"), reason="takes a minute: make attack"
)
@pytest.mark.parametrize("command", [STUDY, REPRODUCE])
def test_study_and_reproduce_run_no_file_of_the_current_folder(started, command):
    folder, start = started
    for name in NAMES:
        folder.joinpath(f"{name}.py").write_text(HOSTILE)
    done = start(*command)
    assert not folder.joinpath("was-run").exists()
    assert done.returncode == 0, done.stderr


def test_a_classifier_of_the_current_folder_is_used_and_its_neighbours_are_not(started):
    """Who names mine:model asks for mine.py, not for whatever else lies there."""
    folder, start = started
    folder.joinpath("random.py").write_text(HOSTILE)
    folder.joinpath("numpy.py").write_text(HOSTILE)
    folder.joinpath("mine.py").write_text(
        "import random\nfrom sklearn.linear_model import LogisticRegression\n"
        "model = LogisticRegression(C=random.choice([2.0]))\n"
    )
    done = start(*COMPARE, "--classifiers", "mine:model")
    assert not folder.joinpath("was-run").exists()
    assert done.returncode == 0, done.stderr
    assert "mine:model" in done.stdout


def test_workers_that_cannot_start_are_not_reported_as_ctrl_c(started, tmp_path):
    _, start = started
    tmp_path.joinpath("path").mkdir()
    tmp_path.joinpath("path", "sitecustomize.py").write_text(
        "import os, sys\nif any('popen_loky' in word for word in sys.orig_argv):\n    os._exit(3)\n"
    )
    options = ("--classifiers", "LR", "--jobs", "2")
    done = start(*COMPARE, *options, path=[str(tmp_path / "path")])
    assert done.returncode == 1, done.stderr
    assert "stopped by Ctrl-C" not in done.stderr
    assert "finished trials are kept: run the same again, with fewer jobs" in done.stderr
    assert "Traceback" not in done.stderr
