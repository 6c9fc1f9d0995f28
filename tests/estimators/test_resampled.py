"""A resampled classifier: out-of-fold probabilities and thresholds, scikit-learn's conventions."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.combine import SMOTEENN
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.under_sampling import RandomUnderSampler
from scipy import sparse
from scipy.special import expit
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from comparison_tables import mixed_table, two_clouds
from counterbalance import (
    CounterfactualOverSampler,
    InteriorOverSampler,
    ResampledClassifier,
    TablePreparation,
)
from counterbalance.errors import ClassifierError, TableError, UntunedWarning

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")

NOT_WEIGHTS = "samplers do not make of a row of weight two what they make of two rows"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": NOT_WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": NOT_WEIGHTS,
}
TUNED = {**EXPECTED_FAILURES, "check_classifiers_train": "a tuned threshold is not 0.5"}


def expected_failures(estimator):
    is_tuned = estimator.threshold is not None and estimator.estimator is not None
    return TUNED if is_tuned else EXPECTED_FAILURES


@parametrize_with_checks(
    [ResampledClassifier(LogisticRegression(), RandomUnderSampler(random_state=0), random_state=0)],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        ResampledClassifier(random_state=0, cv=2),
        ResampledClassifier(LogisticRegression(), threshold=None, random_state=0),
        ResampledClassifier(
            LogisticRegression(), RandomOverSampler(), ensemble=False, cv=3, random_state=0
        ),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_with_other_settings(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


class WitnessSampler(RandomOverSampler):
    """Marks the rows it makes: a copy gets the number of its row plus a half."""

    def fit_resample(self, X, y):
        X_new, y_new = super().fit_resample(X, y)
        X_new[len(X) :, 0] += 0.5
        return X_new, y_new


@pytest.mark.parametrize("ensemble", [True, False])
def test_threshold_and_calibration_see_each_real_row_once_and_no_resampled_one(ensemble):
    X = np.column_stack([np.arange(60.0), np.ones(60)])
    y = np.repeat([0, 1], [45, 15])
    seen, judged = [], []

    class Recorded(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.rows_, self.classes_ = set(X[:, 0].tolist()), np.unique(y)
            seen.append(self.rows_)
            return self

        def predict(self, X):
            return self.classes_[self.predict_proba(X).argmax(axis=1)]

        def predict_proba(self, X):
            judged.append((set(X[:, 0].tolist()), self.rows_))
            p = np.linspace(0.1, 0.9, len(X))
            return np.column_stack([1 - p, p])

    model = ResampledClassifier(
        Recorded(), WitnessSampler(random_state=0), threshold="f1", ensemble=ensemble, cv=3
    ).fit(X, y)
    assert len(seen) == (3 if ensemble else 4)  # three training parts, and the whole table
    assert all(any(row % 1 for row in rows) for rows in seen)  # each of them was resampled
    assert len(judged) == 3
    everything = [row for rows, _ in judged for row in rows]
    assert sorted(everything) == X[:, 0].tolist()  # every real row once, nothing else
    for rows, fitted_to in judged:
        from_where = {row - row % 1 for row in fitted_to}
        assert not rows & from_where  # neither a row nor a copy of it was fitted to
    assert model.threshold_ is not None


def test_labels_that_mean_nothing_stay_meaningless_out_of_fold():
    """A tree remembers its rows: a leak would make probabilities sure of themselves."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.repeat([0, 1], [240, 60])
    model = ResampledClassifier(
        DecisionTreeClassifier(random_state=0), RandomOverSampler(random_state=0),
        calibration="sigmoid", random_state=0,
    ).fit(X, y)  # fmt: skip
    assert np.ptp(model.predict_proba(X)[:, 1]) < 0.15


SAMPLERS = [
    SMOTE(random_state=0),
    RandomUnderSampler(random_state=0),
    RandomUnderSampler(sampling_strategy=0.5, random_state=0),
]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_the_correction_gives_back_the_base_rate(sampler):
    X, y = two_clouds(1800, 200, apart=1.5)
    plain = LogisticRegression().fit(X, y)
    plainly = {"threshold": None, "calibration": None, "ensemble": False}
    model = ResampledClassifier(LogisticRegression(), sampler, **plainly).fit(X, y)
    raw = model.estimator_.predict_proba(X)[:, 1]
    corrected = model.predict_proba(X)[:, 1]
    truth = y == "yes"
    assert abs(corrected.mean() - 0.1) < 0.03 < abs(raw.mean() - 0.1)
    none = brier_score_loss(truth, plain.predict_proba(X)[:, 1])
    assert brier_score_loss(truth, corrected) < 1.05 * none < brier_score_loss(truth, raw)
    np.testing.assert_array_equal(np.argsort(raw), np.argsort(corrected))
    np.testing.assert_allclose(model.base_shares_, [0.9, 0.1])


def test_a_calibration_mends_what_rows_off_the_distribution_do():
    """Counterfactuals lie at the boundary: their shares alone do not say what shifted."""
    X, y = two_clouds(900, 100, apart=1.5)
    X_test, y_test = two_clouds(900, 100, apart=1.5, seed=1)
    score = {}
    for kind in (None, "sigmoid"):
        f = LogisticRegression(class_weight="balanced")
        sampler = CounterfactualOverSampler(estimator=f, random_state=0)
        model = ResampledClassifier(LogisticRegression(), sampler, calibration=kind)
        p = model.set_params(cv=3, random_state=0).fit(X, y).predict_proba(X_test)[:, 1]
        score[kind] = brier_score_loss(y_test == "yes", p)
    none = LogisticRegression().fit(X, y).predict_proba(X_test)[:, 1]
    assert score["sigmoid"] < 1.05 * brier_score_loss(y_test == "yes", none) < score[None]


def test_a_calibration_mends_what_class_weights_do():
    X, y = two_clouds(1800, 200, apart=1.5)
    weighted = LogisticRegression(class_weight={"no": 1, "yes": 9})
    kinds = {
        kind: ResampledClassifier(
            weighted, InteriorOverSampler(random_state=0), calibration=kind, random_state=0
        )
        .fit(X, y)
        .predict_proba(X)[:, 1]
        for kind in (None, "sigmoid", "isotonic")
    }
    off = {kind: abs(p.mean() - 0.1) for kind, p in kinds.items()}
    assert off["sigmoid"] < 0.01 < off[None]
    assert off["isotonic"] < 0.01
    assert roc_auc_score(y, kinds["sigmoid"]) == pytest.approx(
        roc_auc_score(y, kinds[None]), abs=1e-3
    )


def test_the_threshold_follows_the_metric():
    X, y = two_clouds(900, 100, apart=2)
    models = {
        name: ResampledClassifier(
            LogisticRegression(), InteriorOverSampler(random_state=0), threshold=given,
            random_state=0,
        ).fit(X, y)
        for name, given in {
            "none": None, "g_mean": "g_mean", "f1": "f1", "float": 0.2,
            "dear": [[0, 1], [50, 0]], "cheap": [[0, 1], [1, 0]],
        }.items()
    }  # fmt: skip
    cut = {name: model.threshold_ for name, model in models.items()}
    assert cut["none"] == 0.5
    assert cut["float"] == 0.2
    assert cut["dear"] < cut["g_mean"] < cut["f1"] < 0.5
    assert 0.03 < cut["g_mean"] < 0.25
    assert abs(cut["cheap"] - 0.5) < 0.2
    called = {name: (model.predict(X) == "yes").sum() for name, model in models.items()}
    assert called["dear"] > called["g_mean"] > called["f1"]
    same = clone(models["g_mean"]).set_params(threshold="gmean").fit(X, y)
    assert same.threshold_ == cut["g_mean"]


@pytest.mark.parametrize("threshold", [None, 0.2, "f1", [[0, 1], [5, 0]]])
def test_the_rarest_class_need_not_be_the_last(threshold):
    X, y = two_clouds(300, 60, apart=2)
    other = np.where(y == "yes", "a", "b")
    halves = np.arange(360) % 2 == 0
    cv = [(np.flatnonzero(halves), np.flatnonzero(~halves))]
    model = ResampledClassifier(LogisticRegression(), SMOTE(random_state=0), cv=cv, random_state=0)
    one = clone(model).set_params(threshold=threshold).fit(X, y)
    turned = np.array(threshold)[::-1, ::-1] if isinstance(threshold, list) else threshold
    two = clone(model).set_params(threshold=turned).fit(X, other)
    assert (one.rarest_class_, two.rarest_class_) == ("yes", "a")
    np.testing.assert_array_equal(one.predict(X) == "yes", two.predict(X) == "a")


@pytest.mark.parametrize("threshold", [None, "g_mean", "f1", np.ones((3, 3)) - np.eye(3)])
def test_three_classes_with_names(threshold):
    rng = np.random.default_rng(0)
    y = np.repeat(["big", "mid", "tiny"], [200, 60, 20])
    X = rng.normal(size=(280, 2)) + np.repeat([[0, 0], [2, 0], [0, 2]], [200, 60, 20], axis=0)
    model = ResampledClassifier(
        LogisticRegression(), threshold=threshold, calibration="sigmoid", random_state=0
    ).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(p.mean(axis=0), [200 / 280, 60 / 280, 20 / 280], atol=0.03)
    tiny = (model.predict(X) == "tiny").sum()
    if isinstance(threshold, str) and threshold == "g_mean":
        assert tiny > (p.argmax(axis=1) == 2).sum()
    assert model.threshold_ is None


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("sampler", [None, CounterfactualOverSampler(), RandomUnderSampler()])
def test_mixed_frames_with_gaps_go_in_as_they_are(frame, sampler):
    X, y = mixed_table()
    if frame is pl.DataFrame:
        X = pl.from_pandas(X)
    estimator = make_pipeline(TablePreparation(), LogisticRegression())
    model = ResampledClassifier(estimator, sampler, threshold="f1", cv=3, random_state=0).fit(X, y)
    assert set(model.predict(X)) == {"ill", "well"}
    assert model.feature_names_in_.tolist() == list(X.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[list(reversed(X.columns))])


def test_a_sampler_that_makes_arrays_of_polars_gets_its_columns_back():
    X, y = two_clouds(80, 20, apart=2)
    frame = pl.from_pandas(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ResampledClassifier(LogisticRegression(), SMOTE(random_state=0)).fit(frame, y)
        model.predict(frame)
    for f in model.estimators_:
        assert f.feature_names_in_.tolist() == X.columns.tolist()


def test_sparse_tables_and_lists_work():
    X, y = two_clouds(80, 20, apart=2)
    thin = sparse.csr_array(np.where(X > 0, X, 0))
    model = ResampledClassifier(LogisticRegression(), RandomOverSampler(), threshold="f1", cv=3)
    assert model.fit(thin, y).predict_proba(thin).shape == (100, 2)
    assert model.fit(X.to_numpy().tolist(), y.tolist()).predict(X.to_numpy().tolist()).shape


def test_clones_pickles_and_jobs_give_the_same_bytes():
    X, y = two_clouds(120, 30, apart=1.5)
    model = ResampledClassifier(
        DecisionTreeClassifier(max_depth=3), CounterfactualOverSampler(), threshold="g_mean",
        calibration="sigmoid", cv=3, random_state=7,
    )  # fmt: skip
    p = model.fit(X, y).predict_proba(X).tobytes()
    assert clone(model).fit(X, y).predict_proba(X).tobytes() == p
    assert clone(model).set_params(n_jobs=2).fit(X, y).predict_proba(X).tobytes() == p
    again = pickle.loads(pickle.dumps(model))  # noqa: S301  (our own bytes)
    assert again.predict_proba(X).tobytes() == p
    assert again.threshold_ == model.threshold_


def test_a_grid_search_reaches_both_parts():
    X, y = two_clouds(120, 30, apart=1.5)
    model = ResampledClassifier(
        LogisticRegression(), InteriorOverSampler(random_state=0), ensemble=False
    )
    grid = {"sampler__spread": [0.8, 1.6], "estimator__C": [0.1, 1.0], "threshold": [None, "f1"]}
    found = GridSearchCV(model, grid, scoring="roc_auc", cv=2).fit(X, y)
    assert set(found.best_params_) == set(grid)
    best = found.best_estimator_
    assert best.sampler.spread == found.best_params_["sampler__spread"]
    assert found.best_params_["estimator__C"] == best.estimator_.C


def test_groups_are_never_torn_apart():
    X, y = two_clouds(90, 30, apart=1.5)
    groups = np.arange(120) // 3
    judged = []

    class Recorded(LogisticRegression):
        def fit(self, X, y):
            self.rows_ = {tuple(row) for row in np.asarray(X)}
            return super().fit(X, y)

        def predict_proba(self, X):
            judged.append(({tuple(row) for row in np.asarray(X)}, self.rows_))
            return super().predict_proba(X)

    of = {tuple(row): group for row, group in zip(X.to_numpy(), groups, strict=True)}
    for cv in (3, GroupKFold(3)):
        judged.clear()
        model = ResampledClassifier(Recorded(), RandomUnderSampler(), threshold="f1", cv=cv)
        model.set_params(random_state=0).fit(X.to_numpy(), y, groups=groups)
        assert len(judged) == 3
        for rows, fitted_to in judged:
            assert not {of[row] for row in rows} & {of[row] for row in fitted_to}


def test_weights_reach_the_fit_the_shares_and_the_threshold():
    X, y = two_clouds(200, 50, apart=1.5)
    weights = np.where(y == "yes", 3.0, 1.0)
    for sampler in (RandomUnderSampler(random_state=0), InteriorOverSampler(random_state=0),
                    SMOTE(random_state=0)):  # fmt: skip
        model = ResampledClassifier(LogisticRegression(), sampler).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(model.base_shares_, [200 / 350, 150 / 350])
        mean = np.average(model.predict_proba(X)[:, 1], weights=weights)
        assert mean == pytest.approx(150 / 350, abs=0.06)


def test_rows_of_weight_zero_are_as_good_as_absent():
    X, y = two_clouds(200, 50, apart=1.5)
    weights = np.ones(250)
    weights[:30] = 0
    model = ResampledClassifier(LogisticRegression(), SMOTE(random_state=0), random_state=0)
    weighed = model.fit(X, y, sample_weight=weights).predict_proba(X)
    without = model.fit(X[30:], y[30:], sample_weight=weights[30:]).predict_proba(X)
    np.testing.assert_array_equal(weighed, without)
    halves = np.arange(250) % 2 == 0
    model.set_params(cv=[(np.flatnonzero(halves), np.flatnonzero(~halves))])
    out_of_fold = model.fit(X, y, sample_weight=weights).out_of_fold_proba_
    np.testing.assert_array_equal(np.isfinite(out_of_fold[:, 0]), ~halves & (weights > 0))


def test_routing_decides_who_gets_the_weights():
    X, y = two_clouds(90, 30, apart=1.5)
    weights, groups = np.where(y == "yes", 3.0, 1.0), np.arange(120) // 2
    with config_context(enable_metadata_routing=True):
        model = ResampledClassifier(LogisticRegression(), RandomOverSampler(random_state=0))
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            model.fit(X, y, sample_weight=weights)
        asked = LogisticRegression().set_fit_request(sample_weight=True)
        takes = ResampledClassifier(asked, RandomOverSampler(random_state=0))
        refused = LogisticRegression().set_fit_request(sample_weight=False)
        leaves = ResampledClassifier(refused, RandomOverSampler(random_state=0))
        one, other = (m.fit(X, y, sample_weight=weights) for m in (takes, leaves))
        np.testing.assert_allclose(one.base_shares_, other.base_shares_)
        assert one.resampled_shares_[1] == pytest.approx(0.75)
        assert other.resampled_shares_[1] == pytest.approx(0.5)
        takes.set_params(threshold="f1", cv=3).set_fit_request(sample_weight=True, groups=True)
        takes.set_score_request(sample_weight=False)
        result = cross_validate(
            takes, X, y, cv=GroupKFold(3), params={"sample_weight": weights, "groups": groups}
        )
        assert len(result["test_score"]) == 3


def test_a_classifier_without_probabilities_gets_them_from_the_calibration():
    X, y = two_clouds(300, 100, apart=2)
    model = ResampledClassifier(
        LinearSVC(), SMOTE(random_state=0), threshold="f1", calibration=None, random_state=0
    )
    with pytest.raises(ClassifierError, match="calibration='sigmoid'"):
        model.fit(X, y)
    p = model.set_params(calibration="sigmoid").fit(X, y).predict_proba(X)[:, 1]
    assert p.mean() == pytest.approx(0.25, abs=0.03)
    expected = CalibratedClassifierCV(LinearSVC(), ensemble=False).fit(X, y).predict_proba(X)[:, 1]
    assert np.corrcoef(p, expected)[0, 1] > 0.98


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"threshold": [[0, 1, 1], [1, 0, 1]]}, "2 rows"),
        ({"threshold": [[0, np.nan], [1, 0]]}, "finite"),
        ({"threshold": [[5, 1], [1, 0]]}, "cost more than the right"),
        ({"threshold": "accuracy"}, "threshold"),
        ({"threshold": 1.5}, "threshold"),
        ({"calibration": "beta"}, "calibration"),
        ({"sampler": LogisticRegression()}, "fit_resample"),
        ({"estimator": TablePreparation()}, "predict"),
    ],
)
def test_what_cannot_be_used_is_said(given, message):
    X, y = two_clouds(40, 20, apart=2)
    with pytest.raises((TableError, ValueError), match=message):
        ResampledClassifier(LogisticRegression()).set_params(**given).fit(X, y)


def test_a_class_of_one_row_cannot_be_left_out():
    X, y = np.arange(20.0)[:, None], np.repeat([0, 1], [19, 1])
    model = ResampledClassifier(LogisticRegression(), RandomOverSampler(), threshold="f1")
    with pytest.warns(UntunedWarning, match="class 1 has 1 row, too few"):
        assert model.fit(X, y).threshold_ == 0.5
    assert len(model.estimators_) == 1
    model.set_params(threshold=None, calibration=None).fit(X, y)  # nothing to learn, no warning


def test_a_float_threshold_needs_two_classes():
    X, y = np.arange(30.0)[:, None], np.arange(30) % 3
    with pytest.raises(TableError, match="needs two classes, but y has 3"):
        ResampledClassifier(LogisticRegression(), threshold=0.3).fit(X, y)


def test_weights_that_cannot_follow_the_rows_are_refused():
    X, y = two_clouds(200, 50, apart=1)
    model = ResampledClassifier(LogisticRegression(), SMOTEENN(random_state=0))
    assert model.fit(X, y).predict(X).shape == (250,)
    with pytest.raises(TableError, match="cannot follow the rows"):
        model.fit(X, y, sample_weight=np.ones(250))


def test_a_sampler_that_loses_a_class_is_named():
    class Loses(RandomUnderSampler):
        def fit_resample(self, X, y):
            keep = y != "yes"
            return X[keep], np.append(y[keep][:-1], "maybe")

    X, y = two_clouds(40, 20, apart=2)
    with pytest.raises(TableError, match="Loses"):
        ResampledClassifier(LogisticRegression(), Loses()).fit(X, y)


def test_parts_that_want_numbers_are_named_with_what_to_put_before_them():
    X, y = mixed_table()
    with pytest.raises(ClassifierError, match=r"TablePreparation\(\), LogisticRegression\(\)\)"):
        ResampledClassifier(LogisticRegression()).fit(X, y)
    with pytest.raises(TableError, match=r"sampler SMOTE cannot take.*put a preparation before"):
        ResampledClassifier(LogisticRegression(), SMOTE()).fit(X, y)
    whole = make_pipeline(TablePreparation(), ResampledClassifier(LogisticRegression(), SMOTE()))
    assert set(whole.fit(X, y).predict(X)) == {"ill", "well"}


@pytest.mark.parametrize("container", ["pandas", "polars", "array with gaps", "sparse", "texts"])
def test_without_any_argument_it_takes_any_table(container):
    X, y = mixed_table()
    if container == "polars":
        X = pl.from_pandas(X)
    elif container == "array with gaps":
        X = X[["dose", "visits"]].to_numpy(dtype=float)
    elif container == "sparse":
        X = sparse.csr_array(np.where(np.isnan(dose := X["dose"]), 0, dose)[:, None])
    elif container == "texts":
        X = X[["ward"]].to_numpy(dtype=object)
    model = ResampledClassifier(random_state=0).fit(X, y)
    assert set(model.predict(X)) == {"ill", "well"}
    assert len(model.estimators_) == 5
    assert 0 < model.threshold_ < 0.5


def test_the_members_vote_with_calibrated_probabilities_and_the_threshold_decides():
    X, y = two_clouds(200, 60, apart=1.5)
    model = ResampledClassifier(LogisticRegression(), random_state=0, cv=3).fit(X, y)
    (curve,) = model.calibration_
    votes = []
    for f in model.estimators_:
        p = f.predict_proba(X)[:, 1]  # fitted at equal shares
        odds = p / (1 - p) * model.base_shares_[1] / model.base_shares_[0]
        votes.append(expit(curve["slope"] * np.log(odds) + curve["intercept"]))
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(p, np.mean(votes, axis=0), atol=0.01)  # shares of a fold are rounded
    np.testing.assert_array_equal(model.predict(X) == "yes", p >= model.threshold_)
    model.threshold_ = 0.9
    np.testing.assert_array_equal(model.predict(X) == "yes", p >= 0.9)


def test_one_model_of_all_rows_is_an_estimator_and_members_are_several():
    X, y = two_clouds(60, 30, apart=1.5)
    sizes = []

    class Counted(LogisticRegression):
        def fit(self, X, y):
            sizes.append(len(X))
            return super().fit(X, y)

    members = ResampledClassifier(Counted(), cv=3, random_state=0).fit(X, y)
    assert sizes == [80] * 3  # two thirds of 60 rows of each class
    with pytest.raises(AttributeError, match="set ensemble=False for one model"):
        _ = members.estimator_
    sizes.clear()
    one = ResampledClassifier(Counted(), cv=3, ensemble=False, random_state=0).fit(X, y)
    assert sizes == [120] + [80] * 3
    assert one.estimators_ == [one.estimator_]
    assert one.threshold_ == members.threshold_  # both from the same out-of-fold probabilities
    np.testing.assert_array_equal(one.out_of_fold_proba_, members.out_of_fold_proba_)


def test_the_brier_score_is_no_worse_than_without_resampling():
    X, y = two_clouds(900, 100, apart=1.5, features=4)
    X_test, y_test = two_clouds(4500, 500, apart=1.5, features=4, seed=1)
    score = {
        sampler: brier_score_loss(
            y_test == "yes",
            ResampledClassifier(sampler=sampler, random_state=0)
            .fit(X, y)
            .predict_proba(X_test)[:, 1],
        )
        for sampler in (None, "passthrough")
    }
    assert score[None] < 1.01 * score["passthrough"]


def test_a_pickle_does_not_grow_with_the_rows():
    sizes = []
    for rows in (200, 2000):
        X, y = two_clouds(rows * 4 // 5, rows // 5, apart=1.5)
        model = ResampledClassifier(LogisticRegression(), random_state=0).fit(X, y)
        sizes.append(len(pickle.dumps(model)))
    assert sizes[1] < sizes[0] + 4_000 < 30_000


def test_skops_loads_it_with_two_types_of_this_library():
    sio = pytest.importorskip("skops.io", reason="run: pip install 'counterbalance[skops]'")
    X, y = mixed_table()
    model = ResampledClassifier(calibration="isotonic", random_state=0).fit(X, y)
    written = sio.dumps(model)
    unknown = sio.get_untrusted_types(data=written)
    assert [name for name in unknown if name.startswith("counterbalance")] == [
        "counterbalance.estimators.resampled.ResampledClassifier",
        "counterbalance.table.encoder.TableEncoder",
    ]
    again = sio.loads(written, trusted=unknown)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.decision_ == model.decision_


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic", None])
@pytest.mark.parametrize("threshold", ["f1", 0.3, [[0, 1], [5, 0]], None])
def test_the_decision_is_told_in_plain_values(threshold, calibration):
    X, y = two_clouds(60, 30, apart=1.5)
    model = ResampledClassifier(
        LogisticRegression(), threshold=threshold, calibration=calibration, random_state=0
    ).fit(X, y)
    decision = json.loads(json.dumps(model.decision_))
    assert decision["threshold"] == model.threshold_
    assert decision["rarest_class"] == "yes"
    np.testing.assert_allclose(decision["base_shares"], [2 / 3, 1 / 3])
    np.testing.assert_allclose(decision["resampled_shares"], [0.5, 0.5])
    assert (decision["calibration"] or {}).get("kind") == calibration
    assert (decision["metric"], decision["costs"]) == (
        threshold if isinstance(threshold, str) else None,
        threshold if isinstance(threshold, list) else None,
    )


def test_the_html_shows_the_sampler_and_the_members():
    X, y = two_clouds(60, 30, apart=1.5)
    model = ResampledClassifier(LogisticRegression(), SMOTE(random_state=0), cv=3, random_state=0)
    assert "member 1" not in model._repr_html_()
    html = model.fit(X, y)._repr_html_()
    assert "SMOTE" in html
    assert all(f"member {k}" in html for k in (1, 2, 3))
    assert "member 4" not in html
