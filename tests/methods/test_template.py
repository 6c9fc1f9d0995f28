"""What holds for every method: counts, order, seeds, types, and what is left alone."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from counterbalance import methods
from counterbalance.errors import TableError
from counterbalance.methods import PeerFallbackWarning, all_samplers

WRITTEN_HERE = {
    name: method
    for name, method in all_samplers().items()
    if method.kind != "classifier" and method.factory.__module__.startswith(methods.__name__)
}
WRITTEN_HERE.pop("G-SMOTE", None)
OVER = [name for name, method in WRITTEN_HERE.items() if method.kind == "over"]
MOVES_OR_DROPS = {
    "CCR": "pushes majority rows out of the spheres",
    "NRAS": "removes noise from the minority",
    "SMOTE-IPF": "removes noise from all classes",
}
NOT_EXACT = {"SMOTE-IPF": "filters after balancing"}
MAY_DRAW_NOTHING = {
    "SMOTE-D": "is deterministic by definition",
    "polynom-fit-SMOTE": "draws only which segments carry one row more",
    "CFA": "draws only which majority rows come first",
}
NEEDS_ONE_ROW = {"CCR", "CFA", "Counterfactual SMOTE", "OUPS"}
pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.methods.PeerFallbackWarning")


# What holds does not depend on how long a network is trained.
LIGHTER = {"GAMO": {"max_iter": 30}, "CV-SMOTE": {"n_neighbors": [1, 4], "cv": 2}}


def resampled(name, X, y, **parameters):
    given = {"random_state": 0, **LIGHTER.get(name, {}), **parameters}
    return WRITTEN_HERE[name].factory(**given).fit_resample(X, y)


@pytest.fixture
def three_classes():
    rng = np.random.default_rng(3)
    sizes = [90, 40, 25]
    X = np.vstack([rng.normal(2 * i, 1, (n, 4)) for i, n in enumerate(sizes)])
    order = rng.permutation(sum(sizes))
    return X[order], np.repeat(["a", "b", "c"], sizes)[order]


@pytest.mark.parametrize("name", WRITTEN_HERE)
def test_every_class_gets_exactly_what_was_asked_for(name, three_classes):
    if name in NOT_EXACT:
        pytest.skip(NOT_EXACT[name])
    X, y = three_classes
    wanted = {"b": 70, "c": 33} if name in OVER else {"a": 50, "b": 33}
    _, y_new = resampled(name, X, y, sampling_strategy=wanted)
    expected = {"a": 90, "b": 40, "c": 25} | wanted
    labels, counts = np.unique(y_new, return_counts=True)
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == expected


@pytest.mark.parametrize("name", OVER)
def test_the_original_rows_come_first_bit_for_bit(name, three_classes):
    if name in MOVES_OR_DROPS:
        pytest.skip(MOVES_OR_DROPS[name])
    X, y = three_classes
    X_new, y_new = resampled(name, X, y)
    np.testing.assert_array_equal(X_new[: len(y)], X)
    np.testing.assert_array_equal(y_new[: len(y)], y)


@pytest.mark.parametrize("name", WRITTEN_HERE)
def test_one_seed_gives_one_result_and_another_seed_another(name, blobs):
    X, y = blobs
    first, again = resampled(name, X, y)[0], resampled(name, X, y)[0]
    np.testing.assert_array_equal(first, again)
    if name not in MAY_DRAW_NOTHING:
        other = resampled(name, X, y, random_state=1)[0]
        assert first.shape != other.shape or (first != other).any()


@pytest.mark.parametrize("name", WRITTEN_HERE)
def test_the_input_and_numpys_global_state_are_left_alone(name, blobs):
    X, y = blobs
    X_before, y_before = X.copy(), y.copy()
    state = np.random.get_state()[1].copy()  # noqa: NPY002  # the very thing under test
    for random_state in (0, None, np.random.RandomState(0)):
        resampled(name, X, y, random_state=random_state)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002  # as above


@pytest.mark.parametrize("name", OVER)
def test_two_identical_classes_do_not_get_the_same_draws(name):
    if name in MAY_DRAW_NOTHING | MOVES_OR_DROPS:
        pytest.skip((MAY_DRAW_NOTHING | MOVES_OR_DROPS)[name])
    rng = np.random.default_rng(0)
    clump = rng.normal(size=(15, 2))
    X = np.vstack([clump, clump + 1000, rng.normal(500, 300, (60, 2))])
    y = np.repeat([1, 2, 0], [15, 15, 60])
    X_new, y_new = resampled(name, X, y)
    first, second = (X_new[90:][y_new[90:] == c] for c in (1, 2))
    assert not np.allclose(np.sort(first, axis=0), np.sort(second - 1000, axis=0), atol=1e-6)


@pytest.mark.parametrize("name", WRITTEN_HERE)
def test_float32_and_sparse_formats_are_kept(name, blobs):
    X, y = blobs
    assert resampled(name, X.astype(np.float32), y)[0].dtype == np.float32
    found = resampled(name, sparse.csc_array(X), y)[0]
    assert found.format == "csc"
    np.testing.assert_allclose(found.toarray(), resampled(name, X, y)[0])


@pytest.mark.parametrize("name", OVER)
def test_new_rows_of_a_table_of_integers_are_not_truncated(name):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, size=(120, 3)), np.repeat([1, 0], [30, 90])
    X_new, _ = resampled(name, X, y)
    assert X_new.dtype == np.float64


def degenerate():
    rng = np.random.default_rng(0)
    majority = rng.normal(size=(40, 3))
    two, eight = rng.normal(1, 1, (2, 3)), rng.normal(1, 1, (8, 3))
    constant = np.ones((8, 3))
    fixed = [1.0, 1.0, 0.0]
    return {
        "minority of two": (two, majority),
        "two duplicates": (constant[:2], majority),
        "all duplicates": (constant, majority),
        "one feature": (eight[:, :1], majority[:, :1]),
        "a constant column": (eight * fixed, majority * fixed),
        "a column constant in the majority": (eight, majority * fixed),
        "the majority all duplicates": (eight, np.ones((40, 3))),
        "everything the same": (constant, np.ones((40, 3))),
    }


@pytest.mark.slow
@pytest.mark.parametrize("case", degenerate())
@pytest.mark.parametrize("name", WRITTEN_HERE)
def test_degenerate_tables_are_balanced_or_a_warning_says_otherwise(name, case):
    minority, majority = degenerate()[case]
    X = np.vstack([minority, majority])
    y = np.repeat([1, 0], [len(minority), len(majority)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X_new, y_new = resampled(name, X, y)
    assert np.isfinite(X_new).all()
    assert {w.category for w in caught} <= {PeerFallbackWarning}
    counts = np.bincount(y_new)
    if name in NOT_EXACT:
        assert counts.min() >= 0.9 * counts.max() or caught
    else:
        assert counts[0] == counts[1]


@pytest.mark.parametrize("name", OVER)
def test_a_minority_of_one_row_is_resampled_or_rejected_with_a_remedy(name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(41, 3)), np.repeat([1, 0], [1, 40])
    if name in NEEDS_ONE_ROW:
        assert (resampled(name, X, y)[1] == 1).sum() == 40
    else:
        with pytest.raises(TableError, match=r"at least 2 rows of class 1 .* it holds 1; leave"):
            resampled(name, X, y)


def test_new_rows_of_duplicates_are_copies_and_a_warning_says_so():
    X = np.vstack([np.ones((4, 2)), np.random.default_rng(0).normal(size=(9, 2))])
    y = np.repeat([1, 0], [4, 9])
    with pytest.warns(PeerFallbackWarning, match="all 4 rows of class 1 are the same"):
        X_new, _ = methods.ProWSyn().fit_resample(X, y)
    np.testing.assert_array_equal(X_new[13:], np.ones((5, 2)))
