"""Invisible characters: those that a name can hold and nobody sees.

A mark that turns the direction of writing makes a name read as another one; a character of no
width makes two names look the same. Wherever a text of a user's table is shown, these are
written out by their number. Accents, emoji and letters of every script are left alone.
"""

from __future__ import annotations

import unicodedata

# Controls, marks of format (direction, no width, byte order), surrogates, private and unassigned
# ones, and separators of lines and paragraphs.
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Blank letters and joiners, which Unicode counts among letters and accents.
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\uffa0")


def is_invisible(character: str) -> bool:
    r"""Whether a character leaves no trace, or acts on its neighbours.

    >>> [is_invisible(character) for character in ("a", " ", "\u0301", "\u202e", "\u200b")]
    [False, False, False, True, True]
    """
    return unicodedata.category(character) in UNSEEN or character in BLANK


def by_number(character: str) -> str:
    r"""Write a character by its number.

    >>> by_number("\u202e")
    '[U+202E]'
    """
    return f"[U+{ord(character):04X}]"
