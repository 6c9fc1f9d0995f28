"""Invisible characters: those that a name can hold without anybody seeing them.

A mark that reverses the writing direction makes one name read like another; a zero-width
character makes two names look the same. Wherever a text from a user's table is shown, such
characters are written as their code points. Accents, emoji and letters of every script are left
alone.
"""

from __future__ import annotations

import unicodedata

# Control and format characters (direction, zero width, byte order), surrogates, private and
# unassigned code points, and separators of lines and paragraphs.
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Blanks and joiners that Unicode counts as letters and accents.
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\uffa0")


def is_invisible(character: str) -> bool:
    r"""Whether a character shows nothing, or changes how its neighbours are shown.

    >>> [is_invisible(character) for character in ("a", " ", "\u0301", "\u202e", "\u200b")]
    [False, False, False, True, True]
    """
    return unicodedata.category(character) in UNSEEN or character in BLANK


def by_number(character: str) -> str:
    r"""Write a character as its code point.

    >>> by_number("\u202e")
    '[U+202E]'
    """
    return f"[U+{ord(character):04X}]"
