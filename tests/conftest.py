"""Settings of every test."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

HERE = Path(__file__).parent

# How many examples a property test tries: few in `make test`, more in `make test-all`.
EXAMPLES = int(os.environ.get("COUNTERBALANCE_EXAMPLES", "20"))
settings.register_profile("counterbalance", deadline=None, max_examples=EXAMPLES)
settings.load_profile("counterbalance")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list]:
    """Collect a test file as tests alone: as docstrings one that cannot be imported is skipped."""
    collected = yield
    if not file_path.is_relative_to(HERE):
        return collected
    return [one for one in collected if not isinstance(one, DoctestModule)]
