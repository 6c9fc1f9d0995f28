"""Displays: plots of samplers and classifiers, in scikit-learn's style.

A display is made by a ``from_*`` method, which draws it; ``plot()`` draws it once more, on
other axes. Unlike scikit-learn's, ``plot()`` returns the matplotlib axes.
"""

from counterbalance.displays.boundary import BoundaryDisplay
from counterbalance.displays.counterfactual import CounterfactualDisplay

__all__ = ["BoundaryDisplay", "CounterfactualDisplay"]
