"""Settings of a study (data sets, methods, folds), and the suites of data sets.

Every choice in this library that was decided by figures was decided on the development suite. The
final suite is all other KEEL tables that a study of some hours can hold: they are looked at after
the choices have been made (docs/research-log.md says when). The field suites are tables that are
not KEEL's, mixed and with holes; of their two halves one may be looked at while choosing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from counterbalance.datasets import list_datasets, load
from counterbalance.datasets.dataset import FEWEST_OF_CLASS
from counterbalance.datasets.field import FIELD_HELD, FIELD_OPEN
from counterbalance.errors import CounterbalanceError
from counterbalance.studies.study.methods import METHODS, NONE, OURS, VARIANTS

DEVELOPMENT = (
    *("ecoli1", "ecoli3", "ecoli4", "ecoli-0-1-4-6_vs_5", "glass0", "glass2", "glass6"),
    *("glass-0-1-6_vs_5", "haberman", "pima", "yeast1", "yeast4", "yeast6", "yeast-1_vs_7"),
    *("yeast-2_vs_4", "vehicle1", "vehicle2", "abalone9-18", "abalone-21_vs_8", "wisconsin"),
    *("cm1", "winequality-red-4", "winequality-white-3_vs_7", "new_thyroid1"),
    *("page-blocks-1-3_vs_4", "page-blocks0", "spectfheart", "poker-8-9_vs_6", "car-good"),
    *("cleveland-0_vs_4", "pc1", "kr-vs-k-zero_vs_eight", "led7digit-0-2-4-5-6-7-8-9_vs_1"),
    *("shuttle-c0-vs-c4", "vowel0", "segment0"),
    *("page-blocks", "glass", "newthyroid", "balance"),
)
# A larger table takes hours on a laptop, or is the same table under another name.
MOST_ROWS_OF_FINAL = 6000
SUITES = ("development", "final", "field-open", "field-held")
# A quick run shows that everything works, not what is better.
QUICK_METHODS = (NONE, "SMOTE", *OURS)
QUICK_SETS, QUICK_FOLDS, QUICK_ROWS = 2, 2, 300


class StudySettingsError(CounterbalanceError):
    """A setting of the study cannot be used."""


@dataclass(frozen=True)
class StudySettings:
    """How much is computed."""

    datasets: tuple[str, ...] = DEVELOPMENT  # names of data sets that `load` knows
    # Some of those that are known, or ``VARIANTS``; no resampling is always among them, because it
    # stands in for methods that fail.
    methods: tuple[str, ...] = METHODS
    folds: int = 5  # folds of the cross-validation
    # Which repetitions: each shuffles the rows anew, with its number as the seed.
    repeats: tuple[int, ...] = (0,)
    # Most rows of a data set, drawn by class share where it has more, small classes spared; 0 takes
    # all.
    rows: int = 1600
    known: tuple[str, ...] = METHODS  # the methods that there are: ``METHODS``, or the rivals

    def __post_init__(self) -> None:
        if not self.datasets or not self.repeats:
            raise StudySettingsError("datasets and repeats must name at least one each")
        known = (*self.known, *VARIANTS)
        unknown = [name for name in self.methods if name not in known]
        if unknown:
            raise StudySettingsError(
                f"methods must be some of {', '.join(known)}; got {', '.join(unknown)}"
            )
        for name, least in (("folds", 2), ("rows", 0)):
            value = getattr(self, name)
            if value < least:
                raise StudySettingsError(f"{name} must be at least {least}, got {value}")


def settings_of(
    names: Sequence[str],
    *,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
    folds: int = 5,
    repeats: str = "0",
    rows: int = 1600,
    quick: bool = False,
    known: tuple[str, ...] = METHODS,
) -> dict[str, StudySettings]:
    """Read the options of the command: settings for each suite that is named.

    A quick run takes two tables of each suite, few rows, two folds, and, where all methods of the
    study are known and none is named, four of them.

    Examples
    --------
    >>> settings_of(["development"], datasets=["glass2"], methods=["SMOTE"])["chosen"].methods
    ('none', 'SMOTE')
    """
    unknown = [name for name in names if name not in SUITES]
    if unknown or not names:
        raise StudySettingsError(
            f"suite must be some of {', '.join(SUITES)}, got {', '.join(names) or 'none'}"
        )
    numbers = [part.strip() for part in repeats.split(",")]
    if not all(number.isdigit() for number in numbers):
        raise StudySettingsError(
            f"repeats must be whole numbers with commas, such as 0,1; got {repeats!r}"
        )
    chosen = tuple(dict.fromkeys((NONE, *methods))) if methods else known
    tables = {"chosen": tuple(datasets)} if datasets else {name: suite(name) for name in names}
    for sets in tables.values():  # a wrong name, or a missing package, is told before hours of work
        for data in sets if datasets else sets[:1]:
            load(data)
    if quick:
        tables = {name: sets[:QUICK_SETS] for name, sets in tables.items()}
        chosen = QUICK_METHODS if chosen == METHODS else chosen
        folds, rows = QUICK_FOLDS, QUICK_ROWS
    return {
        name: StudySettings(sets, chosen, folds, tuple(map(int, numbers)), rows, known)
        for name, sets in tables.items()
    }


def suite(name: str) -> tuple[str, ...]:
    """Return the names of the data sets of a suite.

    Examples
    --------
    >>> len(suite("development"))
    40
    >>> set(suite("development")) & set(suite("final"))
    set()
    """
    if name == "final":
        return _final()
    return {"development": DEVELOPMENT, "field-open": FIELD_OPEN, "field-held": FIELD_HELD}[name]


def _final() -> tuple[str, ...]:
    """Return the other KEEL tables with enough rows of every class, the small ones first."""
    kept = [
        entry
        for entry in list_datasets()
        if entry.name not in DEVELOPMENT
        and entry.rows <= MOST_ROWS_OF_FINAL
        and min(entry.class_counts.values()) >= FEWEST_OF_CLASS
    ]
    kept.sort(key=lambda entry: (entry.rows * entry.features * len(entry.class_counts), entry.name))
    return tuple(entry.name for entry in kept)
