"""Estimators: classifiers that resample inside ``fit``, with calibrated probabilities."""
