"""The rounds: what is never seen, what is dropped, how the boundary moves, who votes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss

from counterbalance.estimators.decision import prior_corrected
from paper import counterfactual
from paper.counterfactual import CounterfactualClassifier, Pool, Track, parts_of

SMALL = {"rounds": 2, "cv": 2, "random_state": 0}


def two_clouds(majority, minority, *, apart, seed=0):
    """Two normal clouds; a straight line is the best that can be done."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((majority + minority, 2))
    y = np.repeat(["no", "yes"], [majority, minority])
    X[y == "yes"] += apart / np.sqrt(2)
    return X, y


def mixed_table(rows=160, seed=0):
    """Numbers, whole numbers, texts, booleans and missing cells of all of them."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(rows) < 0.25, "ill", "well")
    ill = y == "ill"
    X = pd.DataFrame(
        {
            "dose": rng.normal(ill * 1.0, 1.0),
            "visits": rng.poisson(2 + 2 * ill),
            "ward": rng.choice(["A", "B", "C"], rows),
            "smokes": rng.random(rows) < 0.3 + 0.3 * ill,
        }
    )
    X.loc[rng.random(rows) < 0.1, "dose"] = np.nan
    X.loc[rng.random(rows) < 0.1, "ward"] = None
    return X, y


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


def rows_of(X):
    return {tuple(row) for row in X}


@pytest.fixture(name="fits")
def spy_on_trees(monkeypatch):
    """Note the rows that each f is fitted to, and those that it is asked about."""
    fits = []
    real = counterfactual._trees

    def noted(seed):
        trees = real(seed)
        fit, predict = trees.fit, trees.predict
        line = {}
        fits.append(line)

        def fit_noted(X, y, sample_weight=None):
            line["fitted"] = rows_of(X)
            return fit(X, y, sample_weight)

        def predict_noted(X):
            line["asked"] = rows_of(X)
            return predict(X)

        trees.fit, trees.predict = fit_noted, predict_noted
        return trees

    monkeypatch.setattr(counterfactual, "_trees", noted)
    return fits


def test_what_tunes_the_decision_is_asked_of_members_that_never_saw_it(fits):
    X, y = two_clouds(60, 20, apart=2)
    model = CounterfactualClassifier(**SMALL).fit(X, y)
    folds = model._folds((y == "yes").astype(int), 209652396)  # the seed that random_state=0 gives
    for track, (train, test) in zip(model.tracks_, folds, strict=True):
        assert rows_of(track.X) == rows_of(X[train])
        assert not rows_of(track.X) & rows_of(X[test])
    held = [rows_of(X[test]) for _, test in folds]
    assert len(fits) > 2
    for line in fits:
        assert any(not line["fitted"] & test for test in held)


def track_of(X, y):
    return Track(X, y, 0, {}).begin()


def test_a_counterfactual_that_f_no_longer_believes_is_dropped():
    X, y = two_clouds(120, 40, apart=8)
    track = track_of(X, (y == "yes").astype(int))
    rows = np.repeat([[0.0, 0.0], [5.7, 5.7]], 10, axis=0)  # among the majority, the minority
    believed = track.believed(Pool(rows, np.ones(20, dtype=int), np.arange(20)), 0)
    assert believed.tolist() == [False] * 10 + [True] * 10


def test_who_judges_a_counterfactual_has_seen_neither_it_nor_its_row(fits):
    X, y = two_clouds(60, 20, apart=2)
    track = track_of(X, (y == "yes").astype(int))
    rows = X[:30] + 0.001
    from_row = {tuple(new): tuple(old) for new, old in zip(rows, X[:30], strict=True)}
    fits.clear()
    track.believed(Pool(rows, np.ones(30, dtype=int), np.arange(30)), 0)
    assert sum(len(line["asked"]) for line in fits) == 30
    for line in fits:
        assert not line["fitted"] & line["asked"]
        assert not line["fitted"] & {from_row[row] for row in line["asked"]}


@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(2, 30))
def test_parts_of_a_track_hold_every_class(seed, n, m):
    codes = np.repeat([0, 1], [n, m])
    part = parts_of(codes, seed)
    for number in (0, 1):
        assert set(codes[part == number]) == {0, 1}


def test_the_history_tells_how_the_boundary_moved():
    X, y = two_clouds(120, 30, apart=1.5)
    model = CounterfactualClassifier(rounds=3, cv=3, random_state=0).fit(X, y)
    assert [r.number for r in model.history_] == list(range(len(model.history_)))
    first, second = model.history_[1:3]
    assert first.kept == first.dropped == 0
    assert second.kept + second.dropped == first.found
    assert 0 <= first.inverted <= 1
    assert first.distance > second.distance > 0  # the boundary came nearer to the majority
    changed = (model.calls_[1:] != model.calls_[:-1]).mean(axis=1)
    np.testing.assert_allclose([r.changed for r in model.history_[1:]], changed)
    assert [len(track.members) for track in model.tracks_] == [len(model.history_)] * 3


def test_the_rounds_end_when_the_boundary_settles():
    X, y = two_clouds(80, 40, apart=12)
    model = CounterfactualClassifier(rounds=9, cv=2, random_state=0).fit(X, y)
    assert len(model.history_) == 3
    assert model.history_[-1].changed == 0


def test_every_member_votes_with_its_own_correction_and_a_logistic_regression_beside_it():
    X, y = mixed_table()
    model = CounterfactualClassifier(**SMALL).fit(X, y)
    codes = model.encoder_.transform(X)
    for track in model.tracks_:
        for member in track.members:
            assert isinstance(member.beside[-1], LogisticRegression)
            assert member.beside[0].nominal_.tolist() == [2, 3]  # ward and smokes, by their codes
            said = [
                prior_corrected(f.predict_proba(codes), member.base, member.prior)
                for f in (member.f, member.beside)
            ]
            np.testing.assert_allclose(member.probabilities(codes), np.mean(said, axis=0))
    np.testing.assert_allclose(model.tracks_[0].members[1].prior, [0.5, 0.5], atol=0.01)


def test_no_rounds_are_the_table_alone():
    X, y = two_clouds(60, 20, apart=2)
    model = CounterfactualClassifier(rounds=0, cv=2, random_state=0).fit(X, y)
    assert [len(track.members) for track in model.tracks_] == [1, 1]


def test_levels_that_were_not_there_are_taken_as_missing():
    X, y = mixed_table()
    model = CounterfactualClassifier(**SMALL).fit(X, y)
    assert set(model.predict(X)) == {"ill", "well"}
    other = X.assign(ward="Z", smokes=None)
    assert np.isfinite(model.predict_proba(other)).all()


def test_three_classes_are_taken():
    rng = np.random.default_rng(0)
    y = np.repeat(["big", "mid", "tiny"], [80, 30, 12])
    X = rng.normal(size=(122, 2)) + np.repeat([[0, 0], [3, 0], [0, 3]], [80, 30, 12], axis=0)
    model = CounterfactualClassifier(**SMALL).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert set(model.predict(X)) == {"big", "mid", "tiny"}


@pytest.mark.slow
def test_clones_and_pickles_give_the_same_bytes():
    X, y = two_clouds(90, 30, apart=1.5)
    model = CounterfactualClassifier(**SMALL).fit(X, y)
    p = model.predict_proba(X).tobytes()
    assert clone(model).fit(X, y).predict_proba(X).tobytes() == p
    assert pickle.loads(pickle.dumps(model)).predict_proba(X).tobytes() == p  # noqa: S301
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert other.predict_proba(X).tobytes() != p


def test_a_class_of_one_row_is_learned_from_without_folds():
    X, y = two_clouds(40, 1, apart=3)
    model = CounterfactualClassifier(**SMALL).fit(X, y)
    assert model.threshold_ is None
    assert model.calibration_ is None
    assert np.isnan(model.history_[1].changed)
    assert set(model.predict(X)) <= {"no", "yes"}


def test_columns_that_tell_nothing_leave_the_table_alone():
    X, y = np.ones((40, 2)), np.repeat([0, 1], [30, 10])
    model = CounterfactualClassifier(**SMALL).fit(X, y)
    assert len(model.history_) == 1
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.25, atol=0.05)
