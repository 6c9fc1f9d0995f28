"""Boosting: as good as scikit-learn's; the kernel gives the bits of a plain version."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score

import naive_boosting
from counterbalance import InteriorOverSampler
from counterbalance.classifier import boosting
from counterbalance.classifier.boosting import LEAST_OF_CLASS, Boosting, draw_rows


def any_table(seed, n_rows, n_features, n_classes):
    """Numbers with and without ties, gaps, a constant column, an empty one at times."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * 10.0 ** rng.integers(-3, 300, n_features)
    X[:, ::3] = np.round(rng.normal(size=(n_rows, len(range(0, n_features, 3)))))
    X[rng.random(X.shape) < rng.choice([0, 0.3])] = np.nan
    X[:, 1:2] = rng.choice([7.0, np.nan])
    y = np.clip(np.nan_to_num(X[:, 0]) + rng.integers(0, 2, n_rows), 0, n_classes - 1).astype(int)
    y[:n_classes] = np.arange(n_classes)
    if rng.random() >= 0.3:
        return X, y, None
    weight = rng.choice([0.0, 0.5, 2.0], n_rows)
    weight[-1] = 1.0  # weights that are all zero are refused before anything is fitted
    return X, y, weight


@pytest.mark.skipif(
    boosting.kernel is None, reason="no kernel: install a C compiler, then make clean test"
)
@given(
    seed=st.integers(0, 2**16),
    n_rows=st.integers(4, 300),
    n_features=st.integers(1, 7),
    n_classes=st.integers(2, 4),
    max_leaves=st.sampled_from([1, 2, 31, 200]),
    min_rows=st.sampled_from([1, 5, 20]),
)
def test_the_kernel_gives_the_bits_of_the_plain_version(
    seed, n_rows, n_features, n_classes, max_leaves, min_rows
):
    X, y, weight = any_table(seed, n_rows, n_features, n_classes)
    f = Boosting(max_leaves=max_leaves, min_rows=min_rows, n_rounds=4, max_rows=250, random_state=0)
    compiled = f.fit(X, y, weight).predict_proba(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boosting, "kernel", naive_boosting)
        plain = clone(f).fit(X, y, weight).predict_proba(X)
    assert compiled.tobytes() == plain.tobytes()
    np.testing.assert_allclose(compiled.sum(axis=1), 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_scores_as_histogram_boosting_of_scikit_learn_does(n_classes):
    X, y = make_classification(3000, 12, n_informative=6, n_classes=n_classes, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    fitted, asked = slice(None, None, 2), slice(1, None, 2)
    theirs = HistGradientBoostingClassifier(max_iter=20, early_stopping=False)
    scores = [f.fit(X[fitted], y[fitted]).predict_proba(X[asked]) for f in (Boosting(), theirs)]
    ours, other = (log_loss(y[asked], score) for score in scores)
    assert ours < 1.05 * other
    assert np.corrcoef(scores[0][:, 0], scores[1][:, 0])[0, 1] > 0.95


def test_a_missing_value_can_be_what_tells_the_classes_apart():
    X = np.linspace(0, 1, 200)[:, None].copy()
    y = np.arange(200) % 2
    X[y == 1] = np.nan
    f = Boosting().fit(X, y)
    assert (f.predict(X) == y).all()
    assert (f.predict([[5.0], [np.nan]]) == [0, 1]).all()


def test_of_many_rows_a_share_is_fitted_and_hardly_anything_is_lost():
    X, y = make_classification(30_000, 8, n_informative=5, weights=[0.97], random_state=0)
    X, y, X_new, y_new = X[::2], y[::2], X[1::2], y[1::2]
    few = Boosting(max_rows=4_000, random_state=0).fit(X, y).predict_proba(X_new)[:, 1]
    every = Boosting(max_rows=len(y)).fit(X, y).predict_proba(X_new)[:, 1]
    assert roc_auc_score(y_new, few) > roc_auc_score(y_new, every) - 0.02
    assert few.mean() == pytest.approx(every.mean(), rel=0.15)  # the shares are brought back


@given(counts=st.lists(st.integers(1, 6000), min_size=2, max_size=5), n=st.integers(1, 4000))
def test_rows_are_drawn_by_the_share_of_their_class_and_stand_for_all_of_it(counts, n):
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    rows, weight = draw_rows(codes, n, np.random.RandomState(0))
    kept = np.bincount(codes[rows], minlength=len(counts))
    assert len(np.unique(rows)) == len(rows)
    for count, some in zip(counts, kept, strict=True):
        assert some == min(count, max(n * count // len(codes), LEAST_OF_CLASS))
    np.testing.assert_allclose(np.bincount(codes[rows], weights=weight), counts)
    again, _ = draw_rows(codes, n, np.random.RandomState(0))
    np.testing.assert_array_equal(rows, again)


def test_a_fitted_one_is_pickled_and_refuses_another_number_of_columns():
    X, y = make_classification(100, 5, random_state=0)
    f = Boosting(n_rounds=2).fit(X, y.astype(str))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f)).predict(X), f.predict(X))  # noqa: S301
    with pytest.raises(ValueError, match="features"):
        f.predict_proba(X[:, :3])
    with pytest.raises(ValueError, match="one class only"):
        Boosting().fit(X, np.zeros(100))


def test_without_the_kernel_that_of_scikit_learn_takes_its_place(monkeypatch):
    monkeypatch.setattr(boosting, "kernel", None)
    X, y = make_classification(200, 5, weights=[0.8], random_state=0)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(e=np.where(X[:, 4] > 0, "p", "q"))
    for table in (X, frame):
        sampler = InteriorOverSampler(random_state=0)
        _, y_new = sampler.fit_resample(table, y)
        assert len(set(np.bincount(y_new))) == 1
        f = sampler.estimator_
        last = f[-1] if hasattr(f, "steps") else f
        assert isinstance(last, HistGradientBoostingClassifier)
