"""New labels are trusted where the rows lie in their own class, and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest

from comparison_tables import mixed_table, plan_of, results_of, two_clouds
from counterbalance.compare import trials
from counterbalance.compare.trials import compute


@pytest.fixture(scope="module")
def results():
    plan = plan_of(
        *two_clouds(150, 50, apart=6),
        strategies=("Random oversampling", "SMOTE", "Random undersampling"),
        classifiers=("LR",),
        draws=2,
    )
    return results_of(plan)


def test_real_rows_of_separate_clouds_are_beyond_doubt(results):
    real = results.trust[0]
    assert real.strategy == "real rows"
    assert real.hidden_majority < 0.05
    assert real.agreement > 0.95
    assert real.distance == pytest.approx(1)
    assert 0 < real.outliers < 0.1


def test_copies_lie_at_no_distance_and_smote_between(results):
    copies, smote = results.trust[1:]
    assert (copies.strategy, smote.strategy) == ("Random oversampling", "SMOTE")
    assert copies.distance == 0
    assert copies.hidden_majority == 0
    assert 0 < smote.distance < 1
    assert smote.agreement > 0.95


def test_an_undersampler_makes_no_rows_to_trust(results):
    assert "Random undersampling" not in {found.strategy for found in results.trust}


def test_rows_put_among_the_majority_are_found_out(monkeypatch):
    plan = plan_of(*two_clouds(150, 50, apart=6), strategies=("SMOTE",), draws=1)

    def misplaced(name, part, kinds, seed, constraints):
        made = trust_resample(name, part, kinds, seed, constraints)
        rows = made.rows.copy()
        rows[made.new] = rows[np.flatnonzero(made.labels == 0)[: len(made.new)]]
        return replace(made, rows=rows)

    trust_resample = trials.resample
    monkeypatch.setattr(trials, "resample", misplaced)
    cell = {"experiment": "trust", "strategy": "SMOTE", "draw": 0}
    figures = compute(plan, cell)[0]
    assert figures["hidden_majority"] > 0.9
    assert figures["agreement"] < 0.05
    assert figures["outliers"] > 0.9


@pytest.mark.parametrize("groups", [None, np.arange(200) // 5])
def test_halves_share_no_row_and_hide_only_the_majority(groups):
    X, y = two_clouds(150, 50, apart=1)
    table = plan_of(X, y, groups=groups).table
    seen, hidden, other = trials.halves(table, seed=3, draw=1)
    assert sorted([*seen, *hidden, *other]) == list(range(200))
    assert len(hidden) > 10
    assert (table.codes[hidden] == 0).all()
    assert np.bincount(table.codes[seen]).argmax() == 0


def test_the_figures_are_a_function_of_the_seed_and_the_draw():
    X, y = mixed_table()
    cell = {"experiment": "trust", "strategy": "SMOTE", "draw": 0}
    plan, again, other = (plan_of(X, y, seed=seed) for seed in (0, 0, 1))
    assert compute(plan, cell)[0] == compute(again, cell)[0]
    assert compute(plan, cell)[0] != compute(other, cell)[0]
