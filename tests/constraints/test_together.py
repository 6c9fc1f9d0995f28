"""A row has no two values that no real row has together, or hardly any."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.constraints import together
from counterbalance.constraints.together import FEWEST_ROWS, Levels, Together
from counterbalance.table.kinds import Kind

KINDS = [Kind.NOMINAL, Kind.CONTINUOUS, Kind.BOOLEAN, Kind.ORDINAL]
N_LEVELS = [3, 0, 2, 3]
SAMPLERS = [CounterfactualOverSampler, InteriorOverSampler]
pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")
needs_kernel = pytest.mark.skipif(
    together.kernel is None, reason="no kernel: install a C compiler, then make clean test"
)


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
            known_number = "known" in {level(row, a), level(row, b)}
            if not known_number and not any(
                level(one, a) == level(row, a) and level(one, b) == level(row, b) for one in real
            ):
                return False
        beside = [one[1] for one in real if level(one, a) == level(row, a)]
        known = [cell for cell in beside if not np.isnan(cell)]
        enough = N_LEVELS[a] and len(known) >= FEWEST_ROWS
        if enough and not np.isnan(row[1]) and not min(known) <= row[1] <= max(known):
            return False
    return True


@pytest.mark.parametrize("compiled", [True, False])
@given(seed=st.integers(0, 10**6), n=st.integers(45, 90))
def test_without_rare_pairs_a_row_is_allowed_if_a_loop_over_all_pairs_allows_it(compiled, seed, n):
    if compiled and together.kernel is None:
        pytest.skip("no kernel: install a C compiler, then make clean test")
    rng = np.random.default_rng(seed)
    real, new = rows_of(rng, n), rows_of(rng, 40)
    for m in np.flatnonzero(N_LEVELS):  # levels that the real rows do not have are no levels
        new[:, m] = np.minimum(new[:, m], np.nanmax(real[:, m], initial=0))
    seen = Together.learn(KINDS, real)
    expected = [naive_allowed(row, real) for row in new]
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(together, "kernel", None)
        allowed, faults = seen.allow(new), seen.faults(new)
        assert seen.allow(real).all()
        assert seen.allow(new, new).all()  # what the factual has is no fault
    assert allowed.tolist() == expected
    assert (faults.sum(axis=1) >= 2)[~allowed].all()
    assert not faults[allowed].any()


@needs_kernel
@given(seed=st.integers(0, 10**6), n=st.integers(60, 400))
def test_the_kernel_finds_the_faults_that_numpy_finds(seed, n):
    rng = np.random.default_rng(seed)
    real = rows_of(rng, n)
    real[:, 1] = np.where(rng.random(n) < 0.5, 0.0, real[:, 1])
    new = rows_of(rng, 100)[::2]  # and rows that do not lie side by side
    new[::3, 1] = 0.0
    old = real[rng.integers(0, n, len(new))]
    learned = Together.learn(KINDS, real)
    for before in (None, old):
        compiled = learned.allow(new, before), learned.faults(new, before)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(together, "kernel", None)
            assert np.array_equal(learned.allow(new, before), compiled[0])
            assert np.array_equal(learned.faults(new, before), compiled[1])


@pytest.mark.parametrize("compiled", [True, False])
def test_a_level_that_no_column_has_is_an_error_and_no_crash(compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(together, "kernel", None)
    seen = Together.learn(KINDS, rows_of(np.random.default_rng(0), 60))
    for level in (9.0, -1.0):
        with pytest.raises(IndexError, match="does not have"):
            seen.allow(np.array([[level, 0.0, 0.0, 0.0]]))


def couples(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    role = np.where(rng.random(n) < 0.5, "single", np.where(sex == "m", "husband", "wife"))
    sex[np.flatnonzero(role == "husband")[0]] = "f"  # one dirty row
    days = np.where(rng.random(n) < 0.7, -1, rng.integers(1, 400, n))
    outcome = np.where(days == -1, "unknown", rng.choice(["good", "bad"], n))
    credit = np.where(rng.random(n) < 0.6, 0.0, rng.lognormal(3, 1, n).round(2))
    used = np.where(credit == 0, 0, rng.integers(1, 20, n))
    y = (rng.random(n) < 0.1 + 0.2 * (sex == "m")).astype(int)
    columns = {"sex": sex, "role": role, "days": days, "outcome": outcome}
    return pd.DataFrame(columns | {"credit": credit, "used": used, "age": rng.normal(size=n)}), y


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_one_dirty_row_is_no_licence(sampler):
    X, y = couples()
    one = sampler(random_state=0)
    new = one.fit_resample(X, y)[0].iloc[len(X) :]
    assert ((new["role"] == "husband") & (new["sex"] == "f")).sum() <= 1
    assert any(found.text.startswith("sex goes with role") for found in one.relations_)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_zero_together_and_minus_one_where_never_are_kept(sampler):
    X, y = couples()
    new = sampler(random_state=0).fit_resample(X, y)[0].iloc[len(X) :]
    assert ((new["days"] == -1) == (new["outcome"] == "unknown")).all()
    assert ((new["credit"] == 0) == (new["used"] == 0)).all()


def test_numbers_alone_keep_it_too():
    X, y = couples()
    one = InteriorOverSampler(random_state=0)
    new = one.fit_resample(X[["credit", "used", "age"]], y)[0].iloc[len(X) :]
    assert ((new["credit"] == 0) == (new["used"] == 0)).all()
    assert [found.text for found in one.relations_] == ["credit goes with used"]


def test_a_line_is_switched_off_or_written_down():
    X, y = couples()
    switched_off = InteriorOverSampler(
        random_state=0, ignore_relations=["sex goes with role", "credit goes with used"]
    )
    new = switched_off.fit_resample(X, y)[0].iloc[len(X) :]
    assert ((new["role"] == "husband") & (new["sex"] == "f")).any()
    assert not any("sex goes" in found.text for found in switched_off.relations_)
    written = InteriorOverSampler(
        random_state=0, plausible=False, constraints=["sex goes with role"]
    )
    new = written.fit_resample(X, y)[0].iloc[len(X) :]
    assert ((new["role"] == "husband") & (new["sex"] == "f")).sum() <= 1
    assert ((new["days"] == -1) != (new["outcome"] == "unknown")).any()


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_columns_go_with_nothing(seed):
    X, y = couples(seed=seed)
    rng = np.random.default_rng(seed)
    for name in X:
        X[name] = X[name].to_numpy()[rng.permutation(len(X))]
    one = InteriorOverSampler(random_state=0)
    one.prepare(X, y)
    assert one.relations_ == []


def test_a_column_with_a_category_for_every_row_takes_no_part():
    x = np.column_stack([np.arange(100.0), np.arange(100) % 4])
    levels = Levels.from_rows([Kind.NOMINAL] * 2, x)
    assert levels.features.tolist() == [1]
    assert levels.unchecked.tolist() == [0]


def test_the_columns_with_the_most_levels_are_left_out_first(monkeypatch):
    monkeypatch.setattr(together, "MOST_LEVELS", 20)
    x = np.column_stack([np.arange(1000.0) % k for k in (15, 8, 4)])
    assert Levels.from_rows([Kind.NOMINAL] * 3, x).features.tolist() == [1, 2]
