"""The study of rivals: a trial fits one rival to a training fold and judges it on the test fold.

The protocol is CLIMB's (Liu et al. 2025): stratified folds, average precision, macro-F1 and
balanced accuracy, and beside them the Brier score, because a classifier that is put to use is
asked for probabilities too. ``seconds`` is the processor time of the whole fit.
"""

from __future__ import annotations

import time

from counterbalance.studies.rivals.page import METRICS, MODEL, page, tables
from counterbalance.studies.rivals.registry import RIVALS
from counterbalance.studies.study.run import PACKAGES, SHOWN, TRIAL_MODULES, Protocol
from counterbalance.studies.study.scores import ScoreKind
from counterbalance.studies.study.trials import folds_of, load_labelled, measure
from counterbalance.trials.fingerprint import SAMPLER_MODULES, Fingerprint, take_fingerprint
from counterbalance.trials.resamplers import expected_warnings
from counterbalance.trials.trial import Trial, seed_of

# SMOTE and the preparation are the study's; a rival of ours depends on the samplers too.
MODULES = (*TRIAL_MODULES, "counterbalance.studies.rivals.registry")
OTHERS = ("counterbalance.methods", "counterbalance.studies.rivals.self_paced")


def compute(trial: Trial) -> dict[str, float]:
    """Fit a rival to a training fold and judge it on the test fold."""
    data, rows = str(trial["data"]), int(trial["rows"])
    repeat, fold = int(trial["repeat"]), int(trial["fold"])
    table = load_labelled(data, rows)
    train, test = folds_of(data, rows, int(trial["folds"]), repeat)[fold]
    rival = RIVALS[str(trial["method"])].make(seed_of(data, repeat, fold))
    with expected_warnings():
        start = time.process_time()
        rival.fit(table.X.iloc[train], table.y[train])
        seconds = time.process_time() - start
        judged = measure(rival, table.X.iloc[test], table.y[test], table.n_classes)
    return {"seconds": seconds, **{f"{MODEL} {name}": value for name, value in judged.items()}}


def fingerprint(*, ours: bool) -> Fingerprint:
    """Return what makes the figures: code and versions. The settings are in the trials."""
    own = (*SAMPLER_MODULES, "counterbalance.estimators") if ours else OTHERS
    return take_fingerprint({}, modules=[*own, *MODULES], packages=(*PACKAGES, "lightgbm"))


RIVAL_STUDY = Protocol(
    "rivals",
    "rivals",
    ScoreKind(METRICS, (MODEL,), frozenset(name for name, r in RIVALS.items() if r.ours)),
    compute,
    fingerprint,
    tables,
    page,
    (*SHOWN, "lightgbm"),
)
