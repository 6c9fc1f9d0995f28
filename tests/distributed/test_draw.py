"""InteriorOverSampler on partitions: the rows of the sampler in memory, for any cut."""

import warnings

import dask
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from counterbalance import InteriorOverSampler
from counterbalance.constraints import Immutable, Increasing, MaxChanged, OneOf
from counterbalance.distributed import balance_files, files, fit_resample, keys
from counterbalance.errors import ClassifierError, EngineError, ShortfallError, ShortfallWarning
from counterbalance.table.encoder import TableEncoder
from large_tables import (
    assert_same,
    in_memory,
    mixed_table,
    no_cluster,
    numeric_table,
    partitioned,
    write_parts,
)

TABLES = {"numeric": numeric_table, "mixed": mixed_table}
FELLOWS = "counterbalance.rows.fellows.MOST_FELLOWS"


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def computed(sampler, table, n):
    resampled = fit_resample(sampler, partitioned(table, n), "y")
    return dask.compute(resampled.frame, resampled.provenance)


# All rows of a class are fellows, a sample of the rows of one class, or of both.
@pytest.mark.parametrize(
    ("kind", "most_fellows", "partitions"),
    [
        ("numeric", 1000, (7,)),
        ("mixed", 9, (3,)),
        pytest.param("numeric", 1000, (1, 3, 50), marks=pytest.mark.slow),
        pytest.param("numeric", 9, (1, 3, 7, 50), marks=pytest.mark.slow),
        pytest.param("mixed", 30, (1, 7), marks=pytest.mark.slow),
        pytest.param("mixed", 9, (50,), marks=pytest.mark.slow),
        pytest.param("mixed", 1000, (3, 50), marks=pytest.mark.slow),
    ],
)
def test_every_partitioning_gives_the_rows_of_the_in_memory_sampler(
    kind, most_fellows, partitions, monkeypatch
):
    monkeypatch.setattr(FELLOWS, most_fellows)
    table = TABLES[kind](200)
    sampler = InteriorOverSampler(random_state=5)
    expected = in_memory(sampler, table)
    assert set(expected[1]["origin"]) == {"interior"}
    for n in partitions:
        assert_same(*computed(sampler, table, n), *expected)


@pytest.mark.parametrize("most_fellows", [1000, 9])
@pytest.mark.parametrize("alike", [True, False])
def test_candidates_that_cannot_be_drawn_are_not_judged(most_fellows, alike, monkeypatch):
    monkeypatch.setattr(FELLOWS, most_fellows)
    table = numeric_table(600)
    if not alike:  # what f calls the class stands in a few partitions
        table = table.sort_values("a", ignore_index=True)
    sampler, judged = InteriorOverSampler(random_state=2), []
    judge = keys._judge
    monkeypatch.setattr(
        keys, "_judge", lambda i, lots, *rest: judged.append(lots) or judge(i, lots, *rest)
    )
    assert_same(*computed(sampler, table, 4), *in_memory(sampler, table))
    n_asked = (table["y"] == 0).sum() - (table["y"] == 1).sum()
    assert n_asked < sum(map(len, judged)) < 8 * n_asked


@pytest.mark.slow
@pytest.mark.parametrize("most_fellows", [1000, 9])
@pytest.mark.parametrize(
    "settings",
    [
        {"sampling_strategy": {"few": 18, "more": 46}},  # fewer lots than rows
        {"estimator": make_pipeline(TableEncoder(), DecisionTreeClassifier(max_depth=3))},
        {
            "constraints": [
                Immutable("flag"),
                Increasing("whole"),
                OneOf("ward", ["east", "west"]),
                MaxChanged(3),
                "whole <= nullable",
            ],
            "snap_to_grid": True,
            "agreement": 0,
            "between": 1,
        },
    ],
)
def test_settings_mean_the_same_as_in_memory(settings, most_fellows, monkeypatch):
    monkeypatch.setattr(FELLOWS, most_fellows)
    table = mixed_table(160, seed=1)
    sampler = InteriorOverSampler(random_state=1, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortfallWarning)
        expected = in_memory(sampler, table)
        assert_same(*computed(sampler, table, 4), *expected)


@pytest.mark.parametrize("most_fellows", [1000, 9])
def test_rows_are_copied_and_warned_of_as_in_memory_where_a_class_is_too_much_alike(
    most_fellows, monkeypatch
):
    monkeypatch.setattr(FELLOWS, most_fellows)
    table = numeric_table(240)
    few = table["y"] == 1
    table.loc[few, [name for name in table if name != "y"]] = 1
    table.loc[few.idxmax(), "a"] = 2.0  # one row to move by, so that some are new
    sampler = InteriorOverSampler(random_state=0)
    with pytest.warns(ShortfallWarning) as here:
        expected = in_memory(sampler, table)
    assert set(expected[1]["origin"]) == {"interior", "copy"}
    assert (expected[1]["origin"] == "copy").sum() > 2 * few.sum()
    with pytest.warns(ShortfallWarning) as there:
        got = computed(sampler, table, 5)
    assert [str(one.message) for one in here] == [str(one.message) for one in there]
    assert_same(*got, *expected)


def test_rules_that_leave_no_row_are_refused_as_in_memory():
    table = numeric_table(120)
    table.loc[table["y"] == 1, "c"] = -50.0
    sampler = InteriorOverSampler(constraints="a <= c", random_state=0)
    with pytest.raises(ShortfallError) as here:
        in_memory(sampler, table)
    with pytest.raises(ShortfallError) as there:
        computed(sampler, table, 3)
    assert str(here.value) == str(there.value)


def test_an_f_without_probabilities_is_refused():
    sampler = InteriorOverSampler(estimator=LinearSVC(), random_state=0)
    with pytest.raises(ClassifierError, match="LinearSVC gives no probability of a class"):
        computed(sampler, numeric_table(120), 2)


@pytest.mark.slow
@pytest.mark.parametrize("most_fellows", [1000, 9])
def test_a_rerun_uses_the_keys_that_are_whole_and_makes_damaged_ones_anew(
    most_fellows, monkeypatch, tmp_path
):
    monkeypatch.setattr(FELLOWS, most_fellows)
    source = write_parts(mixed_table(160), tmp_path / "in", 3)
    sampler, out = InteriorOverSampler(random_state=0), tmp_path / "out"
    with no_cluster(monkeypatch):
        balance_files(source, "y", tmp_path / "whole", sampler=sampler)
        with monkeypatch.context() as stopped:
            stopped.setattr(files, "write_result", stop)
            with pytest.raises(EngineError, match="stopped here"):
                balance_files(source, "y", out, sampler=sampler)
        saved = sorted((tmp_path / "out.partial/_work/found").glob("keys-*.npz"))
        assert {path.stat().st_mode & 0o777 for path in saved} == {0o600}
        damaged, *whole = saved
        damaged.write_bytes(damaged.read_bytes()[:-40])
        made = {path: path.stat().st_mtime_ns for path in saved}
        with monkeypatch.context() as stopped:
            stopped.setattr(files, "write_result", stop)
            with pytest.raises(EngineError, match="stopped here"):
                balance_files(source, "y", out, sampler=sampler)
        changed = [path for path in saved if path.stat().st_mtime_ns != made[path]]
        assert changed == [damaged]
        assert whole
        balance_files(source, "y", out, sampler=sampler)
    ours, theirs = ((tmp_path / name / "_manifest.json").read_text() for name in ("out", "whole"))
    assert ours == theirs


def stop(*_):
    raise EngineError("stopped here")
