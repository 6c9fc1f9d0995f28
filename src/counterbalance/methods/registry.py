"""Registry: every method by its name, as far as its packages are installed."""

from importlib.util import find_spec

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
