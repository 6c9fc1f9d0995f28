"""Boundary: which part of the map f gives to which class, as cells and as lines.

Where the axes are the only two columns of the table, f is asked about every cell. Anywhere
else a point of the map stands for many rows, and f has no single answer: a cell then shows
the answers that f gives to the rows lying nearest on the map, weighted by how near they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from counterbalance.arrays import Floats, Integers
from counterbalance.table.kinds import Kind
from counterbalance.table.table import Table

Line = list[tuple[float, float]]
Frame = tuple[tuple[float, float], tuple[float, float]]

COLUMNS, ROWS = 150, 96
NEIGHBOURS = 40
# Smoothing and reach of a row, as shares of the frame's width.
BANDWIDTH, REACH = 0.03, 0.13


def frame_of(points: Floats, inner: float = 0.01, air: float = 0.08) -> Frame:
    """Return the part of the plane to show; single rows far outside do not squeeze the rest."""
    low, high = np.quantile(points, [inner, 1 - inner], axis=0)
    width = np.where(high > low, high - low, np.maximum(np.abs(low), 1.0))
    low, high = low - air * width, high + air * width
    return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))


def centres(frame: Frame) -> Floats:
    """Return the middle of every cell, row by row from the bottom, (ROWS * COLUMNS, 2)."""
    (left, right), (bottom, top) = frame
    x = left + (np.arange(COLUMNS) + 0.5) / COLUMNS * (right - left)
    y = bottom + (np.arange(ROWS) + 0.5) / ROWS * (top - bottom)
    return np.column_stack([np.tile(x, ROWS), np.repeat(y, COLUMNS)])


def shares_nearby(points: Floats, answers: Integers, n_classes: int, frame: Frame) -> Floats:
    """Return for every cell the share of each class among f's answers nearby, nan if none is."""
    # The frame becomes one unit wide, and as high as it is drawn.
    unit = np.array([side[1] - side[0] for side in frame]) * [1.0, COLUMNS / ROWS]
    k = min(NEIGHBOURS, len(points))
    found = cKDTree(points / unit).query(centres(frame) / unit, k=range(1, k + 1))
    away, nearest = np.asarray(found[0]), np.asarray(found[1])
    weight = np.exp(-(away**2 - away[:, :1] ** 2) / (2 * BANDWIDTH**2))
    shares = np.stack(
        [(weight * (answers[nearest] == code)).sum(axis=1) for code in range(n_classes)], axis=1
    )
    shares /= shares.sum(axis=1, keepdims=True)
    shares[away[:, 0] > REACH] = np.nan
    return np.asarray(shares)


def shares_exact(table: Table, f: Any, columns: tuple[int, int], classes: Any, frame: Frame) -> Any:
    """Return for every cell 1 for the class that f answers there; the table has two columns."""
    codes = np.empty((ROWS * COLUMNS, 2))
    codes[:, list(columns)] = centres(frame)
    for m, kind in enumerate(table.kinds):
        known = table.column(m)
        if kind is not Kind.CONTINUOUS:
            codes[:, m] = np.rint(codes[:, m])
        if kind.has_levels:
            codes[:, m] = np.clip(codes[:, m], np.nanmin(known), np.nanmax(known))
    answers = np.asarray(f.predict(table.decode(codes)))
    return (answers[:, None] == np.asarray(classes)[None, :]).astype(np.float64)


def regions(shares: Floats, frame: Frame, classes: list[str], *, exact: bool) -> dict[str, Any]:
    """Return the cells and the lines between them, ready for the summary."""
    grid = shares.reshape(ROWS, COLUMNS, -1)
    seen = ~np.isnan(grid[..., 0])
    cells = np.where(seen, np.argmax(np.nan_to_num(grid), axis=2), -1)
    lines: list[Line] = []
    # Two classes share one boundary; with more, each class is set off against all others.
    for code in range(1 if len(classes) == 2 else 0, len(classes)):  # noqa: PLR2004
        others = np.delete(grid, code, axis=2).max(axis=2)
        lines += contour(grid[..., code] - others)
    (left, right), (bottom, top) = frame
    return {
        "classes": classes,
        "x": [left, right],
        "y": [bottom, top],
        "cells": cells.tolist(),
        "lines": [
            [
                (
                    left + (a + 0.5) / COLUMNS * (right - left),
                    bottom + (b + 0.5) / ROWS * (top - bottom),
                )
                for a, b in line
            ]
            for line in lines
        ],
        "exact": exact,
    }


def contour(field: Floats) -> list[Line]:
    """Return where a field on a grid is zero, as lines of (column, row) places.

    Marching squares: of each square of four neighbours the sides are looked at on which the
    sign changes, and the places of zero on them are joined. A square with a nan has no line.
    """
    ends: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    places: dict[tuple[int, int, int], tuple[float, float]] = {}
    above = field > 0
    corners = field[:-1, :-1] + field[1:, :-1] + field[:-1, 1:] + field[1:, 1:]
    n_above = above[:-1, :-1].astype(int) + above[1:, :-1] + above[:-1, 1:] + above[1:, 1:]
    for i, j in np.argwhere(~np.isnan(corners) & (n_above % 4 > 0)).tolist():
        sides = [(0, i, j), (1, i, j + 1), (0, i + 1, j), (1, i, j)]
        crossed = [side for side in sides if _crossed(field, above, side, places)]
        # A saddle has four: they are joined by two lines, around its corners.
        for a, b in zip(crossed[::2], crossed[1::2], strict=True):
            ends.setdefault(a, []).append(b)
            ends.setdefault(b, []).append(a)
    return [[places[key] for key in chain] for chain in _chains(ends)]


def _crossed(field: Floats, above: Any, side: Any, places: dict[Any, tuple[float, float]]) -> bool:
    """Note where the field is zero on a side, (0 along a row or 1 along a column, i, j)."""
    down, i, j = side
    other = (i + 1, j) if down else (i, j + 1)
    if above[i, j] == above[other]:
        return False
    share = float(field[i, j] / (field[i, j] - field[other]))
    places[side] = (j, i + share) if down else (j + share, i)
    return True


def _chains(ends: dict[Any, list[Any]]) -> list[list[Any]]:
    """Join pieces with common ends to lines, open ones from their ends first."""
    left = {key: list(others) for key, others in ends.items()}
    starts = [key for key, others in ends.items() if len(others) == 1]
    chains = []
    for start in [*starts, *ends]:
        chain = [start]
        while left[chain[-1]]:
            here = chain[-1]
            there = left[here].pop()
            left[there].remove(here)
            chain.append(there)
        if len(chain) > 1:
            chains.append(chain)
    return chains
