"""The command-line application: its commands and their exit codes.

To add a command, write a function with annotated parameters in a module of its own, and name it
in COMMANDS with its examples. Heavy imports belong inside the function.

    0    done
    1    a problem with the data: one line on stderr states it and the remedy
    2    the command was not understood
    130  stopped by Ctrl-C
"""

import functools
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any

import typer

from counterbalance import __version__
from counterbalance.cli import balance, compare, explain, lists
from counterbalance.cli.terminal import one_line

# Each command, with the examples that its help shows.
COMMANDS: dict[Callable[..., int], dict[str, str]] = {
    balance.balance: balance.EXAMPLES,
    explain.explain: explain.EXAMPLES,
    compare.compare: compare.EXAMPLES,
    lists.datasets: lists.DATASETS,
    lists.methods: lists.METHODS,
}
DONE, FAILED, INTERRUPTED = 0, 1, 130
DEBUG = "--debug"
# What counterbalance and its libraries raise on purpose; anything else is a bug.
EXPECTED = (ValueError, ImportError, OSError)


def make_app() -> typer.Typer:
    """Return the whole command line."""
    app = typer.Typer(
        name="counterbalance",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(epilog="counterbalance COMMAND --help describes a command, with examples.")(_all)
    for function, examples in COMMANDS.items():
        lines = [f"\b\n# {what}\n{line}" for what, line in examples.items()]
        epilog = "\n\n".join(["Examples:", *lines, f"{DEBUG} shows the traceback of an error."])
        app.command(epilog=epilog)(_report_interrupt(function))
    return app


def run(arguments: list[str]) -> int:
    """Run a command; an exception becomes one line on stderr and an exit code."""
    debug = DEBUG in arguments
    arguments = [argument for argument in arguments if argument != DEBUG]
    try:
        command = typer.main.get_command(make_app())
        code = command.main(arguments, prog_name="counterbalance", standalone_mode=False)
        return DONE if code is None else int(code)
    except (KeyboardInterrupt, typer.Abort) as stop:
        return _stopped(stop)
    except typer.TyperException as error:
        usage = getattr(error, "ctx", None)
        path = usage.command_path if usage else "counterbalance"
        message = one_line(error.format_message()).rstrip(".")
        return _say(f"error: {message}; see: {path} --help", error.exit_code)
    except EXPECTED as error:
        return _failed(error, "", debug=debug)
    except Exception as error:  # noqa: BLE001 - the last resort: a user never sees a traceback
        remedy = f"; this is a bug of counterbalance, please report what {DEBUG} shows"
        return _failed(error, remedy, debug=debug)


def _show_version(requested: bool) -> None:  # noqa: FBT001 - typer calls it with one value
    if requested:
        from counterbalance.search.structure import kernel_status

        sys.stdout.write(f"counterbalance {__version__}, {kernel_status()}\n")
        raise typer.Exit


def _all(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
        ),
    ] = False,
) -> None:
    """Balance imbalanced data with counterfactuals."""
    del version


def _report_interrupt(function: Callable[..., int]) -> Callable[..., int]:
    """Return a command that reports on Ctrl-C what is kept; typer would exit silently."""

    @functools.wraps(function)
    def command(**options: Any) -> int:
        try:
            return function(**options)
        except KeyboardInterrupt as stop:
            raise typer.Exit(_stopped(stop)) from None

    return command


def _failed(error: Exception, remedy: str, *, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    kind = f"{type(error).__name__}: " if remedy else ""
    return _say(f"error: {kind}{one_line(str(error))}{remedy}", FAILED)


def _stopped(stop: BaseException) -> int:
    return _say(one_line(str(stop)) or "stopped by Ctrl-C", INTERRUPTED)


def _say(message: str, code: int) -> int:
    sys.stderr.write(f"counterbalance: {message}\n")
    return code
