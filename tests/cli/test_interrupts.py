"""Ctrl-C while `inspect` reads a large table, and while it writes its files."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/io").exists(), reason="needs the counters of Linux' /proc"
)
LISTENS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from embcalc.cli.app import entry_point
entry_point()
"""
"""The program, listening to Ctrl-C even where the tests run in the background."""
OLD = b"written by an earlier run"
NEEDS = {".parquet": "pyarrow", ".png": "matplotlib", ".svg": "matplotlib"}


def zeros(path: Path, dtype: str, rows: int, width: int) -> Path:
    """A table that takes no room on the disk: its bytes are a hole in the file."""
    nbytes = rows * width * {"F32": 4, "U8": 1}[dtype]
    entry = {"dtype": dtype, "shape": [rows, width], "data_offsets": [0, nbytes]}
    head = json.dumps({"model.embed_tokens.weight": entry}).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        file.truncate(8 + len(head) + nbytes)
    return path


def needs(name: str) -> None:
    package = NEEDS.get(Path(name).suffix)
    if package is not None and find_spec(package) is None:
        pytest.skip(f"needs {package}")


def bytes_read(process: subprocess.Popen[str]) -> int:
    text = Path(f"/proc/{process.pid}/io").read_text()
    return int(re.findall(r"rchar: (\d+)", text)[0])


def interrupted(
    folder: Path, arguments: list[str], sign: Callable[[subprocess.Popen[str]], bool]
) -> subprocess.Popen[str]:
    """Run a command line, send it Ctrl-C at a sign of progress, and see that it leaves nothing."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENS, "inspect", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "MPLCONFIGDIR": str(folder.parent)},
    )
    limit = time.monotonic() + 120
    while process.poll() is None and not sign(process) and time.monotonic() < limit:
        time.sleep(0.01)
    assert process.poll() is None, "it ended before it could be interrupted"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert after == before
    return process


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "here"
    place.mkdir()
    return place


@pytest.mark.parametrize(
    "options",
    [
        ["--export", "rows.csv", "--output", "report.txt"],
        ["--export", "rows.jsonl", "--format", "json", "--output", "report.json"],
        ["--export", "rows.npy"],
        ["--export", "rows.parquet"],
        ["--plot", "norms.svg", "--html", "page.html"],
    ],
    ids=lambda options: options[1],
)
def test_while_a_table_is_read(folder: Path, options: list[str]) -> None:
    needs(options[1])
    (folder / options[1]).write_bytes(OLD)
    table = zeros(folder.parent / "model.safetensors", "F32", 1 << 20, 1024)
    # Starting reads some 20 MB of libraries; the table has 4 GB.
    interrupted(folder, [str(table), *options], lambda process: bytes_read(process) > 200e6)
    assert (folder / options[1]).read_bytes() == OLD


@pytest.mark.parametrize(
    ("name", "existing"),
    [
        ("rows.csv", True),
        ("rows.csv", False),
        ("rows.jsonl", True),
        ("rows.npy", False),
        ("rows.parquet", True),
        ("page.html", True),
    ],
)
def test_while_a_file_is_written(folder: Path, name: str, existing: bool) -> None:
    needs(name)
    if existing:
        (folder / name).write_bytes(OLD)
    table = zeros(folder.parent / "model.safetensors", "U8", 1_000_000, 4)

    def begun(_: subprocess.Popen[str]) -> bool:
        """A file beside the target holds what is written, until it is whole."""
        return any(folder.glob(f".{name}.*"))

    option = "--html" if name.endswith("html") else "--export"
    interrupted(folder, [str(table), option, name], begun)
    assert (folder / name).exists() is existing
