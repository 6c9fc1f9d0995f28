"""Classifier: the paper's f as a public factory, with its penalty and class weights to choose."""

import numpy as np
import pytest
from imblearn.pipeline import make_pipeline
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from counterbalance import CounterfactualOverSampler, paper_classifier

# Few draws run short here: that warning is right.
pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")

X, Y = make_classification(300, 5, weights=[0.8], class_sep=0.8, random_state=0)


def minimum_of_the_papers_objective(rho):
    """w of (1/N) sum c_n (w x_n - y_n)^2 + rho |w|^2 with y = -1, 1 and balanced weights c."""
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(Y == 1, 1.0, -1.0)
    weight = (len(Y) / 2 / np.bincount(Y))[Y]
    mean_x, mean_y = np.average(scaled, axis=0, weights=weight), np.average(y, weights=weight)
    inner = (scaled - mean_x).T * weight @ (scaled - mean_x) / len(Y) + rho * np.eye(X.shape[1])
    return np.linalg.solve(inner, (scaled - mean_x).T * weight @ (y - mean_y) / len(Y))


@pytest.mark.parametrize("penalty", [0.01, 1.0, 500.0])
def test_the_penalty_is_the_papers_rho_times_the_number_of_rows(penalty):
    f = paper_classifier(penalty=penalty).fit(X, Y)
    expected = minimum_of_the_papers_objective(penalty / len(Y))
    np.testing.assert_allclose(f[-1].coef_.ravel(), expected, rtol=1e-6)


def test_ridge_is_the_factory_with_its_defaults():
    made = [
        CounterfactualOverSampler(estimator=f, random_state=0).fit_resample(X, Y)[0].tobytes()
        for f in ("ridge", paper_classifier(), paper_classifier(1.0, class_weight="balanced"))
    ]
    assert made[0] == made[1] == made[2]


def test_another_penalty_and_other_class_weights_give_other_rows():
    def rows(f):
        return CounterfactualOverSampler(estimator=f, random_state=0).fit_resample(X, Y)[0]

    own = rows("ridge").tobytes()
    assert rows(paper_classifier(1e4)).tobytes() != own
    assert rows(paper_classifier(class_weight=None)).tobytes() != own


def test_the_penalty_can_be_searched_for():
    sampler = CounterfactualOverSampler(estimator=paper_classifier(), n_draws=3, random_state=0)
    model = make_pipeline(sampler, LogisticRegression())
    name = "counterfactualoversampler__estimator__ridgeclassifier__alpha"
    search = GridSearchCV(model, {name: [0.1, 100.0]}, cv=3).fit(X, Y)
    assert search.best_params_[name] in {0.1, 100.0}
    assert clone(sampler).estimator.get_params()["ridgeclassifier__alpha"] == 1.0
