"""Summary: what a fitted sampler did, as a plain dict that the page can show."""

from __future__ import annotations

from typing import Any

from counterbalance.report.account import (
    CITE,
    describe_data,
    installed_versions,
    settings_of,
    tell_result,
)
from counterbalance.report.explorer import explore, rank_features
from counterbalance.report.placement import place_rows
from counterbalance.report.resampled import read_resampled


def summarise_sampler(
    sampler: Any,
    X: Any,
    y: Any,
    X_resampled: Any,
    y_resampled: Any,
    *,
    features: Any = None,
    alone: bool = False,
    file: str = "",
    target: str = "",
    reproduce: str = "",
    rows: bool = True,
) -> dict[str, Any]:
    """Return what a fitted sampler did as the sections "map", "explorer" and "features".

    Parameters
    ----------
    sampler : CounterfactualOverSampler or InteriorOverSampler
        Fitted: it made ``X_resampled`` and ``y_resampled`` of ``X`` and ``y``.
    X, y, X_resampled, y_resampled
        What went into ``fit_resample`` and what came out.
    features : two columns, default=None
        Names or positions of the axes of the map. ``None`` takes principal components.
    alone : bool, default=False
        Whether these are the only sections of the report: adds "title", "verdict", "data",
        "settings", "versions", "cite" and "reproduce".
    file, target, reproduce : str
        Name of the table and of its target, and the command that made this, if ``alone``.
    rows : bool, default=True
        Whether rows may be shown, real ones and new ones: without them there is no map, no
        explorer and no example.

    Returns
    -------
    summary : dict
        Sections as :mod:`counterbalance.report.contract` describes them.
    """
    resampled = read_resampled(sampler, X, y, X_resampled, y_resampled)
    summary: dict[str, Any] = {"map": place_rows(resampled, features)} if rows else {}
    if len(resampled.provenance):
        if rows:
            summary["explorer"] = explore(resampled.provenance, resampled.table)
        summary["features"] = rank_features(resampled.provenance, resampled.table)
    if not alone:
        return summary
    return {
        "title": f"Balanced: {file}" if file else "A balanced table",
        "verdict": tell_result(resampled, summary.get("features"), summary.get("explorer")),
        "data": describe_data(resampled, file, target),
        **summary,
        "settings": settings_of(sampler),
        "versions": installed_versions(),
        "cite": CITE,
        "reproduce": reproduce,
    }
