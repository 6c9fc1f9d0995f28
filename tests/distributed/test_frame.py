"""A Dask dataframe: the rows of the in-memory samplers, for any cut."""

from itertools import pairwise

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.constraints import (
    AtLeast,
    Cost,
    Immutable,
    Increasing,
    MaxChanged,
    OneOf,
    Transitions,
)
from counterbalance.distributed import fit_resample
from counterbalance.distributed.search import Tasks, score_candidates
from counterbalance.errors import (
    ClassifierError,
    IdentifierWarning,
    ShortfallError,
    ShortfallWarning,
    TableError,
)
from counterbalance.methods import all_samplers
from counterbalance.table.encoder import TableEncoder
from large_tables import assert_same, in_memory, mixed_table, numeric_table, partitioned

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


TREE = make_pipeline(
    TableEncoder(), DecisionTreeClassifier(max_depth=4, class_weight="balanced", random_state=0)
)
LINEAR = LogisticRegression(class_weight="balanced", max_iter=1000)
K_NN = make_pipeline(TableEncoder(), SimpleImputer(), KNeighborsClassifier(3))
TABLES = {"numeric": numeric_table, "mixed": mixed_table}
slow = pytest.mark.slow


def counterfactual(estimator=None, **settings):
    settings = {"n_draws": 4, "random_state": 5} | settings
    return CounterfactualOverSampler(estimator=estimator, **settings)


def interior(**settings):
    return InteriorOverSampler(**{"random_state": 5} | settings)


def computed(sampler, table, n, **settings):
    resampled = fit_resample(sampler, partitioned(table, n), "y", **settings)
    return resampled, *dask.compute(resampled.frame, resampled.provenance)


def assert_as_in_memory(sampler, table, partitions, **settings):
    """Compare rows, provenance and yields; return how many new rows have which origin."""
    expected = in_memory(sampler, table)
    for n in partitions:
        resampled, rows, provenance = computed(sampler, table, n, **settings)
        assert_same(rows, provenance, *expected)
        assert resampled.yields == getattr(sampler, "yield_", {})
        assert resampled.feature_order == [table.columns[m] for m in sampler.feature_order_]
    return expected[1]["origin"].value_counts().to_dict()


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("make", [counterfactual, interior])
def test_every_partitioning_gives_the_rows_of_the_in_memory_sampler(make, kind):
    made = assert_as_in_memory(make(), TABLES[kind](200), (1, 3, 7, 50))
    assert made["interior"] > 20
    assert make is interior or made["inversion"] > 20


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("numeric", {"estimator": LINEAR, "sampling_strategy": 0.3}),
        ("numeric", {"estimator": LINEAR, "search": "perturb", "on_shortfall": "accept"}),
        ("mixed", {"estimator": TREE, "sampling_strategy": "all", "search": "perturb"}),
        ("mixed", {"draws": "gibbs", "epsilon": 3.0, "feature_order": [2, 0]}),
        ("mixed", {"sampling_strategy": {"few": 40, "more": 70}}),
        pytest.param("mixed", {"estimator": TREE, "n_draws": 10}, marks=slow),
        pytest.param("mixed", {"estimator": K_NN, "n_draws": 1}, marks=slow),
    ],
)
def test_every_setting_means_the_same_as_in_memory(kind, settings):
    assert_as_in_memory(counterfactual(**settings), TABLES[kind](200), (1, 7))


@pytest.mark.parametrize("make", [counterfactual, interior])
def test_constraints_and_grids_mean_the_same_as_in_memory(make):
    table = mixed_table(240, seed=1)
    table["float"] = table["float"].round(2)
    rules = [
        Immutable("flag"),
        Increasing("whole"),
        OneOf("ward", ["east", "north"]),
        MaxChanged(4),
        "holes <= whole + 100",
    ]
    assert_as_in_memory(make(constraints=rules), table, (5,))


@pytest.mark.parametrize("make", [counterfactual, interior])
def test_costs_transitions_and_least_changes_mean_the_same_as_in_memory(make):
    table = mixed_table(240, seed=1)
    table["float"] = table["float"].round(2)
    rules = [AtLeast("float", 0.5), Cost("whole", 3), Transitions("ward", {"east": ["north"]})]
    assert_as_in_memory(make(constraints=rules), table, (5,))


@pytest.mark.parametrize("n", [1, 4])
def test_pairs_and_relations_of_the_whole_table_are_kept(n):
    table = mixed_table(240)
    table.insert(0, "sum", table["float"] + table["whole"])
    table.insert(1, "part", np.where(table["ward"] == "east", "a", "b"))
    sampler = counterfactual(random_state=0, n_draws=3)
    assert_as_in_memory(sampler, table, (n,))
    assert {"sum follows float + whole", "part follows ward"} <= {
        found.text for found in sampler.relations_
    }


def test_the_search_looks_at_the_same_references_for_any_cut(monkeypatch):
    # Far fewer than f puts into the classes, so that it must choose.
    monkeypatch.setattr("counterbalance.search.minimum.MOST_REFERENCES", 6)
    assert_as_in_memory(counterfactual(n_draws=8), mixed_table(200), (1, 7))


# All rows of one class are gathered, or of none.
@pytest.mark.parametrize("most", [40, pytest.param(9, marks=slow)])
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("make", [counterfactual, interior])
def test_a_class_that_no_worker_need_hold_gives_the_rows_of_the_in_memory_sampler(
    make, kind, most, monkeypatch
):
    monkeypatch.setattr("counterbalance.rows.interior.MOST_SAMPLED", most)
    sampler = make(n_draws=1) if make is counterfactual else make()
    made = assert_as_in_memory(sampler, TABLES[kind](200), (3, 50))
    assert made["interior"] > 20


def test_a_small_class_is_worked_on_in_several_runs(monkeypatch):
    monkeypatch.setattr("counterbalance.distributed.search.CELLS_PER_PIECE", 200)
    assert_as_in_memory(interior(), numeric_table(200), (3,))
    assert_as_in_memory(counterfactual(epsilon=0.1), numeric_table(200), (3,))


@pytest.mark.parametrize("most", [10_000, 9])
@pytest.mark.parametrize("make", [counterfactual, interior])
def test_rows_are_copied_and_warned_of_as_in_memory_where_a_class_is_too_much_alike(
    make, most, monkeypatch
):
    monkeypatch.setattr("counterbalance.rows.interior.MOST_SAMPLED", most)
    monkeypatch.setattr("counterbalance.distributed.search.CELLS_PER_PIECE", 200)
    table = numeric_table(240)
    few = table["y"] == 1
    table.loc[few, [name for name in table if name != "y"]] = 1
    table.loc[few.idxmax(), "a"] = 2.0  # one row to move by, so that some are new
    sampler = make()
    with pytest.warns(ShortfallWarning) as here:
        expected = in_memory(sampler, table)
    assert (expected[1]["origin"] == "copy").sum() > 2 * few.sum()
    with pytest.warns(ShortfallWarning) as there:
        _, rows, provenance = computed(sampler, table, 5)
    assert [str(one.message) for one in here] == [str(one.message) for one in there]
    assert_same(rows, provenance, *expected)


@pytest.mark.parametrize("sort", [True, False])
def test_candidates_that_cannot_be_drawn_are_not_judged(sort, monkeypatch):
    monkeypatch.setattr("counterbalance.rows.interior.MOST_SAMPLED", 9)
    table = numeric_table(600)
    if sort:  # what f calls the class stands in a few partitions, and these draw twice
        table = table.sort_values("a", ignore_index=True)
    judged = []

    def counted(pieces, *rest):
        judged.extend(len(at) for _, at in pieces)
        score_candidates(pieces, *rest)

    monkeypatch.setattr("counterbalance.distributed.search.score_candidates", counted)
    assert_as_in_memory(interior(random_state=2), table, (4,))
    n_asked = (table["y"] == 0).sum() - (table["y"] == 1).sum()
    assert n_asked < sum(judged) < 8 * n_asked


@pytest.fixture
def small_samples(monkeypatch):
    """Samples that are far smaller than the tables of these tests."""
    for name in ("distributed.plan", "samplers.counterfactual"):
        monkeypatch.setattr(f"counterbalance.{name}.MOST_CANDIDATES", 60)
        monkeypatch.setattr(f"counterbalance.{name}.MOST_REFERENCES", 20)
    monkeypatch.setattr("counterbalance.search.minimum.MOST_REFERENCES", 20)
    monkeypatch.setattr("counterbalance.plausible.evidence.MOST_OF_CLASS", 20)
    monkeypatch.setattr("counterbalance.classifier.second_opinion.MOST_ROWS", 100)
    monkeypatch.setattr("counterbalance.rows.interior.MOST_SAMPLED", 30)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize(
    ("make", "kind", "f"),
    [
        (counterfactual, "numeric", LINEAR),
        (interior, "numeric", LINEAR),
        (interior, "mixed", TREE),
        pytest.param(counterfactual, "mixed", TREE, marks=slow),
    ],
)
def test_a_table_that_no_worker_holds_gives_the_rows_of_memory_with_the_same_f_and_profile(
    make, kind, f
):
    table = TABLES[kind](200)
    f = FrozenEstimator(f.fit(table.drop(columns="y"), table["y"]))
    # Which categories stand together is learned from the sample, too.
    sampler = make(estimator=f, plausible=False)
    in_memory(sampler, table)
    settings = {"profile": sampler.profile_, "fit_rows": 80}
    assert_as_in_memory(sampler, table, (1, 7, 50), **settings)
    resampled, *_ = computed(sampler, table, 2, **settings)
    np.testing.assert_array_equal(resampled.profile.median, sampler.profile_.median)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("make", [counterfactual, interior])
def test_profile_and_f_are_learned_from_the_same_sample_for_any_partitioning(make, kind):
    table = TABLES[kind](240)
    results = [computed(make(), table, n, fit_rows=80) for n in (1, 7, 50)]
    (first, rows, _), others = results[0], results[1:]
    for resampled, frame, _ in others:
        pd.testing.assert_frame_equal(frame, rows, check_exact=True)
        np.testing.assert_array_equal(resampled.profile.median, first.profile.median)
    whole, *_ = computed(make(), table, 1)
    assert (first.profile.median != whole.profile.median).any()
    np.testing.assert_array_equal(first.profile.lower, whole.profile.lower)  # ranges are exact
    shares = zip(first.profile.frequency, whole.profile.frequency, strict=True)
    assert all(own is None or len(own) == len(of_all) for own, of_all in shares)  # and levels


@pytest.mark.usefixtures("small_samples")
def test_grids_are_those_of_all_rows_even_if_a_sample_is_coarser():
    table = numeric_table(300)
    table["a"] = table["a"].round(1)
    table.loc[table.index % 10 == 3, "a"] += 0.01  # seldom, and not in most samples
    sampler = counterfactual(estimator=FrozenEstimator(LINEAR.fit(table.iloc[:, :-1], table["y"])))
    in_memory(sampler, table)
    assert_as_in_memory(sampler, table, (3,), profile=sampler.profile_, fit_rows=60)


def test_labels_may_be_texts_truths_numbers_or_categories():
    table = numeric_table(200)
    for labels in (
        table["y"].astype(bool),
        table["y"].astype(float),
        table["y"].map({0: "no", 1: "yes"}).astype("category"),
        table["y"].map({0: "1", 1: "2"}),
    ):
        assert_as_in_memory(counterfactual(LINEAR), table.assign(y=labels), (3,))


def test_many_classes_are_balanced_without_a_warning_of_quantities():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(30), np.arange(10, 40))
    table = pd.DataFrame({"a": y + rng.normal(size=len(y)), "b": rng.normal(size=len(y)), "y": y})
    assert_as_in_memory(interior(), table, (4,))


def test_new_rows_continue_an_index_of_numbers_and_are_named_in_any_other():
    table = numeric_table(200)
    sampler = counterfactual(LINEAR)
    _, rows, provenance = computed(sampler, table, 3)
    assert rows.index.tolist() == list(range(len(rows)))
    assert provenance["sample"].tolist() == list(range(200, len(rows)))
    named = table.set_axis([f"row {k}" for k in table.index])
    _, rows, _ = computed(sampler, named, 3)
    assert rows.index[200:203].tolist() == ["new-0", "new-1", "new-2"]


def test_empty_partitions_and_partitions_of_one_class_change_nothing():
    table = numeric_table(300).sort_values("y", ignore_index=True)
    ends = [0, 0, 100, 290, 290, 300]
    parts = [table.iloc[a:b] for a, b in pairwise(ends)]
    ddf = dd.from_map(lambda number: parts[number], range(5), meta=table.iloc[:0])
    for sampler in (counterfactual(), interior()):
        expected, _ = in_memory(sampler, table)
        got = fit_resample(sampler, ddf, "y").frame.compute()
        pd.testing.assert_frame_equal(got, expected, check_exact=True)


def test_a_table_that_is_balanced_already_comes_back_as_it_is():
    table = numeric_table(200).assign(y=np.arange(200) % 2)
    resampled, rows, provenance = computed(counterfactual(LINEAR), table, 3)
    pd.testing.assert_frame_equal(rows, table)
    assert not len(provenance)
    assert resampled.yields == {}


def test_the_sampler_is_not_changed_and_its_random_state_counts():
    table = numeric_table(200)
    sampler = counterfactual(LINEAR, random_state=np.random.RandomState(3))
    before = vars(sampler).copy()
    fit_resample(sampler, partitioned(table, 2), "y")
    assert vars(sampler) == before
    states = [counterfactual(LINEAR, random_state=np.random.RandomState(3)) for _ in range(2)]
    expected = in_memory(states[0], table)
    _, rows, provenance = computed(states[1], table, 3)
    assert_same(rows, provenance, *expected)
    seedless = [computed(counterfactual(LINEAR, random_state=None), table, 2)[1] for _ in range(2)]
    assert not seedless[0].equals(seedless[1])


def _with(table, rows, column, value):
    changed = table.astype({column: object})
    changed.loc[rows, column] = value
    return changed


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda t: t.rename(columns={"y": "z"}), "target column 'y' is not in ddf"),
        (lambda t: t[["y"]], "holds the target 'y' only"),
        (lambda t: t.assign(y=0), "one class only"),
        (lambda t: t.iloc[:0], "the table has no rows"),
        (
            lambda t: t.assign(y=np.where(t.index > 250, np.nan, t["y"])),
            "partition 2: .*missing labels",
        ),
        (lambda t: t.assign(a=np.where(t.index == 150, np.inf, t["a"])), "partition 1: .*infinite"),
        (lambda t: t.assign(y=np.linspace(0, 1, len(t))), "cannot be read as classes"),
        (lambda t: t.assign(y=[[k] for k in t.index]), r"partition \d: .*holds no labels"),
        (lambda t: t.assign(name=[f"id {k}" for k in t.index]), "more than 10 categories"),
        (lambda t: _with(t, slice(200, None), "count", "many"), "column 'count' holds int, str"),
    ],
)
def test_bad_tables_are_refused_with_the_partition(bad, message, monkeypatch):
    monkeypatch.setattr("counterbalance.distributed.plan.MOST_LEVELS", 10)
    with pytest.raises((TableError, ValueError), match=message):
        fit_resample(counterfactual(), partitioned(bad(numeric_table(300)), 3), "y")


@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [
        (lambda t: t, lambda t: t.astype({"a": np.float32}), "float32"),
        (
            lambda t: t.assign(a=pd.Categorical(t["count"])),
            lambda t: t.assign(a=pd.Categorical(t["count"] % 3)),
            "category",
        ),
    ],
)
def test_partitions_of_other_dtypes_or_categories_are_refused(first, second, dtype):
    parts = [first(numeric_table(200)), second(numeric_table(200))]
    ddf = dd.from_map(lambda k: parts[k], range(2), meta=parts[0].iloc[:0])
    message = f"partition 1 has the column 'a' as {dtype}, partition 0"
    with pytest.raises(TableError, match=message):
        fit_resample(counterfactual(), ddf, "y")


def test_what_is_not_distributed_is_refused_by_its_name():
    table = numeric_table(200)
    ddf = partitioned(table, 2)
    with pytest.raises(TableError, match="ddf must be a Dask dataframe, got pandas"):
        fit_resample(counterfactual(), table, "y")
    remedy = (
        "got ProWSyn, which needs all rows at once .*balance a sample of the rows with it in memory"
    )
    with pytest.raises(TableError, match=remedy):
        fit_resample(all_samplers()["ProWSyn"].factory(), ddf, "y")
    with pytest.raises(TableError, match="names the class 7"):
        fit_resample(counterfactual(sampling_strategy={7: 10}), ddf, "y")
    with pytest.raises(TableError, match="'all' asks for every counterfactual"):
        fit_resample(interior(sampling_strategy="all"), ddf, "y")
    with pytest.raises(ValueError, match="n_draws"):
        fit_resample(counterfactual(n_draws=0), ddf, "y")
    profile = counterfactual().prepare(table.iloc[:, :3], table["y"]).profile
    with pytest.raises(TableError, match=r"profile must be of the 6 features .*got one of 3"):
        fit_resample(counterfactual(), ddf, "y", profile=profile)
    lightgbm = pytest.importorskip("lightgbm", exc_type=(ImportError, OSError))
    with pytest.raises(ClassifierError, match="DaskLGBMClassifier, which only a whole cluster"):
        fit_resample(counterfactual(lightgbm.DaskLGBMClassifier()), ddf, "y")


def test_an_f_that_cannot_be_used_is_refused_before_the_search(monkeypatch):
    monkeypatch.setattr(Tasks, "search", None)
    table = numeric_table(200)
    with pytest.raises(ClassifierError, match="LinearSVC has no probabilities"):
        computed(interior(estimator=LinearSVC()), table, 2)
    constant = DecisionTreeClassifier(max_depth=1, min_samples_leaf=100)
    constant.fit(table.drop(columns="y"), table["y"]).tree_.value[:] = [[[1.0, 0.0]]]
    with pytest.raises(ClassifierError, match="predicts class 0 for every row"):
        computed(counterfactual(FrozenEstimator(constant)), table, 2)
    holes = table.assign(a=table["a"].where(table.index > 20))
    with pytest.raises(ClassifierError, match="cannot be fitted to a table with missing values"):
        computed(counterfactual(LINEAR), holes, 2)


def test_shortfalls_are_warned_of_and_refused_as_in_memory():
    table = numeric_table(200)
    for sampler in (
        counterfactual(on_shortfall="raise", epsilon=1e-6),
        interior(constraints="a <= c", random_state=0),
    ):
        table.loc[table["y"] == 1, "c"] = -50.0  # no row of the class keeps the rule
        with pytest.raises(ShortfallError) as here:
            in_memory(sampler, table)
        with pytest.raises(ShortfallError) as there:
            computed(sampler, table, 3)
        assert str(here.value) == str(there.value)
    for sampler in (counterfactual(), counterfactual(on_shortfall="accept")):
        with pytest.warns(ShortfallWarning) as here:
            in_memory(sampler, table)
        with pytest.warns(ShortfallWarning) as there:
            computed(sampler, table, 3)
        assert [str(one.message) for one in here] == [str(one.message) for one in there]
        assert {one.filename for one in there} == {__file__}


def test_an_identifier_is_named_as_in_memory():
    table = numeric_table(200).assign(patient_id=np.arange(200)[::-1])[["patient_id", *"abcd", "y"]]
    with pytest.warns(IdentifierWarning, match="'patient_id'") as there:
        computed(counterfactual(LINEAR), table, 3)
    assert {one.filename for one in there} == {__file__}
