"""Parameters are those of a plain ``__init__``, checked by scikit-learn's constraints."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

from counterbalance import methods
from counterbalance.methods import Lee, all_samplers

CLASSES = {
    type(method.factory())
    for method in all_samplers().values()
    if type(method.factory()).__module__.startswith(methods.__name__)
}
NAMED = sorted(CLASSES, key=lambda cls: cls.__name__)


@pytest.mark.parametrize("cls", NAMED)
def test_every_parameter_is_named_in_the_signature_and_has_a_constraint(cls):
    kinds = {p.kind for p in inspect.signature(cls).parameters.values()}
    assert kinds <= {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert set(inspect.signature(cls).parameters) == set(cls._parameter_constraints)


@pytest.mark.parametrize("cls", NAMED)
def test_an_unknown_name_is_rejected(cls):
    with pytest.raises(TypeError, match="breadth"):
        cls(breadth=1)


def test_a_positional_parameter_is_rejected():
    with pytest.raises(TypeError):
        Lee(3)


@pytest.mark.parametrize("cls", NAMED)
def test_a_bad_value_is_told_with_parameter_rule_and_value(cls):
    X, y = np.arange(20.0).reshape(10, 2), np.repeat([0, 1], [7, 3])
    for name in inspect.signature(cls).parameters:
        made = cls(**{name: object()})
        with pytest.raises(ValueError, match=f"'{name}' parameter of {cls.__name__} must be .*Got"):
            (made.fit_resample if hasattr(made, "fit_resample") else made.fit)(X, y)


def test_scikit_learns_tools_see_the_parameters():
    made = Lee(n_neighbors=3)
    assert clone(made).get_params()["n_neighbors"] == 3
    assert repr(made) == "Lee(n_neighbors=3)"
