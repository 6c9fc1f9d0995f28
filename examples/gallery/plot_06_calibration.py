"""
Probabilities before and after
==============================

A model that was trained on a balanced table predicts as if half of all rows were positive.
``ResampledClassifier`` corrects its probabilities for the real share of the class.
"""

import matplotlib.pyplot as plt
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import train_test_split

from counterbalance import ResampledClassifier

X, y = make_classification(
    6000, n_features=8, n_informative=5, weights=[0.93], flip_y=0.03, random_state=3
)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
models = {
    "no resampling": LogisticRegression(),
    "SMOTE in a pipeline": make_pipeline(SMOTE(random_state=0), LogisticRegression()),
    "ResampledClassifier": ResampledClassifier(LogisticRegression(), SMOTE(random_state=0)),
}
figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
for name, model in models.items():
    probability = model.fit(X_train, y_train).predict_proba(X_test)[:, 1]
    brier = brier_score_loss(y_test, probability)
    CalibrationDisplay.from_predictions(
        y_test, probability, n_bins=8, strategy="quantile", name=f"{name}, Brier {brier:.3f}", ax=ax
    )
plt.show()
