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
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.constraints import Immutable, Increasing
from counterbalance.datasets import load_wisconsin
from counterbalance.errors import ShortfallWarning, TableError
from counterbalance.projection import spread_evenly
from counterbalance.report import Page, SummaryError, as_plain, render, summarise_sampler
from counterbalance.report.sections import (
    MOST_COLUMNS,
    as_text,
    centres,
    contours,
    frame_of,
    pair_as_text,
    project,
    regions_of,
    shares_nearby,
)
from counterbalance.table.table import read_table


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
    def shown(page):
        return {name for name, value in vars(page).items() if value} - {"language"}

    assert shown(summarise_sampler(*wisconsin)) == {"title", "map", "explorer", "features"}
    alone = summarise_sampler(*wisconsin, alone=True, file="w.csv", target="Class")
    assert shown(alone) == {
        "title", "verdict", "data", "map", "explorer", "features", "settings", "versions", "cite",
        "origins",
    }  # fmt: skip


def test_a_summary_is_plain_json_and_the_page_takes_it(mixed):
    summary = summarise_sampler(*mixed, alone=True)
    again = json.loads(json.dumps(as_plain(summary), allow_nan=False))
    assert render(again) == render(summary)


def test_the_pairs_of_the_explorer_are_the_rows_of_the_tables(wisconsin):
    sampler, X, _, X_resampled, _ = wisconsin
    shown = summarise_sampler(*wisconsin).explorer
    assert shown.total == len(shown.rows) == len(sampler.provenance_)
    for row in shown.rows:
        old, new = X.iloc[row.factual], X_resampled.iloc[row.sample]
        for place, name in enumerate(shown.columns):
            assert row.old[place] == as_text(old[name])
            assert row.new[place] == as_text(new[name])
            assert (row.old[place] != row.new[place]) == (place in row.changed)


def test_the_explorer_lists_the_nearest_first(wisconsin):
    distance = [row.distance for row in summarise_sampler(*wisconsin).explorer.rows]
    assert distance == sorted(distance)


def test_the_explorer_is_bounded_and_says_what_it_leaves_out():
    X, y = make_classification(
        900, n_features=60, n_informative=5, weights=[0.8], random_state=0, flip_y=0
    )
    shown = summarise_sampler(*resample(X, y, estimator="ridge")).explorer
    assert len(shown.columns) == MOST_COLUMNS
    assert shown.columns_left_out == 20
    assert 0 < shown.rows_left_out == shown.total - len(shown.rows)
    page = render(Page(explorer=shown))
    assert f"{len(shown.rows)} of {shown.total} new rows" in page
    assert "20 columns that change least are left out" in page


def test_mixed_tables_with_missing_cells_three_classes_and_constraints(mixed):
    summary = summarise_sampler(*mixed, alone=True)
    assert {points.label for points in summary.map.points if points.new} == {"high", "middle"}
    names = {row.name for row in summary.features.rows}
    assert "ward" not in names
    assert "constant" not in names
    by_name = {column.name: column for column in summary.data.columns}
    assert by_name["grade"].kind == "ordinal"
    assert by_name["size"].missing == 35
    assert by_name["constant"].distinct == 1
    assert all(row.name.startswith("patient ") for row in summary.explorer.rows)
    assert set(summary.map.regions.classes) == {"high", "middle", "low"}


def test_shares_and_typical_changes_of_features_are_counted_from_the_provenance(wisconsin):
    sampler, X, _, X_resampled, _ = wisconsin
    provenance = sampler.provenance_
    first = summarise_sampler(*wisconsin).features.rows[0]
    m = list(X.columns).index(first.name)
    changed = provenance.changed_mask()[:, m]
    assert first.share == changed.mean() == provenance.changed_mask().mean(axis=0).max()
    column = X_resampled.iloc[:, m].to_numpy()
    step = column[provenance["sample"]] - column[provenance["factual"]]
    size = f"{np.median(np.abs(step[changed])):.4g}"
    assert first.typical == f"by {size}, up in {np.mean(step[changed] > 0):.0%}"


def test_counts_of_classes_are_those_before_and_the_new_ones(wisconsin):
    _, _, y, _, y_resampled = wisconsin
    classes = summarise_sampler(*wisconsin, alone=True).data.classes
    for item in classes:
        assert item.count == (y == item.label).sum()
        assert item.count + item.new == (y_resampled == item.label).sum()


def test_rows_that_are_no_inversions_are_named():
    X, y = make_classification(200, n_features=4, weights=[0.9], random_state=0)
    arguments = resample(X, y, n_draws=1, epsilon=0.5, on_shortfall="fill")
    assert any(
        "interior" in text for text in summarise_sampler(*arguments, alone=True).verdict.sentences
    )


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
    assert summary.explorer.rows
    assert sum(points.total for points in summary.map.points) == 150 + summary.explorer.total
    assert render(summary)


def test_a_table_of_two_columns_shows_what_f_answers_exactly():
    X, y = make_classification(
        200, n_features=2, n_redundant=0, weights=[0.8], n_clusters_per_class=1, random_state=0
    )
    f = LogisticRegression(class_weight="balanced")
    arguments = resample(pd.DataFrame(X, columns=["a", "b"]), y, estimator=f)
    plan = summarise_sampler(*arguments).map
    assert plan.axes == ("a", "b")
    regions = plan.regions
    assert regions.exact
    frame = regions.x, regions.y
    points = pd.DataFrame(centres(frame), columns=["a", "b"])
    answers = arguments[0].estimator_.predict(points)
    assert np.array_equal(np.ravel(regions.cells), answers)
    # A straight boundary: every place of the line has nearly the same score.
    for line in regions.lines:
        inside = np.asarray(line)[1:-1]
        score = arguments[0].estimator_.decision_function(pd.DataFrame(inside, columns=["a", "b"]))
        assert np.abs(score).max() < 0.2


def test_two_columns_can_be_chosen_for_the_map(wisconsin):
    plan = summarise_sampler(*wisconsin, features=("CellSize", 8)).map
    assert plan.axes == ("CellSize", "Mitoses")
    assert not plan.regions.exact
    real = next(points for points in plan.points if not points.new)
    assert set(np.mod(real.x, 1)) == {0.0}


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("size", "must name two different columns"),
        (("size", "size"), "must name two different columns"),
        (("size", "nope"), "names the column 'nope', which the table does not have"),
        (("size", "ward"), "'ward', which has no order"),
    ],
)
def test_axes_that_cannot_be_drawn_are_refused(mixed, features, message):
    with pytest.raises(TableError, match=message):
        summarise_sampler(*mixed, features=features)


def test_f_answers_nearby_colour_the_map():
    left, right = np.full((40, 2), -1.0), np.full((40, 2), 1.0)
    points = np.vstack([left, right]) + np.random.default_rng(0).normal(0, 0.1, (80, 2))
    frame = frame_of(points)
    shares = shares_nearby(points, np.repeat([0, 1], 40), 2, frame)
    found = regions_of(shares, frame, ["a", "b"], exact=False)
    grid = np.array(found.cells)
    assert set(np.unique(grid)) == {-1, 0, 1}
    half = grid.shape[1] // 2
    assert 1 not in grid[:, : half - 10]
    assert 0 not in grid[:, half + 10 :]


def test_the_contour_of_a_disc_is_one_closed_circle():
    rows, columns = np.mgrid[0:41, 0:41]
    (line,) = contours(10.3 - np.hypot(rows - 20, columns - 20))
    line = np.array(line)
    assert np.array_equal(line[0], line[-1])
    assert np.allclose(np.hypot(*(line - 20).T), 10.3, atol=0.05)


def test_the_contour_stops_where_nothing_is_known():
    field = np.tile(np.linspace(-1, 1, 10), (6, 1))
    field[3] = np.nan
    lines = contours(field)
    assert sorted(len(line) for line in lines) == [2, 3]
    assert {place[0] for line in lines for place in line} == {4.5}


def test_a_saddle_and_a_flat_field_are_no_trouble():
    saddle = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert sorted(len(line) for line in contours(saddle)) == [2, 2]
    assert contours(np.zeros((5, 5))) == []


def test_the_projection_takes_constant_empty_and_huge_columns():
    frame = pd.DataFrame(
        {"empty": [np.nan] * 6, "one": [1.0] * 6, "huge": [1e300, -1e300, 1, 2, 3, 4.0]}
    )
    projection = project(read_table(frame), 6)
    assert np.isfinite(projection.points).all()


def test_a_single_column_has_a_map_too():
    X = np.arange(30.0).reshape(-1, 1)
    summary = summarise_sampler(*resample(X, np.repeat([0, 1], [22, 8])), alone=True)
    assert render(summary)


def test_many_classes_do_not_make_a_large_page():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(20), np.where(np.arange(20) % 2, 130, 160))
    X = rng.normal(size=(len(y), 3)) + y[:, None] * [1.0, 0.5, -1.0]
    arguments = resample(X, y, n_draws=3, estimator="ridge", on_shortfall="fill")
    summary = summarise_sampler(*arguments, alone=True)
    assert sum(len(points.x) for points in summary.map.points) <= 2800
    assert "1,800 of 2,900 real" in summary.map.notes[1]
    assert len(render(summary)) < 500_000


def test_rows_named_by_an_index_of_several_levels_keep_their_names():
    X, y = make_classification(80, n_features=4, weights=[0.7], random_state=0)
    index = pd.MultiIndex.from_product([["north", "south"], range(40)])
    arguments = resample(pd.DataFrame(X, index=index), pd.Series(y, index=index))
    names = [row.name for row in summarise_sampler(*arguments).explorer.rows]
    assert all(name.startswith(("('north', ", "('south', ")) for name in names)


def test_a_class_that_only_f_knows_is_no_part_of_the_map():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[150:, 0] += 12  # far to the right, where f answers a class that y does not have
    y = (X[:, 1] > 0.7).astype(int)
    f = LogisticRegression(class_weight="balanced").fit(X, np.where(X[:, 0] > 6, 7, y))
    arguments = resample(X, y, estimator=FrozenEstimator(f))
    regions = summarise_sampler(*arguments, features=("x0", "x1")).map.regions
    cells = np.array(regions.cells)
    assert regions.classes == ("0", "1")
    assert set(cells[:, :50].ravel()) >= {0, 1}
    assert set(cells[:, 110:].ravel()) == {-1}


def test_nothing_to_balance_has_no_explorer():
    X, y = make_classification(100, n_features=4, weights=[0.5], flip_y=0, random_state=0)
    summary = summarise_sampler(*resample(X, y, sampling_strategy={0: 50, 1: 50}), alone=True)
    assert summary.explorer is None
    assert summary.verdict.headline.startswith("No new rows")
    assert render(summary)


def test_the_same_sampler_gives_the_same_page(mixed):
    assert render(summarise_sampler(*mixed)) == render(summarise_sampler(*mixed))


def test_rows_made_within_their_class_are_not_called_counterfactuals(wisconsin):
    _, X, y, _, _ = wisconsin
    sampler = InteriorOverSampler(random_state=0)
    summary = summarise_sampler(sampler, X, y, *sampler.fit_resample(X, y), alone=True)
    sentences, caveats = summary.verdict.sentences, summary.verdict.caveats
    assert sentences[0] == "217 were made within their class and are no counterfactuals."
    assert summary.verdict.headline.endswith("made within their class")
    assert not any("counterfactual says" in text for text in caveats)
    text = render(summary)
    assert "of the 217 new rows each feature changed" in text
    assert "malignant <span" not in text


def test_a_sampler_without_provenance_is_refused():
    X, y = make_classification(60, weights=[0.7], random_state=0)
    smote = SMOTE(random_state=0)
    with pytest.raises(SummaryError, match="SMOTE without provenance_"):
        summarise_sampler(smote, X, y, *smote.fit_resample(X, y))


def test_tables_of_another_run_are_refused(wisconsin):
    sampler, X, y, X_resampled, y_resampled = wisconsin
    with pytest.raises(SummaryError, match="pass what went into its last fit_resample"):
        summarise_sampler(sampler, X, y, X_resampled.iloc[:-1], y_resampled)


def test_values_that_differ_look_different():
    assert pair_as_text(1.00001, 1.00002) == ("1.00001", "1.00002")
    assert pair_as_text(np.float32(0.1), np.float32(0.2)) == ("0.1", "0.2")
    assert as_text("x" * 100).endswith("…")
    assert [as_text(cell) for cell in (None, pd.NA, np.nan)] == ["—"] * 3


def test_rows_are_chosen_evenly():
    assert spread_evenly(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert spread_evenly(100, 3).tolist() == [0, 50, 99]
    assert spread_evenly(0, 3).tolist() == []


def test_the_headline_counts_counterfactuals_and_an_inflated_class_is_warned_of(wisconsin):
    verdict = summarise_sampler(*wisconsin, alone=True).verdict
    assert verdict.headline == "All 217 new rows of malignant are counterfactuals"
    rng = np.random.default_rng(0)
    y = np.repeat(["usual", "rare"], [500, 6])
    X = pd.DataFrame(rng.normal(size=(506, 4)), columns=list("abcd"))
    arguments = resample(X, y, n_draws=1)
    summary = summarise_sampler(*arguments, alone=True)
    verdict, origin = summary.verdict, arguments[0].provenance_["origin"].tolist()
    found = origin.count("inversion")
    first = f"{found} of 494 new rows of rare" if found else "No counterfactual in 494 new rows"
    assert verdict.headline.startswith(first)
    assert any("made within their class" in text for text in verdict.sentences)
    assert verdict.caveats[0].startswith("Warning: class 'rare' has 6 rows and got 494 new ones")
    assert "sampling_strategy={'rare': 66}" in verdict.caveats[0]
    assert "--ratio rare=66" in verdict.caveats[0]
    assert "has 6 rows and got 494" in render(summary)


def test_many_pairs_of_classes_are_a_table_by_the_class_they_gave_rows_to():
    rng = np.random.default_rng(0)
    y = np.repeat([1, 2, 3, 5], [60, 40, 30, 20])
    X = rng.normal(size=(150, 4)) + 2 * (y == 1)[:, None]
    arguments = resample(X, y)
    page = summarise_sampler(*arguments, alone=True)
    assert not any("could be turned into" in text for text in page.verdict.sentences)
    assert "new rows of 3 classes" in page.verdict.headline
    assert [row[0] for row in page.origins.rows] == ["2", "3", "5"]
    assert page.origins.columns[-2:] == ("rows searched", "inverted")
    found = sum(got.inversions for (_, to), got in arguments[0].yield_.items() if to == 5)
    assert page.origins.rows[-1][-1] == str(found)
    text = render(page)
    assert "What the new rows of each class are" in text
    assert "Inverted" in text


def test_labels_that_are_numbers_are_said_to_be_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.repeat([0, 5], [70, 20])
    X[y == 5] += 1
    verdict = summarise_sampler(*resample(X, y), alone=True).verdict
    assert "50 new rows of class 5" in verdict.headline
    assert any("rows of class 0 could be turned into class 5" in text for text in verdict.sentences)
    assert any("it class 5, distance" in text for text in verdict.sentences)


def test_a_table_of_origins_with_a_cell_too_few_is_refused():
    broken = {"verdict": {"headline": "x"}, "origins": {"columns": ["class", "a"], "rows": [["b"]]}}
    with pytest.raises(SummaryError, match=r"\['origins'\]\['rows'\]\[0\] has 1 cells for 2"):
        render(broken)
