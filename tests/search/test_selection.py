"""Selection: the inversions of the smallest keys are taken."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import naive
from counterbalance import CounterfactualOverSampler
from counterbalance.classifier.agreement import Agreement
from counterbalance.prepare import make_ranking
from counterbalance.search.draws import stream
from counterbalance.search.inversions import Inversions
from counterbalance.search.selection import POWER, Ranking, select

F = LogisticRegression(class_weight="balanced")


def table(n_rows=240, seed=0):
    return make_classification(n_rows, 5, weights=[0.8], flip_y=0.1, random_state=seed)


def found_by_hand(n, n_draws=1):
    factual, draw = (part.ravel() for part in np.indices((n, n_draws)))
    ones = np.ones(n * n_draws, dtype=np.int32)
    distance = np.ones(n * n_draws)
    return Inversions(factual, ones, draw.astype(np.int32), ones, distance, distance)


def test_the_selection_by_agreement_is_that_of_the_slow_twin():
    X, y = table()
    sampler = CounterfactualOverSampler(
        estimator=F, sampling_strategy=0.4, minimal=False, random_state=0
    )
    sampler.fit_resample(X, y)
    prepared = sampler.prepare(X, y)
    problem, judged = prepared.problem, prepared.judged()
    found = problem.find(judged, 0, [1])
    asked = len(sampler.provenance_)
    assert len(found) >= 3 * asked  # so there are no further passes
    boosting = make_ranking("agreement", problem, None).judges.boosting
    scores = [
        naive.agreement(boosting, X, y, np.ones(len(X)), row, 1) for row in problem.rebuild(found)
    ]
    columns = (found.factual.tolist(), found.draw.tolist(), found.target.tolist(), scores)
    expected = naive.draw_by_agreement(zip(*columns, strict=True), asked, problem.space.seed, POWER)
    assert sampler.provenance_["factual"].tolist() == [factual for factual, _ in expected]


def test_rows_that_the_judges_call_the_class_are_taken_rather_than_others():
    X, y = table(800)
    mean = {}
    for how in ("agreement", "random"):
        sampler = CounterfactualOverSampler(
            estimator=F, selection=how, sampling_strategy=0.4, random_state=0
        )
        X_new, _ = sampler.fit_resample(X, y)
        judges = Agreement.fit(X, y, np.ones(len(X)), np.zeros(5, dtype=bool), 2, 0)
        new = X_new[len(X) :]
        mean[how] = judges.scores(new, np.ones(len(new), dtype=np.intp)).mean()
    assert mean["agreement"] > mean["random"] + 0.05


def test_the_chance_to_be_taken_goes_with_the_power_of_the_score():
    n, trials = 2, 4000

    class Fixed:
        def scores(self, rows, target):
            del target
            return rows[:, 0]

    ranking = Ranking("agreement", Fixed())
    found, rows = found_by_hand(n), np.array([[0.2], [0.8]])
    first = 0
    for seed in range(trials):
        keys = ranking.keys(found, stream(seed, found.factual, found.draw), rows)
        first += keys[1] < keys[0]
    expected = 0.8**POWER / (0.8**POWER + 0.2**POWER)
    assert first / trials == pytest.approx(expected, abs=4 * np.sqrt(0.25 / trials))


def test_a_row_that_no_judge_would_have_is_taken_last_but_has_a_key():
    class Never:
        def scores(self, rows, target):
            del target
            return np.zeros(len(rows))

    found = found_by_hand(50)
    state = stream(0, found.factual, found.draw)
    keys = Ranking("agreement", Never()).keys(found, state, np.zeros((50, 1)))
    assert np.isfinite(keys).all()
    assert (keys > 0).all()


def test_the_lot_of_a_row_has_nothing_to_do_with_what_was_drawn_for_it():
    """Counters up to the number of features belong to the perturbations."""
    found = found_by_hand(2000)
    state = stream(5, found.factual, found.draw)
    keys = Ranking("agreement", None).keys(found, state, None)  # the lots of a random selection

    class Sure:
        def scores(self, rows, target):
            del target
            return np.ones(len(rows))

    lots = Ranking("agreement", Sure()).keys(found, state, np.zeros((2000, 1)))
    assert abs(np.corrcoef(keys, lots)[0, 1]) < 0.1


def test_of_equal_keys_the_earlier_factual_and_draw_are_taken():
    taken = select(found_by_hand(4, 2), 3)
    assert taken.factual.tolist() == [0, 0, 1]
    assert taken.draw.tolist() == [0, 1, 0]


@pytest.mark.parametrize("parameters", [{"n_jobs": 3}, {"working_memory": 0.01}])
def test_jobs_and_memory_never_change_what_is_selected(parameters):
    X, y = table(600)
    once = CounterfactualOverSampler(random_state=0).fit_resample(X, y)[0]
    again = CounterfactualOverSampler(random_state=0, **parameters).fit_resample(X, y)[0]
    assert again.tobytes() == once.tobytes()
