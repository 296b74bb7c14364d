"""Byte ranges of local files: the bytes of the file, in bounded memory."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from embcalc.errors import SourceError
from embcalc.sources.local import LocalFile, LocalFolder

CONTENT = bytes(range(256)) * 400


@pytest.fixture
def file(tmp_path: Path) -> LocalFile:
    """A file as it is read."""
    (tmp_path / "f.bin").write_bytes(CONTENT)
    return LocalFile(tmp_path / "f.bin", "f.bin")


@pytest.mark.parametrize(
    ("start", "length", "block"),
    [(0, 102_400, 4096), (1, 102_399, 5000), (4095, 2, 1), (50_000, 8192, 1 << 20), (7, 0, 10),
     (102_400, 0, 10), (0, 102_400, 102_400)],
)  # fmt: skip
def test_streams(file: LocalFile, start: int, length: int, block: int) -> None:
    pieces = [bytes(piece) for piece in file.stream(start, length, block)]
    assert b"".join(pieces) == CONTENT[start : start + length]
    assert all(len(piece) == block for piece in pieces[:-1])


def test_pieces_cannot_be_written_to(file: LocalFile) -> None:
    for piece in file.stream(3, 10_000, 4096):
        assert memoryview(piece).readonly


def test_past_the_end(file: LocalFile) -> None:
    with pytest.raises(SourceError, match=r"ends at byte 102,400; 102,401 are needed"):
        list(file.stream(102_400, 1, 10))


@pytest.mark.parametrize("size", [0, 10_000])
def test_a_file_that_shrinks(file: LocalFile, size: int) -> None:
    stream = file.stream(0, len(CONTENT), 4096)
    next(stream)
    with Path(file.local_path).open("r+b") as opened:
        opened.truncate(size)
    with pytest.raises(SourceError, match=r"was cut short while it was read: byte [\d,]+ is gone"):
        list(stream)


def test_a_file_that_is_emptied_before(file: LocalFile) -> None:
    Path(file.local_path).write_bytes(b"")
    with pytest.raises(SourceError, match="was cut short while it was read"):
        list(file.stream(0, 10, 10))


def test_a_file_that_is_removed(file: LocalFile) -> None:
    Path(file.local_path).unlink()
    with pytest.raises(SourceError, match=r"cannot read .*: No such file"):
        list(file.stream(0, 10, 10))


def test_names(tmp_path: Path) -> None:
    for name in ("b", "a", "d/e/f/g", "d/e/f/h/too-deep", ".hidden", "d/.git/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert LocalFolder(tmp_path, "here").names() == ("a", "b", "d/e/f/g")


PROGRAM = """
import resource, sys
from pathlib import Path
from embcalc.sources.local import LocalFile
file = LocalFile(Path(sys.argv[1]), "f")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for piece in file.stream(0, file.size, 1 << 18):
    sum(piece[::4096])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measures what Linux counts")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        for _ in range(16):
            file.write(b"\1" * (8 << 20))
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) < 16


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_named_and_never_opened(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to(os.devnull)
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(tmp_path)  # the path of a socket has at most some 100 bytes
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
        kinds = {"folder": "a folder", "pipe": "a named pipe", "socket": "a socket"}
        for name, kind in {**kinds, "device": "a device"}.items():
            with pytest.raises(SourceError) as raised:
                LocalFile(tmp_path / name, name)
            assert raised.value.message == f"{tmp_path / name} is {kind}, not a file"


def test_a_folder_in_place_of_a_file_is_listed(tmp_path: Path) -> None:
    (tmp_path / "config.json").mkdir()
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "tokenizer.json").mkdir()
    assert LocalFolder(tmp_path, "m").names() == ("config.json", "original/tokenizer.json")


def test_links_that_lead_back_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "b").write_text("x")
    (tmp_path / "root").symlink_to("/")
    (tmp_path / "self").symlink_to(".")
    (tmp_path / "below" / "up").symlink_to("..")
    (tmp_path / "loop").symlink_to("loop")
    names = LocalFolder(tmp_path, "m").names()
    assert names == ("a", "below/b", "loop")
    with pytest.raises(SourceError, match="is a link that leads back to itself"):
        LocalFile(tmp_path / "loop", "loop")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_closed_folder_below_hides_only_itself(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "closed").mkdir(mode=0o000)
    assert LocalFolder(tmp_path, "m").names() == ("a",)
