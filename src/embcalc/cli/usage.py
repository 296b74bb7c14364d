"""A command line that cannot be parsed, in embcalc's words: what is wrong, and what to write.

Typer documents one of its usage errors alone, and their words differ between its versions; what
all of them have is a message. A message that is not known here is passed on as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module

from embcalc.errors import UsageError

Told = tuple[str, str | None]
"""A message, and what to do where that is more than to read the help."""


class ValueOfOptionError(UsageError):
    """A value that an option cannot take; the hint ends by naming the command's help."""


def told(message: str, arguments: Sequence[str], commands: Sequence[str]) -> tuple[str, str]:
    """Say what Typer's `message` about a command line means: message and hint."""
    program = _program(arguments, commands)
    for pattern, tell in _KINDS:
        match = re.search(pattern, message, flags=re.S)
        if match is not None:
            text, hint = tell(match, arguments, commands)
            return text, with_help(hint, arguments, commands)
    plain = re.sub(r"Value error, ", "", message).rstrip(".")
    return f"{program}: {plain}", with_help(None, arguments, commands)


def with_help(hint: str | None, arguments: Sequence[str], commands: Sequence[str]) -> str:
    """A hint, followed by the command whose help tells more."""
    see = f"see '{_program(arguments, commands)} --help'"
    return see if hint is None else f"{hint}{'' if hint.endswith('?') else ';'} {see}"


def _program(arguments: Sequence[str], commands: Sequence[str]) -> str:
    return f"embcalc {arguments[0]}" if arguments and arguments[0] in commands else "embcalc"


def _no_option(match: re.Match[str], arguments: Sequence[str], commands: Sequence[str]) -> Told:
    program, option = _program(arguments, commands), match[1]
    later = next((word for word in arguments if word in commands), None)
    if program == "embcalc" and later is not None:
        return f"{option} stands before the command", f"write embcalc {later} … {option} …"
    similar = _closest(option, re.findall(r"-[\w-]+", match[2]))
    return f"{program} has no option {option}", similar and f"did you mean {similar}?"


def _no_command(match: re.Match[str], _: Sequence[str], commands: Sequence[str]) -> Told:
    word = match[1]
    similar = _closest(word, commands)
    if similar is not None:
        hint = f"did you mean embcalc {similar}?"
    elif word == "help":
        hint = "write embcalc COMMAND --help"
    else:
        hint = f"a command comes first: {', '.join(commands[:-1])} or {commands[-1]}"
    return f"embcalc has no command '{word}'", hint


def _missing(match: re.Match[str], arguments: Sequence[str], commands: Sequence[str]) -> Told:
    what = match[1].strip("[].")
    return f"{_program(arguments, commands)} needs {what}", _example(arguments, commands)


def _too_many(match: re.Match[str], arguments: Sequence[str], commands: Sequence[str]) -> Told:
    text = f"{_program(arguments, commands)} has no place for '{match[1]}'"
    if arguments and arguments[0] == "check-vocab":
        return text, "embcalc check takes several models"
    return text, _example(arguments, commands)


def _example(arguments: Sequence[str], commands: Sequence[str]) -> str | None:
    """How the command is written, from the example in its help."""
    if not arguments or arguments[0] not in commands:
        return None
    name = arguments[0].replace("-", "_")
    documented = str(getattr(import_module(f"embcalc.cli.{name}"), name).__doc__)
    return f"as in {documented.rpartition('Example: ')[2].strip()}"


def _no_value(match: re.Match[str], *_: Sequence[str]) -> Told:
    return f"{match[1]} needs a value", f"write {match[1]} VALUE"


def _needless_value(match: re.Match[str], *_: Sequence[str]) -> Told:
    return f"{match[1]} takes no value", f"write {match[1]} alone"


def _no_choice(match: re.Match[str], *_: Sequence[str]) -> Told:
    choices = re.findall(r"'([^']*)'", match[3])
    similar = _closest(match[2], choices)
    listed = f"write {', '.join(choices[:-1])} or {choices[-1]}"
    hint = listed if similar is None else f"did you mean {similar}? {listed}"
    return f"{match[1]} cannot be '{match[2]}'", hint


def _closest(word: str, others: Sequence[str]) -> str | None:
    from difflib import get_close_matches

    found = get_close_matches(word, others, n=1)
    return found[0] if found else None


_KINDS: tuple[tuple[str, Callable[..., Told]], ...] = (
    (r"^No such option:? '?(-[^\s']*)'?(.*)$", _no_option),
    (r"^No such command '(.*?)'", _no_command),
    (r"^Missing argument '(.+?)'", _missing),
    (r"^Got unexpected extra arguments?(?:\(s\))? \((.*)\)", _too_many),
    (r"^Option '(.+?)' requires an? ", _no_value),
    (r"^Option '(.+?)' does not take a value", _needless_value),
    (r"^Invalid value for '(.+?)'.*?: (?:Value error, )?'(.*?)' is not one of (.+)$", _no_choice),
)
