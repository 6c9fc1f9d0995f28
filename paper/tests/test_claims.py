"""The sentences about the paper's claims follow from the figures."""

import pandas as pd
import pytest

from paper.classifiers import CLASSIFIERS
from paper.reproduction import published
from paper.reproduction.claims import claims
from paper.reproduction.methods import METHODS
from paper.reproduction.scores import scores

PEERS = {"none": 0.9, "SMOTE": 0.93, "SOMO": 0.92, "k-SMOTE": 0.92, "CUSBoost": 0.9}
NOTHING = pd.DataFrame()


def trials_of(means, runs=3, data="WBC"):
    """Ten folds a run with these G-means, a little apart from fold to fold."""
    lines = []
    for place, (method, mean) in enumerate(means.items()):
        for run in range(runs):
            for fold in range(10):
                wobble = 1e-4 * ((7 * fold + 3 * run + 5 * place) % 11)
                right = round(10**6 * (mean + wobble) ** 2)
                counts = [[10**6, 0], [10**6 - right, right]]
                names = {"data": data, "method": method, "run": run, "folds": 10, "fold": fold}
                lines.append({**names, **dict.fromkeys(CLASSIFIERS, counts), "error": None})
    return pd.DataFrame(lines)


def sentences(means, runs=3):
    return claims(scores(trials_of(means, runs)), ["WBC"], NOTHING)


def one(found, words):
    (sentence,) = [text for text in found if words in text]
    return sentence


def test_ours_far_ahead_confirms_the_claims():
    found = sentences({**PEERS, "ours": 0.985})
    first = one(found, "(Table III")
    assert first.startswith("Holds: ours comes first")
    assert "first in 6; " in first
    assert "in 6 of 6 cells, behind in 0, and in 0 it is undecided" in first
    assert one(found, "by about 5% to 15%").startswith("Holds")
    assert "more than plain interpolation gives" in one(found, "The control")
    assert one(found, "own figure").startswith("Ours is above the paper's own figure in 6 of 6")
    assert one(found, "undersampling of CUSBoost").startswith("Holds")


def test_ours_far_behind_refutes_them_and_says_by_how_much():
    found = sentences({**PEERS, "ours": 0.89})
    assert one(found, "(Table III").startswith("Does not hold: ours comes first")
    gain = one(found, "by about 5% to 15%")
    assert gain.startswith("Does not hold")
    assert "SOMO -0.030, k-SMOTE -0.030, CUSBoost -0.010" in gain
    assert "plain interpolation is better" in one(found, "The control")
    assert "above the paper's own figure in 0 of 6" in one(found, "own figure")
    assert "WBC SVM by -0.07" in one(found, "own figure")


def test_a_gain_that_may_be_five_percent_by_chance_cannot_be_told():
    gain = "by about 5% to 15%"
    near = {**PEERS, "SOMO": 0.936, "k-SMOTE": 0.936, "CUSBoost": 0.936, "ours": 0.98595}
    assert one(sentences(near, runs=1), gain).startswith("Undecided")
    assert one(sentences({**near, "ours": 0.95}, runs=1), gain).startswith("Does not hold")


def test_a_difference_within_chance_cannot_be_told():
    found = sentences({**PEERS, "ours": 0.92})
    first = one(found, "(Table III")
    assert first.startswith(("Undecided", "Holds"))
    assert "and in 6 it is undecided" in first
    level = one(sentences({**PEERS, "ours": 0.93}), "The control")
    assert "no gain over it can be shown" in level


@pytest.mark.parametrize("missing", ["SOMO", "ours"])
def test_nothing_is_claimed_of_methods_that_have_not_run(missing):
    means = {method: mean for method, mean in {**PEERS, "ours": 0.95}.items() if method != missing}
    assert not [text for text in sentences(means) if "first of the four" in text]


def test_no_figures_give_no_sentences():
    assert claims(scores(NOTHING), ["WBC", "PBC"], NOTHING) == []


def counted(right):
    """Trials of Table IV with so many rows right, by method and split."""
    labels = published.CLASS_NAMES
    return pd.DataFrame(
        [
            {"method": method, "split": split, "error": None}
            | {f"correct {label}": right(method, place, split, label) for label in labels}
            for place, method in enumerate(METHODS)
            for split in range(4)
        ]
    )


@pytest.mark.parametrize(("ours", "verdict"), [(40, "Holds"), (20, "Does not hold")])
def test_the_counts_by_class_are_judged_by_the_small_classes(ours, verdict):
    ran = counted(lambda method, *_: ours if method == "ours" else 30)
    assert one(claims(scores(NOTHING), ["PBC"], ran), "Table IV").startswith(verdict)


def test_counts_that_vary_more_than_they_differ_cannot_be_told():
    def right(method, place, split, label):
        if label == "picture":
            return 30 - (method == "ours") * (split - 1)
        return 30 + 5 * (split % 2) * (-1) ** place

    sentence = one(claims(scores(NOTHING), ["PBC"], counted(right)), "Table IV")
    assert sentence.startswith("Undecided")


def test_a_single_figure_of_each_method_confirms_nothing():
    found = sentences({**PEERS, "ours": 0.985}, runs=1)
    assert one(found, "(Table III").startswith("Holds")
    assert one(found, "The same with the folds of a run together").startswith("Undecided")


def test_the_peers_say_how_hard_the_tables_are_that_were_chosen():
    means = {"SOMO": 0.9, "k-SMOTE": 0.9, "CUSBoost": 0.8, "ours": 0.99}
    ran = trials_of(means, runs=1, data="FMN2")
    sentence = one(claims(scores(ran), ["WBC", "FMN2"], NOTHING), "How hard")
    printed = [published.g_mean("FMN", "SOMO", c)[0] for c in CLASSIFIERS]
    assert f"by FMN2 SOMO {0.9005 - sum(printed) / len(printed):+.2f}" in sentence
    assert "ours" not in sentence
    assert "CUSBoost -0.0" in sentence


def test_the_simulated_data_set_confirms_nothing():
    (sentence,) = claims(scores(NOTHING), ["ILC"], NOTHING)
    assert sentence.startswith("Undecided: every claim about ILC")
