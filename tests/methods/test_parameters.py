import inspect

import pytest
from sklearn.base import clone

from counterbalance.methods import Lee
from counterbalance.methods.base import (
    POSITIVE_INTEGER,
    SHARE,
    DeclaredParameters,
    parameter,
)


class Parent(DeclaredParameters):
    depth: int = parameter(default=3, rule=POSITIVE_INTEGER)


class Child(Parent):
    share: float = parameter(default=0.5, rule=SHARE)


def test_a_child_takes_its_parents_parameters_and_its_own_by_keyword():
    made = Child(share=0.25)
    assert (made.depth, made.share) == (3, 0.25)
    assert list(inspect.signature(Child).parameters) == ["depth", "share"]
    assert Child._parameter_constraints == {"depth": POSITIVE_INTEGER, "share": SHARE}


def test_a_class_has_the_parameters_of_all_its_parents():
    class Other(DeclaredParameters):
        width: int = parameter(default=7, rule=POSITIVE_INTEGER)

    class Both(Child, Other):
        pass

    assert set(inspect.signature(Both).parameters) == {"depth", "share", "width"}
    assert (Both(depth=1).depth, Both().width) == (1, 7)


def test_an_undeclared_name_is_rejected():
    with pytest.raises(TypeError, match="breadth"):
        Child(breadth=1)


def test_a_positional_parameter_is_rejected():
    with pytest.raises(TypeError):
        Child(3)


def test_scikit_learns_tools_see_the_parameters():
    made = Lee(n_neighbors=3)
    assert clone(made).get_params()["n_neighbors"] == 3
    assert repr(made) == "Lee(n_neighbors=3)"
