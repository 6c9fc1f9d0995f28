"""A trial is known by what makes it: a method that changes is computed again, and no other."""

import pytest

from counterbalance import CounterfactualOverSampler
from counterbalance.studies.reproduction import identity, methods, scores
from counterbalance.studies.reproduction.methods import METHODS, OURS
from counterbalance.studies.reproduction.run import all_trials
from counterbalance.studies.reproduction.settings import ReproductionSettings

pytest.importorskip("pandas")
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
