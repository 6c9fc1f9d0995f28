import numpy as np

from counterbalance.methods import ANS
from counterbalance.methods.ans import intruders, outcasts


def test_intruders_are_majority_rows_nearer_than_the_nearest_fellow():
    minority = np.array([[0.0], [4.0], [5.0]])
    majority = np.array([[1.0], [2.0], [-4.0], [6.0]])
    # From 0 the nearest fellow is at 4: 1 and 2 are nearer, -4 is as far. From 4 and 5 it is
    # at 1, and 6 is as far from 5 as 4 is.
    np.testing.assert_array_equal(intruders(minority, majority), [2, 0, 0])


def test_the_tolerance_grows_until_it_admits_no_further_row():
    # A tolerance of 1 wins a row over 0, a tolerance of 2 wins none over 1.
    np.testing.assert_array_equal(
        outcasts(np.array([0, 0, 1, 5]), largest=4), [False, False, False, True]
    )


def test_the_radius_comes_from_the_class_and_outcasts_are_not_seeds():
    # 0, 1, 3 are a chain whose largest step is 2; 100 sits among the majority.
    minority = [0.0, 1.0, 3.0, 100.0]
    majority = np.linspace(80, 120, 60)
    X = np.concatenate([minority, majority])[:, None]
    y = np.repeat([1, 0], [4, 60])
    new = ANS(random_state=0).fit_resample(X, y)[0][64:, 0]
    assert len(new) == 56
    assert ((new >= 0) & (new <= 3)).all()
    assert (new > 1).any()


def test_it_makes_rows_on_a_table_of_500_rows_and_9_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 9))
    y = np.repeat([1, 0], [60, 440])
    X[:60] += 0.7
    assert ANS(random_state=0).fit_resample(X, y)[0].shape == (880, 9)
