"""Preparation: what every classifier of an experiment gets in place of a raw table.

It is fitted inside a training fold, like everything else that learns from rows.
"""

from __future__ import annotations

from typing import Any

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def prepare() -> Any:
    """Return the imputer, encoder and scaler, unfitted."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    nominal = make_column_selector(dtype_include=["category", "object"])
    plain = make_column_selector(dtype_exclude=["category", "object"])
    return make_column_transformer((numbers, plain), (categories, nominal))
