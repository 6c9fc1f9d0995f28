"""Selection: the inversions of the smallest keys are taken."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import naive
from counterbalance import CounterfactualOverSampler
from counterbalance.classifier.second_opinion import SecondOpinion
from counterbalance.constraints.rules import Rules
from counterbalance.profile import profile_table
from counterbalance.samplers.counterfactual import find_inversions
from counterbalance.search.draws import Space, stream, uniform
from counterbalance.search.inversions import (
    KEY_COUNTER,
    POWER,
    Inversions,
    is_every,
    keys,
    most_inversions,
    nearest_of_each,
    smallest,
)
from counterbalance.table.table import read_table

F = LogisticRegression(class_weight="balanced")


def table(n_rows=240, seed=0):
    return make_classification(n_rows, 5, weights=[0.8], flip_y=0.1, random_state=seed)


def found_by_hand(n, n_draws=1, distance=None):
    """Return inversions of n factuals with one changed cell each, of every draw."""
    factual, draw = (part.ravel() for part in np.indices((n, n_draws)))
    far = np.ones(n * n_draws) if distance is None else np.asarray(distance, dtype=float)
    old = np.zeros((n * n_draws, 1))
    return Inversions.from_rows(factual, np.ones_like(factual), far, old, old + 1, draw, draw + 1)


def space(seed=0, first_row=0):
    read = read_table(np.arange(4.0)[:, None])
    profile = profile_table(read, np.array([0, 0, 1, 1]))
    rules = Rules.none(1)
    return Space(profile, read.grid, rules, np.array([0]), seed, first_row=first_row)


class Fixed:
    """A second opinion that says what stands in the first cell."""

    def scores(self, rows, target):
        del target
        return rows[:, 0]


@pytest.mark.parametrize("search", ["minimum", "perturb"])
def test_the_selection_is_that_of_plain_loops(search):
    X, y = table()
    sampler = CounterfactualOverSampler(
        estimator=F, search=search, sampling_strategy=0.35, random_state=0
    )
    X_new, _ = sampler.fit_resample(X, y)
    prepared = sampler.prepare(X, y)
    found = find_inversions(prepared, prepared.predict(), [1], search)
    rows = found.rows(X[found.factual])
    nominal = np.zeros(X.shape[1], dtype=bool)
    scores = naive.second_opinion(X, y, np.ones(len(X)), nominal, rows, found.target)
    listed = zip(found.factual, found.draw, found.target, scores, strict=True)
    expected = naive.draw_by_score(
        [(int(r), int(t), int(i), s) for r, t, i, s in listed],
        len(X_new) - len(X),
        prepared.space.seed,
        POWER,
    )
    assert 0 < len(expected) < len(found)
    taken = [
        place
        for place, pair in enumerate(zip(found.factual, found.draw, strict=True))
        if tuple(map(int, pair)) in set(expected)
    ]
    np.testing.assert_array_equal(X_new[len(X) :], rows[taken])
    np.testing.assert_array_equal(sampler.provenance_["factual"], found.factual[taken])


def test_rows_that_the_second_opinion_calls_the_class_are_taken_rather_than_others():
    X, y = table(800)
    every = CounterfactualOverSampler(sampling_strategy="all", random_state=0)
    some = CounterfactualOverSampler(sampling_strategy=0.35, random_state=0)
    opinion = SecondOpinion.fit(X, y, np.ones(len(X)), np.zeros(5, dtype=bool))
    mean = []
    for sampler in (every, some):
        new = sampler.fit_resample(X, y)[0][len(X) :]
        mean.append(opinion.scores(new, np.ones(len(new), dtype=np.intp)).mean())
    assert len(every.provenance_) > 2 * len(some.provenance_)
    assert mean[1] > mean[0] + 0.05


def test_the_chance_to_be_taken_goes_with_the_power_of_the_score():
    trials = 2000
    found, rows = found_by_hand(2), np.array([[0.2], [0.8]])
    first = 0
    for seed in range(trials):
        key = keys(space(seed), found, rows, Fixed())
        first += key[1] < key[0]
    expected = 0.8**POWER / (0.8**POWER + 0.2**POWER)
    assert first / trials == pytest.approx(expected, abs=4 * np.sqrt(0.25 / trials))


def test_a_row_that_the_second_opinion_would_never_have_still_has_a_key():
    key = keys(space(), found_by_hand(50), np.zeros((50, 1)), Fixed())
    assert np.isfinite(key).all()
    assert (key > 0).all()


def test_the_key_of_a_row_has_nothing_to_do_with_what_was_drawn_for_it():
    """Smaller counters belong to the perturbations."""
    found = found_by_hand(2000)
    key = keys(space(5), found, np.ones((2000, 1)), Fixed())
    state = stream(5, found.factual, found.draw)
    np.testing.assert_allclose(key, -np.log(uniform(state, KEY_COUNTER + 1)))
    for feature in range(6):
        assert abs(np.corrcoef(key, uniform(state, feature))[0, 1]) < 0.1


def test_the_key_belongs_to_the_row_of_the_whole_table():
    found, rows = found_by_hand(9), np.full((9, 1), 0.5)
    part = found.take(slice(4, None))
    moved = Inversions(part.factual - 4, *(getattr(part, name) for name in COLUMNS))
    np.testing.assert_array_equal(
        keys(space(first_row=4), moved, rows[4:], Fixed()),
        keys(space(), found, rows, Fixed())[4:],
    )


COLUMNS = ("target", "draw", "round", "distance", "count", "feature", "value")


def test_of_equal_keys_the_earlier_factual_and_draw_are_taken():
    taken = smallest(found_by_hand(4, 2), np.zeros(8), 3)
    assert taken.factual.tolist() == [0, 0, 1]
    assert taken.draw.tolist() == [0, 1, 0]


def test_the_smallest_keys_come_in_the_order_in_which_they_were_found():
    found = found_by_hand(5)
    assert smallest(found, np.array([4.0, 1.0, 3.0, 0.0, 2.0]), 3).factual.tolist() == [1, 3, 4]
    assert len(smallest(found, np.arange(5.0), 9)) == 5


def test_of_several_draws_the_nearest_is_taken_and_of_equal_ones_the_earlier():
    found = found_by_hand(3, 3, distance=[3, 1, 2, 5, 5, 5, 4, 2, 2])
    taken = nearest_of_each(found)
    assert taken.factual.tolist() == [0, 1, 2]
    assert taken.draw.tolist() == [1, 0, 1]
    assert len(nearest_of_each(found.take(slice(0, 0)))) == 0


def test_the_most_that_a_class_can_get_are_the_rows_of_larger_classes():
    assert most_inversions(np.array([50, 10, 30, 10])) == {1: 80, 2: 50, 3: 80}
    assert is_every("all")
    assert not is_every("auto")
    assert not is_every({0: 3})
