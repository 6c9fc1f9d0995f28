"""The command line: ``counterbalance COMMAND``, one module for each command.

A command's module has NAME, SUMMARY, ``add_arguments(parser)`` and ``execute(arguments)``,
which returns the exit code. Adding one is adding its module to COMMANDS.

    0    done
    1    it did not work: one line on stderr says what and the remedy
    2    the command was not understood
    130  stopped by Ctrl-C
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from counterbalance import __version__
from counterbalance.cli import reproduce

COMMANDS = (reproduce,)
FAILED, INTERRUPTED = 1, 130


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="counterbalance", description="Balance imbalanced data with counterfactuals."
    )
    parser.add_argument("--version", action="version", version=f"counterbalance {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    for command in COMMANDS:
        added = commands.add_parser(
            command.NAME, help=command.SUMMARY, description=command.DESCRIPTION
        )
        command.add_arguments(added)
        added.set_defaults(execute=command.execute)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parsed = make_parser().parse_args(arguments)
    try:
        return int(parsed.execute(parsed))
    except KeyboardInterrupt as stop:
        return _say(str(stop) or "stopped by Ctrl-C", INTERRUPTED)
    except (ValueError, ImportError, OSError) as error:
        return _say(f"error: {error}", FAILED)


def _say(message: str, code: int) -> int:
    sys.stderr.write(f"counterbalance: {message}\n")
    return code
