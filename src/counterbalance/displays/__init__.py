"""Displays: plots of samplers and classifiers, in scikit-learn's style.

A display is made by a ``from_*`` method, which draws it; ``plot()`` draws it once more, on
other axes. Unlike scikit-learn's, ``plot()`` returns the matplotlib axes.
"""

from counterbalance.displays.comparison import ComparisonDisplay
from counterbalance.displays.decision import DecisionDisplay
from counterbalance.displays.new_rows import BoundaryDisplay, CounterfactualDisplay

__all__ = ["BoundaryDisplay", "ComparisonDisplay", "CounterfactualDisplay", "DecisionDisplay"]
