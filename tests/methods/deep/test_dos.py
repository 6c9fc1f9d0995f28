import numpy as np
import pytest

pytest.importorskip("autograd")

from counterbalance.errors import TableError
from counterbalance.methods.deep import DOSClassifier
from counterbalance.methods.deep.dos import drawn_targets, in_class_neighbours

FEW = {
    "max_iter": 120,
    "n_rounds": 3,
    "n_components": 6,
    "hidden_sizes": (16,),
    "learning_rate": 0.01,
    "random_state": 0,
}


def test_neighbours_are_of_the_class_and_the_row_itself_is_the_first():
    rng = np.random.default_rng(0)
    deep, codes = rng.normal(size=(30, 4)), np.repeat([0, 1, 2], [20, 8, 2])
    found = in_class_neighbours(deep, codes, 3)
    np.testing.assert_array_equal(found[:, 0], np.arange(30))
    assert (codes[found] == codes[:, None]).all()
    for row in range(20):
        apart = np.linalg.norm(deep[:20] - deep[row], axis=1)
        np.testing.assert_array_equal(found[row], np.argsort(apart)[:4])
    # two rows have one neighbour each, which is repeated
    np.testing.assert_array_equal(found[28], [28, 29, 29, 29])


def test_a_target_is_the_combination_that_its_weights_say_and_classes_are_equal():
    rng = np.random.default_rng(0)
    deep, codes = rng.normal(size=(26, 4)), np.repeat([0, 1], [20, 6])
    targets = drawn_targets(deep, codes, 3, rng)
    np.testing.assert_array_equal(np.bincount(codes[targets.rows]), [20, 20])
    np.testing.assert_allclose(targets.weights.sum(axis=1), 1)
    for value, rows, weights in zip(
        targets.values, targets.neighbours, targets.weights, strict=True
    ):
        np.testing.assert_allclose(value, weights @ deep[rows])
    # twenty targets for six rows: three or four each
    assert set(np.bincount(targets.rows)[20:]) == {3, 4}


def test_it_finds_the_minority_and_draws_the_classes_together(blobs):
    X, y = blobs
    fitted = DOSClassifier(**FEW).fit(X, y)
    assert (fitted.predict(X)[y == 1] == 1).mean() > 0.7
    assert fitted.spread_[-1] < fitted.spread_[0]
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)


def test_deep_features_and_resampled_targets_are_there(blobs):
    X, y = blobs
    fitted = DOSClassifier(**FEW).fit(X, y)
    assert fitted.transform(X).shape == (360, 6)
    assert fitted.targets_.shape == (600, 6)
    np.testing.assert_array_equal(np.bincount(fitted.target_labels_), [300, 300])
    assert (y[fitted.target_neighbours_] == fitted.target_labels_[:, None]).all()
    np.testing.assert_array_equal(y[fitted.target_rows_], fitted.target_labels_)
    assert fitted.target_weights_.shape == (600, 6)
    assert list(fitted.get_feature_names_out())[:1] == ["dosclassifier0"]


def test_the_same_seed_gives_the_same_bits(blobs):
    X, y = blobs
    first, second, other = (
        DOSClassifier(**{**FEW, "random_state": seed}).fit(X, y).predict_proba(X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_a_round_stops_early_where_its_loss_no_longer_falls(blobs):
    X, y = blobs
    settings = {**FEW, "max_iter": 2000, "n_rounds": 1, "n_iter_no_change": 1, "tol": 10.0}
    assert DOSClassifier(**settings).fit(X, y).n_iter_ == 200


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(12, dtype=int), "more than one class, it holds only 0"),
        ((np.arange(12) == 3).astype(int), "at least 2 rows of each class for DOS, it holds 1 of"),
    ],
)
def test_too_few_rows_are_refused_with_a_remedy(labels, message):
    X = np.arange(24.0).reshape(12, 2)
    with pytest.raises(TableError, match=message):
        DOSClassifier(**FEW).fit(X, labels)
