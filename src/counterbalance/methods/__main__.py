"""Print the paper's Table I from the registry: ``python -m counterbalance.methods``."""

import sys

from counterbalance.methods.registry import METHODS


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


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
