"""Classifier: f, fitted once and then asked about every candidate."""
