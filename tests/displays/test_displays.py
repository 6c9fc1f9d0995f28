"""Displays draw what the sampler made, on the axes they are given, and return them."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler
from counterbalance.displays import BoundaryDisplay, CounterfactualDisplay
from counterbalance.errors import ClassifierError, TableError

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    n = 150
    X = pd.DataFrame(
        {
            "age $x_{": rng.integers(20, 80, n),
            "dose": rng.normal(5, 2, n),
            "ward": rng.choice(["A", "B$", "C"], n),
            "smoker": rng.choice([True, False], n),
        }
    )
    X.loc[3, "dose"] = np.nan
    y = pd.Series(np.where(X["age $x_{"] + rng.normal(0, 5, n) > 62, "_high", "low"))
    sampler = CounterfactualOverSampler(n_draws=20, random_state=0)
    return sampler, *sampler.fit_resample(X, y)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], [80, 40, 30])
    X = rng.normal(size=(150, 3)) + 1.5 * y[:, None]
    sampler = CounterfactualOverSampler(n_draws=20, random_state=0)
    return sampler, *sampler.fit_resample(X, y)


def test_arrows_lead_from_factuals_to_counterfactuals(numbers):
    sampler, X, y = numbers
    display = CounterfactualDisplay.from_sampler(sampler, X, y, features=[0, 2], max_pairs=1000)
    arrows = next(item for item in display.ax_.collections if hasattr(item, "U"))
    provenance = sampler.provenance_
    places = X[:, [0, 2]]
    start, end = places[provenance["factual"]], places[provenance["sample"]]
    np.testing.assert_allclose(arrows.XY, start)
    np.testing.assert_allclose(np.column_stack([arrows.U, arrows.V]), end - start)


def test_by_default_the_two_most_changed_features_are_shown(mixed):
    sampler, X, y = mixed
    display = CounterfactualDisplay.from_sampler(sampler, X, y)
    share = sampler.provenance_.changed_mask().mean(axis=0)
    assert display.projection.features == tuple(np.argsort(-share, kind="stable")[:2])
    assert list(display.changed.values()) == sorted(share[share > 0], reverse=True)


def test_plot_returns_the_axes_it_was_given(mixed):
    sampler, X, y = mixed
    figure, axes = plt.subplots(1, 2)
    display = CounterfactualDisplay.from_sampler(sampler, X, y, ax=axes[0])
    assert display.ax_ is axes[0]
    assert display.plot("changes", ax=axes[1]) is axes[1]
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert len(axes[1].patches) == len(display.changed)
    boundary = BoundaryDisplay.from_sampler(sampler, X, y, grid_resolution=20)
    assert boundary.plot(ax=axes[0]) is axes[0] is boundary.ax_


def test_names_that_matplotlib_would_read_are_drawn_as_they_are(mixed):
    sampler, X, y = mixed
    display = CounterfactualDisplay.from_sampler(sampler, X, y, features=["age $x_{", "ward"])
    display.figure_.canvas.draw()
    ticks = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert ticks == ["A", r"B\$", "C"]
    legend = [text.get_text().strip("\u200b") for text in display.ax_.get_legend().get_texts()]
    assert legend == ["_high, real", "_high, new", "low, real"]
    display.plot("changes").figure.canvas.draw()


def test_a_table_of_two_columns_is_coloured_by_what_the_classifier_says():
    X, y = make_classification(
        200, n_features=2, n_redundant=0, weights=[0.8], n_clusters_per_class=1, random_state=0
    )
    f = LogisticRegression(class_weight="balanced").fit(X, y)
    display = BoundaryDisplay.from_estimator(f, X, y, grid_resolution=40)
    assert display.ax_.get_xlabel() == "x0"
    places = np.column_stack([side.ravel() for side in np.meshgrid(*display.grid)])
    assert np.array_equal(display.answers.ravel(), f.predict(places))


def test_a_place_among_rows_of_one_answer_has_it_and_one_far_from_all_rows_has_none():
    rng = np.random.default_rng(0)
    X = rng.normal(0, 0.1, (80, 3))
    X[:40, 0] -= 1
    X[40:, 0] += 1
    y = np.repeat(["a", "b"], 40)
    f = LogisticRegression().fit(X, y)
    display = BoundaryDisplay.from_estimator(f, X, y, features=[0, 1], grid_resolution=60)
    assert set(np.unique(display.answers)) == {-1, 0, 1}
    assert 1 not in display.answers[:, :25]
    assert 0 not in display.answers[:, 35:]


def test_a_class_that_only_the_classifier_knows_is_coloured_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[150:, 0] += 12  # far to the right, where the classifier answers a class that y lacks
    y = (X[:, 1] > 0.7).astype(int)
    f = LogisticRegression(class_weight="balanced").fit(X, np.where(X[:, 0] > 6, 7, y))
    display = BoundaryDisplay.from_estimator(f, X, y, features=[0, 1])
    assert display.classes.tolist() == [0, 1, 7]
    assert set(display.answers[:, 130:].ravel()) == {-1, 2}


def test_any_classifier_can_be_drawn_and_new_rows_are_told_from_real_ones(numbers):
    sampler, X, y = numbers
    f = LogisticRegression().fit(X, y)
    display = BoundaryDisplay.from_sampler(sampler, X, y, estimator=f, grid_resolution=30)
    assert display.new.sum() == len(sampler.provenance_)
    assert set(np.unique(display.answers)) == {-1, 0, 1, 2}
    real = BoundaryDisplay.from_estimator(f, X, y, features=[0, 1], grid_resolution=30)
    assert not real.new.any()
    assert real.ax_.get_xlabel() == "x0"


def test_few_of_many_rows_are_drawn(numbers):
    sampler, X, y = numbers
    display = CounterfactualDisplay.from_sampler(sampler, X, y, max_pairs=5)
    arrows = next(item for item in display.ax_.collections if hasattr(item, "U"))
    assert len(arrows.U) == 5
    assert "(5 of" in display.ax_.get_title()


def test_what_cannot_be_drawn_is_refused(mixed, numbers):
    sampler, X, y = numbers
    with pytest.raises(TableError, match="call its fit_resample first"):
        CounterfactualDisplay.from_sampler(CounterfactualOverSampler(), X, y)
    with pytest.raises(TableError, match="call its fit_resample first"):
        BoundaryDisplay.from_sampler(CounterfactualOverSampler(), X, y)
    with pytest.raises(TableError, match="features must be two columns"):
        BoundaryDisplay.from_sampler(sampler, X, y, features=[0])
    with pytest.raises(TableError, match="twice"):
        BoundaryDisplay.from_sampler(sampler, X, y, features=[0, 0])
    with pytest.raises(TableError, match="'height', which the table does not have"):
        CounterfactualDisplay.from_sampler(mixed[0], *mixed[1:], features=["dose", "height"])
    with pytest.raises(TableError, match="at least two features"):
        BoundaryDisplay.from_estimator(LogisticRegression(), X[:, :1], y)
    with pytest.raises(ClassifierError, match="cannot predict rows of X"):
        BoundaryDisplay.from_estimator(LogisticRegression(), X, y)
    with pytest.raises(TableError, match="kind must be 'pairs' or 'changes'"):
        CounterfactualDisplay.from_sampler(sampler, X, y, kind="bars")


def test_without_matplotlib_the_error_names_the_install_line(numbers, monkeypatch):
    sampler, X, y = numbers
    for module in ("matplotlib", "matplotlib.pyplot", "matplotlib.colors"):
        monkeypatch.setitem(sys.modules, module, None)
    install = r"pip install 'counterbalance\[plot\]'"
    with pytest.raises(ImportError, match=install):
        CounterfactualDisplay.from_sampler(sampler, X, y)
    with pytest.raises(ImportError, match=install):
        BoundaryDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
