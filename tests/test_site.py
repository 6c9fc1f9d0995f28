"""The documentation site: its reference names every public object.

``make docs`` tests the rest, with every warning an error: links, references, and each page of the
gallery and the tutorials, which it runs.
"""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PUBLIC = (
    "compare",
    "constraints",
    "datasets",
    "displays",
    "distributed",
    "explain",
    "io",
    "methods",
    "report",
)
# A package, whose objects are listed.
UNLISTED = {"errors"}
TUTORIALS = sorted((ROOT / "examples/tutorials").glob("tutorial_*.py"))
PICTURES = sorted((ROOT / "examples/gallery").glob("plot_*.py"))


def listed():
    """Return the names of the reference, without the name of the package."""
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    return set(re.findall(r"^   ([\w.]+)$", text, re.MULTILINE))


@pytest.mark.parametrize("package", ["", *PUBLIC])
def test_every_public_object_is_in_the_reference(package):
    module = import_module(f"counterbalance.{package}".rstrip("."))
    names = {f"{package}.{name}".lstrip(".") for name in module.__all__} - UNLISTED
    # An error or a warning, and a record that two packages give, is listed once.
    once = {name.rpartition(".")[2] for name in listed()}
    assert {name for name in names if name.rpartition(".")[2] not in once} == set()


def test_every_error_is_in_the_reference():
    source = (ROOT / "src/counterbalance/errors.py").read_text(encoding="utf-8")
    names = {f"errors.{name}" for name in re.findall(r"^class (\w+)", source, re.MULTILINE)}
    assert names - listed() == set()


def test_every_name_of_the_reference_is_there():
    for name in listed():
        module, _, last = f"counterbalance.{name}".rpartition(".")
        assert hasattr(import_module(module), last), name


@pytest.mark.parametrize("script", [*PICTURES, *TUTORIALS], ids=lambda script: script.stem)
def test_a_page_of_the_gallery_has_a_title_and_draws_a_picture(script):
    text = script.read_text(encoding="utf-8")
    assert re.match(r'"""\n(.+)\n=+\n\n', text)
    assert "plt.show()" in text
