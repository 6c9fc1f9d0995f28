"""Registry: every method by its name, ours and those of the literature, with its line of Table I.

They are the rows of ``methods.csv``. Each names its class as ``module:class``, which is imported
when it is first used: listing them all loads neither scikit-learn nor imbalanced-learn.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib import import_module, resources
from importlib.util import find_spec
from typing import Any, Literal

from counterbalance.errors import TableError


@dataclass(frozen=True)
class Method:
    """One resampling method: how to make it, and its description."""

    name: str
    """Its name in the literature."""
    where: str
    """Its class as ``module:class``; a module that starts with a dot is within this package."""
    year: int
    """Year of publication."""
    reference: str
    """Authors and venue."""
    sentence: str
    """What it does, in one sentence."""
    kind: Literal["over", "under", "classifier"] = "over"
    """Whether it adds rows, removes rows, or is a classifier that resamples inside."""
    synthesises_with: Literal["minority", "majority"] | None = "minority"
    """The class whose rows new rows are made from; ``None`` if it makes none."""
    boundary: bool = False
    """Whether it favours the boundary between the classes."""
    multiclass: bool = False
    """Whether its paper evaluated more than two classes."""
    ours: bool = False
    """Whether it is a sampler of this package, importable from ``counterbalance``."""
    details: str = ""
    """Description of the rows of one of our samplers, for the methods of a report."""
    aliases: tuple[str, ...] = ()
    """Other names for it, in lower case; the study calls our samplers by the first of them."""
    requires: str | None = None
    """Optional package that it needs, by its import name."""
    defaults: tuple[tuple[str, Any], ...] = ()
    """Parameters in which it differs from the defaults of its class."""

    @property
    def factory(self) -> Callable[..., Any]:
        """Makes a sampler or classifier; takes its parameters by keyword."""
        module, name = self.where.split(":")
        made: Callable[..., Any] = getattr(import_module(module, "counterbalance"), name)
        return partial(made, **dict(self.defaults)) if self.defaults else made


def _read(row: dict[str, str]) -> Method:
    """Return the method of a line of the table."""
    fields: dict[str, Any] = {
        **row,
        "year": int(row["year"]),
        "synthesises_with": row["synthesises_with"] or None,
        "requires": row["requires"] or None,
        "boundary": row["boundary"] == "yes",
        "multiclass": row["multiclass"] == "yes",
        "ours": row["where"].startswith(".samplers."),
        "aliases": tuple(row["aliases"].split()),
        "defaults": tuple(tuple(pair.split("=")) for pair in row["defaults"].split()),
    }
    return Method(**fields)


_TABLE = resources.files("counterbalance.methods") / "methods.csv"
METHODS = tuple(map(_read, csv.DictReader(_TABLE.read_text(encoding="utf-8").splitlines())))


def all_samplers() -> dict[str, Method]:
    """Return every method by its name: ours first, then oversamplers by year, then the others.

    A method whose optional package is not installed is left out: G-SMOTE appears after
    ``pip install imbalanced-learn-extra``, GAMO and DOS after ``pip install autograd``.

    >>> all_samplers()["ProWSyn"].factory(random_state=0)
    ProWSyn(random_state=0)
    """
    return {
        method.name: method
        for method in METHODS
        if method.requires is None or find_spec(method.requires) is not None
    }


def find_method(given: str, option: str) -> Method:
    """Return the method that a user's text names, in any case; ``option`` is for the message.

    >>> find_method("smote", "--method").name, find_method("ours", "--method").name
    ('SMOTE', 'Counterfactual')
    """
    known = {name.casefold(): method for name, method in all_samplers().items()}
    known |= {alias: method for method in known.values() for alias in method.aliases}
    wanted = " ".join(given.replace("_", " ").split()).casefold()
    if wanted not in known:
        absent = [method for method in METHODS if method.name.casefold() == wanted]
        if absent:
            raise TableError(
                f"{option} {absent[0].name} needs the package {absent[0].requires}; install it "
                "(counterbalance methods lists what is there)"
            )
        near = {repr(known[match].name): None for match in get_close_matches(wanted, known, n=3)}
        hint = f" (near: {', '.join(near)})" if near else ""
        raise TableError(
            f"{option} must be a method of the registry, got {given!r}{hint}; "
            "counterbalance methods lists them"
        )
    return known[wanted]


def table() -> str:
    """Return the paper's Table I, from the registry, as Markdown."""
    mark = {True: "yes", False: "no"}
    lines = [
        "| method | year | kind | synthesises with | boundary | classes | reference |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {m.name} | {m.year} | {m.kind} | {m.synthesises_with or '-'} | {mark[m.boundary]} | "
        f"{'multiple' if m.multiclass else 'binary'} | {m.reference} |"
        for m in METHODS
    ]
    return "\n".join(lines)
