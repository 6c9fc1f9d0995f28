"""Experiments of this project: the paper's own, repeated, and a study over many data sets."""
