"""What the rows tell is the same for any cut of the table."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.constraints.together import Levels
from counterbalance.plausible import evidence
from counterbalance.plausible.evidence import Evidence, gather
from counterbalance.table.kinds import Kind
from counterbalance.table.table import read_table

X = np.random.default_rng(0).integers(0, 3, (300, 2)).astype(float)
CLASSES = (np.arange(300) % 7 == 0).astype(np.intp)
LEVELS = Levels.of([Kind.NOMINAL] * 2, [3, 3], 300)


@given(st.lists(st.integers(0, 300), max_size=4))
def test_parts_joined_tell_what_the_whole_tells(cuts):
    none = Evidence.none(2, 2, LEVELS)
    old, evidence.MOST_OF_CLASS = evidence.MOST_OF_CLASS, 30
    try:
        whole = none.with_rows(np.arange(300), CLASSES, X)
        ids = np.split(np.arange(300), sorted(cuts))
        joined = Evidence.joined([none.with_rows(some, CLASSES[some], X[some]) for some in ids])
    finally:
        evidence.MOST_OF_CLASS = old
    for name in ("ids", "classes", "sample"):
        assert np.array_equal(getattr(joined, name), getattr(whole, name))
    assert np.array_equal(joined.together.seen, whole.together.seen)
    assert np.bincount(whole.classes).tolist() == [30, 30]


def test_a_table_in_memory_gives_the_same_sample_with_and_without_pairs():
    table = read_table(X)
    plain, paired = (gather(table, CLASSES, 2, pairs=pairs) for pairs in (False, True))
    assert np.array_equal(plain.sample, paired.sample)
    assert plain.together is None
    assert paired.together is not None
