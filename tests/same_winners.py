"""What the search finds beside what the paper's loops find, for the tests of both searches."""

import numpy as np

import naive
from counterbalance.classifier.judge import judge
from counterbalance.constraints.rules import Rules
from counterbalance.profile import by_importance, profile_table
from counterbalance.search.nearest import Effort, Space, rebuild, search
from counterbalance.search.perturbation import Perturbation
from counterbalance.table.table import read_table

SEED = 20260101


def space_of(X, y, *, way="exact", n_draws=6, epsilon=np.inf, cells_at_once=2**20):
    table = read_table(X)
    profile = profile_table(table, y)
    perturbation = Perturbation(profile, table.grid, Rules.none(X.shape[1]), way)
    space = Space(perturbation, by_importance(profile), SEED)
    return table, space, Effort(range(n_draws), epsilon, cells_at_once)


def fast(f, X, y, j, targets, **settings):
    answer = judge(f, read_table(X), np.unique(y))
    table, space, effort = space_of(X, y, **settings)
    rows = np.flatnonzero((y == j) & (f.predict(X) == j))
    wanted = np.isin(np.unique(y), targets)[None, :].repeat(len(rows), axis=0)
    found, judged = search(
        space, effort, answer.on_candidates, table.rows(rows), rows, wanted, answer.insight
    )
    return table, (space, effort), found, judged


def assert_same_winners(f, X, y, j, targets, *, n_rows=12, **settings):
    table, (space, effort), found, _ = fast(f, X, y, j, targets, **settings)
    profile = space.perturbation.profile
    statistics = [naive.feature_statistics(X[:, m]) for m in range(X.shape[1])]
    compared = 0
    for row in np.flatnonzero(y == j)[:n_rows]:
        for i in targets:
            expected = naive.minimum_inversion(
                lambda rows: f.predict(rows.astype(X.dtype)),
                X[row].astype(float),
                int(row),
                j,
                i,
                space.order,
                statistics,
                profile.deviation,
                SEED,
                len(effort.draws),
                effort.epsilon,
                way=space.perturbation.way,
                whole=X.dtype.kind == "i",
            )
            at = np.flatnonzero((found.factual == row) & (found.target == i))
            assert (expected is None) == (at.size == 0)
            if expected is None:
                continue
            distance, round_, draw, changed = expected
            assert found.distance[at] == [distance]
            assert (found.round[at], found.draw[at]) == ([round_], [draw])
            built = rebuild(
                space, table.rows([row]), np.array([row]), found.draw[at], found.round[at]
            )
            assert built.tobytes() == changed.tobytes()
            compared += 1
    assert compared > 0
