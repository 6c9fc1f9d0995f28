"""What holds for the examples in docstrings, which run as tests too."""

import doctest
from collections.abc import Generator

import pytest
from _pytest.doctest import MultipleDoctestFailures


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Skip an example that needs a package which is not installed."""
    try:
        return (yield)
    except MultipleDoctestFailures as caught:
        missing = missing_package(caught.failures[0])
        if isinstance(item, pytest.DoctestItem) and missing:
            pytest.skip(missing)
        raise


def missing_package(failure: doctest.DocTestFailure | doctest.UnexpectedException) -> str | None:
    """Return what an example said if it could not import something, else nothing."""
    if isinstance(failure, doctest.UnexpectedException):
        kind, error, _ = failure.exc_info
        if issubclass(kind, ImportError):
            return str(error)
    return None
