from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from embcalc import __version__
from tests.conftest import Run

HEAVY = ("numpy", "huggingface_hub", "numkong", "rich.console", "msgspec", "fsspec")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["demo", "--help"]])
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys, typer\nown = set(sys.modules)\nfrom embcalc.cli.app import main\n"
        f"code = main({arguments!r})\n"
        f"loaded = [name for name in {HEAVY!r} if name in set(sys.modules) - own]\n"
        "sys.exit(f'loaded: {loaded}' if loaded else code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_version(run: Callable[..., Run]) -> None:
    assert run("--version").out == f"embcalc {__version__}\n"


def test_module_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "embcalc", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"embcalc {__version__}\n"


def test_no_command_prints_help(run: Callable[..., Run]) -> None:
    result = run()
    assert result.code == 0
    assert "demo" in result.out


@pytest.mark.parametrize(
    "arguments", [["--nope"], ["nope"], ["demo", "--nope"], ["demo", "a", "b"]]
)
def test_wrong_usage_is_two_lines_and_code_two(
    run: Callable[..., Run], arguments: list[str]
) -> None:
    result = run(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert [line.split(":")[0] for line in result.err.splitlines()] == ["error", "hint"]
