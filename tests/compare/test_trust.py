"""New labels are trusted where the rows lie in their own class, and nowhere else."""

import numpy as np
import pytest

from comparison_tables import SMALL, mixed_table, plan_of, two_clouds
from counterbalance.compare import Settings, compare, trust
from counterbalance.compare.trust import REAL_ROWS, compute_trust


def trust_of(X, y, **settings):
    found = compare(X, y, settings=Settings(**{**SMALL, "classifiers": ("LR",), **settings}))
    return {row["strategy"]: row for row in found.summary["trust"]}


@pytest.fixture(scope="module")
def results():
    strategies = ("Random oversampling", "SMOTE", "Random undersampling")
    return trust_of(*two_clouds(150, 50, apart=6), strategies=strategies, draws=2)


def test_real_rows_of_separate_clouds_are_beyond_doubt(results):
    assert next(iter(results)) == REAL_ROWS
    real = results[REAL_ROWS]
    assert real["hidden_majority"] < 0.05
    assert real["agreement"] > 0.95
    assert real["distance"] == pytest.approx(1)
    assert 0 < real["outliers"] < 0.1


def test_copies_lie_at_no_distance_and_smote_between(results):
    copies, smote = results["Random oversampling"], results["SMOTE"]
    assert copies["distance"] == 0
    assert copies["hidden_majority"] == 0
    assert 0 < smote["distance"] < 1
    assert smote["agreement"] > 0.95
    assert smote["new"] == pytest.approx(33, abs=10)


def test_an_undersampler_makes_no_rows_to_trust(results):
    assert set(results) == {REAL_ROWS, "Random oversampling", "SMOTE"}


def test_it_is_left_out_where_nobody_asks_for_it():
    assert not trust_of(*two_clouds(60, 30, apart=2), strategies=("SMOTE",))


@pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")
def test_a_mixed_table_and_every_kind_of_sampler_are_judged():
    strategies = ("SMOTE", "ADASYN", "Interior", "Counterfactual", "CCR")
    found = trust_of(*mixed_table(), strategies=strategies, draws=1)
    assert set(found) == {REAL_ROWS, *strategies}
    for row in found.values():
        assert row["failed"] is None
        assert row["new"] > 10
        assert 0 <= row["agreement"] <= 1


def test_rows_put_among_the_majority_are_found_out(monkeypatch):
    plan = plan_of(*two_clouds(150, 50, apart=6), strategies=("SMOTE",), draws=1)

    def misplaced(plan, strategy, seen, preparation):
        rows, labels = made(plan, strategy, seen, preparation)
        return preparation.transform(seen.X)[seen.codes == 0][: len(rows)], labels

    made = trust.new_rows
    monkeypatch.setattr(trust, "new_rows", misplaced)
    cell = {"experiment": "trust", "strategy": "SMOTE", "draw": 0}
    figures = compute_trust(plan, cell)
    assert figures["hidden_majority"] > 0.9
    assert figures["agreement"] < 0.05
    assert figures["outliers"] > 0.9


def test_halves_share_no_row_and_hide_only_the_majority():
    table = plan_of(*two_clouds(150, 50, apart=1)).table
    seen, hidden, other = trust.halves(table, seed=3)
    assert sorted([*seen, *hidden, *other]) == list(range(200))
    assert len(hidden) > 10
    assert (table.codes[hidden] == 0).all()
    assert np.bincount(table.codes[seen]).argmax() == 0


def test_the_figures_are_a_function_of_the_seed_and_the_draw():
    X, y = mixed_table()
    cell = {"experiment": "trust", "strategy": "SMOTE", "draw": 0}
    plan, again, other = (plan_of(X, y, seed=seed) for seed in (0, 0, 1))
    assert compute_trust(plan, cell) == compute_trust(again, cell)
    assert compute_trust(plan, cell) != compute_trust(other, cell)
