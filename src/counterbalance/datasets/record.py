"""What every loader returns, and what it raises when the data are not here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterbalance.errors import DataNotFoundError
from counterbalance.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with its labels and its origin.

    Parameters
    ----------
    name : str
        Name of the data set.
    X : pandas.DataFrame
        Features. Nominal columns are ``category``, whole numbers are integers,
        missing cells are NaN (a column of whole numbers with missing cells is float).
    y : pandas.Series
        Labels, one per row of X, with the same index.
    source : str
        Where the data come from.
    description : str
        What a row is and what is to be predicted.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series[Any]
    source: str
    description: str

    @property
    def class_counts(self) -> dict[Any, int]:
        """Rows per class, the largest class first."""
        counts = self.y.value_counts(sort=True)
        return {label: int(count) for label, count in counts.items()}

    def __repr__(self) -> str:
        rows, features = self.X.shape
        return f"Dataset({self.name!r}, rows={rows}, features={features}, {self.class_counts})"


def require_pandas() -> Any:
    """Return the module pandas, or say how to install it."""
    return require("pandas", "a pandas table")


def not_found(what: str, looked: Sequence[str], ways: Sequence[str]) -> DataNotFoundError:
    """Return the error for data that are not here: where we looked, every way to get them."""
    places = "; ".join(looked) if looked else "nowhere"
    remedies = "".join(f"\n  - {way}" for way in ways)
    return DataNotFoundError(
        f"{what} was not found (looked in: {places}). Ways to get it:{remedies}"
    )
