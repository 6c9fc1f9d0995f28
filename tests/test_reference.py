"""The HTML display of an estimator links to its page in our reference."""

from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression

from counterbalance import (
    CounterfactualOverSampler,
    InteriorOverSampler,
    ResampledClassifier,
    TablePreparation,
)
from counterbalance.methods import MDO, SMOTED, ClusteringUnderSampler

API = (Path(__file__).parents[1] / "docs" / "api.md").read_text("utf-8")
ESTIMATORS = [
    CounterfactualOverSampler(),
    InteriorOverSampler(),
    ResampledClassifier(LogisticRegression()),
    TablePreparation(),
    SMOTED(),
    MDO(),
    ClusteringUnderSampler(),
]


@pytest.fixture
def address(tmp_path, monkeypatch):
    """An installed package whose metadata names its documentation."""
    folder = tmp_path / "counterbalance-0.3.0.dist-info"
    folder.mkdir()
    lines = [
        "Metadata-Version: 2.4",
        "Name: counterbalance",
        "Version: 0.3.0",
        "Project-URL: Repository, https://example.org/code",
        "Project-URL: Documentation, https://example.org/docs/",
    ]
    (folder / "METADATA").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "https://example.org/docs/generated/"


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_the_display_links_to_a_page_that_the_reference_lists(estimator, address):
    link = estimator._get_doc_link()
    assert link.startswith(address)
    assert link.endswith(".html")
    page = link.removeprefix(address).removesuffix(".html")
    assert f"   {page.removeprefix('counterbalance.')}\n" in API
    assert f'href="{link}"' in estimator._repr_html_()


def test_without_an_address_there_is_no_link(tmp_path, monkeypatch):
    folder = tmp_path / "counterbalance-0.3.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: counterbalance\nVersion: 0.3.0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert InteriorOverSampler()._get_doc_link() == ""
