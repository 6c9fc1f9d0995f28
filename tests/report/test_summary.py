"""What a fitted sampler did, as a summary: on real and on mixed tables of every container."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.over_sampling import SMOTE
from scipy import sparse
from sklearn.datasets import make_classification

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.constraints import Immutable, Increasing
from counterbalance.datasets import load_wisconsin
from counterbalance.errors import ShortfallWarning, TableError
from counterbalance.report import SummaryError, render, summarise_sampler
from counterbalance.report.rows import MOST_COLUMNS, as_text, pair_as_text


def resample(X, y, **settings):
    sampler = CounterfactualOverSampler(**({"random_state": 0} | settings))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortfallWarning)
        X_resampled, y_resampled = sampler.fit_resample(X, y)
    return sampler, X, y, X_resampled, y_resampled


def mixed_frame(n=240):
    """Return a frame of every kind of column with missing cells, and three classes."""
    rng = np.random.default_rng(1)
    size = rng.normal(size=n)
    y = np.select([size > 1.1, size > 0.5], ["high", "middle"], "low")
    X = pd.DataFrame(
        {
            "size": (size + rng.normal(0, 0.2, n)).round(2),
            "age": rng.integers(18, 80, n),
            "ward": rng.choice(["A", "B", "C"], n),
            "grade": pd.Categorical(
                np.select([size > 0.8, size > 0], ["III", "II"], "I"),
                ["I", "II", "III"],
                ordered=True,
            ),
            "smoker": rng.random(n) < 0.4,
            "constant": 1.0,
        },
        index=[f"patient {k}" for k in range(n)],
    )
    X.loc[X.index[::7], "size"] = np.nan
    X.loc[X.index[::11], "ward"] = None
    return X, y


@pytest.fixture(scope="module")
def wisconsin():
    data = load_wisconsin()
    return resample(data.X, data.y)


@pytest.fixture(scope="module")
def mixed():
    X, y = mixed_frame()
    return resample(X, y, constraints=[Immutable("ward"), Increasing("age")])


def test_the_sections_of_a_sampler_are_these(wisconsin):
    assert set(summarise_sampler(*wisconsin)) == {"map", "explorer", "features"}
    alone = summarise_sampler(*wisconsin, alone=True, file="w.csv", target="Class")
    assert set(alone) == {
        "title", "verdict", "data", "map", "explorer", "features", "settings", "versions", "cite",
        "reproduce",
    }  # fmt: skip


def test_without_rows_no_cell_of_a_row_is_in_the_summary(mixed):
    summary = summarise_sampler(*mixed, alone=True, rows=False)
    assert {"map", "explorer"}.isdisjoint(summary)
    assert "patient" not in json.dumps(summary)
    assert not any("The nearest" in text for text in summary["verdict"]["sentences"])


def test_a_summary_is_plain_json_and_the_page_takes_it(mixed):
    summary = summarise_sampler(*mixed, alone=True)
    again = json.loads(json.dumps(summary, allow_nan=False))
    assert render(again) == render(summary)


def test_the_pairs_of_the_explorer_are_the_rows_of_the_tables(wisconsin):
    sampler, X, _, X_resampled, _ = wisconsin
    shown = summarise_sampler(*wisconsin)["explorer"]
    assert shown["total"] == len(shown["rows"]) == len(sampler.provenance_)
    for row in shown["rows"]:
        old, new = X.iloc[row["factual"]], X_resampled.iloc[row["sample"]]
        for place, name in enumerate(shown["columns"]):
            assert row["old"][place] == as_text(old[name])
            assert row["new"][place] == as_text(new[name])
            assert (row["old"][place] != row["new"][place]) == (place in row["changed"])


def test_the_explorer_lists_the_nearest_first(wisconsin):
    distance = [row["distance"] for row in summarise_sampler(*wisconsin)["explorer"]["rows"]]
    assert distance == sorted(distance)


def test_the_explorer_is_bounded_and_says_what_it_leaves_out():
    X, y = make_classification(
        900, n_features=60, n_informative=5, weights=[0.8], random_state=0, flip_y=0
    )
    shown = summarise_sampler(*resample(X, y, estimator="ridge"))["explorer"]
    assert len(shown["columns"]) == MOST_COLUMNS
    assert shown["columns_left_out"] == 20
    assert shown["total"] - len(shown["rows"]) > 0
    page = render({"explorer": shown})
    assert f"{len(shown['rows'])} of {shown['total']} new rows are shown" in page
    assert "20 columns that change least are left out" in page


def test_mixed_tables_with_missing_cells_three_classes_and_constraints(mixed):
    summary = summarise_sampler(*mixed, alone=True)
    names = {row["name"] for row in summary["features"]["rows"]}
    assert "ward" not in names
    assert "constant" not in names
    by_name = {column["name"]: column for column in summary["data"]["columns"]}
    assert by_name["grade"]["kind"] == "ordinal"
    assert by_name["size"]["missing"] == 35
    assert by_name["constant"]["distinct"] == 1
    assert all(row["name"].startswith("patient ") for row in summary["explorer"]["rows"])
    for text in ("high, real", "high, new", "middle, new", "low, real"):
        assert text in summary["map"][0]["svg"]


def test_shares_and_typical_changes_of_features_are_counted_from_the_provenance(wisconsin):
    sampler, X, _, X_resampled, _ = wisconsin
    provenance = sampler.provenance_
    first = summarise_sampler(*wisconsin)["features"]["rows"][0]
    m = list(X.columns).index(first["name"])
    changed = provenance.changed_mask()[:, m]
    assert first["share"] == changed.mean() == provenance.changed_mask().mean(axis=0).max()
    column = X_resampled.iloc[:, m].to_numpy()
    step = column[provenance["sample"]] - column[provenance["factual"]]
    size = f"{np.median(np.abs(step[changed])):.4g}"
    assert first["typical"] == f"by {size}, up in {np.mean(step[changed] > 0):.0%}"


def test_counts_of_classes_are_those_before_the_new_ones_and_those_after(wisconsin):
    _, _, y, _, y_resampled = wisconsin
    for item in summarise_sampler(*wisconsin, alone=True)["data"]["classes"]:
        assert item["count"] == (y == item["label"]).sum()
        assert item["after"] == item["count"] + item["new"] == (y_resampled == item["label"]).sum()


def test_rows_that_are_no_inversions_are_named():
    X, y = make_classification(200, n_features=4, weights=[0.9], random_state=0)
    arguments = resample(X, y, n_draws=1, epsilon=0.5, on_shortfall="fill")
    found = arguments[0].provenance_["origin"].tolist().count("interior")
    sentences = summarise_sampler(*arguments, alone=True)["verdict"]["sentences"]
    assert any(text.startswith(f"{found} ") and "within" in text for text in sentences)


@pytest.mark.slow
@pytest.mark.parametrize("container", ["numpy", "list", "sparse", "polars", "objects"])
def test_every_container_is_summarised(container):
    X, y = make_classification(150, n_features=5, weights=[0.75], random_state=0)
    X = X.round(1)
    table = {
        "numpy": lambda: X,
        "list": X.tolist,
        "sparse": lambda: sparse.csr_matrix(np.where(X > 0, X, 0)),
        "polars": lambda: pl.DataFrame(X).with_columns(text=pl.Series(np.where(y, "a", "b"))),
        "objects": lambda: np.column_stack([np.where(y, "a", "b").astype(object), X]),
    }[container]()  # fmt: skip
    summary = summarise_sampler(
        *resample(table, y.tolist() if container == "list" else y), alone=True
    )
    assert summary["explorer"]["rows"]
    after = [item["after"] for item in summary["data"]["classes"]]
    assert sum(after) == 150 + summary["explorer"]["total"]
    assert render(summary)


def test_two_columns_can_be_chosen_for_the_map(wisconsin):
    drawn = summarise_sampler(*wisconsin, features=("CellSize", 8))["map"][0]["svg"]
    assert "CellSize" in drawn
    assert "Mitoses" in drawn
    assert "principal" not in drawn


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("size", "must be two columns, got 'size'"),
        (("size", "size"), "must be two columns, got 'size' twice"),
        (("size", "nope"), "names the column 'nope', which the table does not have"),
    ],
)
def test_axes_that_cannot_be_drawn_are_refused(mixed, features, message):
    with pytest.raises(TableError, match=message):
        summarise_sampler(*mixed, features=features)


def test_a_single_column_has_a_page_without_a_map():
    X = np.arange(30.0).reshape(-1, 1)
    summary = summarise_sampler(*resample(X, np.repeat([0, 1], [22, 8])), alone=True)
    assert "map" not in summary
    assert render(summary)


def test_many_classes_do_not_make_a_large_page():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(20), np.where(np.arange(20) % 2, 130, 160))
    X = rng.normal(size=(len(y), 3)) + y[:, None] * [1.0, 0.5, -1.0]
    arguments = resample(X, y, n_draws=3, estimator="ridge", on_shortfall="fill")
    summary = summarise_sampler(*arguments, alone=True)
    assert summary["verdict"]["headline"] == "300 rows added; all 20 classes now have 160"
    assert len(render(summary)) < 1_000_000


def test_rows_named_by_an_index_of_several_levels_keep_their_names():
    X, y = make_classification(80, n_features=4, weights=[0.7], random_state=0)
    index = pd.MultiIndex.from_product([["north", "south"], range(40)])
    arguments = resample(pd.DataFrame(X, index=index), pd.Series(y, index=index))
    names = [row["name"] for row in summarise_sampler(*arguments)["explorer"]["rows"]]
    assert all(name.startswith(("('north', ", "('south', ")) for name in names)


def test_nothing_to_balance_has_no_explorer():
    X, y = make_classification(100, n_features=4, weights=[0.5], flip_y=0, random_state=0)
    summary = summarise_sampler(*resample(X, y, sampling_strategy={0: 50, 1: 50}), alone=True)
    assert "explorer" not in summary
    assert summary["verdict"]["headline"].startswith("No rows added")
    assert render(summary)


def test_the_same_sampler_gives_the_same_page(mixed):
    assert render(summarise_sampler(*mixed)) == render(summarise_sampler(*mixed))


def test_rows_made_within_their_class_are_not_called_counterfactuals(wisconsin):
    _, X, y, _, _ = wisconsin
    sampler = InteriorOverSampler(random_state=0)
    summary = summarise_sampler(sampler, X, y, *sampler.fit_resample(X, y), alone=True)
    sentences, caveats = summary["verdict"]["sentences"], summary["verdict"]["caveats"]
    assert sentences[0] == "217 were made within their class and are not counterfactuals."
    assert len(summary["map"]) == 1  # no pairs
    assert not any("counterfactual says" in text for text in caveats)
    text = render(summary)
    assert "of the 217 new rows in which each feature changed" in text
    assert "malignant →" not in text


def test_a_sampler_without_provenance_is_refused():
    X, y = make_classification(60, weights=[0.7], random_state=0)
    smote = SMOTE(random_state=0)
    with pytest.raises(SummaryError, match="SMOTE without provenance_"):
        summarise_sampler(smote, X, y, *smote.fit_resample(X, y))


def test_tables_of_another_run_are_refused(wisconsin):
    sampler, X, y, X_resampled, y_resampled = wisconsin
    with pytest.raises(SummaryError, match="pass what went into its last fit_resample"):
        summarise_sampler(sampler, X, y, X_resampled.iloc[:-1], y_resampled)


def test_values_that_differ_look_different_and_large_numbers_are_written_out():
    assert pair_as_text(1.00001, 1.00002) == ("1.00001", "1.00002")
    assert pair_as_text(np.float32(0.1), np.float32(0.2)) == ("0.1", "0.2")
    assert pair_as_text(80000.0, 111398.25) == ("80000", "111398")
    assert [as_text(number) for number in (9999.6, -123456.7, 1e300)] == [
        "10000",
        "-123457",
        "1e+300",
    ]
    assert as_text("x" * 100).endswith("…")
    assert [as_text(cell) for cell in (None, pd.NA, np.nan)] == ["—"] * 3


def test_the_headline_counts_rows_and_an_inflated_class_is_warned_of(wisconsin):
    verdict = summarise_sampler(*wisconsin, alone=True)["verdict"]
    assert verdict["headline"] == "217 rows added; both classes now have 458"
    rng = np.random.default_rng(0)
    y = np.repeat(["usual", "rare"], [500, 6])
    X = pd.DataFrame(rng.normal(size=(506, 4)), columns=list("abcd"))
    arguments = resample(X, y, n_draws=1)
    summary = summarise_sampler(*arguments, alone=True)
    verdict = summary["verdict"]
    assert verdict["headline"] == "494 rows added; both classes now have 500"
    assert any("made within their class" in text for text in verdict["sentences"])
    assert verdict["caveats"][0].startswith("Warning: class 'rare' has 6 rows and got 494 new ones")
    assert "sampling_strategy={'rare': 66}" in verdict["caveats"][0]
    assert "--ratio rare=66" in verdict["caveats"][0]
    assert "has 6 rows and got 494" in render(summary)


def test_the_headline_names_a_class_that_grew_beside_others():
    rng = np.random.default_rng(0)
    y = np.repeat(["usual", "seldom", "rare"], [60, 30, 20])
    X = rng.normal(size=(110, 3)) + (y == "usual")[:, None]
    summary = summarise_sampler(*resample(X, y, sampling_strategy={"rare": 40}), alone=True)
    assert summary["verdict"]["headline"] == "20 rows added; rare now has 40"


def test_what_was_searched_is_in_the_table_by_the_class_that_got_rows():
    rng = np.random.default_rng(0)
    y = np.repeat([1, 2, 3, 5], [60, 40, 30, 20])
    X = rng.normal(size=(150, 4)) + 2 * (y == 1)[:, None]
    arguments = resample(X, y)
    summary = summarise_sampler(*arguments, alone=True)
    classes = {item["label"]: item for item in summary["data"]["classes"]}
    found = sum(got.inversions for (_, to), got in arguments[0].yield_.items() if to == 5)
    assert classes["5"]["inverted"] == found
    assert classes["1"]["new"] == classes["1"]["inverted"] == 0
    assert "Rows searched" in render(summary)


def test_labels_that_are_numbers_are_said_to_be_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.repeat([0, 5], [70, 20])
    X[y == 5] += 1
    verdict = summarise_sampler(*resample(X, y, sampling_strategy={5: 60}), alone=True)["verdict"]
    assert verdict["headline"] == "40 rows added; class 5 now has 60"
    assert any("it class 5, distance" in text for text in verdict["sentences"])
