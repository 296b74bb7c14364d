"""The bar: on a terminal's stderr alone, and gone without a trace."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from embcalc.cli.progress import progress_bar
from embcalc.core.progress import silent
from tests.row_cases import healthy

CODE = """
import sys
from embcalc.cli.progress import progress_bar
with progress_bar() as report:
    for done in range(0, 101, 25):
        report("table \\x1b[31m[bold]", done * 10**6, 100 * 10**6)
    report("another", 1, 2)
print("result")
"""


def on_a_terminal(
    arguments: list[str], cwd: Path, columns: int = 100, **variables: str
) -> tuple[str, str]:
    """Run Python with stderr on a pseudo-terminal; give stdout and stderr."""
    leader, follower = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": str(columns), **variables}
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=follower,
        text=True,
        cwd=cwd,
        env=environment,
    ) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                piece = os.read(leader, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(leader)
    assert process.returncode == 0
    return out, shown.decode("utf-8", "replace")


def test_a_bar_shows_rate_and_remaining_time_on_a_terminal(tmp_path: Path) -> None:
    out, shown = on_a_terminal(["-c", CODE], tmp_path)
    assert out == "result\n"
    assert "MB" in shown
    assert "\\x1b[31m[bold]" in shown
    assert "0:00:" in shown or "-:--:--" in shown


@pytest.mark.parametrize("columns", [40, 63, 64, 80])
def test_a_bar_fits_a_narrow_terminal(tmp_path: Path, columns: int) -> None:
    code = CODE.replace("10**6", "10**8").replace("table", "model.embed_tokens.weight")
    _, shown = on_a_terminal(["-c", code], tmp_path, columns)
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]+", shown)]
    assert max(map(len, lines)) <= columns
    assert any("10.0/10.0 GB" in line and "0:00:00" in line for line in lines)


def test_the_command_keeps_its_stdout_clean(tmp_path: Path) -> None:
    folder = healthy(tmp_path / "model")
    out, shown = on_a_terminal(["-m", "embcalc", "inspect", str(folder)], tmp_path)
    assert out.startswith(str(folder))
    assert "\x1b" not in out
    assert "error" not in shown


def test_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar() as report:
        assert report is silent
        report("table", 1, 2)
    with progress_bar(wanted=False) as report:
        assert report is silent
    assert capsys.readouterr() == ("", "")
