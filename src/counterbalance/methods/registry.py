"""Registry: every method by its name, as far as its packages are installed."""

from difflib import get_close_matches
from importlib.util import find_spec

from counterbalance.errors import TableError
from counterbalance.methods.catalogue import METHODS, Method


def all_samplers() -> dict[str, Method]:
    """Return every method by its name: ours first, then oversamplers by year, then the others.

    A method whose optional package is not installed is left out: G-SMOTE appears after
    ``pip install imbalanced-learn-extra``, GAMO, text-GAN and DOS after ``pip install autograd``.

    >>> all_samplers()["ProWSyn"].factory(random_state=0)
    ProWSyn(random_state=0)
    """
    return {
        method.name: method
        for method in METHODS
        if method.requires is None or find_spec(method.requires) is not None
    }


def find_method(given: str, option: str) -> Method:
    """Return the method that a user's text stands for, in any case; ``option`` is for the message.

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
        near = [known[match].name for match in get_close_matches(wanted, known, n=3)]
        hint = f" (near: {', '.join(map(repr, dict.fromkeys(near)))})" if near else ""
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
