"""An estimator as text: the settings that a page prints are those of the object that runs."""

import ast
import re
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.compare.plan import Settings as ComparisonSettings
from counterbalance.compare.strategies import CLASSIFIERS, new_classifier
from counterbalance.compare.strategies import OURS as COMPARED
from counterbalance.compare.strategies import make_ours as make_compared
from counterbalance.studies.reproduction import data, methods
from counterbalance.studies.reproduction.page import page as reproduction_page
from counterbalance.studies.reproduction.run import all_tables, compute
from counterbalance.studies.reproduction.scores import trials as score_trials
from counterbalance.studies.reproduction.settings import ReproductionSettings
from counterbalance.studies.study.methods import OURS
from counterbalance.studies.study.run import page as study_page
from counterbalance.studies.study.settings import DEVELOPMENT
from counterbalance.trials import TrialRecord, classifiers
from counterbalance.trials.classifiers import SHOWN, as_call, f_of
from counterbalance.trials.fingerprint import versions
from counterbalance.trials.resamplers import expected_warnings

pd = pytest.importorskip("pandas")
DEFAULTS = {"reproduce": ReproductionSettings, "compare": ComparisonSettings}


def calls_of(text):
    """Read every call that stands in back quotes: name of the class, then its arguments."""
    calls = []
    for quoted in re.findall(r"`([^`]+)`", text):
        for part in quoted.split(" -> "):
            if re.fullmatch(r"\w+\(.*\)", part):
                call = ast.parse(part, mode="eval").body
                values = {argument.arg: ast.unparse(argument.value) for argument in call.keywords}
                calls.append((call.func.id, values))
    return calls


def check(call, estimator):
    """Compare a printed call with the parameters of an object."""
    name, values = call
    assert name == type(estimator).__name__
    parameters = estimator.get_params(deep=False)
    assert values, f"{name} is printed without a setting"
    for parameter, printed in values.items():
        value = parameters[parameter]
        expected = as_call(value) if hasattr(value, "get_params") else repr(value)
        if isinstance(value, Pipeline):
            expected = f"make_pipeline({', '.join(as_call(step) for _, step in value.steps)})"
        assert printed == ast.unparse(ast.parse(expected, mode="eval").body), (name, parameter)


def section(text, title):
    """Return the lines below a heading, up to the next one."""
    return text.split(f"# {title}\n", 1)[1].split("\n#", 1)[0]


@pytest.fixture(name="page", scope="module")
def make_page():
    settings = ReproductionSettings(
        datasets=("WBC",), folds=7, runs=(("all", 3),), splits=4, seeds=2
    )
    return reproduction_page(
        all_tables([], settings.datasets),
        settings,
        {},
        versions(("numpy", "scikit-learn")),
        [],
    )


@pytest.fixture(name="ran")
def spy_on_samplers(monkeypatch):
    """Note the samplers of ours that are really run."""
    ran = []
    real = CounterfactualOverSampler.fit_resample

    def noted(sampler, *arguments, **named):
        ran.append(sampler)
        return real(sampler, *arguments, **named)

    monkeypatch.setattr(CounterfactualOverSampler, "fit_resample", noted)
    return ran


def table_of_numbers():
    rng = np.random.default_rng(0)
    y = np.repeat(["large", "small"], [60, 15])
    return pd.DataFrame(rng.normal(size=(75, 3)) + 1.5 * (y == "small")[:, None]), y


@pytest.mark.parametrize("name", [methods.OURS, methods.PRINTED])
def test_the_reproduction_prints_the_settings_of_our_sampler_as_it_runs(page, ran, name):
    X, y = table_of_numbers()
    methods.resampled(name, X, y, 0)
    (sampler,) = ran
    (line,) = [line for line in section(page, "Methods").splitlines() if f"**{name}**" in line]
    own, *steps = calls_of(line)
    check(own, sampler)
    assert own[1]["n_draws"] == str(sampler.n_draws)
    assert f"T = {sampler.n_draws}," in line
    assert f"epsilon = {'none' if sampler.epsilon is None else sampler.epsilon}," in line
    if name == methods.OURS:
        assert steps[-1] == calls_of(f"`{as_call(sampler.estimator_)}`")[-1]


def test_ours_in_the_reproduction_is_the_object_that_users_get(ran):
    methods.resampled(methods.OURS, *table_of_numbers(), 3)
    assert ran[0].get_params() == CounterfactualOverSampler(random_state=3).get_params()
    made = methods.make_sampler(methods.INTERIOR, 3)
    assert made.get_params() == InteriorOverSampler(random_state=3).get_params()


def test_as_printed_keeps_what_inverts_and_weighs_no_class(ran):
    X, y = table_of_numbers()
    _, labels, _ = methods.resampled(methods.PRINTED, X, y, 0)
    (found,) = ran[0].yield_.values()
    assert len(labels) == len(y) + found.inversions
    assert ran[0].estimator_[-1].class_weight is None


def test_the_reproduction_prints_the_settings_of_experiment_one_as_they_run(page, ran):
    compute(
        ReproductionSettings(),
        {"experiment": "areas", "shape": "long", "method": "ours", "seed": 0},
    )
    (note,) = [line for line in page.splitlines() if line.startswith("Ours: `Counterfactual")]
    check(calls_of(note)[0], ran[0])


def test_the_reproduction_prints_the_base_of_the_sensitivity_study_as_it_runs(page, ran):
    trial = {"experiment": "sensitivity", "setting": "f", "value": "LR", "seed": 0}
    compute(ReproductionSettings(), trial)
    note = section(page, "Sensitivity of ours to T, epsilon and f, synthetic data")
    check(calls_of(note)[0], ran[0])
    assert f"from T = {ran[0].n_draws}, no epsilon" in note


def test_the_pages_print_the_settings_of_the_classifiers_that_are_fitted(page):
    study = study_page([], {}, ".")
    for text, small, title in (
        (page, False, "Classifiers"),
        (study, True, "The classifiers"),
    ):
        printed = calls_of(section(text, title))
        assert len(printed) == len(classifiers.CLASSIFIERS)
        for call, name in zip(printed, classifiers.CLASSIFIERS, strict=True):
            check(call, classifiers.make_classifier(name, seed=5, small=small))


def test_the_study_prints_the_settings_of_our_samplers_and_of_the_f_they_fit():
    printed = calls_of(section(study_page([], {}, "."), "Ours"))
    X, y = table_of_numbers()
    for maker in OURS.values():
        sampler = maker(random_state=0)
        with expected_warnings():
            sampler.fit_resample(X.to_numpy(), y)
        own = next(values for values in printed if values[0] == maker.__name__ and values[1])
        check(own, sampler)
        check(printed[printed.index(own) + 1], sampler.estimator_)


def test_the_reproduction_prints_folds_runs_splits_tables_and_versions_of_the_run(page):
    run = section(page, "The run on this page")
    assert "7 folds" in run
    assert "whole runs, of those asked for (paper: 100): WBC 0 of 3" in run
    assert "4 splits" in run
    assert "2 synthetic tables of each of 5 shapes" in run
    assert f"numpy {np.__version__}" in run


def test_the_reproduction_prints_how_long_each_part_took():
    settings = ReproductionSettings(datasets=("WBC",), folds=2, runs=(("all", 1),), seeds=1)
    records = [
        TrialRecord({"experiment": "areas", "seed": 0, "shape": "x", "method": "y"}, *rest)
        for rest in [("failed", {}, None, "no", "", 30.0)]
    ]
    records += [
        TrialRecord(trial, "failed", {}, None, "no", "", 600.0) for trial in score_trials(settings)
    ]
    text = reproduction_page(all_tables(records, ["WBC"]), settings, {}, {}, records)
    run = section(text, "The run on this page")
    assert "0 trials done, 17 failed" in run
    assert "took 2.7 h by the clock" in run
    assert "(areas 30 s, WBC 2.7 h)" in run


def test_the_reproduction_says_by_what_its_own_tables_were_chosen():
    text = " ".join(data.DESCRIPTIONS.values())
    assert "tuned once, among 12 settings" in data.DESCRIPTIONS["ILC"]
    assert "chosen by the peers' figures" in data.DESCRIPTIONS["FMN"]
    assert "Dress against Shirt" in text
    assert {"wisconsin", "page-blocks"} <= set(DEVELOPMENT)  # which the page admits


def test_the_reproduction_prints_the_size_of_the_table_that_it_uses(page):
    assert "699 rows (458 : 241), 9 features, 16 missing cells" in section(page, "Data sets")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_compare_writes_its_classifiers_as_calls(name):
    made = new_classifier(name, 0)
    check(calls_of(f"`{as_call(made)}`")[0], made)


@pytest.mark.parametrize("name", [sampler.name for sampler in COMPARED])
def test_compare_writes_our_samplers_as_calls(name):
    made = make_compared(name, 3)
    check(calls_of(f"`{as_call(made)}`")[0], made)


@given(
    trees=st.integers(1, 500),
    leaf=st.integers(1, 20),
    depth=st.none() | st.integers(1, 9),
    weight=st.sampled_from([None, "balanced"]),
)
def test_a_call_gives_back_the_object_that_it_was_written_from(trees, leaf, depth, weight):
    f = RandomForestClassifier(
        n_estimators=trees, min_samples_leaf=leaf, max_depth=depth, class_weight=weight
    )
    text = as_call(f)
    assert eval(text, {"RandomForestClassifier": RandomForestClassifier}).get_params() == (  # noqa: S307
        f.get_params()
    )


def test_a_setting_that_is_not_shown_by_default_is_shown_once_it_is_changed():
    assert "max_depth" not in as_call(RandomForestClassifier())
    assert "max_depth=3" in as_call(RandomForestClassifier(max_depth=3))


def test_seeds_and_settings_that_only_change_the_speed_are_not_shown():
    sampler = CounterfactualOverSampler(random_state=7, n_jobs=2, working_memory=3)
    assert as_call(sampler) == as_call(CounterfactualOverSampler())


def test_steps_of_a_pipeline_are_shown_in_their_order():
    steps = make_pipeline(StandardScaler(), LogisticRegression(C=2.0))
    assert as_call(steps) == "StandardScaler() -> LogisticRegression(C=2.0, class_weight=None)"


def test_a_long_value_is_cut():
    text = as_call(LogisticRegression(class_weight=dict.fromkeys(range(1000), 1.0)))
    assert len(text) < 200


def test_the_parameters_shown_of_a_class_are_parameters_that_it_has():
    for maker in (CounterfactualOverSampler, InteriorOverSampler, *known_classifiers()):
        assert set(SHOWN[maker.__name__]) <= set(maker().get_params(deep=False))


def known_classifiers():
    made = [classifiers.make_classifier(name, 0) for name in classifiers.CLASSIFIERS]
    return [type(f) for f in made] + [type(f_of(CounterfactualOverSampler()))]


@pytest.mark.parametrize("command", ["reproduce", "compare"])
def test_the_help_of_a_command_gives_the_defaults_of_its_settings(command):
    pytest.importorskip("typer")
    commands = import_module("counterbalance.cli.app").COMMANDS
    (options,) = [one.options for one in commands if one.name == command]
    defaults = DEFAULTS[command]()
    told = {
        name: re.findall(r"default (?:is )?([\d.,]*\d)", option.help or "")
        for name, option in options.items()
    }
    numbers = {name: found[-1] for name, found in told.items() if found and hasattr(defaults, name)}
    assert numbers
    for name, number in numbers.items():
        value = getattr(defaults, name)
        given = value[0] if isinstance(value, tuple) else value
        given = given[1] if isinstance(given, tuple) else given  # ("all", number)
        assert float(number.replace(",", "")) == given, f"--{name} says {number}, runs {given}"
