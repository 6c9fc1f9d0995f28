"""Reading: a plain dict becomes frozen records, by the types that the records declare.

text         control characters and broken Unicode are made visible, never passed on
number       nan and infinity become None where None is allowed
sequence     any sequence becomes a tuple
record       a mapping; missing keys take their default, others are left alone
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Iterable, Mapping
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from counterbalance.errors import CounterbalanceError
from counterbalance.io.invisible import by_number, is_invisible

Record = TypeVar("Record")

# Controls have pictures of their own. Tab and line feed are harmless.
CONTROLS = {code: 0x2400 + code for code in range(0x20) if code not in {0x09, 0x0A}}
CONTROLS[0x7F] = 0x2421
HARMLESS = "\t\n"


class SummaryError(CounterbalanceError):
    """A summary does not hold what the page needs."""


def read(kind: type[Record], value: Any, where: str) -> Record:
    """Return ``value`` as ``kind``, a dataclass; ``where`` names it in messages."""
    record: Record = _read(kind, value, where)
    return record


def clean(text: str) -> str:
    r"""Return a text that is valid Unicode and has no invisible characters.

    >>> clean("age\x00 \u202eega")
    'age␀ [U+202E]ega'
    """
    text = text.encode("utf-8", "replace").decode("utf-8").translate(CONTROLS)
    if text.isascii():
        return text
    return "".join(
        by_number(character) if is_invisible(character) and character not in HARMLESS else character
        for character in text
    )


def _read(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return _plain(value)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _record(kind, value, where)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        return _optional(arguments, value, where)
    if origin is Literal:
        if value not in arguments:
            raise _wrong(where, f"one of {', '.join(map(repr, arguments))}", value)
        return value
    if origin is tuple:
        return _sequence(arguments, value, where)
    if origin is dict:
        if not isinstance(value, Mapping):
            raise _wrong(where, "a mapping", value)
        return {
            clean(str(key)): _read(arguments[1], cell, f"{where}[{key!r}]")
            for key, cell in value.items()
        }
    return _scalar(kind, value, where)


def _record(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise _wrong(where, f"a mapping with the keys {', '.join(_hints(kind))}", value)
    found = {}
    for field in dataclasses.fields(kind):
        if field.name in value:
            inner = f"{where}[{field.name!r}]"
            found[field.name] = _read(_hints(kind)[field.name], value[field.name], inner)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise SummaryError(
                f"{where} has no {field.name!r}; its keys are {', '.join(map(repr, value))}; add it"
            )
    return kind(**found)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _optional(arguments: tuple[Any, ...], value: Any, where: str) -> Any:
    """Read ``X | None``; a number that is none is nothing."""
    inner = next(argument for argument in arguments if argument is not types.NoneType)
    if value is None or (isinstance(value, Real) and not math.isfinite(value)):
        return None
    return _read(inner, value, where)


def _sequence(arguments: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _wrong(where, "a list", value)
    cells = list(value)
    kinds = arguments[:1] * len(cells) if arguments[-1] is Ellipsis else arguments
    if len(kinds) != len(cells):
        raise _wrong(where, f"a list of {len(kinds)}", value)
    return tuple(
        _read(kind, cell, f"{where}[{place}]")
        for place, (kind, cell) in enumerate(zip(kinds, cells, strict=True))
    )


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is str:
        return clean(value if isinstance(value, str) else str(value))
    if kind is bool:
        return bool(value)
    if kind is int and isinstance(value, Integral):
        return int(value)
    if kind is float and isinstance(value, Real) and math.isfinite(value):
        return float(value)
    expected = {int: "a whole number", float: "a finite number"}[kind]
    raise _wrong(where, expected, value)


def _plain(value: Any) -> Any:
    """Return anything as text, lists and mappings of text."""
    if isinstance(value, Mapping):
        return {clean(str(key)): _plain(cell) for key, cell in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(cell) for cell in value]
    return clean(str(value))


def _wrong(where: str, expected: str, value: Any) -> SummaryError:
    shown = repr(value)
    shown = shown if len(shown) < 80 else shown[:80] + "..."  # noqa: PLR2004  (a line's worth)
    return SummaryError(f"{where} must be {expected}, got {shown}; mend what made the summary")
