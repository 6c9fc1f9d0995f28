import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import Immutable, Increasing, MaxChanged, OneOf
from counterbalance.distributed import fit_resample
from counterbalance.errors import ClassifierError, ShortfallError, ShortfallWarning, TableError
from counterbalance.methods import all_samplers
from counterbalance.table.encoder import TableEncoder
from large_tables import assert_same, in_memory, mixed_table, numeric_table, partitioned

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def tree(weight="balanced", **settings):
    f = make_pipeline(
        TableEncoder(), DecisionTreeClassifier(max_depth=4, class_weight=weight, random_state=0)
    )
    return CounterfactualOverSampler(estimator=f, n_draws=4, random_state=5, **settings)


TABLES = {"numeric": numeric_table, "mixed": mixed_table}
PARTITIONINGS = [7, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 3, 50))]


@pytest.mark.parametrize("n", PARTITIONINGS)
@pytest.mark.parametrize("kind", TABLES)
def test_every_partitioning_gives_the_rows_of_the_in_memory_sampler(kind, n):
    table = TABLES[kind](400)
    sampler = tree(on_shortfall="accept")
    expected = in_memory(sampler, table)
    resampled = fit_resample(sampler, partitioned(table, n), "y")
    assert_same(*dask.compute(resampled.frame, resampled.provenance), *expected)
    assert resampled.yields == sampler.yield_
    assert resampled.feature_order == [table.columns[m] for m in sampler.feature_order_]


def test_the_default_classifier_is_the_in_memory_one_where_the_table_fits_a_worker():
    table = mixed_table(300)
    sampler = CounterfactualOverSampler(
        random_state=0, n_draws=4, on_shortfall=("redraw", "interior")
    )
    with pytest.warns(ShortfallWarning) as here:
        expected = in_memory(sampler, table)
    with pytest.warns(ShortfallWarning) as there:
        resampled = fit_resample(sampler, partitioned(table, 3), "y")
    assert [str(one.message) for one in here] == [str(one.message) for one in there]
    assert_same(*dask.compute(resampled.frame, resampled.provenance), *expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "chain"),
    [("numeric", "redraw"), ("mixed", "minimum"), ("mixed", ("minimum", "redraw", "interior"))],
)
def test_every_partitioning_settles_the_pool_of_the_in_memory_sampler(kind, chain):
    table = TABLES[kind](160)
    sampler = tree(on_shortfall=chain)
    expected = in_memory(sampler, table)
    assert set(expected[1]["origin"]) > {"inversion"}
    inverted = sum(got.inversions for got in sampler.yield_.values())
    assert inverted > sum(got.used for got in sampler.yield_.values())  # some were left out
    for n in (1, 3, 7):
        resampled = fit_resample(sampler, partitioned(table, n), "y")
        assert_same(*dask.compute(resampled.frame, resampled.provenance), *expected)
        assert resampled.yields == sampler.yield_


# Nothing is known of the last two: they are only asked.
CLASSIFIERS = {
    "own": None,
    "linear": LogisticRegression(class_weight="balanced", max_iter=1000),
    "k-NN": make_pipeline(TableEncoder(), SimpleImputer(), KNeighborsClassifier(3)),
    "svc": make_pipeline(TableEncoder(), SimpleImputer(), SVC(class_weight="balanced")),
}


# The classifiers of which nothing is known are slow: they are tried on one partitioning.
@pytest.mark.parametrize(
    ("kind", "name", "n"),
    [
        ("numeric", "own", 7),
        *(
            pytest.param(kind, name, n, marks=pytest.mark.slow)
            for kind, name, partitionings in [
                ("numeric", "own", (1, 3, 50)),
                ("mixed", "own", (1, 3, 7, 50)),
                ("numeric", "linear", (7,)),
                ("numeric", "svc", (7,)),
                ("numeric", "k-NN", (7,)),
                ("mixed", "k-NN", (7,)),
            ]
            for n in partitionings
        ),
    ],
)
def test_solving_for_the_nearest_inversion_gives_the_rows_of_the_in_memory_sampler(
    kind, name, n, monkeypatch
):
    # Far less than f puts into the classes, so that it must choose.
    monkeypatch.setattr("counterbalance.search.references.MOST_REFERENCES", 6)
    table = TABLES[kind](150)
    sampler = CounterfactualOverSampler(estimator=CLASSIFIERS[name], n_draws=1, random_state=0)
    expected = in_memory(sampler, table)
    assert "minimum" in set(expected[1]["origin"])
    resampled = fit_resample(sampler, partitioned(table, n), "y")
    assert_same(*dask.compute(resampled.frame, resampled.provenance), *expected)
    assert resampled.yields == sampler.yield_


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("name", ["own", "k-NN"])
def test_solving_from_the_start_gives_the_rows_of_the_in_memory_sampler(kind, name):
    table = TABLES[kind](120)
    sampler = CounterfactualOverSampler(
        estimator=CLASSIFIERS[name], search="minimum", selection="random", random_state=0
    )
    expected = in_memory(sampler, table)
    for n in (1, 3, 7, 50) if name == "own" else (7,):
        resampled = fit_resample(sampler, partitioned(table, n), "y")
        assert_same(*dask.compute(resampled.frame, resampled.provenance), *expected)
        assert resampled.yields == sampler.yield_


@pytest.mark.slow
def test_drawing_again_after_solving_gives_the_rows_of_the_in_memory_sampler():
    table = mixed_table(160, seed=3)
    chain = ("minimum", "redraw", "threshold", "interior")
    sampler = tree(None, on_shortfall=chain, epsilon=0.7)
    expected = in_memory(sampler, table)
    assert set(expected[1]["origin"]) >= {"inversion", "minimum", "redraw"}
    for n in (1, 4):
        resampled = fit_resample(sampler, partitioned(table, n), "y")
        assert_same(*dask.compute(resampled.frame, resampled.provenance), *expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policies", "made"),
    [
        ("redraw", {"redraw"}),
        (("threshold", "interior"), {"threshold", "interior"}),
        ("interior", {"interior"}),
        (("redraw", "threshold", "interior"), {"redraw", "threshold", "interior"}),
    ],
)
def test_every_shortfall_policy_gives_the_rows_of_the_in_memory_sampler(policies, made):
    table = mixed_table(240, seed=3)
    chain = (*([policies] if isinstance(policies, str) else policies), "accept")
    # unweighted, or moving its threshold to the class prior would change little
    sampler = tree(None, on_shortfall=chain, epsilon=0.7)
    expected = in_memory(sampler, table)
    resampled = fit_resample(sampler, partitioned(table, 4), "y")
    assert_same(*dask.compute(resampled.frame, resampled.provenance), *expected)
    assert set(expected[1]["origin"]) >= {"inversion", *made}


def test_random_selection_constraints_grids_and_missing_cells_are_the_same():
    table = mixed_table(300, seed=1)
    table["float"] = table["float"].round(2)
    sampler = tree(
        selection="random",
        sampling_strategy={"few": 60, "more": 100},
        snap_to_grid=True,
        change_missing=True,
        draws="gibbs",
        constraints=[
            Immutable("flag"),
            Increasing("whole"),
            OneOf("ward", ["east", "north"]),
            MaxChanged(4),
            "holes <= whole + 100",
        ],
    )
    expected = in_memory(sampler, table)
    resampled = fit_resample(sampler, partitioned(table, 5), "y")
    assert_same(*dask.compute(resampled.frame, resampled.provenance), *expected)


def test_a_given_profile_and_a_fitted_classifier_are_used_as_they_are():
    table = numeric_table()
    X = table.drop(columns="y")
    f = LogisticRegression(class_weight="balanced").fit(X, table["y"])
    sampler = CounterfactualOverSampler(
        estimator=f, prefit=True, n_draws=5, random_state=1, on_shortfall="interior"
    )
    expected = in_memory(sampler, table)
    resampled = fit_resample(sampler, partitioned(table, 3), "y", statistics=sampler.profile_)
    assert_same(*dask.compute(resampled.frame, resampled.provenance), *expected)
    assert resampled.estimator is f


def test_statistics_in_passes_give_the_same_rows_for_any_partitioning():
    table = mixed_table(300)
    sampler = tree(on_shortfall=("redraw", "interior"), sampling_strategy={"few": 40})
    results = [
        fit_resample(sampler, partitioned(table, n), "y", statistics="passes").frame.compute()
        for n in (1, 6)
    ]
    pd.testing.assert_frame_equal(*results, check_exact=True)


def test_classifier_is_fitted_to_the_same_sample_for_any_partitioning():
    table = numeric_table(3000)
    sampler = tree(sampling_strategy={1: 350}, on_shortfall="interior")
    one, other = (fit_resample(sampler, partitioned(table, n), "y", fit_rows=500) for n in (1, 5))
    n_fitted = one.estimator[-1].tree_.n_node_samples[0]
    assert 400 < n_fitted < 1300  # every row of the small class, a sixth of the large one
    pd.testing.assert_frame_equal(one.frame.compute(), other.frame.compute(), check_exact=True)


def test_new_rows_get_index_labels_that_do_not_collide():
    table = numeric_table(300)
    sampler = tree(on_shortfall="interior")
    for index in (table.index * 2, pd.Index([f"new-{k}" for k in table.index])):
        named = table.set_axis(index)
        expected, _ = in_memory(sampler, named)
        got = fit_resample(sampler, partitioned(named, 3), "y").frame.compute()
        assert list(got.index) == list(expected.index)


def test_empty_partitions_and_partitions_of_one_class_change_nothing():
    table = numeric_table(300).sort_values("y", ignore_index=True)
    sampler = tree(on_shortfall="interior")
    expected, _ = in_memory(sampler, table)
    parts = [
        table.iloc[:0],
        table.iloc[:100],
        table.iloc[100:290],
        table.iloc[:0],
        table.iloc[290:],
    ]
    ddf = dd.from_map(lambda number: parts[number], range(5), meta=table.iloc[:0])
    got = fit_resample(sampler, ddf, "y").frame.compute()
    pd.testing.assert_frame_equal(got, expected, check_exact=True)


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
        (
            lambda t: t.assign(y=np.where(t.index > 250, np.nan, t["y"])),
            "partition 2: .*missing labels",
        ),
        (lambda t: t.assign(a=np.where(t.index == 150, np.inf, t["a"])), "partition 1: .*infinite"),
        (lambda t: t.assign(y=np.linspace(0, 1, len(t))), "looks like a quantity, not a class"),
        (lambda t: t.assign(name=[f"id {k}" for k in t.index]), "more than 10 categories"),
        (lambda t: _with(t, slice(200, None), "count", "many"), "partition 2 has nominal cells"),
    ],
)
def test_bad_tables_are_refused_with_the_partition(bad, message, monkeypatch):
    monkeypatch.setattr("counterbalance.distributed.scan.MOST_LEVELS", 10)
    table = bad(numeric_table(300))
    with pytest.raises((TableError, ValueError), match=message):
        fit_resample(tree(), partitioned(table, 3), "y")


def test_partitions_of_other_dtypes_are_refused():
    table = numeric_table(200)
    parts = [table, table.astype({"a": np.float32})]
    ddf = dd.from_map(lambda number: parts[number], range(2), meta=table.iloc[:0])
    with pytest.raises(TableError, match="partition 1 has the column 'a' as float32, partition 0"):
        fit_resample(tree(), ddf, "y")


def test_what_is_not_distributed_is_refused():
    table = numeric_table(200)
    ddf = partitioned(table, 2)
    with pytest.raises(TableError, match="ddf must be a Dask dataframe, got pandas"):
        fit_resample(tree(), table, "y")
    remedy = (
        "got ProWSyn, which needs all rows at once .*balance a sample of the rows with it in memory"
    )
    with pytest.raises(TableError, match=remedy):
        fit_resample(all_samplers()["ProWSyn"].factory(), ddf, "y")
    with pytest.raises(TableError, match="'redraw' behind 'interior'"):
        fit_resample(tree(selection="nearest", on_shortfall=("interior", "redraw")), ddf, "y")
    with pytest.raises(TableError, match="'minimum' behind 'interior'"):
        fit_resample(tree(selection="nearest", on_shortfall=("interior", "minimum")), ddf, "y")
    with pytest.raises(TableError, match="statistics must be 'auto'"):
        fit_resample(tree(), ddf, "y", statistics="quick")
    with pytest.raises(TableError, match="names the class 7"):
        fit_resample(tree(sampling_strategy={7: 10}), ddf, "y")
    unknown = ddf.assign(c=ddf["count"].astype("category"))
    with pytest.raises(TableError, match="categories of column 'c' are not known"):
        fit_resample(tree(), unknown, "y")
    with pytest.raises(ClassifierError, match="prefit=True needs a fitted estimator"):
        fit_resample(CounterfactualOverSampler(prefit=True), ddf, "y")


def test_a_shortfall_that_no_policy_fills_is_an_error():
    sampler = tree(on_shortfall="raise", epsilon=1e-6)
    with pytest.raises(ShortfallError, match=r"class 1: .* missing"):
        fit_resample(sampler, partitioned(numeric_table(200), 2), "y")


def test_a_classifier_that_predicts_a_single_class_is_refused():
    table = numeric_table(200)
    f = DecisionTreeClassifier(max_depth=1, min_samples_leaf=100, random_state=0)
    f.fit(table.drop(columns="y"), table["y"])
    f.tree_.value[:] = [[[1.0, 0.0]]]
    sampler = CounterfactualOverSampler(estimator=f, prefit=True, on_shortfall="accept")
    with pytest.raises(ClassifierError, match="predicts class 0 for every row"):
        fit_resample(sampler, partitioned(table, 2), "y")
