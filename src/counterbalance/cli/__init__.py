"""The command line: ``counterbalance COMMAND``, also ``python -m counterbalance``.

It is an extra: without typer, all it does is say how to install it.
"""

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from counterbalance.cli.terminal import protect_streams

FAILED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    if arguments is None:  # this process is ours
        protect_streams()
    if find_spec("typer") is None:
        sys.stderr.write(
            "counterbalance: error: the command line needs the package typer, which is not "
            "installed; run: pip install 'counterbalance[cli]'\n"
        )
        return FAILED
    from counterbalance.cli.app import run
    from counterbalance.safe_path import safe_path_for_children

    with safe_path_for_children():
        return run(sys.argv[1:] if arguments is None else list(arguments))
