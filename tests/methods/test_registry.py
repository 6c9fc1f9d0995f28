import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from imblearn.base import SamplerMixin
from sklearn.base import is_classifier

from counterbalance import CounterfactualOverSampler, InteriorOverSampler, methods
from counterbalance.methods import all_samplers
from counterbalance.methods.registry import METHODS, table

DOCS = Path(__file__).parents[2] / "docs" / "methods.md"

# Table I of the paper: what each synthesises with, boundary enhancement, more than two classes.
TABLE_I = {
    "Counterfactual": ("majority", True, True),
    "SWIM": ("majority", False, False),
    "SSO": ("minority", True, False),
    "ADASYN": ("minority", True, False),
    "ANS": ("minority", False, False),
    "k-means SMOTE": ("minority", False, False),
    "CCR": ("minority", True, False),
    "Gaussian-SMOTE": ("minority", False, False),
    "MDO": ("minority", False, True),
    "NRAS": ("minority", False, False),
    "SMOTE-D": ("minority", False, False),
    "CURE-SMOTE": ("minority", False, True),
    "OUPS": ("minority", False, False),
    "NRSBoundary-SMOTE": ("minority", True, False),
}


def test_the_registry_says_what_the_papers_table_says():
    found = all_samplers()
    for name, expected in TABLE_I.items():
        method = found[name]
        assert (method.synthesises_with, method.boundary, method.multiclass) == expected


def test_every_factory_takes_a_seed_and_makes_what_its_kind_says():
    for method in all_samplers().values():
        made = method.factory(random_state=0)
        if method.kind == "classifier":
            assert is_classifier(made)
        else:
            assert isinstance(made, SamplerMixin)
            expected = "under-sampling" if method.kind == "under" else "over-sampling"
            assert made._sampling_type == expected
        assert made.random_state == 0
        assert (method.synthesises_with is None) == (method.kind != "over")


def test_our_samplers_come_first_and_are_marked():
    ours = [method for method in all_samplers().values() if method.ours]
    assert [method.factory for method in ours] == [CounterfactualOverSampler, InteriorOverSampler]
    assert list(all_samplers())[:2] == [method.name for method in ours]
    assert all(method.details for method in ours)


def test_every_method_has_a_sentence():
    assert all(method.sentence.endswith(".") for method in METHODS)


def test_names_and_aliases_are_unambiguous():
    names = [name for m in METHODS for name in {m.name.lower(), *m.aliases}]
    assert len(names) == len(set(names))


def test_every_class_of_the_package_is_in_the_registry():
    pytest.importorskip("autograd")
    registered = {type(method.factory()).__name__ for method in all_samplers().values()}
    ours = {
        name
        for name in methods.__all__
        if hasattr(getattr(methods, name), "fit_resample")
        or hasattr(getattr(methods, name), "predict")
    }
    # GAMO's classifier is the other face of its sampler
    assert ours - {"GAMOClassifier"} <= registered


def test_importing_the_methods_loads_no_extra():
    code = (
        "import sys, counterbalance.methods as p; p.all_samplers();"
        "extras = ('imblearn_extra', 'minisom', 'autograd', 'jax', 'torch');"
        "sys.exit(any(m in sys.modules for m in extras))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)  # noqa: S603  # our own code
    assert done.returncode == 0


def test_a_method_without_its_package_is_left_out(monkeypatch):
    monkeypatch.setattr("counterbalance.methods.registry.find_spec", lambda _: None)
    assert not {"G-SMOTE", "GAMO", "DOS"} & set(all_samplers())
    assert "SMOTE" in all_samplers()


def test_geometric_smote_is_included_if_its_package_is_installed(blobs):
    pytest.importorskip("imblearn_extra")
    X, y = blobs
    made = all_samplers()["G-SMOTE"].factory(random_state=0)
    assert (made.fit_resample(X, y)[1] == 1).sum() == 300


def test_the_page_shows_the_table_of_the_registry():
    assert table() in DOCS.read_text(encoding="utf-8")


def test_the_command_prints_the_table(capsys):
    runpy.run_module("counterbalance.methods", run_name="__main__")
    assert capsys.readouterr().out == table() + "\n"


def test_every_docstring_names_its_parameters():
    for method in all_samplers().values():
        made = method.factory()
        if type(made).__module__.startswith(methods.__name__):
            for parameter in made.get_params(deep=False):
                assert f"    {parameter} : " in type(made).__doc__
