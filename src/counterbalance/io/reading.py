"""Reading: what a user says of a file that the file does not say of itself."""

from __future__ import annotations

from dataclasses import dataclass

from counterbalance.errors import TableError


class HeaderError(TableError):
    """A file does not say whether its first row is a header."""


@dataclass(frozen=True)
class Reading:
    """How a file is to be read.

    Parameters
    ----------
    header : bool, optional
        Whether the first row holds the names of the columns. ``None`` looks at the rows and
        refuses a first row that looks like those below.
    numbers : tuple of str
        Columns of numbers, however they look; a cell that is none is missing.
    texts : tuple of str
        Columns of texts, even if all their cells are numbers.
    missing : tuple of str
        Texts that mean a missing cell, besides the usual ones.
    sheet : str, optional
        Name of a sheet of a spreadsheet, or its number from 1; the first one by default.
    labels : tuple of str
        Columns of classes: read as numbers only if they are written as plain ones, and
        ``unknown`` is a class like any other.
    """

    header: bool | None = None
    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    sheet: str | None = None
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        both = sorted(set(self.numbers) & set(self.texts))
        if both:
            raise TableError(
                f"a column holds numbers or texts, but {both[0]!r} is in --number and in --text; "
                "leave it out of one"
            )

    @property
    def words(self) -> list[str]:
        """The options of the command line that say the same."""
        header = {None: [], True: ["--header"], False: ["--no-header"]}[self.header]
        several = {"--number": self.numbers, "--text": self.texts, "--na": self.missing}
        named = [
            word for option, given in several.items() for text in given for word in (option, text)
        ]
        return [*header, *named, *([] if self.sheet is None else ["--sheet", self.sheet])]


AS_IT_IS = Reading()
