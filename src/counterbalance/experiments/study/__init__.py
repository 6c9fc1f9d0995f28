"""The study: which resampler helps, over many data sets, classifiers and metrics."""

from counterbalance.experiments.study.settings import Settings, StudySettingsError, settings_of
from counterbalance.experiments.study.study import Study, study

__all__ = ["Settings", "Study", "StudySettingsError", "settings_of", "study"]
