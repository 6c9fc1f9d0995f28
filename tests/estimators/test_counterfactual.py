"""The rounds: what is never seen, what is dropped, how the boundary moves, who votes."""

import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from comparison_tables import mixed_table, two_clouds
from counterbalance import (
    CounterfactualClassifier,
    CounterfactualOverSampler,
    InteriorOverSampler,
    TablePreparation,
)
from counterbalance.constraints import Immutable
from counterbalance.errors import ConstraintError, UntunedWarning
from counterbalance.estimators.base import class_scores
from counterbalance.estimators.rounds import Member, Pool, Recipe, Track, parts_of

SMALL = {"rounds": 2, "cv": 2, "random_state": 0}
TREES = ExtraTreesClassifier(5, min_samples_leaf=2, random_state=0)
NOT_WEIGHTS = "folds and searches do not make of a row of weight two what they make of two rows"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": NOT_WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": NOT_WEIGHTS,
    "check_classifiers_train": "a tuned threshold is not 0.5",
}


@pytest.mark.slow
@parametrize_with_checks(
    [CounterfactualClassifier(TREES, rounds=1, cv=2, random_state=0)],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore::counterbalance.errors.UntunedWarning")
def test_scikit_learn(estimator, check):
    check(estimator)


def test_probabilities_mean_something_and_rank_rows_of_new_tables():
    X, y = two_clouds(360, 40, apart=2)
    X_test, y_test = two_clouds(900, 100, apart=2, seed=1)
    model = CounterfactualClassifier(**SMALL).fit(X, y)
    p = model.predict_proba(X_test)[:, 1]
    assert p.mean() == pytest.approx(0.1, abs=0.04)
    assert brier_score_loss(y_test == "yes", p) < 0.075  # the share alone gives 0.09
    assert average_precision_score(y_test == "yes", p) > 0.4
    honest = model.out_of_fold_proba_
    assert honest.shape == (400, 2)
    assert brier_score_loss(y == "yes", honest[:, 1]) < 0.075


def test_labels_that_mean_nothing_stay_meaningless_out_of_fold():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.repeat([0, 1], [240, 60])
    model = CounterfactualClassifier(**SMALL).fit(X, y)
    assert average_precision_score(y, model.out_of_fold_proba_[:, 1]) < 0.3
    assert model.predict_proba(rng.normal(size=(300, 3)))[:, 1].std() < 0.06


class Recorded(ClassifierMixin, BaseEstimator):
    """Trees that note the rows they are fitted to and asked about."""

    log: list = []  # noqa: RUF012  (shared by all clones on purpose)

    def fit(self, X, y):
        self.f_ = ExtraTreesClassifier(5, random_state=0).fit(X, y)
        self.classes_ = self.f_.classes_
        self.rows_ = {tuple(row) for row in X}
        return self

    def predict(self, X):
        return self.f_.predict(X)

    def predict_proba(self, X):
        Recorded.log.append((self.rows_, {tuple(row) for row in X}))
        return self.f_.predict_proba(X)


def test_what_tunes_the_decision_is_asked_of_members_that_never_saw_it():
    X, y = two_clouds(60, 20, apart=2)
    X = X.to_numpy()
    real = {tuple(row) for row in X}
    Recorded.log.clear()
    model = CounterfactualClassifier(Recorded(), **SMALL).fit(X, y)
    folds = [(fitted, asked) for fitted, asked in Recorded.log if asked <= real and len(asked) > 20]
    judged = [(fitted, asked) for fitted, asked in folds if len(asked) == 40]
    assert len(judged) == 2 * (model.n_rounds_ + 1)
    for fitted, asked in judged:
        assert not fitted & asked
    for track, test in enumerate(judged[:2]):
        members = [members[track] for members in model.estimators_]
        assert not any(member.rows_ & test[1] for member in members)


def track_of(X, y, recipe):
    return Track(X, y, None, parts_of(y, None, 0), 0).begin(recipe)


def test_a_counterfactual_that_f_no_longer_believes_is_dropped():
    X, y = two_clouds(120, 40, apart=4)
    X, y = X.to_numpy(), (y == "yes").astype(int)
    recipe = Recipe(
        LogisticRegression(), CounterfactualOverSampler(), weighs=False, classes=np.array([0, 1])
    )
    track = track_of(X, y, recipe)
    deep_in_the_majority = X[:10] - 1.0
    deep_in_the_minority = X[-10:] + 1.0
    rows = np.vstack([deep_in_the_majority, deep_in_the_minority])
    pool = Pool(rows, np.ones(20, dtype=int), np.arange(20))
    believed = track._believed(recipe, pool, 0)
    assert believed.tolist() == [False] * 10 + [True] * 10


def test_who_judges_a_counterfactual_has_seen_neither_it_nor_its_row():
    X, y = two_clouds(60, 20, apart=2)
    X, y = X.to_numpy(), (y == "yes").astype(int)
    seen = []

    class Judge(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            self.rows_ = {tuple(row) for row in X}
            return super().fit(X, y, sample_weight)

        def predict(self, X):
            seen.append((self.rows_, {tuple(row) for row in X}))
            return super().predict(X)

    recipe = Recipe(Judge(), CounterfactualOverSampler(), weighs=False, classes=np.array([0, 1]))
    track = track_of(X, y, recipe)
    rows = X[:30] + 0.001
    from_row = {tuple(new): tuple(old) for new, old in zip(rows, X[:30], strict=True)}
    seen.clear()
    track._believed(recipe, Pool(rows, np.ones(30, dtype=int), np.arange(30)), 0)
    assert sum(len(asked) for _, asked in seen) == 30
    for fitted, asked in seen:
        assert not fitted & asked
        assert not fitted & {from_row[row] for row in asked}


@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(2, 30))
def test_parts_of_a_track_hold_every_class(seed, n, m):
    codes = np.repeat([0, 1], [n, m])
    part = parts_of(codes, None, seed)
    for number in (0, 1):
        assert set(codes[part == number]) == {0, 1}


def test_the_history_tells_how_the_boundary_moved():
    X, y = two_clouds(120, 30, apart=1.5)
    model = CounterfactualClassifier(TREES, rounds=3, cv=3, random_state=0).fit(X, y)
    assert [r.number for r in model.history_] == list(range(model.n_rounds_ + 1))
    first, second = model.history_[1:3]
    assert first.kept == first.dropped == 0
    assert second.kept + second.dropped == first.found
    assert 0 <= first.inverted <= 1
    assert first.distance > second.distance > 0  # the boundary came nearer to the majority
    changed = (model.calls_[1:] != model.calls_[:-1]).mean(axis=1)
    np.testing.assert_allclose([r.changed for r in model.history_[1:]], changed)
    assert [len(members) for members in model.estimators_] == [3] * len(model.history_)


def test_the_rounds_end_when_the_boundary_settles():
    X, y = two_clouds(80, 40, apart=12)
    model = CounterfactualClassifier(LogisticRegression(), rounds=9, cv=2, random_state=0)
    assert model.fit(X, y).n_rounds_ == 2
    assert model.history_[-1].changed == 0


def test_stages_end_in_the_probabilities_and_begin_with_the_table_alone():
    X, y = two_clouds(120, 30, apart=1.5)
    model = CounterfactualClassifier(TREES, **SMALL).fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == model.n_rounds_ + 1
    np.testing.assert_array_equal(stages[-1], model.predict_proba(X))
    for p in stages:
        np.testing.assert_allclose(p.sum(axis=1), 1)
    assert not np.array_equal(stages[0], stages[1])


def test_every_member_votes_with_its_own_correction():
    X, y = two_clouds(90, 30, apart=1.5)
    model = CounterfactualClassifier(
        TREES, threshold=None, calibration=None, **SMALL
    ).fit(X, y)  # fmt: skip
    expected = []
    for members in model._members:
        assert isinstance(members[0], Member)
        for member in members:
            raw = member.f.predict_proba(X)
            shifted = raw * member.base / member.prior
            expected.append(shifted / shifted.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(X), np.mean(expected, axis=0))
    np.testing.assert_allclose(model._members[0][1].prior, [0.5, 0.5], atol=0.01)


def test_beside_our_own_trees_a_logistic_regression_votes():
    X, y = mixed_table()
    model = CounterfactualClassifier(threshold=None, calibration=None, **SMALL).fit(X, y)
    member = model._members[0][-1]
    codes = model._encoder.transform(X)
    two = [
        class_scores(voice, codes, model.classes_, member.base, member.prior)
        for voice in (member.f, member.beside)
    ]
    np.testing.assert_allclose(member.probabilities(codes, model.classes_), np.mean(two, axis=0))
    assert isinstance(member.beside[-1], LogisticRegression)
    assert member.beside[0].nominal_.tolist() == [2, 3]  # ward and smokes, by their codes
    assert (
        CounterfactualClassifier(TREES, **SMALL).fit(codes[:, 1:2], y)._members[0][0].beside is None
    )


def test_no_rounds_are_the_table_alone():
    X, y = two_clouds(60, 20, apart=2)
    model = CounterfactualClassifier(TREES, rounds=0, cv=2, random_state=0).fit(X, y)
    assert model.n_rounds_ == 0
    assert len(list(model.staged_predict_proba(X))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("frame", [lambda X: X, pl.from_pandas, lambda X: X.to_numpy(dtype=object)])
def test_mixed_tables_with_gaps_go_in_as_they_are(frame):
    X, y = mixed_table()
    given = frame(X)
    model = CounterfactualClassifier(**SMALL).fit(given, y)
    assert set(model.predict(given)) == {"ill", "well"}
    plain = CounterfactualClassifier(**SMALL).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(given), plain.predict_proba(X))


def test_levels_that_were_not_there_are_taken_as_missing():
    X, y = mixed_table()
    model = CounterfactualClassifier(**SMALL).fit(X, y)
    other = X.assign(ward="Z", smokes=None)
    assert np.isfinite(model.predict_proba(other)).all()


def test_constraints_hold_by_the_names_of_the_frame():
    X, y = mixed_table()
    sampler = CounterfactualOverSampler(constraints=Immutable("ward"), n_draws=2)
    model = CounterfactualClassifier(sampler=sampler, rounds=1, cv=2, random_state=0).fit(X, y)
    assert model.predict(X).shape == (160,)
    sampler = CounterfactualOverSampler(constraints=Immutable("wart"))
    with pytest.raises(ConstraintError, match="wart"):
        CounterfactualClassifier(sampler=sampler, **SMALL).fit(X, y)


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), make_pipeline(TablePreparation(), LogisticRegression())]
)
@pytest.mark.parametrize("sampler", [None, InteriorOverSampler()])
def test_other_classifiers_and_the_other_sampler_work(estimator, sampler):
    X, y = two_clouds(60, 20, apart=2)
    model = CounterfactualClassifier(estimator, sampler=sampler, rounds=1, cv=2, random_state=0)
    assert set(model.fit(X, y).predict(X)) == {"no", "yes"}


def test_three_classes_sparse_tables_and_groups():
    rng = np.random.default_rng(0)
    y = np.repeat(["big", "mid", "tiny"], [80, 30, 12])
    X = rng.normal(size=(122, 2)) + np.repeat([[0, 0], [3, 0], [0, 3]], [80, 30, 12], axis=0)
    model = CounterfactualClassifier(TREES, threshold="g_mean", **SMALL)
    groups = np.arange(122) // 2
    p = model.fit(sparse.csr_array(X), y, groups=groups).predict_proba(sparse.csr_array(X))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert set(model.predict(sparse.csr_array(X))) == {"big", "mid", "tiny"}


@pytest.mark.slow
def test_clones_pickles_and_jobs_give_the_same_bytes():
    X, y = two_clouds(90, 30, apart=1.5)
    model = CounterfactualClassifier(**SMALL).fit(X, y)
    p = model.predict_proba(X).tobytes()
    assert clone(model).fit(X, y).predict_proba(X).tobytes() == p
    assert clone(model).set_params(n_jobs=2).fit(X, y).predict_proba(X).tobytes() == p
    assert pickle.loads(pickle.dumps(model)).predict_proba(X).tobytes() == p  # noqa: S301
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert other.predict_proba(X).tobytes() != p


@pytest.mark.slow
def test_weights_count():
    X, y = two_clouds(90, 30, apart=1.5)
    weights = np.where(y == "yes", 3.0, 1.0)
    model = CounterfactualClassifier(TREES, **SMALL).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.base_shares_, [0.5, 0.5])
    mean = np.average(model.out_of_fold_proba_[:, 1], weights=weights)
    assert mean == pytest.approx(0.5, abs=0.06)
    weights[:10] = 0
    some = clone(model).fit(X, y, sample_weight=weights)
    assert some.predict(X).shape == (120,)


@pytest.mark.slow
def test_a_grid_search_reaches_the_parts():
    X, y = two_clouds(60, 20, apart=2)
    model = CounterfactualClassifier(
        TREES, sampler=CounterfactualOverSampler(), rounds=1, cv=2, random_state=0
    )
    grid = {"sampler__n_draws": [2, 5], "rounds": [0, 1]}
    found = GridSearchCV(model, grid, scoring="average_precision", cv=2).fit(X, y == "yes")
    assert set(found.best_params_) == set(grid)


def test_a_class_of_one_row_is_learned_from_without_folds():
    X, y = two_clouds(40, 1, apart=3)
    with pytest.warns(UntunedWarning, match="class 'yes' has 1 row"):
        model = CounterfactualClassifier(TREES, **SMALL).fit(X, y)
    assert model.threshold_ == 0.5
    assert model.calibration_ is None
    assert np.isnan(model.history_[1].changed)


def test_columns_that_tell_nothing_leave_the_table_alone():
    X, y = np.ones((40, 2)), np.repeat([0, 1], [30, 10])
    model = CounterfactualClassifier(TREES, **SMALL).fit(X, y)
    assert model.n_rounds_ == 0
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.25, atol=0.05)
