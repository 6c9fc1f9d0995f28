"""Summary: what a fitted sampler did, as a plain dict that the page can show."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import counterbalance
from counterbalance import containers, frames
from counterbalance.labels import plain, read_labels
from counterbalance.profile import Floats
from counterbalance.provenance import Provenance
from counterbalance.report import boundary
from counterbalance.report.plane import Plane, lay_out
from counterbalance.report.reading import SummaryError
from counterbalance.report.twins import explore, rank_features, spread_evenly
from counterbalance.table import Table, read_table

Integers = NDArray[np.intp]

# Bounds of the map: rows of each class, real and new, and lines from a new row to its factual.
MOST_REAL, MOST_NEW, MOST_LINKS = 900, 500, 120
DECIMALS = 4
# Classes that the headline names.
MOST_NAMED = 3
PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas", "polars")
CITE = (
    "Luo and Liu, Counterfactual-based minority oversampling for imbalanced classification. "
    f"Computed with counterbalance {counterbalance.__version__}."
)
CAVEATS = (
    "A counterfactual says what the classifier would answer, not what would happen in the world.",
    "Whether new rows help a classifier is another question: counterbalance compare answers it.",
)


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
) -> dict[str, Any]:
    """Return what a fitted sampler did as the sections "map", "explorer" and "features".

    Parameters
    ----------
    sampler : CounterfactualOverSampler
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

    Returns
    -------
    summary : dict
        Sections as :mod:`counterbalance.report.contract` describes them.
    """
    provenance = _provenance(sampler, X, y, X_resampled, y_resampled)
    native = frames.from_list(X_resampled) if isinstance(X_resampled, list) else X_resampled
    table = read_table(
        native,
        categorical_features=sampler.categorical_features,
        integer_features=sampler.integer_features,
    )
    codes = read_labels(y_resampled)
    labels = [str(plain(label)) for label in codes.classes]
    n_real = len(codes.codes) - len(provenance)
    summary: dict[str, Any] = {
        "map": _map(sampler, table, provenance, codes.codes, codes.classes, n_real, features)
    }
    if len(provenance):
        summary["explorer"] = explore(provenance, table)
        summary["features"] = rank_features(provenance, table)
    if not alone:
        return summary
    new = Counter(codes.codes[n_real:].tolist())
    real = Counter(codes.codes[:n_real].tolist())
    classes = [
        {"label": label, "count": real[code], "new": new[code]} for code, label in enumerate(labels)
    ]
    return {
        "title": f"Balanced: {file}" if file else "A balanced table",
        "verdict": _verdict(sampler, provenance, classes),
        "data": _data(table, n_real, classes, file, target),
        **summary,
        "settings": settings_of(sampler),
        "versions": versions(),
        "cite": CITE,
        "reproduce": reproduce,
    }


def settings_of(sampler: Any) -> dict[str, Any]:
    """Return the parameters of a sampler as texts."""
    return {name: repr(value) for name, value in sampler.get_params(deep=False).items()}


def versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of those that it computes with."""
    found = {"python": platform.python_version(), "counterbalance": counterbalance.__version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _provenance(sampler: Any, X: Any, y: Any, X_resampled: Any, y_resampled: Any) -> Provenance:
    provenance = getattr(sampler, "provenance_", None)
    if not isinstance(provenance, Provenance):
        raise SummaryError(
            f"sampler must be a CounterfactualOverSampler after fit_resample, got "
            f"{type(sampler).__name__} without provenance_; call its fit_resample first"
        )
    before, after = [_length(X), _length(y)], [_length(X_resampled), _length(y_resampled)]
    if {n + len(provenance) for n in before} != set(after):
        raise SummaryError(
            f"X and y have {before[0]} and {before[1]} rows, X_resampled and y_resampled have "
            f"{after[0]} and {after[1]}, but the sampler made {len(provenance)} more; pass what "
            "went into its last fit_resample and what came out"
        )
    return provenance


def _length(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _map(
    sampler: Any,
    table: Table,
    provenance: Provenance,
    codes: Integers,
    classes: NDArray[Any],
    n_real: int,
    features: Any,
) -> dict[str, Any]:
    real, new = _shown(codes, n_real, len(classes))
    linked = new[spread_evenly(len(new), MOST_LINKS)] if new.size else new
    starts = provenance["factual"][linked - n_real]
    rows = np.unique(np.concatenate([real, new, starts]))
    plane = lay_out(table, rows, n_real, features)
    points = plane.points
    frame = boundary.frame_of(points)
    inside = _inside(points, frame)
    groups = []
    for is_new, listed in ((False, real), (True, new)):
        for code, label in enumerate(classes):
            of_class = listed[codes[listed] == code]
            at = np.searchsorted(rows, of_class)
            at = at[inside[at]]
            total = int(
                np.sum(codes[n_real:] == code) if is_new else np.sum(codes[:n_real] == code)
            )
            if total:
                x, y = points[at].T.round(DECIMALS).tolist()
                groups.append(
                    {"label": str(plain(label)), "new": is_new, "x": x, "y": y, "total": total}
                )
    ends = np.searchsorted(rows, starts), np.searchsorted(rows, linked)
    both = inside[ends[0]] & inside[ends[1]]
    links = np.hstack([points[ends[0][both]], points[ends[1][both]]])
    return {
        "axes": list(plane.axes),
        "points": groups,
        "links": links.round(DECIMALS).tolist(),
        "regions": _regions(sampler, table, plane, rows, classes, frame),
        "notes": _notes(real, new, n_real, len(codes), int(np.sum(~inside)), len(links)),
    }


def _shown(codes: Integers, n_real: int, n_classes: int) -> tuple[Integers, Integers]:
    """Return which real and which new rows to draw: of each class so many, evenly apart."""
    parts: tuple[list[Integers], list[Integers]] = ([], [])
    for part, start, stop, most in (
        (parts[0], 0, n_real, MOST_REAL),
        (parts[1], n_real, len(codes), MOST_NEW),
    ):
        for code in range(n_classes):
            places = start + np.flatnonzero(codes[start:stop] == code)
            if places.size:
                part.append(places[spread_evenly(len(places), most)])
    nothing = np.zeros(0, dtype=np.intp)
    return np.concatenate([nothing, *parts[0]]), np.concatenate([nothing, *parts[1]])


def _inside(points: Floats, frame: boundary.Frame) -> NDArray[np.bool_]:
    low, high = (np.array([side[end] for side in frame]) for end in (0, 1))
    return np.asarray(((points >= low) & (points <= high)).all(axis=1))


def _regions(
    sampler: Any,
    table: Table,
    plane: Plane,
    rows: Integers,
    classes: NDArray[Any],
    frame: boundary.Frame,
) -> dict[str, Any]:
    f = sampler.estimator_
    exact = plane.columns is not None and len(table.names) == 2  # noqa: PLR2004
    if exact and plane.columns is not None:
        shares = boundary.shares_exact(table, f, plane.columns, classes, frame)
    else:
        answers = np.asarray(f.predict(containers.take(table.native, rows)))
        place = np.searchsorted(classes, answers)
        shares = boundary.shares_nearby(plane.points, place, len(classes), frame)
    texts = [str(plain(label)) for label in classes]
    return boundary.regions(shares, frame, texts, exact=exact)


def _notes(
    real: Integers, new: Integers, n_real: int, n_rows: int, n_outside: int, n_links: int
) -> list[str]:
    notes = []
    if len(real) < n_real or len(new) < n_rows - n_real:
        notes.append(
            f"Drawn are {len(real):,} of {n_real:,} real and {len(new):,} of "
            f"{n_rows - n_real:,} new rows, evenly chosen within each class."
        )
    if n_links:
        notes.append(
            f"{n_links:,} thin lines lead from a real row to the new row that was made of it."
        )
    if n_outside:
        notes.append(f"{n_outside:,} of the rows chosen lie outside the frame.")
    return notes


def _verdict(sampler: Any, provenance: Provenance, classes: list[dict[str, Any]]) -> dict[str, Any]:
    grown = [item for item in classes if item["new"]]
    if grown:
        counts = [f"{item['new']:,} new rows for {item['label']}" for item in grown[:MOST_NAMED]]
        more = [f"more for {len(grown) - MOST_NAMED} other classes"] * (len(grown) > MOST_NAMED)
        headline = ", ".join([*counts, *more])
    else:
        headline = "No new rows: no class asked for any"
    sentences = [
        f"{got.inversions:,} of {got.factuals:,} {plain(larger)} rows could be turned into "
        f"{plain(smaller)}; {got.used:,} of these were used."
        for (larger, smaller), got in sampler.yield_.items()
    ]
    other = Counter(str(origin) for origin in provenance["origin"] if origin != "inversion")
    sentences += [
        f"{count:,} rows are no plain inversions but were made by the policy for shortfalls: "
        f"{origin}."
        for origin, count in sorted(other.items())
    ]
    return {"headline": headline, "sentences": sentences, "caveats": list(CAVEATS)}


def _data(
    table: Table, n_real: int, classes: list[dict[str, Any]], file: str, target: str
) -> Mapping[str, Any]:
    columns = []
    for m, name in enumerate(table.names):
        column = table.column(m)[:n_real]
        known = column[~np.isnan(column)]
        columns.append(
            {
                "name": str(name),
                "kind": table.kinds[m].value,
                "missing": len(column) - len(known),
                "distinct": len(np.unique(known)),
            }
        )
    return {
        "file": file,
        "target": target,
        "rows": n_real,
        "classes": classes,
        "columns": columns,
        "notes": [],
    }
