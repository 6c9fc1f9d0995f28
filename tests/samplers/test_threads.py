"""Threads: samplers share nothing that can change, so eight at once give what one gives."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler, InteriorOverSampler

N_THREADS = 8
SAMPLERS = {
    "default": CounterfactualOverSampler(random_state=0),
    "perturb": CounterfactualOverSampler(search="perturb", random_state=0),
    "linear": CounterfactualOverSampler(estimator=LogisticRegression(), random_state=0),
    "boosting": CounterfactualOverSampler(
        estimator=HistGradientBoostingClassifier(max_iter=5, random_state=0), random_state=0
    ),
    "interior": InteriorOverSampler(random_state=0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAMPLERS)
def test_eight_threads_at_once_give_the_rows_of_one(name):
    rng = np.random.default_rng(0)
    y = (np.arange(240) % 6 == 0).astype(int)
    X = np.round(rng.normal(size=(240, 4)) + y[:, None], 3)
    expected = clone(SAMPLERS[name]).fit_resample(X, y)
    together = Barrier(N_THREADS)

    def resample(_):
        sampler = clone(SAMPLERS[name])
        together.wait()
        return sampler.fit_resample(X, y)

    with ThreadPoolExecutor(N_THREADS) as threads:
        for X_new, y_new in threads.map(resample, range(N_THREADS)):
            assert X_new.tobytes() == expected[0].tobytes()
            assert y_new.tobytes() == expected[1].tobytes()


@pytest.mark.filterwarnings("ignore")
def test_one_sampler_on_a_mixed_frame_gives_eight_threads_the_same():
    rng = np.random.default_rng(1)
    y = (np.arange(200) % 5 == 0).astype(int)
    frame = pd.DataFrame({"a": rng.normal(size=200) + y, "b": rng.normal(size=200).round(1)})
    frame["sum"] = frame["a"] + frame["b"]
    frame["town"] = rng.choice(["x", "y", "z"], 200)
    expected, _ = CounterfactualOverSampler(random_state=0).fit_resample(frame, y)

    def resample(_):
        return CounterfactualOverSampler(random_state=0).fit_resample(frame, y)[0]

    with ThreadPoolExecutor(N_THREADS) as threads:
        for found in threads.map(resample, range(N_THREADS)):
            assert found.equals(expected)
