"""A trial is known by what makes it: a method that changes is computed again, and no other."""

from functools import partial

import pytest

from counterbalance import CounterfactualOverSampler
from counterbalance.studies.probes import of_looks, probe_tables
from counterbalance.studies.reproduction import identity, methods, scores
from counterbalance.studies.reproduction.methods import METHODS, OURS
from counterbalance.studies.reproduction.run import all_trials
from counterbalance.studies.reproduction.settings import ReproductionSettings
from counterbalance.studies.rivals import RIVAL_STUDY, RIVALS
from counterbalance.studies.study import RESAMPLER_STUDY, StudySettings, named_trials
from counterbalance.studies.study import identity as study_identity
from counterbalance.studies.study import methods as study_methods
from counterbalance.studies.study import trials as study_trials
from counterbalance.studies.study.methods import METHODS as STUDIED

pytestmark = pytest.mark.slow

pytest.importorskip("pandas")
KNOWN = (*STUDIED, *RIVALS)
SETTINGS = ReproductionSettings(datasets=("WBC",), folds=2, runs=(("all", 1),), seeds=1)


@pytest.fixture(name="fresh", autouse=True)
def forget_digests():
    """Digests are kept for the life of a process; a test that changes the code needs new ones."""
    forget()
    yield
    forget()


def names(settings=SETTINGS):
    trials = [t for t in all_trials(settings) if t["experiment"] == "scores"]
    return {(trial["method"], trial["fold"]): trial["made_by"] for trial in trials}


def forget():
    identity.of_method.cache_clear()
    identity.of_classifiers.cache_clear()
    study_identity.of_method.cache_clear()
    study_identity.of_classifiers.cache_clear()


def test_a_new_default_of_ours_renames_its_own_trials_only(monkeypatch):
    before = names()
    real = methods.make_sampler

    def changed(name, seed):
        if name == OURS:
            return CounterfactualOverSampler(n_draws=11, random_state=seed)
        return real(name, seed)

    monkeypatch.setattr(methods, "make_sampler", changed)
    forget()
    after = names()
    assert {name for name, _ in before if before[name, 0] != after[name, 0]} == {OURS}


def test_the_same_code_gives_the_same_names():
    before = names()
    forget()
    assert names() == before


def test_other_rows_or_other_classifiers_rename_every_trial(monkeypatch):
    before = names()
    cut = ReproductionSettings(datasets=("WBC",), folds=2, runs=(("all", 1),), rows=(("all", 300),))
    assert not set(before.values()) & set(names(cut).values())
    real = scores.make_classifier
    monkeypatch.setattr(scores, "make_classifier", lambda name, _: real(name, 5))
    monkeypatch.setattr(scores, "CLASSIFIERS", ("KNN", "LR"))
    forget()
    assert not set(before.values()) & set(names().values())


def test_the_methods_do_different_things_to_the_probe_tables():
    assert len({identity.of_method(name) for name in METHODS}) == len(METHODS)


# --- the study, and that of rivals


def study_names(protocol=RESAMPLER_STUDY, **settings):
    chosen = {"methods": ("none", "SMOTE", "counterfactuals"), "folds": 2, "known": KNOWN}
    wanted = StudySettings(("glass2",), **chosen | settings)
    return {(t["method"], t["fold"]): t["made_by"] for t in named_trials(wanted, protocol)}


def test_a_new_default_of_ours_renames_its_own_trials_of_the_study_only(monkeypatch):
    before = study_names()
    changed = partial(CounterfactualOverSampler, n_draws=11)
    monkeypatch.setitem(study_methods.OURS, "counterfactuals", changed)
    forget()
    after = study_names()
    assert {name for name, fold in before if before[name, fold] != after[name, fold]} == {
        "counterfactuals"
    }


def test_other_rows_folds_or_measures_rename_every_trial_of_the_study(monkeypatch):
    before = set(study_names().values())
    for other in ({"rows": 150}, {"folds": 3}, {"repeats": (1,)}):
        assert not before & set(study_names(**other).values())
    real = study_trials.measure
    monkeypatch.setattr(study_identity, "measure", lambda *given: real(*given) | {"g_mean": 0.123})
    forget()
    assert not before & set(study_names().values())


def test_the_methods_of_the_study_do_different_things_to_the_probe_tables():
    assert len({study_identity.of_method(name) for name in STUDIED}) == len(STUDIED)


def test_a_method_that_fails_on_a_probe_table_has_a_name_all_the_same():
    def fail(probe):
        raise ValueError(probe)

    assert of_looks(fail, probe_tables()) == of_looks(fail, probe_tables())
    assert of_looks(fail, probe_tables()) != of_looks(lambda _: b"", probe_tables())


def test_rivals_that_differ_in_their_threshold_only_have_names_of_their_own():
    pair = ("threshold for balanced accuracy", "threshold for macro-F1")
    names = study_names(RIVAL_STUDY, methods=("none", *pair))
    assert len(set(names.values())) == 3
