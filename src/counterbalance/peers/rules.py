"""What a parameter may be, in scikit-learn's words, written once."""

from numbers import Integral, Real
from typing import Any

from imblearn.over_sampling.base import BaseOverSampler
from imblearn.under_sampling.base import BaseUnderSampler
from sklearn.utils._param_validation import Interval

Rules = dict[str, Any]

OVER_RULES: Rules = dict(BaseOverSampler._parameter_constraints)  # noqa: SLF001  # imbalanced-learn's samplers merge their rules in this way
UNDER_RULES: Rules = {
    **BaseUnderSampler._parameter_constraints,  # noqa: SLF001  # as above
    "random_state": ["random_state"],
}

POSITIVE_INTEGER = [Interval(Integral, 1, None, closed="left")]
POSITIVE_REAL = [Interval(Real, 0, None, closed="neither")]
NOT_NEGATIVE_REAL = [Interval(Real, 0, None, closed="left")]
SHARE = [Interval(Real, 0, 1, closed="both")]
POSITIVE_SHARE = [Interval(Real, 0, 1, closed="right")]
