"""f as the search asks it: class codes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from counterbalance.classifier.predict import Classifier, linear_screen


def as_it_is(x, rows):
    del rows
    return x


def classifier(f):
    return Classifier(f, f.classes_, as_it_is)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("f", [LogisticRegression(), Perceptron()])
def test_a_linear_f_that_is_read_says_what_it_says_when_asked(f, n_classes, dtype):
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[np.arange(300) % n_classes]
    x = np.round(rng.normal(size=(300, 4)), 1).astype(dtype)
    f = clone(f).fit(x, y)
    f.intercept_ *= 0  # rows with a score of zero
    x[::7] = 0
    screen = linear_screen(f, x, f.classes_)
    known = Classifier(f, f.classes_, as_it_is, screen)
    np.testing.assert_array_equal(f.classes_[known.predict_codes(x, y)], f.predict(x))
    certain = screen.certain(x)
    assert set(certain[::7]) == {-1}, "only f knows what it says of rows on its boundary"
    assert (certain >= 0).sum() > 200


def test_an_f_with_answers_of_its_own_is_asked_for_them():
    class Contrary(LogisticRegression):
        def predict(self, X):
            return ~super().predict(X)

    x, y = np.arange(20.0)[:, None], np.arange(20) >= 10
    f = Contrary().fit(x, y)
    assert linear_screen(f, x, f.classes_) is None
    np.testing.assert_array_equal(f.classes_[classifier(f).predict_codes(x, y)], f.predict(x))


def test_a_class_of_f_that_the_labels_lack_has_no_code():
    x = np.linspace(-4, 4, 41)[:, None]
    f = LogisticRegression().fit(x, np.array(["b", "c", "x"])[np.arange(41) * 3 // 41])
    known = Classifier(f, np.array(["a", "b", "c"]), as_it_is)
    assert known.codes_of_f().tolist() == [1, 2, -1]
    said = known.predict_codes(x, np.arange(41))
    np.testing.assert_array_equal(said < 0, f.predict(x) == "x")
    scores = known.scores(x, np.arange(41))
    assert np.isnan(scores[:, 0]).all()
    np.testing.assert_array_equal(scores[:, 1:], f.predict_proba(x)[:, :2])


def test_the_score_of_a_row_does_not_depend_on_the_rows_that_f_is_asked_about_with():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 2)), np.arange(120) % 4
    f = SVC(gamma=5.0).fit(x, y)
    x = rng.normal(size=(300, 2))
    contrary = f.decision_function(x).argmax(axis=1) != f.predict(x)
    assert 0 < contrary.sum() < 100, "ties of votes make some rows' scores useless"
    known = classifier(f)
    together = known.scores(x, np.arange(300))
    alone = np.concatenate([known.scores(x[[r]], np.array([r])) for r in range(300)])
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    np.testing.assert_array_equal(np.isnan(together).all(axis=1), contrary)


def test_scores_of_pairs_are_none_even_where_three_classes_have_three_pairs():
    x, y = np.random.default_rng(0).normal(size=(90, 2)), np.arange(90) % 3
    f = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")).fit(x, y)
    agrees = f.decision_function(x).argmax(axis=1) == f.predict(x)
    assert classifier(f).scores(x[agrees], np.flatnonzero(agrees)) is None
