"""The bars: each target beside its measured value, as a ratio from this one run.

Times are processor times on one thread. SMOTE is measured again beside each of our samplers, so
that a busy machine slows both.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from imblearn.over_sampling import SMOTE
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from timing import best_of

from counterbalance import CounterfactualOverSampler, InteriorOverSampler

PAGE = Path(__file__).parents[1] / "docs" / "speed.md"
BEGIN, END = "<!-- bars: written by benchmarks/run.py --write -->", "<!-- end of bars -->"


@dataclass(frozen=True)
class Bar:
    """One figure beside its aim."""

    what: str
    measured: float
    aim: float
    at_least: bool = False

    @property
    def reached(self) -> bool:
        """Whether the aim is met."""
        return self.measured >= self.aim if self.at_least else self.measured <= self.aim

    def cells(self) -> tuple[str, str, str, str]:
        """Return what a table shows."""
        sign = "at least " if self.at_least else "at most "
        reached = "yes" if self.reached else "no"
        return self.what, _figure(self.measured), sign + _figure(self.aim), reached


def main(*, large: bool = False, treecf: bool = False, write: bool = False) -> None:
    """Print each bar as it is measured; ``write`` puts them into docs/speed.md."""
    heads = ("what", "measured", "aim", "reached")
    lines = [heads]
    print(f"{heads[0]:72}{heads[1]:>10}{heads[2]:>18}{heads[3]:>9}", flush=True)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for bar in bars(large=large, treecf=treecf):
            what, measured, aim, reached = bar.cells()
            lines.append(bar.cells())
            print(f"{what:72}{measured:>10}{aim:>18}{reached:>9}", flush=True)
    if write:
        _write(lines)


def bars(*, large: bool, treecf: bool) -> Iterator[Bar]:
    """Measure one bar after the other."""
    yield from against_smote()
    yield wide()
    if treecf:
        import against_treecf  # noqa: PLC0415  (it makes an environment)

        yield from (Bar(*row) for row in against_treecf.bars())
    if large:
        yield from million()


def against_smote() -> Iterator[Bar]:
    """Time whole calls of ``fit_resample`` as multiples of SMOTE's time."""
    linear = LogisticRegression(class_weight="balanced", max_iter=1000)
    for n in (20_000, 100_000):
        yield Bar(f"CounterfactualOverSampler(), {n:,} x 20", _times(_counterfactual(), n), 20)
    for search in ("perturb", "minimum"):
        sampler = _counterfactual(estimator=linear, search=search)
        yield Bar(f'linear f, search="{search}", 20,000 x 20', _times(sampler, 20_000), 6)
    for n in (1_000, 5_000, 20_000, 100_000):
        sampler = InteriorOverSampler(random_state=0)
        yield Bar(f"InteriorOverSampler(), {n:,} x 20", _times(sampler, n), 5)


def wide() -> Bar:
    """Fit how the time grows with the number of features where f is a forest."""
    sizes = (20, 60, 180, 500)
    times = []
    for m in sizes:
        rng = np.random.default_rng(0)
        y = (rng.random(1000) < 0.1).astype(int)
        X = rng.normal(size=(1000, m))
        X[:, :10] += y[:, None]
        f = RandomForestClassifier(30, min_samples_leaf=3, class_weight="balanced", random_state=0)
        sampler = _counterfactual(estimator=FrozenEstimator(f.fit(X, y)), on_shortfall="accept")
        times.append(_seconds(2, lambda s=sampler, X=X, y=y: s.fit_resample(X, y)))
    exponent = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    return Bar("20 to 500 features, a forest as f: exponent of the time", exponent, 1.1)


MILLION = """
import json, resource, time, warnings
import numpy as np
from counterbalance import CounterfactualOverSampler
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
y = (rng.random(1_000_000) < 0.2).astype(np.int8)
X = rng.normal(size=(1_000_000, 30))
X[:, :10] += y[:, None]
sampler = CounterfactualOverSampler(n_jobs=2, random_state=0)
start = time.perf_counter()
X_new, y_new = sampler.fit_resample(X, y)
spent = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
data = (X.nbytes + y.nbytes + X_new.nbytes + y_new.nbytes) / 2**20
del X_new, y_new
from sklearn.base import clone
start = time.perf_counter()
f = clone(sampler.estimator_).fit(X, y)
print(json.dumps([spent / (time.perf_counter() - start), peak - data]))
"""


def million() -> Iterator[Bar]:
    """Resample a million rows in a process of its own, with two jobs."""
    import json  # noqa: PLC0415

    command = [sys.executable, "-W", "ignore", "-c", MILLION]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    ratio, more = json.loads(run.stdout)
    yield Bar("1,000,000 x 30, two jobs: time over that of fitting f to all rows", ratio, 5)
    yield Bar("1,000,000 x 30: MiB of memory above input and output", more, 300)


def _counterfactual(**parameters: Any) -> CounterfactualOverSampler:
    return CounterfactualOverSampler(random_state=0, **parameters)


def _times(sampler: Any, n: int) -> float:
    """Return a sampler's time on a generated table of 20 features, as a multiple of SMOTE's."""
    X, y = make_classification(n, 20, n_informative=8, weights=[0.9], class_sep=1.5, random_state=0)
    repeats = 5 if n <= 20_000 else 2
    smote = _seconds(repeats, lambda: SMOTE(random_state=0).fit_resample(X, y))
    return _seconds(min(repeats, 3), lambda: sampler.fit_resample(X, y)) / smote


def _seconds(repeats: int, work: Callable[[], Any]) -> float:
    return best_of(repeats, work, clock=time.process_time)[0]


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _write(lines: list[tuple[str, ...]]) -> None:
    rows = ["| " + " | ".join(cells) + " |" for cells in lines]
    rows.insert(1, "|---|---:|---:|---|")
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    table = "\n".join(rows)
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
