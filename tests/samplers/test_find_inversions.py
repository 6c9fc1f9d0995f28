"""Find: the same rows for any number of jobs and any memory."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.samplers import counterfactual
from counterbalance.samplers.counterfactual import find_inversions, find_references, wanted_classes

CLASSIFIERS = {
    "own": None,
    "linear": LogisticRegression(class_weight="balanced"),
    "any": GaussianNB(),
}


def table(n_rows=400, n_classes=3):
    return make_classification(
        n_rows,
        6,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        weights=[0.6, 0.25, 0.15][:n_classes],
        class_sep=0.7,
        random_state=0,
    )


@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.parametrize("search", ["minimum", "perturb"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_same_seed_gives_the_same_rows_for_any_jobs_and_memory(name, search, monkeypatch):
    X, y = table(90 if name == "any" else 400, n_classes=2 if name == "linear" else 3)
    monkeypatch.setattr(counterfactual, "FEWEST_ROWS", 16)

    def rows(n_jobs=1, memory=1024):
        sampler = CounterfactualOverSampler(
            estimator=CLASSIFIERS[name], search=search, n_draws=5, n_jobs=n_jobs, random_state=0
        )
        with config_context(working_memory=memory):
            X_new, y_new = sampler.fit_resample(X, y)
        provenance = [sampler.provenance_[name].tolist() for name in ("factual", "distance")]
        return X_new.tobytes(), y_new.tobytes(), provenance

    once = rows()
    assert rows(n_jobs=2) == once
    assert rows(n_jobs=2, memory=0.3) == once


@pytest.mark.parametrize("memory", [0.1, 1])
def test_memory_never_changes_interior_rows(memory):
    X, y = table()
    expected, _ = InteriorOverSampler(random_state=0).fit_resample(X, y)
    with config_context(working_memory=memory):
        rows, _ = InteriorOverSampler(random_state=0).fit_resample(X, y)
    assert rows.tobytes() == expected.tobytes()


def test_chunks_are_as_small_as_the_memory_asks_for(monkeypatch):
    X, y = table()
    prepared = CounterfactualOverSampler(random_state=0).prepare(X, y)
    sizes = []
    which_invert = counterfactual.which_invert
    monkeypatch.setattr(
        counterfactual,
        "which_invert",
        lambda *given: sizes.append(len(given[2])) or which_invert(*given),
    )
    with config_context(working_memory=1):
        find_inversions(prepared, prepared.predict(), [1, 2], "minimum")
    assert len(sizes) > 3
    assert max(sizes) * X.shape[1] * 8 <= 2**20


def test_factuals_are_rows_of_larger_classes_that_f_gets_right():
    X, y = table()
    prepared = CounterfactualOverSampler(estimator=GaussianNB(), random_state=0).prepare(X, y)
    answers = prepared.predict()
    found = find_inversions(prepared, answers, [2], "minimum")
    assert set(found.target) == {2}
    assert (answers[found.factual] == y[found.factual]).all()
    assert set(y[found.factual]) == {0, 1}
    assert (answers != y).any()


def test_classes_are_wanted_from_larger_ones_alone():
    counts = np.array([50, 10, 30, 10])
    expected = np.array([[0, 1, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]], dtype=bool)
    np.testing.assert_array_equal(wanted_classes(counts, [0, 1, 2, 3]), expected)
    np.testing.assert_array_equal(wanted_classes(counts, [1]), expected & [0, 1, 0, 0])


def test_references_are_rows_that_f_puts_into_the_class():
    X, y = table()
    prepared = CounterfactualOverSampler(random_state=0).prepare(X, y)
    answers = prepared.predict()
    none, some, others = find_references(prepared, answers, [1, 2])
    assert len(none) == 0
    np.testing.assert_array_equal(some, X[answers == 1])
    np.testing.assert_array_equal(others, X[answers == 2])
