"""What holds for the examples in docstrings, which run as tests too."""

import doctest
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Skip an example in a docstring that needs a package which is not installed."""
    try:
        return (yield)
    except doctest.UnexpectedException as caught:
        error = caught.exc_info[1]
        ours = (getattr(error, "name", None) or "").startswith("counterbalance")
        if isinstance(error, ImportError) and not ours:
            pytest.skip(str(error))
        raise
