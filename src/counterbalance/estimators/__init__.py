"""Estimators: classifiers that resample inside, with probabilities and answers to deploy."""
