"""Code: an estimator as the expression that makes it, and what that has to import."""

import inspect
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

Imports = set[tuple[str, str]]


def as_code(value: Any, imports: Imports) -> str:
    """Write a value as the expression that makes it, and note what that needs to import.

    >>> from sklearn.linear_model import LogisticRegression
    >>> needed = set()
    >>> as_code(LogisticRegression(C=2.0), needed), needed
    ('LogisticRegression(C=2.0)', {('sklearn.linear_model', 'LogisticRegression')})
    """
    if inspect.isfunction(value):
        imports.add((value.__module__, value.__name__))
        return str(value.__name__)
    if not isinstance(value, BaseEstimator):
        return repr(value)
    head, arguments = as_call(value, imports)
    return f"{head}({', '.join(arguments)})"


def as_call(value: Any, imports: Imports) -> tuple[str, list[str]]:
    """Return what is called to make an estimator, and with which arguments."""
    if isinstance(value, Pipeline):
        imports.add(("sklearn.pipeline", "make_pipeline"))
        return "make_pipeline", [as_code(step, imports) for _, step in value.steps]
    imports.add((public_module(type(value)), type(value).__name__))
    given = value.get_params(deep=False)
    arguments: list[str] = []
    for name, parameter in inspect.signature(type(value).__init__).parameters.items():
        if name not in given or repr(given[name]) == repr(parameter.default):
            continue
        is_first = not arguments and isinstance(given[name], BaseEstimator)
        arguments.append(f"{'' if is_first else f'{name}='}{as_code(given[name], imports)}")
    return type(value).__name__, arguments


def public_module(kind: type) -> str:
    """Return the shortest path that a class can be imported from.

    >>> from imblearn.over_sampling import SMOTE
    >>> public_module(SMOTE)
    'imblearn.over_sampling'
    """
    parts = kind.__module__.split(".")
    for stop in range(1, len(parts)):
        module = import_module(".".join(parts[:stop]))
        if getattr(module, kind.__name__, None) is kind:
            return ".".join(parts[:stop])
    return kind.__module__
