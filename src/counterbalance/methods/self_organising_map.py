"""A small self-organising map, trained in batches.

Glossary
    side       the map is a square of side x side units
    units      (side * side, d)  prototypes, row by row
    radius     how far on the map a row's best unit pulls its neighbours along
"""

import numpy as np
import numpy.typing as npt

from counterbalance.arrays import Floats, Integers

Singles = npt.NDArray[np.float32]


def grid(side: int) -> Floats:
    """Place of each unit on the map."""
    return np.stack(np.divmod(np.arange(side * side), side), axis=1).astype(float)


def best_unit(rows: Floats | Singles, units: Floats | Singles) -> Integers:
    """Give the unit nearest to each row."""
    best: Integers = np.argmin((units**2).sum(axis=1) - 2 * rows @ units.T, axis=1)
    return best


def trained_map(rows: Floats, side: int, n_epochs: int, rng: np.random.Generator) -> Floats:
    """Prototypes after batch training with a Gaussian neighbourhood that shrinks.

    They start on the plane of the two main directions of the rows, so that the map unfolds;
    with one feature the second direction is absent and the start is jittered instead.
    """
    place = grid(side)
    apart = ((place[:, None] - place[None]) ** 2).sum(axis=2)
    mean = rows.mean(axis=0)
    covariance = np.cov(rows, rowvar=False).reshape(rows.shape[1], -1)
    _, singular, directions = np.linalg.svd(covariance)
    reach = np.sqrt(singular[:2])[:, None] * directions[:2]
    centred = place[:, : len(reach)] / max(side - 1, 1) * 2 - 1
    units = mean + centred @ reach
    units = units + 1e-3 * rng.normal(size=units.shape) * rows.std(axis=0)
    # Which unit is best needs no double precision, and takes half the time without.
    single, columns = rows.astype(np.float32), np.ascontiguousarray(rows.T)
    for radius in np.geomspace(max(side / 2, 0.5), 0.5, n_epochs):
        best = best_unit(single, units.astype(np.float32))
        counts = np.bincount(best, minlength=len(units)).astype(float)
        sums = np.stack([np.bincount(best, column, len(units)) for column in columns], axis=1)
        pull = np.exp(-apart / (2 * radius**2))
        units = (pull @ sums) / np.maximum(pull @ counts, 1e-12)[:, None]
    return np.asarray(units)


def adjacent_units(side: int) -> Integers:
    """Pairs of units side by side or one above the other."""
    numbers = np.arange(side * side).reshape(side, side)
    beside = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    above = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    return np.vstack([beside, above])
