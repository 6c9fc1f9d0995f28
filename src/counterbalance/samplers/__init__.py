"""Samplers: the method as imbalanced-learn estimators."""
