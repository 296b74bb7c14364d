"""Help and completion: whole sentences, an example in each, at any width."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable

import pytest

from embcalc.cli.app import COMMANDS, command
from tests.conftest import Run

WIDE = 80


def embcalc(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "embcalc", *arguments],
        env={**os.environ, "COLUMNS": str(WIDE), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_summaries_are_whole_in_the_list_of_commands() -> None:
    listed = embcalc("--help")
    for name in COMMANDS:
        summary = (command(name).__doc__ or "").splitlines()[0]
        assert len(summary) <= 60
        assert re.search(rf"^  {name} +{re.escape(summary)}$", listed, flags=re.M), listed


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_and_has_an_example(
    run: Callable[..., Run], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDE))
    text = run(name, "--help").out
    assert re.search(rf"^  Example: embcalc {name} \S+", text, flags=re.M)
    assert max(map(len, text.splitlines())) <= WIDE


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_is_shown_for_each_shell(shell: str) -> None:
    assert "_EMBCALC_COMPLETE" in embcalc(_EMBCALC_COMPLETE=f"source_{shell}")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("embcalc check-", "check-vocab"),
        ("embcalc check --form", "--format"),
        ("embcalc check --format sa", "sarif"),
        ("embcalc estimate --optimizer adamw8", "adamw8bit"),
        ("embcalc estimate --precision mixed-", "mixed-master"),
        ("embcalc estimate --freeze pos", "position"),
        ("embcalc estimate --loss no", "no-upcast"),
        ("embcalc estimate bert-base-unc", "bert-base-uncased"),
    ],
)
def test_completes_commands_options_and_their_values(line: str, expected: str) -> None:
    words = shlex.split(line)
    completed = embcalc(
        _EMBCALC_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1)
    )
    assert completed.split() == [expected]
