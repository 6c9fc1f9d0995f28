"""A row is allowed if every two of its levels, and its numbers beside them, were seen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.constraints import together
from counterbalance.constraints.together import FEWEST_ROWS, Levels, Together
from counterbalance.table.kinds import Kind

KINDS = [Kind.NOMINAL, Kind.CONTINUOUS, Kind.BOOLEAN, Kind.ORDINAL]
N_LEVELS = [3, 0, 2, 3]


def rows_of(rng, n):
    """Levels of three columns and a number, all with gaps."""
    cells = [rng.integers(0, k, n) if k else rng.normal(size=n).round(2) for k in N_LEVELS]
    x = np.column_stack(cells).astype(float)
    x[rng.random(x.shape) < 0.2] = np.nan
    return x


def naive_allowed(row, real):
    """Every two columns: some real row has both cells, or both gaps; numbers lie in range."""

    def level(cells, m):
        if np.isnan(cells[m]):
            return "missing"
        return "known" if N_LEVELS[m] == 0 else cells[m]

    for a in range(4):
        for b in range(a):
            if not any(
                level(one, a) == level(row, a) and level(one, b) == level(row, b) for one in real
            ):
                return False
        beside = [one[1] for one in real if level(one, a) == level(row, a)]
        known = [cell for cell in beside if not np.isnan(cell)]
        enough = N_LEVELS[a] and len(beside) >= FEWEST_ROWS and known
        if enough and not np.isnan(row[1]) and not min(known) <= row[1] <= max(known):
            return False
    return True


@pytest.mark.parametrize("compiled", [True, False])
@given(seed=st.integers(0, 10**6), n=st.integers(15, 80))
def test_what_is_allowed_is_what_a_loop_over_all_pairs_allows(compiled, seed, n):
    if compiled and together.kernel is None:
        pytest.skip("no kernel: install a C compiler, then make clean test")
    rng = np.random.default_rng(seed)
    real, new = rows_of(rng, n), rows_of(rng, 40)
    seen = Together.none(Levels.of(KINDS, N_LEVELS, n)).with_rows(real)
    expected = [naive_allowed(row, real) for row in new]
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(together, "kernel", None)
        allowed, faults = seen.allow(new), seen.faults(new)
        assert seen.allow(real).all()
    assert allowed.tolist() == expected
    assert (faults.sum(axis=1) >= 2)[~allowed].all()
    assert not faults[allowed].any()


@pytest.mark.skipif(
    together.kernel is None, reason="no kernel: install a C compiler, then make clean test"
)
@given(seed=st.integers(0, 10**6), n=st.integers(15, 80))
def test_the_kernel_finds_the_faults_that_numpy_finds(seed, n):
    rng = np.random.default_rng(seed)
    real, new = rows_of(rng, n), rows_of(rng, 100)[::2]  # and rows that do not lie side by side
    seen = Together.none(Levels.of(KINDS, N_LEVELS, n)).with_rows(real)
    compiled = seen.allow(new), seen.faults(new)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(together, "kernel", None)
        assert np.array_equal(seen.allow(new), compiled[0])
        assert np.array_equal(seen.faults(new), compiled[1])


@pytest.mark.skipif(
    together.kernel is None, reason="no kernel: install a C compiler, then make clean test"
)
def test_a_level_that_no_column_has_is_an_error_and_no_crash():
    real = rows_of(np.random.default_rng(0), 30)
    seen = Together.none(Levels.of(KINDS, N_LEVELS, 30)).with_rows(real)
    for level in (9.0, -1.0, np.inf):
        with pytest.raises(IndexError, match="does not have"):
            seen.allow(np.array([[level, 0.0, 0.0, 0.0]]))


@given(st.integers(0, 10**6), st.lists(st.integers(0, 60), min_size=1, max_size=3))
def test_any_cut_of_the_table_shows_the_same(seed, cuts):
    real = rows_of(np.random.default_rng(seed), 60)
    none = Together.none(Levels.of(KINDS, N_LEVELS, 60))
    whole = none.with_rows(real)
    parts = [none.with_rows(part) for part in np.split(real, sorted(cuts))]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.join(part)
    for name in ("seen", "rows", "least", "most"):
        assert np.array_equal(getattr(joined, name), getattr(whole, name))


def test_rows_in_several_blocks_show_the_same(monkeypatch):
    real = rows_of(np.random.default_rng(0), 200)
    none = Together.none(Levels.of(KINDS, N_LEVELS, 200))
    whole = none.with_rows(real)
    monkeypatch.setattr(together, "ROWS_AT_ONCE", 64)
    assert np.array_equal(none.with_rows(real).seen, whole.seen)


def test_a_column_that_names_its_rows_takes_no_part():
    levels = Levels.of([Kind.NOMINAL, Kind.NOMINAL], [90, 4], 100)
    assert levels.features.tolist() == [1]


def test_the_columns_with_the_most_levels_are_left_out_first(monkeypatch):
    monkeypatch.setattr(together, "MOST_LEVELS", 20)
    levels = Levels.of([Kind.NOMINAL] * 3, [15, 8, 4], 1000)
    assert levels.features.tolist() == [1, 2]
