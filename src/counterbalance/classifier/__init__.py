"""Classifier: f in the paper, fitted once; it then predicts the class of every candidate."""
