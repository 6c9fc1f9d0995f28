"""What the tests of all displays share."""

import importlib

import pytest

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")
plt = importlib.import_module("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")
