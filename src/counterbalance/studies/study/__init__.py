"""The study: which resampler helps, over many data sets, classifiers and metrics."""

from counterbalance.studies.study.run import RESAMPLER_STUDY, Study, study
from counterbalance.studies.study.settings import StudySettings, StudySettingsError, settings_of

__all__ = [
    "RESAMPLER_STUDY",
    "Study",
    "StudySettings",
    "StudySettingsError",
    "settings_of",
    "study",
]
