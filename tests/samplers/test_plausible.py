"""New rows are like the table: pairs that were seen, relations that hold; other tables stay."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.constraints import Immutable, Increasing, MaxChanged
from counterbalance.explain import explain
from counterbalance.table.encoder import TableEncoder

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


def customers(n=400, seed=0):
    """Lines and services that go together, charges that are a product, a first of two dates."""
    rng = np.random.default_rng(seed)
    net = rng.choice(["none", "dsl", "fibre"], n, p=[0.3, 0.4, 0.3])
    frame = pd.DataFrame(
        {
            "net": pd.Categorical(net),
            "backup": np.where(net == "none", "no net", rng.choice(["yes", "no"], n)),
            "months": rng.integers(1, 73, n),
            "monthly": rng.uniform(18, 60, n) + 50 * (net == "fibre"),
            "support": np.where(net == "none", None, rng.choice(["yes", "no"], n)),
        }
    )
    frame["total"] = frame["months"] * frame["monthly"] * rng.normal(1, 0.01, n)
    frame["used"] = frame["months"] - rng.integers(0, 9, n).clip(0, frame["months"])
    risk = (net == "fibre") + (frame["months"] < 20) + (frame["backup"] == "no")
    return frame, (risk + rng.normal(0, 0.7, n) > 2.2).to_numpy()


def unseen_pairs(real, new, columns=("net", "backup", "support")):
    real, new = (frame[list(columns)].astype(object).fillna("missing") for frame in (real, new))
    return sum(
        pair not in set(zip(real[a], real[b], strict=True))
        for a, b in combinations(columns, 2)
        for pair in zip(new[a], new[b], strict=True)
    )


SAMPLERS = {
    "perturb": lambda **more: CounterfactualOverSampler(search="perturb", **more),
    "minimum": CounterfactualOverSampler,
    "interior": InteriorOverSampler,
    "asked": lambda **more: CounterfactualOverSampler(estimator=_encoded(), **more),
}


def _encoded():
    f = LogisticRegression(class_weight="balanced", max_iter=500)
    return make_pipeline(TableEncoder(), SimpleImputer(), f)


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_new_row_keeps_what_goes_together(name):
    X, y = customers()
    sampler = SAMPLERS[name](random_state=0)
    new = sampler.fit_resample(X, y)[0].iloc[len(X) :]
    assert len(new)
    assert unseen_pairs(X, new) == 0
    ratio, real = (frame["total"] / (frame["months"] * frame["monthly"]) for frame in (new, X))
    assert ratio.between(real.min() - 0.01, real.max() + 0.01).all()
    assert (new["used"] <= new["months"]).all()
    texts = {found.text for found in sampler.relations_}
    assert {"total follows months * monthly", "used <= months"} <= texts


@pytest.mark.parametrize("name", ["perturb", "minimum", "interior"])
def test_without_it_new_rows_break_what_goes_together(name):
    X, y = customers()
    sampler = SAMPLERS[name](random_state=0, plausible=False)
    new = sampler.fit_resample(X, y)[0].iloc[len(X) :]
    assert unseen_pairs(X, new) > 0
    assert sampler.relations_ == []


def test_f_calls_every_counterfactual_its_class_with_the_followers_moved_along():
    X, y = customers()
    for search in ("perturb", "minimum"):
        sampler = CounterfactualOverSampler(search=search, random_state=0)
        resampled, labels = sampler.fit_resample(X, y)
        made = sampler.provenance_["origin"] == "inversion"
        rows = resampled.iloc[len(X) :][made]
        assert made.any()
        assert (sampler.estimator_.predict(rows) == labels[len(X) :][made]).all()


def test_what_follows_is_not_counted_in_the_distance():
    X, y = customers()
    sampler = CounterfactualOverSampler(random_state=0).fit(X, y)
    sampler.fit_resample(X, y)
    assert list(X.columns).index("total") not in sampler.feature_order_


@pytest.mark.parametrize("jobs", [1, 2])
def test_jobs_and_memory_change_nothing(jobs):
    X, y = customers(200)
    plain, _ = CounterfactualOverSampler(random_state=0).fit_resample(X, y)
    with config_context(working_memory=3):
        other, _ = CounterfactualOverSampler(random_state=0, n_jobs=jobs).fit_resample(X, y)
    pd.testing.assert_frame_equal(plain, other)


@pytest.mark.parametrize("sampler", [CounterfactualOverSampler, InteriorOverSampler])
def test_a_table_of_numbers_keeps_its_relations_unless_it_must_not(sampler):
    X, y = customers()
    X = X[["months", "monthly", "total", "used"]].to_numpy()
    rows = {
        plausible: sampler(random_state=0, plausible=plausible).fit_resample(X, y)[0].tobytes()
        for plausible in (False, "auto", True)
    }
    assert rows[False] != rows["auto"] == rows[True]


def test_a_relation_is_switched_off_by_its_text():
    X, y = customers()
    sampler = CounterfactualOverSampler(
        random_state=0, ignore_relations="total follows months * monthly"
    )
    sampler.prepare(X, y)
    assert sampler.relations_
    assert all("total follows" not in found.text for found in sampler.relations_)


def test_what_the_user_says_of_a_follower_is_kept_too():
    X, y = customers()
    rules = [Increasing("total"), MaxChanged(3)]
    sampler = CounterfactualOverSampler(random_state=0, constraints=rules, on_shortfall="accept")
    new = sampler.fit_resample(X, y)[0].iloc[len(X) :]
    pairs = X.iloc[sampler.provenance_["factual"]]
    assert (new["total"].to_numpy() >= pairs["total"].to_numpy()).all()
    assert sampler.provenance_.changed_mask().sum(axis=1).max() <= 3


def test_a_follower_that_may_not_change_holds_its_sources():
    X, y = customers()
    sampler = CounterfactualOverSampler(
        random_state=0, constraints=Immutable("total"), on_shortfall="accept"
    )
    new = sampler.fit_resample(X, y)[0].iloc[len(X) :]
    pairs = X.iloc[sampler.provenance_["factual"]]
    assert np.array_equal(new["total"], pairs["total"])
    assert np.array_equal(new["months"] * new["monthly"], pairs["months"] * pairs["monthly"])


def test_a_feature_that_is_not_listed_never_changes():
    X, y = customers()
    listed = ["net", "backup", "months", "monthly"]
    sampler = CounterfactualOverSampler(random_state=0, feature_order=listed, on_shortfall="accept")
    sampler.fit_resample(X, y)
    changed = {name for row in sampler.provenance_["changed"] for name in row}
    assert changed <= set(listed)


@pytest.mark.parametrize("bad", ["pairs", "relations", "pears", 3, None])
def test_a_wrong_value_is_refused(bad):
    X, y = customers(60)
    with pytest.raises(ValueError, match="plausible"):
        CounterfactualOverSampler(plausible=bad).fit_resample(X, y)


def test_provenance_tells_how_far_out_a_row_lies():
    X, y = customers()
    sampler = InteriorOverSampler(random_state=0)
    sampler.fit_resample(X, y)
    score = sampler.provenance_["outlier_to"]
    assert np.array_equal(score, sampler.provenance_["outlier_from"])
    assert (score > 0).mean() > 0.9


def test_an_explanation_keeps_what_goes_together():
    X, y = customers()
    sampler = CounterfactualOverSampler(random_state=0)
    row = int(np.flatnonzero(sampler.prepare(X, y).predict() == 0)[0])
    ways = explain(sampler, X, y, row, to=True).answers
    assert ways
    for way in ways:
        new = X.iloc[[row]].astype(object)
        for name, (_, after) in way.changes.items():
            new.loc[:, name] = [after]
        assert unseen_pairs(X, new) == 0
        before, after = (
            (frame["total"] / (frame["months"] * frame["monthly"])).iloc[0]
            for frame in (X.iloc[[row]], new)
        )
        assert after == pytest.approx(before)
