"""The figures that the paper prints, to be put beside ours.

Table II (areas), Table III (G-mean) and Table IV (correct counts). Figure 5 draws the
F-measure without printing numbers: there is nothing to compare a figure with, only the
claim that ours comes first on every data set.
"""

from __future__ import annotations

# method: new samples in the areas majority, boundary, interior
AREAS = {"SSO": (265, 108, 457), "ADASYN": (90, 182, 580), "ours": (0, 314, 523)}
ORIGINAL_AREAS = (4, 19, 60)

CLASSIFIERS = ("SVM", "KNN", "NN", "GBDT", "RF", "LR")
METHODS = ("SOMO", "k-SMOTE", "CUSBoost", "ours")
# one line for each method: mean and standard deviation for each classifier
_G_MEAN = {
    "WBC": """
        0.964 0.012  0.968 0.012  0.959 0.014  0.957 0.016  0.966 0.013  0.964 0.013
        0.963 0.012  0.969 0.013  0.959 0.014  0.959 0.015  0.965 0.013  0.962 0.014
        0.951 0.018  0.955 0.016  0.918 0.024  0.945 0.018  0.958 0.017  0.95  0.02
        0.968 0.011  0.97  0.01   0.963 0.012  0.964 0.015  0.967 0.011  0.965 0.01""",
    "ILC": """
        0.839 0.008  0.846 0.045  0.889 0.017  0.894 0.008  0.892 0.008  0.836 0.008
        0.826 0.034  0.854 0.041  0.892 0.021  0.891 0.01   0.893 0.009  0.822 0.035
        0.839 0.013  0.842 0.041  0.875 0.026  0.889 0.008  0.885 0.012  0.824 0.031
        0.845 0.007  0.861 0.043  0.898 0.018  0.9   0.006  0.895 0.009  0.844 0.008""",
    "FMN": """
        0.869 0.064  0.857 0.031  0.893 0.042  0.881 0.034  0.893 0.026  0.89  0.026
        0.89  0.058  0.872 0.028  0.892 0.037  0.895 0.025  0.897 0.024  0.902 0.028
        0.864 0.049  0.825 0.036  0.877 0.048  0.848 0.036  0.869 0.033  0.874 0.031
        0.902 0.037  0.874 0.031  0.904 0.036  0.886 0.024  0.911 0.025  0.913 0.03""",
    "PBC": """
        0.616 0.074  0.669 0.042  0.714 0.083  0.823 0.04   0.83  0.04   0.662 0.056
        0.653 0.075  0.671 0.043  0.712 0.057  0.819 0.04   0.838 0.041  0.669 0.052
        0.598 0.072  0.583 0.059  0.691 0.075  0.769 0.055  0.772 0.055  0.662 0.063
        0.642 0.063  0.691 0.036  0.745 0.057  0.843 0.031  0.842 0.037  0.699 0.035""",
}

# classes of PBC in the order of Table IV, with the paper's name for each
CLASS_NAMES = {
    "text": "Majority",
    "graphic": "Minority_1",
    "horizontal line": "Minority_2",
    "picture": "Minority_3",
    "vertical line": "Minority_4",
}
CLASS_ROWS = (1792, 43, 121, 10, 32)
CORRECT = {
    "none": (1773, 27, 107, 7, 27),
    "SOMO": (1772, 26, 108, 7, 26),
    "k-SMOTE": (1771, 27, 106, 7, 27),
    "CUSBoost": (1774, 23, 102, 6, 27),
    "ours": (1771, 27, 111, 8, 27),
}


def g_mean(data: str, method: str, classifier: str) -> tuple[float, float] | None:
    """Return mean and standard deviation of Table III, None where it has no such cell.

    Examples
    --------
    >>> g_mean("WBC", "ours", "SVM"), g_mean("FMN2", "ours", "SVM")
    ((0.968, 0.011), None)
    """
    if data not in _G_MEAN or method not in METHODS:
        return None
    lines = [line.split() for line in _G_MEAN[data].strip().splitlines()]
    line, place = lines[METHODS.index(method)], 2 * CLASSIFIERS.index(classifier)
    return float(line[place]), float(line[place + 1])
