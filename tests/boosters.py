"""LightGBM and XGBoost for the tests, where they can be imported: both need a system's libgomp."""

import pytest

try:
    from lightgbm import LGBMClassifier
    from xgboost import XGBClassifier
except (ImportError, OSError):
    LGBMClassifier = XGBClassifier = None

needed = pytest.mark.skipif(
    LGBMClassifier is None,
    reason="LightGBM or XGBoost cannot be imported; on Debian: apt-get install libgomp1",
)


def lightgbm(kind="gbdt", **settings):
    return LGBMClassifier and LGBMClassifier(boosting_type=kind, n_jobs=1, verbose=-1, **settings)


def xgboost(**settings):
    return XGBClassifier and XGBClassifier(n_jobs=1, **settings)


def raw_score(f, X):
    """Ask a booster for the sum over its trees."""
    if isinstance(f, LGBMClassifier):
        return f.predict(X, raw_score=True)
    return f.predict(X, output_margin=True)
