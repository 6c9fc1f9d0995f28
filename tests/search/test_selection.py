"""Selection: the inversions of the smallest keys are taken."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import naive
from counterbalance import CounterfactualOverSampler
from counterbalance.classifier.agreement import Agreement
from counterbalance.prepare import make_ranking
from counterbalance.rows.shortfall import POOL
from counterbalance.search.draws import stream, uniform
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


def by_hand(sampler, X, y):
    """Return the (factual, draw) of a selection by agreement, by the slow twin and plain loops."""
    prepared = sampler.prepare(X, y)
    problem, judged, seed = prepared.problem, prepared.judged(), prepared.problem.space.seed
    asked = int((y == 0).sum() * sampler.sampling_strategy) - int((y == 1).sum())
    boosting = make_ranking("agreement", problem, None).judges.boosting
    twin = partial(naive.agreement, boosting, X, y, np.ones(len(X)), np.zeros(X.shape[1], bool))
    pool, seen, likely, n_passes = [], set(), None, 0
    while len(pool) < POOL * asked:
        found = problem.find(judged, n_passes, [1], likely)
        rows = problem.rebuild(found)
        names = [(factual, row.tobytes()) for factual, row in zip(found.factual, rows, strict=True)]
        columns = (found.factual, found.draw, found.target, twin(rows, found.target))
        listed = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
        fresh = [one for one, name in zip(listed, names, strict=True) if name not in seen]
        taken = naive.draw_by_agreement(fresh, POOL * asked - len(pool), seed, POWER)
        pool += [one for one in fresh if one[:2] in taken]
        if likely is None:
            seen |= {name for one, name in zip(fresh, names, strict=True) if one in pool}
            likely = np.zeros((len(X), 2), dtype=bool)
            likely[[factual for factual, *_ in pool], 1] = True
        else:
            seen.update(names)
        n_passes += 1
    return naive.draw_by_agreement(pool, asked, seed, POWER), n_passes


@pytest.mark.parametrize(("share", "passes"), [(0.4, {1}), (0.7, {2, 3, 4, 5})])
def test_the_selection_by_agreement_is_that_of_the_slow_twin(share, passes):
    X, y = table()
    sampler = CounterfactualOverSampler(
        estimator=F, sampling_strategy=share, minimal=False, on_shortfall="redraw", random_state=0
    )
    X_new, _ = sampler.fit_resample(X, y)
    expected, n_passes = by_hand(sampler, X, y)
    assert n_passes in passes
    rows = {(one["factual"], X_new[one["sample"]].tobytes()) for one in sampler.provenance_}
    assert len(rows) == len(expected) == len(sampler.provenance_)
    made = Counter(sampler.provenance_["factual"].tolist())
    assert made == Counter(factual for factual, _ in expected)
    again = sum(draw >= sampler.n_draws for _, draw in expected)
    assert (sampler.provenance_["origin"] == "redraw").sum() == again


def test_rows_that_the_judges_call_the_class_are_taken_rather_than_others():
    X, y = table(800)
    mean = {}
    for how in ("agreement", "random"):
        sampler = CounterfactualOverSampler(
            estimator=F, selection=how, sampling_strategy=0.4, random_state=0
        )
        X_new, _ = sampler.fit_resample(X, y)
        judges = Agreement.fit(X, y, np.ones(len(X)), np.zeros(5, dtype=bool), 2)
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
    lots = Ranking("random").keys(found, state, None)
    for feature in range(6):
        assert abs(np.corrcoef(lots, uniform(state, feature))[0, 1]) < 0.1


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
