"""Class sample: the partners of a row are the nearest sampled rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from counterbalance.profile import Profile
from counterbalance.rows import interior
from counterbalance.rows.interior import ClassSample


def _rows(rng, n_rows, n_features, *, tied):
    if tied:
        return rng.integers(0, 3, (n_rows, n_features)) / 7
    return rng.normal(size=(n_rows, n_features))


@pytest.mark.skipif(interior.kernel is None, reason="no kernel: install a C compiler")
@given(
    seed=st.integers(0, 2**16),
    n_rows=st.integers(2, 70),
    n_sampled=st.integers(2, 50),
    n_numbers=st.integers(0, 25),
    n_codes=st.integers(0, 20),
    k=st.integers(1, 5),
)
def test_the_nearest_sampled_rows_come_first_and_of_equals_the_first_ones(
    seed, n_rows, n_sampled, n_numbers, n_codes, k
):
    rng = np.random.default_rng(seed)
    x, of_x = (_rows(rng, n, n_numbers, tied=seed % 2) for n in (n_rows, n_sampled))
    codes, of_codes = (rng.integers(-1, 3, (n, n_codes)) * 1.0 for n in (n_rows, n_sampled))
    own = rng.integers(-1, n_sampled, n_rows)
    far = cdist(x, of_x, "cityblock") if n_numbers else np.zeros((n_rows, n_sampled))
    far += [[_differing(a, b) for b in of_codes] for a in codes]
    far[own >= 0, own[own >= 0]] = np.inf
    k = min(k, n_sampled - 1)
    near = np.zeros((n_rows, k), dtype=np.intp)
    interior.kernel.nearest(x, codes, of_x, of_codes, own, near)
    np.testing.assert_array_equal(near, np.argsort(far, axis=1, kind="stable")[:, :k])


def _differing(a, b):
    return sum(1.0 if min(p, q) >= 0 else 0.5 for p, q in zip(a, b, strict=True) if p != q)


def test_a_wide_table_has_the_partners_that_scikit_learn_finds():
    x = np.random.default_rng(0).normal(size=(300, 20))
    profile = _profile(x)
    x *= profile.scale
    search = NearestNeighbors(n_neighbors=5, metric="manhattan", algorithm="brute")
    theirs = search.fit(x / profile.scale).kneighbors(return_distance=False)
    all_of_them = ClassSample.from_class(x, 0, 1)
    np.testing.assert_array_equal(all_of_them.nearest(x, 0, profile), theirs)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("n_features", [4, 20])
def test_a_class_of_many_rows_meets_the_same_sample_however_it_is_cut(
    n_features, compiled, monkeypatch
):
    if not compiled:
        monkeypatch.setattr(interior, "kernel", None)
    monkeypatch.setattr(interior, "MOST_SAMPLED", 40)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(150, n_features))
    x[:, 2:] = rng.integers(0, 4, (150, n_features - 2))
    x[rng.random(x.shape) < 0.1] = np.nan
    profile = _profile(x, nominal=np.arange(n_features) > 1)
    some = ClassSample.from_class(x, 0, 1)
    whole = some.nearest(x, 0, profile)
    parts = [some.nearest(x[first : first + 37], first, profile) for first in range(0, 150, 37)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert not (some.rank[whole] == np.arange(150)[:, None]).any()
    far = _by_one_hot(x, some, profile)
    np.testing.assert_array_equal(  # the tree and the comparison mean the same distance
        np.sort(np.take_along_axis(far, whole, axis=1)), np.sort(far, axis=1)[:, : whole.shape[1]]
    )


def _by_one_hot(x, some, profile):
    one_hot = (interior._one_hot(rows, some.x, profile) for rows in (x, some.x))
    far = cdist(*one_hot, "cityblock").round(9)
    far[some.rank, np.arange(len(some.rank))] = np.inf
    return far


def _profile(x, nominal=None):
    n, any_share = x.shape[1], np.ones(4) / 4
    shares = tuple(any_share if nominal is not None and nominal[m] else None for m in range(n))
    numbers = np.zeros(n), np.ones(n), np.zeros(n), np.ones(n), np.linspace(1, 2, n), np.ones(n)
    return Profile(*numbers, shares)
