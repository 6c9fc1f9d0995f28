"""What holds for every test: no test depends on seconds, and markers say what a test needs."""

import os
from collections.abc import Generator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from markers import MARKED

HERE = Path(__file__).parent

# A property is tried with so many examples, unless its test says how many; fewer in `make quick`.
EXAMPLES = int(os.environ.get("COUNTERBALANCE_EXAMPLES", "100"))
settings.register_profile("counterbalance", deadline=None, max_examples=EXAMPLES)
settings.load_profile("counterbalance")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list]:
    """Collect a test file as tests alone: as docstrings one that cannot be imported is skipped."""
    collected = yield
    if not file_path.is_relative_to(HERE):
        return collected
    return [one for one in collected if not isinstance(one, DoctestModule)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by its folder, its file or its name."""
    for item in items:
        if not item.path.is_relative_to(HERE):
            continue
        file = item.path.relative_to(HERE).as_posix()
        names = (file, item.name, getattr(item, "originalname", item.name))
        for marker, patterns in MARKED.items():
            if any(fnmatch(name, pattern) for pattern in patterns for name in names):
                item.add_marker(marker)
