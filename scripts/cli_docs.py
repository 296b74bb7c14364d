"""Write docs/cli.md from the commands' own signatures and docstrings.

Usage: python scripts/cli_docs.py [--check]
"""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from typer.models import OptionInfo

from embcalc.cli.app import COMMANDS, command

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
HEAD = """# Commands

Written by `scripts/cli_docs.py` from the program itself; a test keeps it true.

Every command takes `--help`. Exit codes: 0 all is well, 1 the command ran and found what it was
asked to fail on, 2 it could not run (one line `error: …`, one line `hint: …`), 130 interrupted.
The result goes to stdout, everything else to stderr.
"""


def page() -> str:
    """The whole page."""
    sections = (_section(name, command(name)) for name in COMMANDS)
    return HEAD + "".join(f"\n{line}" for section in sections for line in section) + "\n"


def _section(name: str, function: Callable[..., object]) -> Iterator[str]:
    yield f"## embcalc {name}\n"
    yield inspect.cleandoc(function.__doc__ or "").replace("\b\n", "") + "\n"
    yield "| argument or option | meaning | default |"
    yield "|---|---|---|"
    hints = typing.get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        annotation = hints[parameter.name]
        if typing.get_origin(annotation) is typing.Annotated:
            yield _row(parameter, *typing.get_args(annotation)[:2])
    yield ""


def _row(parameter: inspect.Parameter, kind: Any, info: Any) -> str:
    names = _names(parameter, kind, info)
    name = ", ".join(f"`{part}`" for part in names) or f"`{info.metavar or parameter.name.upper()}`"
    if names and info.metavar:
        name += f" `{info.metavar}`"
    help_text = " ".join((info.help or "").split()).replace("|", "\\|")
    choices = _choices(kind)
    if choices:
        help_text += f" One of {', '.join(f'`{choice}`' for choice in choices)}."
    return f"| {name} | {help_text} | {_default(parameter.default)} |"


def _names(parameter: inspect.Parameter, kind: Any, info: Any) -> tuple[str, ...]:
    """Spellings of an option; none for an argument."""
    if not isinstance(info, OptionInfo):
        return ()
    # Inside Annotated a lone spelling is taken for the default until Typer builds the command.
    given = (info.default, *(info.param_decls or ()))
    names = tuple(name for name in given if isinstance(name, str) and name.startswith("-"))
    plain = parameter.name.replace("_", "-")
    return names or ((f"--{plain}/--no-{plain}",) if kind is bool else (f"--{plain}",))


def _choices(kind: Any) -> list[str]:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(member.value) for member in kind]
    return next((found for part in typing.get_args(kind) if (found := _choices(part))), [])


def _default(value: object) -> str:
    if value is inspect.Parameter.empty:
        return "required"
    if value is None or value is False or value in ((), []):
        return ""
    return f"`{value}`"


def main(arguments: list[str]) -> int:
    """Write the page, or with --check say whether it is up to date."""
    if "--check" in arguments:
        fresh = PAGE.read_text("utf-8") == page()
        print("docs/cli.md is true" if fresh else "docs/cli.md is stale: run scripts/cli_docs.py")
        return 0 if fresh else 1
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
