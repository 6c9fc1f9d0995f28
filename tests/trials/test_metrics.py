"""F-measure and G-mean are what a reader computes by hand."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from counterbalance.trials.metrics import f_measure, g_mean, recalls


def test_two_classes_by_hand():
    counts = [[90, 10], [4, 16]]  # TNR 0.9, TPR 0.8, precision 16 / 26
    assert recalls(counts).tolist() == [0.9, 0.8]
    assert g_mean(counts) == pytest.approx((0.9 * 0.8) ** 0.5)
    precision, recall = 16 / 26, 0.8
    harmonic = 2 * precision * recall / (precision + recall)
    assert f_measure(counts, minority=1) == pytest.approx(harmonic)


def test_five_classes_are_a_geometric_mean_of_recalls_and_a_macro_f_measure():
    counts = np.diag([1773, 27, 107, 7, 27])
    counts[0] += [0, 19, 0, 0, 0]
    counts[1:, 0] = [16, 14, 3, 5]
    product = (1773 / 1792) * (27 / 43) * (107 / 121) * (7 / 10) * (27 / 32)
    assert g_mean(counts) == pytest.approx(product ** (1 / 5))
    true = np.repeat(np.arange(5), counts.sum(axis=1))
    said = np.concatenate([np.repeat(np.arange(5), row) for row in counts])
    assert f_measure(counts) == pytest.approx(f1_score(true, said, average="macro"))


def test_a_class_that_is_never_found_makes_the_g_mean_zero():
    assert g_mean([[5, 0], [3, 0]]) == 0.0
    assert f_measure([[5, 0], [3, 0]], minority=1) == 0.0


def test_a_class_without_rows_is_left_out_of_the_g_mean():
    assert g_mean([[4, 0, 0], [0, 3, 1], [0, 0, 0]]) == pytest.approx((1 * 0.75) ** 0.5)
