"""Write docs/results.md: the study in the parts that its page shows, from one store.

    development               every method, first shuffle: choices were made on these folds
    development, second folds the leading methods on another shuffle of the same tables
    final                     the leading methods on tables that no choice was made on

Trials that the store has are not computed again:
`python benchmarks/results.py study/trials.sqlite`.
"""

import sys
from pathlib import Path

from counterbalance.studies.study import StudySettings, study
from counterbalance.studies.study.methods import OURS
from counterbalance.studies.study.settings import DEVELOPMENT, suite

ROOT = Path(__file__).parent.parent
LEADERS = ("none", "SMOTE", "Lee", "SVM-SMOTE", "ADASYN", "SOMO", *OURS)
PAPER_AND_LEADERS = (
    *LEADERS[: -len(OURS)],
    *("ProWSyn", "k-means SMOTE", "MDO", "SSO", "CUSBoost sampling"),
    *OURS,
)
# The last two tables of the final suite (splice, hiva) are so wide that they are left out.
N_WIDE = 2


def main(store: Path) -> None:
    """Compute what is missing and write the page."""
    parts = {
        "development": StudySettings(),
        "development, second folds": StudySettings(DEVELOPMENT, LEADERS, repeats=(1,)),
        "final": StudySettings(suite("final")[:-N_WIDE], PAPER_AND_LEADERS),
    }
    page = ROOT / "docs" / "results.md"
    result = study(parts, store=store, out=store.parent, jobs=2, page_file=page)
    print(f"{result.summary.computed} trials computed now; page: docs/results.md")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "study/trials.sqlite"))
