"""Imports point one way, from the user interface down to the method, and form no cycle."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "counterbalance"

# The layers, the lowest first: a part may import itself and parts of earlier lines.
LAYERS = (
    ("arrays", "errors", "extras", "reference", "result_table", "safe_path", "user_warnings"),
    ("sklearn_private",),
    ("table",),
    ("profile",),
    ("constraints",),
    ("classifier",),
    ("search",),
    ("plausible",),
    ("prepare",),
    ("rows",),
    ("samplers",),
    ("estimators",),
    ("__init__",),
    ("explain",),
    ("methods",),
    ("io",),
    ("datasets",),
    ("distributed",),
    ("compare",),
    ("displays",),
    ("report",),
    ("cli",),
    ("__main__",),
)
LAYER = {part: layer for layer, parts in enumerate(LAYERS) for part in parts}


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


FILES = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported_by(module: str) -> set[str]:
    """Return the modules of the package that a module imports, anywhere in its text."""
    found = set()
    for node in ast.walk(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module} has a relative import"
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [
                name if name.removeprefix("counterbalance.") in FILES else str(node.module)
                for name in inside
            ]
        else:
            continue
        for name in names:
            if name == "counterbalance":
                found.add("__init__")
            elif name.startswith("counterbalance."):
                found.add(name.removeprefix("counterbalance."))
    return found - {module}


IMPORTS = {module: imported_by(module) for module in FILES}


@pytest.mark.parametrize("module", sorted(FILES))
def test_nothing_in_the_library_imports_from_the_experiments_in_paper(module: str) -> None:
    names = set()
    for node in ast.walk(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
    assert not {name for name in names if name.split(".")[0] == "paper"}


def part(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def test_every_part_of_the_package_has_its_layer() -> None:
    assert {part(module) for module in FILES} == set(LAYER)


@pytest.mark.parametrize("module", sorted(FILES))
def test_a_module_imports_from_lower_layers_and_its_own_part_only(module: str) -> None:
    forbidden = {
        name
        for name in IMPORTS[module]
        if part(name) != part(module) and LAYER[part(name)] >= LAYER[part(module)]
    }
    assert not forbidden, f"{module} imports {sorted(forbidden)}, which lie above it"


def test_no_modules_import_each_other_in_a_circle() -> None:
    finished: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module not in finished:
            for name in sorted(IMPORTS[module]):
                # A package's __init__ imports its modules; they may name the package's path.
                if not module.startswith(f"{name}."):
                    visit(name, (*path, module))
            finished.add(module)

    for module in sorted(FILES):
        visit(module, ())


SCRIPTS = [
    path
    for folder in ("benchmarks", "examples")
    for path in sorted((PACKAGE.parents[1] / folder).rglob("*.py"))
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_a_script_takes_from_the_package_is_there(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("counterbalance"):
            for alias in node.names:
                if not hasattr(import_module(str(node.module)), alias.name):
                    import_module(f"{node.module}.{alias.name}")
