"""Settings of the tests of the paper's experiments: run them by ``make test-paper``."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

HERE = Path(__file__).parent

EXAMPLES = int(os.environ.get("COUNTERBALANCE_EXAMPLES", "20"))
settings.register_profile("paper", deadline=None, max_examples=EXAMPLES)
settings.load_profile("paper")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list]:
    """Collect a test file as tests alone: as docstrings one that cannot be imported is skipped."""
    collected = yield
    if not file_path.is_relative_to(HERE):
        return collected
    return [one for one in collected if not isinstance(one, DoctestModule)]
