"""every_inversion Samplers: the method as imbalanced-learn estimators."""
