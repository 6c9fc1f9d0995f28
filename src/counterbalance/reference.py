"""Reference: the page of an estimator, to which scikit-learn's HTML display of it links."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, metadata
from itertools import accumulate


class LinksToReference:
    """Mixin for estimators; scikit-learn reads these three names in ``BaseEstimator``."""

    _doc_link_module = "counterbalance"

    @property
    def _doc_link_template(self) -> str:
        address = _documentation()
        return f"{address}/generated/{{name}}.html" if address else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": _public_name(type(self))}


def _documentation() -> str:
    """Return the address of the documentation, as ``[project.urls]`` in pyproject.toml has it."""
    try:
        urls = metadata("counterbalance").get_all("Project-URL") or []
    except PackageNotFoundError:  # the source is on the path, but not installed
        return ""
    addresses: dict[str, str] = dict(url.split(", ", 1) for url in urls)
    return addresses.get("Documentation", "").rstrip("/")


def _public_name(cls: type) -> str:
    """Return the shortest path from which a class can be imported."""
    for module in accumulate(cls.__module__.split("."), "{}.{}".format):
        if getattr(sys.modules.get(module), cls.__name__, None) is cls:
            return f"{module}.{cls.__name__}"
    return f"{cls.__module__}.{cls.__qualname__}"
