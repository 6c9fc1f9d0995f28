"""Importing the package: its public names, without heavy dependencies."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

import counterbalance

SOURCE = Path(counterbalance.__file__).parents[1]
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SOURCE.rglob("*.py"))
    if path.name != "__main__.py"
]


def test_the_public_names_are_these():
    assert sorted(counterbalance.__all__) == [
        "CounterfactualOverSampler",
        "InteriorOverSampler",
        "ResampledClassifier",
        "TablePreparation",
        "errors",
        "paper_classifier",
        "show_versions",
    ]


def test_show_versions_says_what_a_report_of_a_fault_needs(capsys):
    counterbalance.show_versions()
    output = capsys.readouterr().out
    assert output.startswith(f"counterbalance {counterbalance.__version__}, with")
    assert "the compiled kernel" in output
    assert f"scikit-learn {sklearn.__version__}" in output


def test_every_module_can_be_imported_unless_an_extra_is_missing():
    for name in MODULES:
        try:
            importlib.import_module(name)
        except ImportError as error:
            if (error.name or "counterbalance").startswith("counterbalance"):
                raise


def packages_after(statement):
    """Return the top-level packages that a fresh interpreter has loaded after a statement."""
    code = f"import sys; {statement}; print(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    return {name for name in run.stdout.split() if not name.startswith("_")}


def test_importing_it_loads_nothing_heavy():
    assert not packages_after("import counterbalance") & {"numpy", "scipy", "sklearn", "pandas"}


def test_every_public_name_is_there():
    for name in counterbalance.__all__:
        assert getattr(counterbalance, name) is not None
        assert name in dir(counterbalance)
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        counterbalance.nope  # noqa: B018  (asking is the test)


@pytest.mark.slow
def test_the_sampler_loads_hardly_more_than_imbalanced_learn_does():
    ours = packages_after("from counterbalance import CounterfactualOverSampler")
    theirs = packages_after("import imblearn.over_sampling")
    assert ours - theirs - set(sys.stdlib_module_names) <= {"counterbalance", "narwhals"}


def test_listing_the_methods_loads_nothing_heavy():
    listing = "from counterbalance.methods.registry import all_samplers; all_samplers()"
    assert not packages_after(listing) & {"numpy", "scipy", "sklearn", "imblearn", "pandas"}


def test_the_lock_has_the_versions_that_the_suite_is_run_with():
    root = SOURCE.parent
    lines = (root / "requirements.lock").read_text("utf-8").splitlines()
    locked = {line.split()[0].lower() for line in lines if line and not line.startswith(" ")}
    names = {version.split("==")[0] for version in locked}
    pinned = (root / "constraints.txt").read_text("utf-8").splitlines()[1:]
    wanted = {line.lower().replace("_", "-") for line in pinned}
    assert {version for version in wanted if version.split("==")[0] in names} <= locked
    assert {"numpy", "scipy", "scikit-learn", "pytest"} <= names


def test_the_lock_names_no_host():
    assert "://" not in (SOURCE.parent / "requirements.lock").read_text("utf-8")
