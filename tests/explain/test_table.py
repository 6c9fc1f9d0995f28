"""Many rows are explained at once, each as if alone; of any fitted model; also new rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.constraints import AtLeast, Cost, Immutable, Transitions
from counterbalance.datasets import load_wisconsin
from counterbalance.errors import ClassifierError, TableError
from counterbalance.explain import explain


@pytest.fixture(scope="module")
def wisconsin():
    data = load_wisconsin()
    return data.X, data.y


def people(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": np.round(rng.normal(50, 15, n), 1),
            "degree": rng.choice(["school", "college", "master"], n),
            "town": rng.random(n) < 0.5,
        }
    )
    score = X["age"] / 20 + X["income"] / 15 + 2 * (X["degree"] == "master") + X["town"]
    return X, np.where(score + rng.normal(0, 0.5, n) > 6.5, "yes", "no")


def pipeline(last=None):
    encoded = make_column_transformer(
        (OneHotEncoder(), ["degree"]),
        (OrdinalEncoder(), ["town"]),
        remainder=StandardScaler(),
    )
    return make_pipeline(encoded, LogisticRegression() if last is None else last)


def own(**given):
    return CounterfactualOverSampler(random_state=0, **given)


def test_each_of_many_rows_is_explained_as_if_alone(wisconsin):
    X, y = wisconsin
    rows = [0, 5, 9, 17]
    for n_answers in (1, 3):
        found = explain(own(), X, y, rows, n_answers=n_answers)
        assert len(found) == 4
        for place, row in enumerate(rows):
            to = "benign" if found[place].called == "malignant" else "malignant"
            alone = explain(own(), X, y, row, to, n_answers=n_answers)
            assert repr(found[place]) == repr(alone)


def test_the_table_is_of_the_kind_of_the_input(wisconsin):
    pl = pytest.importorskip("polars")
    X, y = wisconsin
    given = {"robust": None, "to": "malignant"}
    found = explain(own(), X, y, [0, 9], **given)
    assert found.table["row"].tolist() == [0, 9]
    assert found.table["changes"].tolist()[0] == "CellSize 1 → 5, CellShape 1 → 4"
    assert found.counterfactuals.columns.tolist() == X.columns.tolist()
    assert (own().prepare(X, y).estimator.predict(found.counterfactuals) == "malignant").all()
    in_polars = explain(own(), pl.from_pandas(X), y, [0, 9], **given)
    assert isinstance(in_polars.table, pl.DataFrame)
    assert in_polars.table["distance"].to_list() == found.table["distance"].tolist()
    in_numpy = explain(own(), X.to_numpy(), y, [0, 9], **given)
    assert in_numpy.table.row.tolist() == [0, 9]
    assert in_numpy.table.distance.tolist() == found.table["distance"].tolist()


def test_sentences_and_html_say_what_the_table_says(wisconsin):
    X, y = wisconsin
    found = explain(own(), X, y, [0, 9], "malignant")
    first = found.sentences()[0]
    assert first.startswith("Row 0 would be called malignant if CellSize changed from 1 to 5 and")
    assert "of 10 refits agree." in first
    html = found._repr_html_()
    assert "<table>" in html
    assert "CellSize 1 → 5" in html
    assert repr(found) == "Explanations(2 rows, 2 answers for 2 of them)"


def test_rows_are_positions_a_mask_or_all():
    X, y = people()
    f = pipeline().fit(X, y)
    of_all = explain(f, X, to="yes")
    assert len(of_all) == len(X)
    old = X["age"] > 70
    masked = explain(f, X, rows=old, to="yes")
    assert set(masked.shown) == set(np.flatnonzero(old))
    both = np.isin(of_all.table["row"], masked.shown)
    assert of_all.table["changes"][both].tolist() == masked.table["changes"].tolist()
    assert explain(f, X, row=3, to="yes") == explain(f, X, rows=3, to="yes")


@pytest.mark.parametrize("last", [LogisticRegression(), RandomForestClassifier(20, random_state=0)])
def test_a_pipeline_on_the_raw_frame_is_explained_in_its_own_columns(last):
    X, y = people()
    f = pipeline(last).fit(X, y)
    found = explain(f, X, rows=range(60), constraints=[Immutable("town")])
    assert (f.predict(found.counterfactuals) != found.table["called"]).all()
    assert found.counterfactuals["degree"].isin(["school", "college", "master"]).all()
    assert found.counterfactuals["age"].dtype == X["age"].dtype
    changed = {name for one in found for answer in one.answers for name in answer.changes}
    assert changed <= {"age", "income", "degree"}
    assert "degree" in changed
    assert np.isnan(found.table["refits_agree"]).all()


def test_rows_that_f_has_never_seen_are_explained():
    X, y = people()
    f = pipeline().fit(X, y)
    new = people(20, seed=1)[0].assign(age=95)  # beyond all ages of the table
    new.loc[3, "income"] = np.nextafter(30.0, 31)  # off the grid
    found = explain(f, X, rows=new)
    assert len(found.table) == 20
    assert found.shown.tolist() == list(range(20))
    assert (f.predict(found.counterfactuals) != f.predict(new)).all()
    assert found[0].own_class is None
    assert found[0].cells["age"] == 95
    known = explain(own(), X, y, X.iloc[[4, 8]], robust=None)
    same = explain(own(), X, y, [4, 8], robust=None)
    assert known.table["changes"].tolist() == same.table["changes"].tolist()
    array = X[["age", "income"]].to_numpy(float)
    f = LogisticRegression().fit(array, y)
    there, new = (explain(f, array, rows=rows) for rows in ([0, 1], array[:2] + 0.0))
    np.testing.assert_allclose(new.table.distance, there.table.distance)


def test_the_new_rules_hold_in_every_answer():
    X, y = people(400)
    rules = [
        AtLeast("income", 10),
        Transitions("degree", {"college": ["master"], "master": []}),
        Cost("age", 5),
    ]
    for model in (own(constraints=rules), own(constraints=rules, estimator=pipeline())):
        found = explain(model, X, y, range(100), "yes", robust=None)
        assert len(found.table) > 30
        for one in found:
            for answer in one.answers:
                before, after = answer.changes.get("income", (0, 10))
                assert abs(after - before) >= 10 - 1e-9
                before, after = answer.changes.get("degree", ("school", "school"))
                assert before != "master"
                assert before != "college" or after == "master"
        dear = sum("age" in answer.changes for one in found for answer in one.answers)
        cheap = own(constraints=[Cost("age", 0.2)], estimator=model.estimator)
        other = explain(cheap, X, y, range(100), "yes", robust=None)
        assert sum("age" in answer.changes for one in other for answer in one.answers) > dear
    resampled, _ = own(constraints=rules).fit_resample(X, y)
    assert len(resampled) > len(X)


def test_a_weight_multiplies_what_a_change_adds_in_provenance_and_both_samplers():
    X, y = people(300)
    for kind in (CounterfactualOverSampler, InteriorOverSampler):
        plain, dear = kind(random_state=0), kind(random_state=0, constraints=[Cost("degree", 7)])
        dear.fit_resample(X, y)
        plain.fit_resample(X, y)
        assert dear.profile_.scale[2] == pytest.approx(plain.profile_.scale[2] / 7)
    made = CounterfactualOverSampler(random_state=0, constraints=[Cost("degree", 7)])
    made.fit_resample(X, y)
    far = [row["distance"] for row in made.provenance_ if "degree" in row["changed"]]
    assert all(one >= 7 for one in far)


def test_what_cannot_be_explained_is_refused():
    X, y = people()
    f, labels = pipeline().fit(X, y), np.arange(len(X)) % 3
    with pytest.raises(ClassifierError, match="model LogisticRegression is not fitted"):
        explain(LogisticRegression(), X)
    with pytest.raises(ClassifierError, match="model must be a fitted classifier or a Counterf"):
        explain(InteriorOverSampler(), X, y)
    with pytest.raises(TableError, match="y must be given with a sampler"):
        explain(own(), X)
    with pytest.raises(TableError, match="constraints are those of the sampler"):
        explain(own(), X, y, 0, constraints=[Immutable("age")])
    with pytest.raises(TableError, match="rows and row are both given"):
        explain(f, X, rows=[0], row=0)
    with pytest.raises(TableError, match="rows is a mask of 2 entries, but X has 200"):
        explain(f, X, rows=[True, False])
    with pytest.raises(TableError, match="row must be one of the 200 rows"):
        explain(f, X, rows=[0, 200])
    with pytest.raises(TableError, match="rows lacks the column 'town' of X"):
        explain(f, X, rows=X.drop(columns="town"))
    with pytest.raises(TableError, match="rows has 'doctor' in the column 'degree', which X never"):
        explain(f, X, rows=X.head(2).assign(degree="doctor"))
    with pytest.raises(TableError, match="to must be given, as there are several classes"):
        explain(own(), X, labels, [0])


def test_the_old_names_are_still_there(wisconsin):
    X, y = wisconsin
    answer = explain(own(), X, y, 0, "malignant", robust=None).answers[0]
    with pytest.warns(FutureWarning, match="Answer.room is called accepted"):
        assert answer.room == answer.accepted
    with pytest.warns(FutureWarning, match="renamed to AcceptedRange"):
        from counterbalance.explain import Room  # noqa: PLC0415
    assert isinstance(answer.accepted["CellSize"], Room)
