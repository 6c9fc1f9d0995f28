"""Random tables of every kind of column, for pandas and for polars, and what must hold of them."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st

from counterbalance.constraints import Immutable, Increasing, MaxChanged, OneOf, Range

LEVELS = ["low", "mid", "high", "never"]
NAMES = ["age", "cell size", "<b>", "x", "größe", "class", "0", "a b", "_", "index"]

# kind: (values a cell can have, pandas dtype, polars dtype)
KINDS = {
    "float": ([0.5, -1.25, 3.0, 1e6, 0.1, 2.2], "float64", pl.Float64),
    "float32": ([0.5, -1.25, 3.0, 0.1, 7.7], "float32", pl.Float32),
    "nullable float": ([0.5, 1.5, -3.25], "Float64", pl.Float64),
    "decimals": ([1.25, 2.5, 0.07, 3.99], "float64", pl.Float64),
    "int": ([0, 1, 5, -3, 40], "int64", pl.Int64),
    "small int": ([0, 1, 2, 3], "int8", pl.Int8),
    "unsigned": ([0, 7, 200], "uint8", pl.UInt8),
    "nullable int": ([0, 1, 5, 9], "Int64", pl.Int32),
    "bool": ([True, False], "bool", pl.Boolean),
    "nullable bool": ([True, False], "boolean", pl.Boolean),
    "text": (["a", "b", "longer text", "ä", ""], "str", pl.String),
    "category": (["red", "green", "blue"], "category", pl.Categorical),
    "unused levels": (["low", "high"], pd.CategoricalDtype(LEVELS), pl.Enum(LEVELS)),
    "ordinal": (["low", "mid", "high"], pd.CategoricalDtype(LEVELS, ordered=True), pl.Enum(LEVELS)),
    "object": (["p", "q"], object, pl.String),
    "constant": ([4.0], "float64", pl.Float64),
}
NEVER_MISSING = {"int", "small int", "unsigned", "bool"}
ORDERED = {"float", "float32", "nullable float", "decimals", "int", "small int", "unsigned"}
ORDERED |= {"nullable int", "ordinal"}
NUMBERS = ORDERED - {"ordinal"}


@dataclass(frozen=True)
class Case:
    """A random table as plain lists, with labels, constraints and settings of the sampler."""

    kinds: dict
    cells: dict
    labels: list
    constraints: list
    settings: dict

    def pandas(self):
        columns = {
            name: pd.Series(self.cells[name], dtype=KINDS[kind][1])
            for name, kind in self.kinds.items()
        }
        index = [f"row {n}" for n in range(len(self.labels))]
        return pd.DataFrame(columns).set_axis(index), pd.Series(self.labels, index=index, name="y")

    def polars(self):
        columns = [
            pl.Series(name, self.cells[name], dtype=KINDS[kind][2])
            for name, kind in self.kinds.items()
        ]
        return pl.DataFrame(columns), pl.Series("y", self.labels)


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    kinds = {name: draw(st.sampled_from(sorted(KINDS))) for name in names}
    n_small = draw(st.integers(1, 5))
    n_rows = n_small + draw(st.integers(6, 20))
    small = rng.permutation(n_rows) < n_small
    cells = {name: _cells(kinds[name], small, rng, draw(st.booleans())) for name in names}
    labels = draw(st.sampled_from([("yes", "no"), (True, False), (1, 0), (7, -2)]))
    settings = {
        "n_draws": draw(st.integers(1, 6)),
        "search": draw(st.sampled_from(["minimum", "perturb"])),
        "plausible": draw(st.sampled_from(["auto", True, False])),
        "random_state": draw(st.integers(0, 100)),
    }
    constraints = _constraints(draw, kinds, cells) if draw(st.booleans()) else []
    return Case(kinds, cells, [labels[0] if s else labels[1] for s in small], constraints, settings)


def _cells(kind, small, rng, holed):
    """Draw cells that lean towards the last values for the small class."""
    values = KINDS[kind][0]
    lean = np.where(small, 0.8, 0.3) * len(values)
    places = np.clip(rng.normal(lean, 1), 0, len(values) - 1).astype(int)
    cells = [values[place] for place in places]
    if holed and kind not in NEVER_MISSING:
        cells = [None if rng.random() < 0.2 else cell for cell in cells]
    return cells


def _constraints(draw, kinds, cells):
    found = []
    for name, kind in kinds.items():
        choice = draw(st.sampled_from(["none", "immutable", "increasing", "range", "one of"]))
        known = sorted({cell for cell in cells[name] if cell is not None}, key=str)
        if choice == "immutable":
            found.append(Immutable(name))
        elif choice == "increasing" and kind in ORDERED:
            found.append(Increasing(name))
        elif choice == "range" and kind in NUMBERS and known:
            found.append(Range(name, min(known), np.mean([min(known), max(known)])))
        elif choice == "one of" and known:
            found.append(OneOf(name, known[:2]))
    numbers = [name for name, kind in kinds.items() if kind in NUMBERS]
    if len(numbers) > 1 and draw(st.booleans()):
        found.append(f"`{numbers[0]}` <= `{numbers[1]}` + 100")
    if draw(st.booleans()):
        found.append(MaxChanged(draw(st.integers(1, 3))))
    return found


def is_missing(cell):
    return cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))


def same(left, right):
    return (is_missing(left) and is_missing(right)) or (
        not is_missing(left) and not is_missing(right) and left == right
    )


def assert_sound(case, sampler, columns, n_old):
    """Check the new rows, given as one list of cells for each column of the result."""
    provenance = sampler.provenance_
    positions = {name: m for m, name in enumerate(columns)}
    mask = provenance.changed_mask()
    for place, row in enumerate(provenance):
        old, new = row["factual"], row["sample"]
        assert new == n_old + place
        for name, cells in columns.items():
            changed = not same(cells[old], cells[new])
            assert changed == mask[place, positions[name]], (name, cells[old], cells[new])
            if changed:
                _assert_possible(case, name, cells[old], cells[new])
        for constraint in case.constraints:
            _assert_kept(constraint, columns, old, new, row)


def _assert_possible(case, name, old, new):
    """A changed cell is one that the column can hold."""
    assert not is_missing(old), name
    assert not is_missing(new), name
    known = [cell for cell in case.cells[name] if cell is not None]
    kind = case.kinds[name]
    if kind in NUMBERS:
        single = np.float32 if kind == "float32" else float
        assert single(min(known)) <= new <= single(max(known))
        if "int" in kind or kind == "unsigned":
            assert new == int(new)
        if kind in {"decimals", "nullable float"}:
            assert round(new, 2) == new
    else:
        assert new in known


def _assert_kept(constraint, columns, old, new, row):
    if isinstance(constraint, Immutable):
        for name in constraint.columns:
            assert same(columns[name][old], columns[name][new])
    elif isinstance(constraint, MaxChanged):
        assert len(row["changed"]) <= constraint.count
    elif isinstance(constraint, str):
        left, right = (name.strip("`") for name in constraint.split(" <= "))
        a, b = columns[left][new], columns[right.removesuffix("` + 100")][new]
        if not (is_missing(a) or is_missing(b)):
            assert a <= b + 100
    else:
        cell, before = columns[constraint.column][new], columns[constraint.column][old]
        if is_missing(cell):
            return
        if isinstance(constraint, Increasing) and not is_missing(before):
            order = LEVELS.index if isinstance(cell, str) else float
            assert order(cell) >= order(before)
        elif isinstance(constraint, Range):
            assert constraint.low <= cell <= constraint.high
        elif isinstance(constraint, OneOf):
            allowed = vars(constraint)["values"]
            numbers = [value for value in allowed if isinstance(value, float)]
            assert cell in allowed or np.isclose(numbers, cell).any()
