"""What is learned from is the same for any cut of the table."""

import numpy as np

from counterbalance.plausible import evidence
from counterbalance.plausible.evidence import gather
from counterbalance.table.table import read_table

X = np.random.default_rng(0).integers(0, 3, (300, 2)).astype(float)
CLASSES = (np.arange(300) % 7 == 0).astype(np.intp)


def test_some_rows_of_each_class_are_sampled_by_their_ids(monkeypatch):
    monkeypatch.setattr(evidence, "MOST_OF_CLASS", 30)
    whole = gather(read_table(X), CLASSES, 2)
    assert np.bincount(whole.classes).tolist() == [30, 30]
    order = np.random.default_rng(1).permutation(300)
    mixed = gather(read_table(X[order]), CLASSES[order], 2, ids=order)
    assert np.array_equal(mixed.sample, whole.sample)


def test_a_large_table_gives_the_same_rows_in_any_order(monkeypatch):
    monkeypatch.setattr(evidence, "MOST_ROWS", 100)
    whole = gather(read_table(X), CLASSES, 2).rows
    order = np.random.default_rng(1).permutation(300)
    mixed = gather(read_table(X[order]), CLASSES[order], 2, ids=order).rows
    assert whole.shape == (100, 2)
    assert np.array_equal(np.sort(whole, axis=0), np.sort(mixed, axis=0))
