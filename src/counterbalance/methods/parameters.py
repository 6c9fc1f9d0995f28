"""The parameters of a sampler, each declared once: its type, its default and its rule.

    class Lee(PeerOverSampler):
        n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)

gives the class a constructor that takes ``n_neighbors`` by keyword, as scikit-learn's tools
expect, and the rule by which ``fit_resample`` rejects a wrong value. An undeclared name is
rejected as in any Python call. A class with several parents has the parameters of all of them.
What the docstrings of all samplers say about ``sampling_strategy`` and ``random_state`` is
written here once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter as Argument
from inspect import Signature
from numbers import Integral, Real
from typing import Any, ClassVar, dataclass_transform

from imblearn.over_sampling.base import BaseOverSampler
from imblearn.under_sampling.base import BaseUnderSampler
from sklearn.utils._param_validation import Interval

Rule = list[Any]

POSITIVE_INTEGER: Rule = [Interval(Integral, 1, None, closed="left")]
AT_LEAST_TWO: Rule = [Interval(Integral, 2, None, closed="left")]
POSITIVE_REAL: Rule = [Interval(Real, 0, None, closed="neither")]
NOT_NEGATIVE_REAL: Rule = [Interval(Real, 0, None, closed="left")]
SHARE: Rule = [Interval(Real, 0, 1, closed="both")]
POSITIVE_SHARE: Rule = [Interval(Real, 0, 1, closed="right")]
SEED: Rule = ["random_state"]
OVER_STRATEGY: Rule = BaseOverSampler._parameter_constraints["sampling_strategy"]  # noqa: SLF001  # this is how imbalanced-learn's samplers reuse each other's rules
UNDER_STRATEGY: Rule = BaseUnderSampler._parameter_constraints["sampling_strategy"]  # noqa: SLF001  # as above


_HEADING = """    Parameters
    ----------
"""
_SHARED = """    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows each class gets, in imbalanced-learn's terms.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
"""


@dataclass(frozen=True)
class Declaration:
    """Default and rule of one parameter."""

    default: Any
    rule: Rule


def parameter(*, default: Any, rule: Rule) -> Any:
    """Declare a parameter in the body of a class."""
    return Declaration(default, rule)


def _constructor(declared: dict[str, Declaration]) -> Callable[..., None]:
    arguments = [
        Argument(name, Argument.KEYWORD_ONLY, default=declaration.default)
        for name, declaration in declared.items()
    ]
    own = Argument("self", Argument.POSITIONAL_OR_KEYWORD)

    def __init__(self: Any, **values: Any) -> None:  # noqa: N807  # it becomes that very method
        bound = signature.bind(self, **values)
        bound.apply_defaults()
        for name in declared:
            setattr(self, name, bound.arguments[name])

    signature = Signature([own, *arguments])
    __init__.__signature__ = signature  # type: ignore[attr-defined]  # what inspect looks for
    return __init__


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
class DeclaredParameters:
    """Gives a class the constructor and the rules of the parameters it declares."""

    _declared: ClassVar[dict[str, Declaration]] = {}
    _parameter_constraints: ClassVar[dict[str, Rule]] = {}

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        own = {name: d for name, d in vars(cls).items() if isinstance(d, Declaration)}
        for name in own:
            delattr(cls, name)
        cls._declared = {}
        for parent in reversed(cls.__mro__[1:]):
            cls._declared |= vars(parent).get("_declared", {})
        cls._declared |= own
        if cls.__doc__ and {"sampling_strategy", "random_state"} <= cls._declared.keys():
            cls.__doc__ = cls.__doc__.replace(_HEADING, _HEADING + _SHARED)
        cls._parameter_constraints = {name: d.rule for name, d in cls._declared.items()}
        cls.__init__ = _constructor(cls._declared)  # type: ignore[method-assign]
