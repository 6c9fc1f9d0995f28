"""One row is explained: every answer is a minimal inversion, and they differ."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import Immutable, Increasing
from counterbalance.datasets import load_wisconsin
from counterbalance.errors import ClassifierError, TableError
from counterbalance.explain import explain


@pytest.fixture(scope="module")
def wisconsin():
    data = load_wisconsin()
    return data.X, data.y


def sampler(**parameters):
    return CounterfactualOverSampler(random_state=0, **parameters)


def check(X, f, found):
    """Every answer, put into the row, is called the class by f, and needs each of its changes."""
    for answer in found.answers:
        row = X.iloc[[found.row]].copy()
        for name, (before, after) in answer.changes.items():
            assert before != after
            row[name] = after
        assert f.predict(row) == found.to
        for name in answer.changes:
            assert f.predict(row.assign(**{name: X[name].iloc[found.row]})) != found.to


def test_every_answer_is_a_minimal_inversion_and_they_differ(wisconsin):
    X, y = wisconsin
    own = sampler()
    found = explain(own, X, y, 0, "malignant", n_answers=5)
    check(X, own.estimator_, found)
    assert (found.own_class, found.called, found.to) == ("benign", "benign", "malignant")
    distances = [answer.distance for answer in found.answers]
    assert distances == sorted(distances)
    assert len(found.answers) == 5
    assert len({frozenset(answer.changes) for answer in found.answers}) >= 4
    assert all(answer.score > found.score for answer in found.answers)
    assert found.cells["CellSize"] == 1


def test_the_first_answer_is_the_row_that_the_sampler_makes(wisconsin):
    X, y = wisconsin
    own = sampler()
    X_new, _ = own.fit_resample(X, y)
    new = own.provenance_[own.provenance_["origin"].astype(str) == "inversion"]
    assert len(new) > 100
    for place in (0, 5, 17):
        row = new[place]
        found = explain(
            sampler(), X, y, row["factual"], "malignant", n_answers=1, robust=None, certify=False
        )
        assert found.sampled
        (first,) = found.answers
        assert first.distance == row["distance"]
        assert tuple(first.changes) == row["changed"]
        for name, (_, after) in first.changes.items():
            assert X_new[name].iloc[row["sample"]] == after


def test_drawn_rows_of_the_sampler_are_not_said_to_be_answers(wisconsin):
    X, y = wisconsin
    own = sampler(search="perturb")
    own.fit_resample(X, y)
    row = own.provenance_[0]
    found = explain(sampler(search="perturb"), X, y, row["factual"], "malignant")
    assert not found.sampled
    assert found.answers[0].distance <= row["distance"]


TABLES = {
    "forest": RandomForestClassifier(5, random_state=0),
    "own": None,
    "linear": LogisticRegression(class_weight="balanced"),
    "any": GaussianNB(),
}


def small_table(seed, n_classes, decimals, n_rows=60):
    X, y = make_classification(
        n_rows,
        4,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        weights=[0.6, 0.25, 0.15][:n_classes],
        class_sep=0.8,
        random_state=seed,
    )
    return np.round(X, decimals), y


def structured(n_classes):
    """Return the classifiers that are solved by their structure."""
    linear = (LogisticRegression,) if n_classes == 2 else ()
    return ExtraTreesClassifier, RandomForestClassifier, *linear


@pytest.mark.filterwarnings("ignore:class")
@pytest.mark.parametrize("name", TABLES)
@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 3),
    decimals=st.sampled_from([0, 1, 9]),
)
def test_the_first_answer_of_a_row_that_was_used_is_its_row_and_none_is_nearer(
    name, seed, n_classes, decimals
):
    X, y = small_table(seed, n_classes, decimals)
    own = sampler(estimator=TABLES[name], on_shortfall="accept")
    X_new, _ = own.fit_resample(X, y)
    used = own.provenance_[own.provenance_["origin"].astype(str) == "inversion"]
    assume(len(used))
    for place in {0, len(used) // 2}:
        row = used[place]
        found = explain(own, X, y, row["factual"], row["to_class"], robust=None, certify=False)
        assert found.sampled
        first = found.answers[0]
        distances = [answer.distance for answer in found.answers]
        assert distances == sorted(distances)
        if not isinstance(own.estimator_, structured(n_classes)):  # f is only asked: looked longer
            assert first.distance <= row["distance"]
            continue
        new = X[row["factual"]].copy()
        for feature, (before, after) in first.changes.items():
            assert new[int(feature[1:])] == before
            new[int(feature[1:])] = after
        np.testing.assert_array_equal(new, X_new[row["sample"]])
        assert first.distance == row["distance"]


@pytest.mark.parametrize("name", TABLES)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), row=st.integers(0, 39), decimals=st.sampled_from([0, 1, 9]))
def test_no_change_of_any_answer_can_be_undone_or_shortened(name, seed, row, decimals):
    X, y = small_table(seed, 2, decimals, n_rows=40)
    own = sampler(estimator=TABLES[name])
    found = explain(own, X, y, row, 1 - y[row], n_answers=3, robust=None)
    for answer in found.answers:
        changed = X[[row]].copy()
        for feature, (_, after) in answer.changes.items():
            changed[0, int(feature[1:])] = after
        assert own.estimator_.predict(changed)[0] == found.to
        for feature, (before, after) in answer.changes.items():
            tried = changed.copy()
            tried[:, int(feature[1:])] = before
            assert own.estimator_.predict(tried)[0] != found.to
            tried[:, int(feature[1:])] = np.round(before + (after - before) / 2, decimals)
            column = X[:, int(feature[1:])]  # one of few values takes those that it has
            may_be = decimals > 1 or np.isin(tried[0, int(feature[1:])], column)
            if may_be and tried[0, int(feature[1:])] != after:
                score = own.estimator_.predict_proba(tried)[0]
                assert score[found.to] - score[1 - found.to] < 1e-9, "accepted, and not by a tie"


def test_a_row_that_the_sampler_does_not_use_says_so(wisconsin):
    X, y = wisconsin
    row = int(np.flatnonzero(y == "malignant")[3])
    assert not explain(sampler(), X, y, row, "benign").sampled


def test_answers_share_little_where_the_table_allows():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    y = np.where((X["a"] > 1) | (X["b"] > 1) | (X["c"] > 1), "ill", "well")
    row = int(np.flatnonzero((y == "well") & (X[["a", "b", "c"]].max(axis=1) < 0))[0])
    found = explain(sampler(), X, y, row, "ill", n_answers=3)
    assert len(found.answers) == 3
    assert len(set().union(*(answer.changes for answer in found.answers))) >= 3


@pytest.mark.slow
def test_a_robust_answer_is_called_the_class_by_the_refits_too(wisconsin):
    X, y = wisconsin
    plain = explain(sampler(), X, y, 0, "malignant", robust=0)
    assert plain.refits == 10
    assert plain.sampled
    assert plain.answers[0] == replace(
        explain(sampler(), X, y, 0, "malignant").answers[0], robust=plain.answers[0].robust
    )
    sure = explain(sampler(), X, y, 0, "malignant", robust=1)
    assert sure.answers
    assert min(answer.robust for answer in plain.answers) < 1
    assert all(answer.robust == 1 for answer in sure.answers)
    check_called = sampler()
    check_called.fit_resample(X, y)
    for answer in sure.answers:
        row = X.iloc[[0]].assign(**{name: after for name, (_, after) in answer.changes.items()})
        assert check_called.estimator_.predict(row) == "malignant"


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced")),
        DecisionTreeClassifier(max_depth=4, random_state=0),
    ],
)
def test_any_classifier_can_be_fitted_again(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X.sum(axis=1) > 1).astype(int)
    row = int(np.flatnonzero(y == 0)[0])
    found = explain(sampler(estimator=estimator), X, y, row, 1, robust=0.8)
    assert found.answers
    assert all(answer.robust >= 0.8 for answer in found.answers)


def test_what_cannot_be_fitted_again_is_refused(wisconsin):
    X, y = wisconsin
    X = X.fillna(0)
    fitted = LogisticRegression(max_iter=5000).fit(X, y)
    with pytest.raises(ClassifierError, match="robust needs an estimator that can be fitted"):
        explain(sampler(estimator=FrozenEstimator(fitted)), X, y, 0, "malignant", robust=0.5)
    few = np.r_[0:60, np.flatnonzero(y == "malignant")[:1]]
    few = np.unique(few[(y.iloc[few] == "benign") | (few == few[-1])])
    with pytest.raises(TableError, match="a class has only one row"):
        explain(sampler(), X.iloc[few], y.iloc[few], 0, "malignant", robust=0.5)


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
    assert repr(found) == repr(again)
    for answer in found.answers:
        assert "CellSize" not in answer.changes
        before, after = answer.changes.get("BareNuclei", (1, 1))
        assert after >= before


def test_a_row_that_is_called_the_class_already_needs_no_change(wisconsin):
    X, y = wisconsin
    own = sampler()
    own.fit_resample(X, y)
    wrong = np.flatnonzero((own.estimator_.predict(X) == "malignant") & (y == "benign"))
    found = explain(sampler(), X, y, int(wrong[0]), "malignant")
    assert found.called == found.to == "malignant"
    assert found.answers == ()
    assert not found.sampled


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
    with pytest.raises(TableError, match="n_answers must be at least 1, got 0"):
        explain(sampler(), X, y, 0, "malignant", n_answers=0)
    with pytest.raises(TableError, match="robust must be a share from 0 to 1, got 80"):
        explain(sampler(), X, y, 0, "malignant", robust=80)
