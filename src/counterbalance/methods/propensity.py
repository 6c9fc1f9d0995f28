"""Propensity: how likely a row belongs to the minority, by logistic regression."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from counterbalance.arrays import Floats


def standardised(minority: Floats, majority: Floats) -> tuple[Floats, Floats]:
    """Both tables with the mean and standard deviation of the two together taken out."""
    table = np.vstack([minority, majority])
    mean, scale = table.mean(axis=0), table.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    return (minority - mean) / scale, (majority - mean) / scale


def propensity_scores(minority: Floats, majority: Floats) -> tuple[Floats, Floats]:
    """Scores of the minority and of the majority rows, from 0 to 1."""
    ours, theirs = standardised(minority, majority)
    target = np.repeat([1, 0], [len(ours), len(theirs)])
    table = np.vstack([ours, theirs])
    scores = LogisticRegression(max_iter=1000).fit(table, target).predict_proba(table)[:, 1]
    return scores[: len(ours)], scores[len(ours) :]
