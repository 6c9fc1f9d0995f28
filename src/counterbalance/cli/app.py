"""The command-line application: one module for each command, one way to end.

A command's module has NAME, SUMMARY, DESCRIPTION, EXAMPLES and ``execute``, whose parameters
are its options (see ``options`` for shared ones) and which returns the exit code. To add a
command, add its module to COMMANDS. Heavy imports belong inside ``execute``.

    0    done
    1    a problem with the data: one line on stderr states it and the remedy
    2    the command was not understood
    130  stopped by Ctrl-C
"""

from __future__ import annotations

import functools
import inspect
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Annotated, Any

import typer

from counterbalance import __version__
from counterbalance.cli import balance, compare, datasets, explain, methods, reproduce, study
from counterbalance.cli.options import READING, make_reading
from counterbalance.cli.rules import RULES, make_rules
from counterbalance.cli.terminal import one_line

COMMANDS: tuple[ModuleType, ...] = (balance, explain, compare, reproduce, study, datasets, methods)
DONE, FAILED, INTERRUPTED = 0, 1, 130
DEBUG = "--debug"
# What counterbalance and its libraries raise on purpose; anything else is our fault.
EXPECTED = (ValueError, ImportError, OSError)

# Parameters of a command that are records: the options of each, and what makes it of them.
RECORDS: dict[str, tuple[dict[str, tuple[Any, Any]], Callable[[dict[str, Any]], Any]]] = {
    "rules": (RULES, make_rules),
    "reading": (READING, make_reading),
}

Execute = Callable[..., int]
Debug = Annotated[bool, typer.Option(DEBUG, help="Show the traceback of an error.")]


def make_app() -> typer.Typer:
    """Return the whole command line."""
    app = typer.Typer(
        name="counterbalance",
        no_args_is_help=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(epilog="counterbalance COMMAND --help describes a command, with examples.")(
        _everything
    )
    for command in COMMANDS:
        app.command(
            command.NAME,
            help=command.DESCRIPTION,
            short_help=command.SUMMARY,
            epilog=_examples(command.EXAMPLES),
        )(_as_command(command.execute))
    return app


def run(arguments: list[str]) -> int:
    """Run a command; whatever goes wrong becomes one line on stderr and an exit code."""
    debug = DEBUG in arguments
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
        remedy = f"; this is a fault of counterbalance, please report what {DEBUG} shows"
        return _failed(error, remedy, debug=debug)


def _show_version(asked: bool) -> None:  # noqa: FBT001 - typer calls it with one value
    if asked:
        from counterbalance.search.compiled import is_compiled

        how = (
            "with the compiled kernel" if is_compiled() else "without the compiled kernel (slower)"
        )
        sys.stdout.write(f"counterbalance {__version__}, {how}\n")
        raise typer.Exit


def _everything(
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


def _as_command(execute: Execute) -> Execute:
    """Add the option --debug to a command, and the message at Ctrl-C.

    A command that takes a record (see RECORDS) gets the options that it is made of.
    """
    own = inspect.signature(execute, eval_str=True)
    records = {name: RECORDS[name] for name in RECORDS if name in own.parameters}

    @functools.wraps(execute)
    def command(*, debug: Debug = False, **options: Any) -> int:
        del debug  # ``run`` looks for it by itself
        try:
            options |= {name: make(options) for name, (_, make) in records.items()}
            return execute(**options)
        except KeyboardInterrupt as stop:
            raise typer.Exit(_stopped(stop)) from None
        except EOFError as error:  # typer takes it for a Ctrl-C at a prompt; we never prompt
            raise RuntimeError(f"unexpected end of input: {error}") from error

    added = {name: one for declared, _ in records.values() for name, one in declared.items()}
    added["debug"] = (Debug, False)
    parameters = [parameter for name, parameter in own.parameters.items() if name not in records]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in added.items()
    ]
    command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {
        **{name: hint for name, hint in execute.__annotations__.items() if name not in records},
        **{name: kind for name, (kind, _) in added.items()},
    }
    return command


def _examples(examples: tuple[tuple[str, str], ...]) -> str:
    """Write (what it does, command) pairs below the help."""
    lines = [f"\b\n# {what}\n{command}" for what, command in examples]
    return "\n\n".join(["Examples:", *lines])


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
