"""Dummy columns are found, searched as one category, and written back as they were."""

import numpy as np
import pandas as pd
import pytest
from imblearn.pipeline import make_pipeline
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.constraints import Immutable, OneOf
from counterbalance.errors import ConstraintError
from counterbalance.table.dummies import find_groups, group_dummies
from counterbalance.table.table import read_table

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")
SAMPLERS = (CounterfactualOverSampler, InteriorOverSampler)


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(0)
    sex, ward = random.choice(["F", "M"], 400), random.choice(["A", "B", "C"], 400)
    age = random.normal(50, 10, 400).round()
    y = (age + 10 * (sex == "F") - 10 * (ward == "B") + random.normal(0, 5, 400)) > 67
    return pd.DataFrame({"age": age, "sex": sex, "ward": ward}), y.astype(int)


def sums(new):
    """Return how many dummies of each group are 1, row by row."""
    new = np.asarray(new, dtype=float)
    return new[:, 1:3].sum(axis=1), new[:, 3:].sum(axis=1)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
@pytest.mark.parametrize("dtype", [bool, int, float])
def test_each_new_row_has_one_dummy_of_each_group(frame, sampler, estimator, dtype):
    X = pd.get_dummies(frame[0], dtype=dtype)
    one = sampler(random_state=0, estimator=estimator)
    resampled, _ = one.fit_resample(X, frame[1])
    assert (resampled.dtypes == X.dtypes).all()
    for total in sums(resampled):
        assert (total == 1).all()
    assert len(resampled) > len(X)
    assert [found.description for found in one.relations_[:2]] == [
        "sex_F, sex_M: one of them",
        "ward_A, ward_B, ward_C: one of them",
    ]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_dummies_of_an_array_stand_side_by_side(frame, make):
    X = make(pd.get_dummies(frame[0], dtype=float).to_numpy())
    resampled, _ = CounterfactualOverSampler(random_state=0).fit_resample(X, frame[1])
    resampled = resampled.toarray() if sparse.issparse(resampled) else resampled
    for total in sums(resampled):
        assert (total == 1).all()


def test_a_sampler_stands_behind_an_encoder_in_a_pipeline(frame):
    encode = make_column_transformer((OneHotEncoder(), ["sex", "ward"]), remainder="passthrough")
    sampler = CounterfactualOverSampler(random_state=0)
    pipeline = make_pipeline(encode, sampler, LogisticRegression()).fit(*frame)
    assert [found.text for found in pipeline[1].relations_[:2]] == [
        "x0 + x1 == 1",
        "x2 + x3 + x4 == 1",
    ]


def test_without_the_first_dummy_at_most_one_is_set(frame):
    X = pd.get_dummies(frame[0], drop_first=True, dtype=int)
    one = InteriorOverSampler(random_state=0)
    resampled, _ = one.fit_resample(X, frame[1])
    assert (resampled[["ward_B", "ward_C"]].sum(axis=1) <= 1).all()
    assert one.relations_[0].text == "ward_B + ward_C <= 1"


def test_a_dirty_row_is_kept_and_not_copied(frame):
    X = pd.get_dummies(frame[0], dtype=int)
    X.loc[[0, 1], ["sex_F", "sex_M"]] = 1
    for sampler in SAMPLERS:
        resampled, _ = sampler(random_state=0).fit_resample(X, frame[1])
        total = resampled[["sex_F", "sex_M"]].sum(axis=1)
        assert (total.iloc[:2] == 2).all()
        assert (total.iloc[2:] == 1).all()


def test_independent_flags_are_no_group():
    random = np.random.default_rng(0)
    X = (random.random((500, 30)) < random.uniform(0.02, 0.5, 30)).astype(float)
    assert find_groups(read_table(X)) == []
    named = pd.DataFrame(X, columns=[f"flag_{m}" for m in range(30)])
    assert find_groups(read_table(named)) == []


def test_what_was_folded_unfolds_to_the_same_cells(frame):
    X = pd.get_dummies(frame[0])
    table = group_dummies(read_table(X))
    rows = np.arange(len(X))
    pd.testing.assert_frame_equal(table.decode(table.rows(rows), rows), X)
    for m in range(X.shape[1]):
        np.testing.assert_array_equal(table.column(m), table.rows(rows)[:, m])


def test_constraints_may_name_a_dummy(frame):
    X = pd.get_dummies(frame[0], dtype=int)
    sampler = CounterfactualOverSampler(random_state=0, constraints=Immutable("ward_B"))
    resampled, _ = sampler.fit_resample(X, frame[1])
    names = set().union(*sampler.provenance_["changed"])
    assert names
    assert not names & {"ward_A", "ward_B", "ward_C"}
    sampler.set_params(constraints=OneOf("ward_B", [0]))
    resampled, _ = sampler.fit_resample(X, frame[1])
    assert (resampled["ward_B"].iloc[len(X) :] == 0).all()
    with pytest.raises(ConstraintError, match="dummy columns"):
        sampler.set_params(constraints="ward_B <= age").fit_resample(X, frame[1])


def test_a_group_can_be_switched_off_or_pasted(frame):
    X = pd.get_dummies(frame[0], dtype=int)
    sampler = InteriorOverSampler(random_state=0, ignore_relations="sex_F + sex_M == 1")
    sampler.fit_resample(X, frame[1])
    texts = [found.text for found in sampler.relations_]
    assert "ward_A + ward_B + ward_C == 1" in texts
    assert "sex_F + sex_M == 1" not in texts
    sampler.set_params(constraints=["sex_F + sex_M == 1"], ignore_relations=None)
    resampled, _ = sampler.fit_resample(X, frame[1])
    assert (resampled[["sex_F", "sex_M"]].sum(axis=1) == 1).all()
