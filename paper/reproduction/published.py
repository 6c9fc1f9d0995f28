"""The figures that the paper prints, to be put beside ours.

Table II (areas), Table III (G-mean, in table_iii.csv) and Table IV (correct counts). Figure 5 draws
the F-measure without printing numbers: there is nothing to compare a figure with, only the claim
that ours comes first on every data set.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from paper.trials import Frame

# method: new samples in the areas majority, boundary, interior
AREAS = {"SSO": (265, 108, 457), "ADASYN": (90, 182, 580), "ours": (0, 314, 523)}
ORIGINAL_AREAS = (4, 19, 60)
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
TABLE_III: Frame = pd.read_csv(
    Path(__file__).with_name("table_iii.csv"), index_col=["data", "method"]
)


def g_mean(data: str, method: str, classifier: str) -> tuple[float, float] | None:
    """Return mean and standard deviation of Table III, None where it has no such cell.

    >>> g_mean("WBC", "ours", "SVM"), g_mean("FMN2", "ours", "SVM")
    ((0.968, 0.011), None)
    """
    if (data, method) not in TABLE_III.index:
        return None
    line = TABLE_III.loc[(data, method)]
    return float(line[classifier]), float(line[f"{classifier} deviation"])
