"""The command-line application: all commands, one way to end.

To add a command, make a ``Command`` (see ``options``) and add it to COMMANDS. Heavy imports
belong inside its function.

    0    done
    1    a problem with the data: one line on stderr states it and the remedy
    2    the command was not understood
    130  stopped by Ctrl-C
"""

import functools
import inspect
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any

import typer

from counterbalance import __version__
from counterbalance.cli.balance import BALANCE
from counterbalance.cli.compare import COMPARE
from counterbalance.cli.explain import EXPLAIN
from counterbalance.cli.lists import DATASETS, METHODS
from counterbalance.cli.options import READING, SHARED, Command, make_reading
from counterbalance.cli.rules import RULES, make_rules
from counterbalance.cli.terminal import one_line

COMMANDS = (BALANCE, EXPLAIN, COMPARE, DATASETS, METHODS)
DONE, FAILED, INTERRUPTED = 0, 1, 130
DEBUG = "--debug"
# What counterbalance and its libraries raise on purpose; anything else is our fault.
EXPECTED = (ValueError, ImportError, OSError)

# Parameters of a command that are records: the options of each, and what makes it of them.
RECORDS: dict[str, tuple[dict[str, tuple[Any, Any]], Callable[[dict[str, Any]], Any]]] = {
    "rules": (RULES, make_rules),
    "reading": (READING, make_reading),
}

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
            command.name,
            help=command.description,
            short_help=command.summary,
            epilog=_examples(command.examples),
        )(_as_function(command))
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
        from counterbalance.search.structure import kernel_status

        sys.stdout.write(f"counterbalance {__version__}, {kernel_status()}\n")
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


def _as_function(command: Command) -> Callable[..., int]:
    """Return what typer makes a command of: its options declared, --debug and Ctrl-C added.

    A command that takes a record (see RECORDS) gets the options that it is made of.
    """
    own = inspect.signature(command.execute, eval_str=True).parameters
    records = {name: RECORDS[name] for name in RECORDS if name in own}
    declared = SHARED | dict(command.options)

    @functools.wraps(command.execute)
    def function(*, debug: Debug = False, **options: Any) -> int:
        del debug  # ``run`` looks for it by itself
        try:
            options |= {name: make(options) for name, (_, make) in records.items()}
            return command.execute(**options)
        except KeyboardInterrupt as stop:
            raise typer.Exit(_stopped(stop)) from None
        except EOFError as error:  # typer takes it for a Ctrl-C at a prompt; we never prompt
            raise RuntimeError(f"unexpected end of input: {error}") from error

    added = {name: one for options, _ in records.values() for name, one in options.items()}
    parameters = [
        parameter.replace(annotation=Annotated[parameter.annotation, declared[name]])
        for name, parameter in own.items()
        if name not in records
    ]
    parameters += [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, option]
        )
        for name, (kind, option) in added.items()
    ]
    parameters.append(
        inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug)
    )
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return function


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
