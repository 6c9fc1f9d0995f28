"""Agreement: two judges unlike f, each row by itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import naive
from counterbalance.classifier import agreement
from counterbalance.classifier.agreement import Agreement, sampled


def fitted(X, y, weight=None, seed=0, nominal=None):
    weight = np.ones(len(X)) if weight is None else weight
    nominal = np.zeros(X.shape[1], dtype=bool) if nominal is None else nominal
    return Agreement.fit(X, y, weight, nominal, int(y.max()) + 1, seed)


def test_the_neighbours_vote_as_those_of_scikit_learn_do():
    X, y = make_classification(300, 6, n_classes=3, n_informative=4, random_state=0)
    scaler = StandardScaler().fit(X)
    theirs = KNeighborsClassifier(10).fit(scaler.transform(X), y)
    new = X + 0.3
    votes = fitted(X, y).votes(np.ascontiguousarray(scaler.transform(new)))
    np.testing.assert_array_equal(votes / 10, theirs.predict_proba(scaler.transform(new)))


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    decimals=st.integers(0, 2),
    n_rows=st.integers(2, 60),
    size=st.integers(1, 30),
)
def test_a_row_gets_the_same_bits_in_any_company_and_without_the_kernel(
    seed, decimals, n_rows, size
):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, 3)), decimals)  # with ties
    X[:, 2] = rng.integers(0, 4, n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.arange(n_rows) % 2
    judges = fitted(X, y, rng.random(n_rows), nominal=np.array([False, False, True]))
    target = rng.integers(0, 2, n_rows)
    once = judges.scores(X, target)
    cut = range(0, n_rows, size)
    parts = [judges.scores(X[k : k + size], target[k : k + size]) for k in cut]
    assert np.concatenate(parts).tobytes() == once.tobytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement, "kernel", None)
        patch.setattr(agreement, "CELLS_AT_ONCE", 100)
        assert judges.scores(X, target).tobytes() == once.tobytes()
    assert ((once >= 0) & (once <= 1)).all()


def test_the_scores_are_those_of_the_slow_twin():
    X, y = make_classification(120, 4, weights=[0.7], random_state=0)
    weight = np.random.default_rng(0).random(120) + 0.1
    judges = fitted(X, y, weight)
    ours = judges.scores(X[:9] + 0.2, np.ones(9, dtype=np.intp))
    theirs = [naive.agreement(judges.boosting, X, y, weight, row, 1) for row in X[:9] + 0.2]
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_of_a_large_table_a_sample_of_every_class_stands_for_it(monkeypatch):
    monkeypatch.setattr(agreement, "MOST_ROWS", 3000)
    codes = np.repeat([0, 1, -1, 2], [6000, 3000, 50, 20])
    rows, weight = sampled(codes, 7)
    assert not (codes[rows] < 0).any()
    counts = [weight[codes[rows] == c].sum() for c in range(3)]
    np.testing.assert_allclose(counts, [6000, 3000, 20])
    again, _ = sampled(codes, 7)
    np.testing.assert_array_equal(rows, again)


def test_references_are_fewer_in_a_wide_table_and_keep_the_shares(monkeypatch):
    monkeypatch.setattr(agreement, "MOST_REFERENCE_CELLS", 12_000)
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [2000, 100])
    judges = fitted(rng.normal(size=(2100, 40)), y)
    assert 300 <= len(judges.references) <= 400
    assert (judges.code == 1).sum() == 75
    shares = [judges.weight[judges.code == c].sum() for c in range(2)]
    np.testing.assert_allclose(shares, [2000, 100])


def test_neighbours_without_any_weight_have_no_say():
    X = np.array([[0.0], [1.0], [2.0]])
    judges = fitted(X, np.array([0, 1, 1]), np.array([1.0, 1.0, 0.0]))
    nobody = Agreement(
        judges.boosting, judges.cells, judges.references, judges.code, np.zeros(3), 2
    )
    assert np.isfinite(nobody.scores(X, np.ones(3, dtype=np.intp))).all()
