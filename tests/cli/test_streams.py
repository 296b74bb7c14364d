"""The streams as a shell may leave them: closed, full, or of an encoding that lacks characters."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from embcalc.cli.streams import escape

EMBCALC = f"'{sys.executable}' -m embcalc"
needs_shell = pytest.mark.skipif(shutil.which("sh") is None, reason="this system has no sh")


def shell(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of a POSIX shell, `embcalc` being this one."""
    return subprocess.run(
        ["sh", "-c", line.replace("embcalc", EMBCALC)],
        capture_output=True,
        check=False,
        cwd=folder,
        env={**os.environ, **environment},
    )


@needs_shell
@pytest.mark.parametrize("arguments", ["--version", "estimate gpt2", "inspect demo", "check demo"])
def test_closed_stdout_is_one_line(demo_model: Path, arguments: str) -> None:
    done = shell(f"embcalc {arguments} >&-", demo_model.parent)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: cannot write the result: ")
    assert done.stderr.count(b"error: ") == 1


@needs_shell
def test_a_file_needs_no_stdout(demo_model: Path) -> None:
    done = shell("embcalc check demo --format json -o report.json >&- 2>&- <&-", demo_model.parent)
    assert done.returncode == 0
    assert json.loads((demo_model.parent / "report.json").read_bytes())["ok"]


@needs_shell
@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("inspect demo", 0),
        ("inspect demo --fail-on zero", 1),
        ("check demo nowhere", 2),
        ("check nowhere", 2),
    ],
)
def test_messages_that_nobody_can_read_change_no_exit_code(
    demo_model: Path, arguments: str, code: int, where: str
) -> None:
    if "full" in where and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = shell(f"embcalc {arguments} {where}", demo_model.parent)
    assert (done.returncode, done.stderr) == (code, b"")
    assert (b"demo" in done.stdout) == (arguments != "check nowhere")


@needs_shell
def test_json_stays_json_in_an_encoding_that_lacks_characters(demo_model: Path) -> None:
    tokenizer = demo_model / "tokenizer.json"
    tokenizer.write_bytes(
        tokenizer.read_bytes().replace("爱".encode(), "é".encode()).replace(b"PAD", "😀".encode())
    )
    done = shell(
        "embcalc lookup demo --ids 0,2 --format json", demo_model.parent, PYTHONIOENCODING="ascii"
    )
    assert done.stdout.isascii()
    assert json.loads(done.stdout)["sequences"][0]["tokens"] == ["😀", "é"]


def test_other_errors_of_an_encoding_stay_errors() -> None:
    broken = UnicodeDecodeError("ascii", b"\xff", 0, 1, "no ASCII")
    with pytest.raises(UnicodeDecodeError):
        escape(broken)


@needs_shell
@pytest.mark.parametrize("arguments", ["estimate gpt2", "--help", "explain EMB101"])
def test_a_working_folder_that_is_gone_is_not_needed(tmp_path: Path, arguments: str) -> None:
    (tmp_path / "gone").mkdir()
    done = shell(f"cd gone && rmdir ../gone && embcalc {arguments}", tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
