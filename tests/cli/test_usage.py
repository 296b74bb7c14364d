"""A command line that cannot be parsed: two lines in embcalc's words, and exit code 2."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from embcalc.cli.app import COMMANDS
from embcalc.cli.numbers import whole_number
from embcalc.cli.usage import ValueOfOptionError, told
from tests.conftest import Run

WRONG = {
    "estimate --hiden-size 4": (
        "embcalc estimate has no option --hiden-size",
        "did you mean --hidden-size? see 'embcalc estimate --help'",
    ),
    "estimate --zzz": (
        "embcalc estimate has no option --zzz",
        "see 'embcalc estimate --help'",
    ),
    "lookup m -z": ("embcalc lookup has no option -z", "see 'embcalc lookup --help'"),
    "--vers": ("embcalc has no option --vers", "did you mean --version? see 'embcalc --help'"),
    "--format json check m": (
        "--format stands before the command",
        "write embcalc check … --format …; see 'embcalc --help'",
    ),
    "estimte": (
        "embcalc has no command 'estimte'",
        "did you mean embcalc estimate? see 'embcalc --help'",
    ),
    "help": ("embcalc has no command 'help'", "write embcalc COMMAND --help; see 'embcalc --help'"),
    "my/model": (
        "embcalc has no command 'my/model'",
        "a command comes first: estimate, presets, inspect, check-vocab, check, lookup, "
        "neighbors, diff, explain or demo; see 'embcalc --help'",
    ),
    "inspect": (
        "embcalc inspect needs MODEL",
        "as in embcalc inspect MODEL; see 'embcalc inspect --help'",
    ),
    "diff a": (
        "embcalc diff needs B",
        "as in embcalc diff BASE FINE-TUNED; see 'embcalc diff --help'",
    ),
    "demo a b": (
        "embcalc demo has no place for 'b'",
        "as in embcalc demo tiny; see 'embcalc demo --help'",
    ),
    "check-vocab a b": (
        "embcalc check-vocab has no place for 'b'",
        "embcalc check takes several models; see 'embcalc check-vocab --help'",
    ),
    "estimate --vocab-size": (
        "--vocab-size needs a value",
        "write --vocab-size VALUE; see 'embcalc estimate --help'",
    ),
    "estimate --tied=yes": (
        "--tied takes no value",
        "write --tied alone; see 'embcalc estimate --help'",
    ),
    "diff a b --fail-on all": (
        "--fail-on cannot be 'all'",
        "write changed or shape; see 'embcalc diff --help'",
    ),
    "lookup m --format mark": (
        "--format cannot be 'mark'",
        "did you mean markdown? write text, json, csv or markdown; see 'embcalc lookup --help'",
    ),
    "neighbors m x -k ten": (
        "--top 'ten' is no whole number",
        "write digits, as 64 or 150,000; see 'embcalc neighbors --help'",
    ),
}


@pytest.mark.parametrize("line", WRONG)
def test_says_what_is_wrong_and_what_to_write(run: Callable[..., Run], line: str) -> None:
    message, hint = WRONG[line]
    result = run(*line.split())
    assert (result.code, result.out) == (2, "")
    assert result.err == f"error: {message}\nhint: {hint}\n"


NUMBERS = [
    ("estimate", "--vocab-size"),
    ("estimate", "--pad-to"),
    ("estimate", "--zero-stage"),
    ("inspect m", "--top"),
    ("inspect m", "--bins"),
    ("lookup m", "--pad-id"),
    ("neighbors m", "--id"),
    ("neighbors m", "--minus-id"),
    ("neighbors m", "--top"),
    ("diff a b", "--top"),
    ("check m", "--jobs"),
]


@pytest.mark.parametrize(("command", "option"), NUMBERS)
def test_every_number_is_read_alike(run: Callable[..., Run], command: str, option: str) -> None:
    result = run(*command.split(), option, "1.5")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {option} '1.5' is no whole number\nhint: write digits")


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), ("-7", -7), ("150000", 150_000), ("150,000", 150_000), (" 1_500_000 ", 1_500_000)],
)
def test_whole_numbers_with_thousands_marked(text: str, number: int) -> None:
    assert whole_number("--n")(text) == number


def test_a_default_is_taken_as_it_is() -> None:
    assert whole_number("--n")(10) == 10


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("128k", "k is 1,000 or 1,024: write 128,000 or 131,072"),
        ("0.5K", "k is 1,000 or 1,024: write 500 or 512"),
        ("7B", "write 7,000,000,000"),
        ("1.5m", "write 1,500,000"),
        ("2T", "write 2,000,000,000,000"),
        ("1e9", "write 1,000,000,000"),
        ("1,50", "write digits, as 64 or 150,000"),
        ("15,0000", "write digits, as 64 or 150,000"),
        ("1,000_000", "write digits, as 64 or 150,000"),
        ("", "write digits, as 64 or 150,000"),
        ("١٢", "write digits, as 64 or 150,000"),
        ("0x10", "write digits, as 64 or 150,000"),
        ("9" * 5000, None),
    ],
)
def test_other_numbers_are_refused_with_what_to_write(text: str, hint: str | None) -> None:
    with pytest.raises(ValueOfOptionError) as caught:
        whole_number("--n")(text)
    assert caught.value.hint == hint
    assert len(caught.value.message) < 100


def test_a_message_that_is_not_known_is_passed_on() -> None:
    message = "Invalid value for '--x': Value error, something new."
    assert told(message, ["check", "m"], COMMANDS) == (
        "embcalc check: Invalid value for '--x': something new",
        "see 'embcalc check --help'",
    )


def test_what_was_typed_reaches_the_terminal_escaped(run: Callable[..., Run]) -> None:
    for arguments in (["\x1b[31m"], ["check", "--\x1b[31m"], ["estimate", "--top", "1\n2"]):
        result = run(*arguments)
        assert result.code == 2
        assert "\x1b" not in result.err
        assert len(result.err.splitlines()) == 2
