"""The application: its commands, and the boundary where errors become two lines and a code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated

import typer

from embcalc import __version__
from embcalc.cli.exit_codes import ExitCode
from embcalc.cli.streams import drop_stdout, open_closed_streams, say
from embcalc.cli.traffic import reset_traffic, tell_traffic
from embcalc.cli.usage import ValueOfOptionError, told, with_help
from embcalc.core.inputs import forget
from embcalc.errors import EmbcalcError

COMMANDS = (
    "estimate",
    "presets",
    "inspect",
    "check-vocab",
    "check",
    "lookup",
    "neighbors",
    "diff",
    "explain",
    "demo",
)
"""Each is the function of that name in the module of that name."""
_COMPLETION_VARIABLE = "_EMBCALC_COMPLETE"


def command(name: str) -> Callable[..., object]:
    """The function behind a command."""
    identifier = name.replace("-", "_")
    function: Callable[..., object] = getattr(
        import_module(f"embcalc.cli.{identifier}"), identifier
    )
    return function


def application(names: Sequence[str]) -> typer.Typer:
    """Build the program with some of its commands."""
    app = typer.Typer(
        name="embcalc",
        help="Calculator and inspector for the embedding layer of language models.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(root)
    for name in names:
        app.command(name)(command(name))
    return app


def _wanted(arguments: Sequence[str]) -> Sequence[str]:
    """The commands that a command line needs.

    Typer prepares every option of every command before it runs one: with all of them a start
    takes half as long again. Help, completion and a mistyped command need them all.
    """
    if arguments and arguments[0] in COMMANDS and _COMPLETION_VARIABLE not in os.environ:
        return arguments[:1]
    return COMMANDS


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"embcalc {__version__}")
        raise typer.Exit


def root(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Calculator and inspector for the embedding layer of language models."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code.

    Only embcalc's own errors and wrong usage become messages; anything else is a bug and keeps
    its traceback.
    """
    reset_traffic()
    forget()
    code = _run(sys.argv[1:] if arguments is None else arguments)
    if code in (ExitCode.OK, ExitCode.FINDINGS):
        tell_traffic()
    return code


def _run(arguments: Sequence[str]) -> int:
    try:
        app = application(_wanted(arguments))
        code = app(args=list(arguments), prog_name="embcalc", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted()
    except SystemExit:
        # Typer ends so after completion, and where the reader of its help has gone.
        return ExitCode.OK
    except OSError as error:
        # Help and version are printed by Typer: onto a full disk, or where stdout is closed.
        if error.errno not in (errno.ENOSPC, errno.EBADF):
            raise
        return _cannot_print(error)
    except Exception as error:
        problem = _problem(error, arguments)
        if problem is None:
            raise
        return _refuse(*problem)
    if code == ExitCode.INTERRUPTED:
        # Newer releases of Typer take Ctrl-C for an exit of their own.
        return _interrupted()
    return code if isinstance(code, int) else ExitCode.OK


def entry_point() -> None:
    """The `embcalc` program.

    The process ends here without the interpreter's tidying up, which takes longer than the
    command: all files are closed and no thread works any more when `main` returns.
    """
    open_closed_streams()
    code = main()
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _cannot_print(error)
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def _problem(error: Exception, arguments: Sequence[str]) -> tuple[str, str | None] | None:
    """Message and hint of what a user can act on; None for any other exception.

    Typer documents `BadParameter` alone of its usage errors; the others share a method with it.
    """
    if isinstance(error, ValueOfOptionError):
        return error.message, with_help(error.hint, arguments, COMMANDS)
    if isinstance(error, EmbcalcError):
        return error.message, error.hint
    format_message = getattr(error, "format_message", None)
    return None if format_message is None else told(str(format_message()), arguments, COMMANDS)


def _cannot_print(error: OSError) -> int:
    drop_stdout()
    if error.errno == errno.EPIPE:
        return ExitCode.OK
    return _refuse(f"cannot write the result: {error.strerror}", None)


def _refuse(message: str, hint: str | None) -> int:
    from embcalc.render.layout import safe

    say(f"error: {safe(message)}")
    if hint:
        say(f"hint: {safe(hint)}")
    return ExitCode.CANNOT_RUN


def _interrupted() -> int:
    say("interrupted")
    return ExitCode.INTERRUPTED
