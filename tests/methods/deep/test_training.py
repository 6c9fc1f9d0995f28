import sys

import numpy as np
import pytest

from counterbalance.errors import TableError
from counterbalance.methods.deep.training import (
    INTERVAL,
    Bar,
    Patience,
    batches,
    checked_sizes,
    scaled,
    scaling,
)


def test_every_row_is_seen_once_in_a_pass_and_a_batch_is_never_larger_than_the_table():
    order = batches(10, 4, np.random.default_rng(0))
    seen = np.concatenate([next(order) for _ in range(5)])
    np.testing.assert_array_equal(np.bincount(seen), np.full(10, 2))
    assert len(next(batches(3, 64, np.random.default_rng(0)))) == 3


def test_patience_ends_after_intervals_without_a_lower_loss():
    patience = Patience(2, 0.1)
    losses = [1.0] * INTERVAL + [0.5] * INTERVAL + [0.45] * (2 * INTERVAL)
    stopped = [patience.over(loss) for loss in losses]
    assert stopped.index(True) == len(losses) - 1
    np.testing.assert_allclose(patience.history, [1.0, 0.5, 0.45, 0.45])
    never = Patience(None, 0.1)
    assert not any(never.over(1.0) for _ in range(10 * INTERVAL))


def test_a_loss_that_is_not_finite_is_refused_with_a_remedy():
    patience = Patience(2, 0.1)
    patience.over(np.nan)
    with pytest.raises(TableError, match="learning_rate must let the loss stay finite"):
        patience.judged()


def test_a_constant_column_is_not_blown_up():
    X = np.column_stack([np.arange(5.0), np.full(5, 7.0)])
    rows = scaled(X, *scaling(X))
    np.testing.assert_array_equal(rows[:, 1], 0)
    assert rows[:, 0].std() == pytest.approx(1, rel=1e-6)
    assert rows.dtype == np.float32


@pytest.mark.parametrize("sizes", [(), (3, 0), (2.5,)])
def test_sizes_of_layers_are_positive_whole_numbers(sizes):
    with pytest.raises(TableError, match=r"for example hidden_sizes=\(128, 64\)"):
        checked_sizes("hidden_sizes", sizes)


def test_a_bar_is_shown_where_it_is_asked_for_and_nothing_else_is_said(capsys):
    pytest.importorskip("rich")
    for wanted, shown in ((False, False), ("auto", False), (True, True)):
        with Bar("GAMO", 20, wanted) as bar:
            for step in range(1, 21):
                bar.advance(step)
        said = capsys.readouterr()
        assert not said.out
        assert ("GAMO" in said.err) == shown


def test_a_bar_stays_silent_without_rich(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with Bar("GAMO", 20, wanted=True) as bar:
        bar.advance(10)
    assert not capsys.readouterr().err
