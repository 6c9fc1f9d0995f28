"""The study: which resampler helps, over many data sets, classifiers and metrics."""
