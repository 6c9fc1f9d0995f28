"""One row is explained: every way is an inversion, nearest first, each different."""

import numpy as np
import pandas as pd
import pytest

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import Immutable, Increasing
from counterbalance.datasets import load_wisconsin
from counterbalance.errors import TableError
from counterbalance.explain import explain


@pytest.fixture(scope="module")
def wisconsin():
    data = load_wisconsin()
    return data.X, data.y


def sampler(**parameters):
    return CounterfactualOverSampler(random_state=0, snap_to_grid=True, **parameters)


def check(X, f, found):
    """Every way, put into the row, is called the class by f itself."""
    rows = pd.concat([X.iloc[[found.row]]] * len(found.ways), ignore_index=True)
    for place, way in enumerate(found.ways):
        for name, (before, after) in way.changes.items():
            assert before != after
            rows.loc[place, name] = after
    assert (f.predict(rows) == found.to).all()


def test_every_way_is_an_inversion_and_they_differ(wisconsin):
    X, y = wisconsin
    own = sampler()
    found = explain(own, X, y, 0, "malignant", n_ways=5)
    check(X, own.estimator_, found)
    assert (found.own_class, found.called, found.to) == ("benign", "benign", "malignant")
    distances = [way.distance for way in found.ways]
    assert distances == sorted(distances)
    assert len({frozenset(way.changes) for way in found.ways}) == len(found.ways) == 5
    assert all(way.score > found.score for way in found.ways)
    assert found.cells["CellSize"] == 1


def test_it_is_never_farther_than_what_the_sampler_found(wisconsin):
    X, y = wisconsin
    own = sampler()
    own.fit_resample(X, y)
    new = own.provenance_[own.provenance_["origin"] == "inversion"]
    for place in (0, 5, 17):
        row, distance = new["factual"][place], new["distance"][place]
        nearest = explain(sampler(), X, y, int(row), "malignant").ways[0]
        assert nearest.distance <= distance + 1e-9


def test_a_row_of_the_smaller_class_is_explained_towards_the_larger(wisconsin):
    X, y = wisconsin
    own = sampler()
    row = int(np.flatnonzero(y == "malignant")[3])
    found = explain(own, X, y, row, "benign")
    check(X, own.estimator_, found)


def test_constraints_hold_and_the_same_seed_gives_the_same(wisconsin):
    X, y = wisconsin
    rules = [Immutable("CellSize"), Increasing("BareNuclei")]
    found = explain(sampler(constraints=rules), X, y, 0, "malignant")
    again = explain(sampler(constraints=rules), X, y, 0, "malignant")
    assert found == again
    for way in found.ways:
        assert "CellSize" not in way.changes
        before, after = way.changes.get("BareNuclei", (1, 1))
        assert after >= before


def test_a_row_that_is_called_the_class_already_needs_no_change(wisconsin):
    X, y = wisconsin
    own = sampler()
    own.fit_resample(X, y)
    wrong = np.flatnonzero((own.estimator_.predict(X) == "malignant") & (y == "benign"))
    found = explain(sampler(), X, y, int(wrong[0]), "malignant")
    assert found.called == found.to == "malignant"
    assert found.ways == ()


def test_arrays_are_explained_too_and_several_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.repeat([0, 1, 2], [50, 25, 15])
    X += y[:, None]
    found = explain(sampler(), X, y, 0, 2)
    assert found.to == 2
    assert set(found.cells) == {"x0", "x1", "x2"}


def test_a_row_or_class_that_is_not_there_is_refused(wisconsin):
    X, y = wisconsin
    with pytest.raises(TableError, match="row must be one of the 699 rows"):
        explain(sampler(), X, y, 699, "malignant")
    with pytest.raises(TableError, match="to must be a class of y, got 'ill'"):
        explain(sampler(), X, y, 0, "ill")
