"""The study: which resampler helps, over many data sets, classifiers and metrics."""

from counterbalance.studies.study.run import RESAMPLER_STUDY, Study, named_trials, study
from counterbalance.studies.study.settings import StudySettings, StudySettingsError, settings_of

__all__ = [
    "RESAMPLER_STUDY",
    "Study",
    "StudySettings",
    "StudySettingsError",
    "named_trials",
    "settings_of",
    "study",
]
