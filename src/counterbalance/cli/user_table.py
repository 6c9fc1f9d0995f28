"""The user's table, as every command that takes one reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class UserTable:
    """A table with its classes, ready for a sampler.

    Parameters
    ----------
    path : Path
        The file.
    target : str
        Name of the column with the classes.
    X : pandas.DataFrame
        The features: every column but the target and those in `kept`.
    y : pandas.Series
        The class of each row.
    kept : tuple of str
        Columns that stay in the file but are not used.
    findings : tuple of str
        What was recognised in the table and what was done about it, one sentence each.
    """

    path: Path
    target: str
    X: pd.DataFrame
    y: pd.Series[Any]
    kept: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


def read_user_table(
    path: Path,
    target: str,
    *,
    keep: Sequence[str] | None = None,
    use: Sequence[str] | None = None,
    drop_missing_target: bool = False,
) -> UserTable:
    """Read a file and say what is wrong with it or remarkable in it."""
    from counterbalance.datasets import load_table

    del use, drop_missing_target
    data = load_table(path, target)
    kept = tuple(keep or ())
    return UserTable(path, target, data.X.drop(columns=list(kept)), data.y, kept)
