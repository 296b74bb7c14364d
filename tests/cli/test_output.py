from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from embcalc.cli.output import deliver
from embcalc.errors import UsageError
from tests.conftest import Run

FULL = Path("/dev/full")


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_file_is_written_whole_with_a_final_line_break(tmp_path: Path) -> None:
    target = tmp_path / "report.txt"
    target.write_text("old")
    target.chmod(0o640)
    deliver("new", target)
    assert target.read_text() == "new\n"
    assert target.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["report.txt"]


def test_a_folder_that_is_missing_is_an_error_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        deliver("new", tmp_path / "missing" / "report.txt")
    assert not list(tmp_path.iterdir())


def test_an_interrupt_leaves_the_old_file(tmp_path: Path) -> None:
    from embcalc.render.files import whole_file

    target = tmp_path / "report.txt"
    target.write_text("old")

    def interrupted() -> None:
        with whole_file(target) as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert target.read_text() == "old"
    assert names(tmp_path) == ["report.txt"]


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    with pytest.raises(UsageError, match="cannot write"):
        deliver("new", tmp_path / "report")
    assert names(tmp_path) == ["report"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    deliver("new", tmp_path / "link.txt")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_regular_file_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    deliver("new", pipe)
    assert os.read(reading, 10) == b"new\n"
    os.close(reading)
    assert pipe.is_fifo()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything"
)
def test_a_read_only_file_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "report.txt"
    target.write_text("old")
    target.chmod(0o444)
    with pytest.raises(UsageError, match="cannot write"):
        deliver("new", target)
    assert target.read_text() == "old"


def printing(
    arguments: list[str], stdout: int | IO[str], folder: Path, *, unbuffered: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command line whose stdout is this one."""
    return subprocess.run(
        [sys.executable, "-m", "embcalc", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["demo", "made"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_line(arguments: list[str], unbuffered: str, tmp_path: Path) -> None:
    with FULL.open("w") as full:
        done = printing(arguments, full, tmp_path, unbuffered=unbuffered)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot write the result")


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "made"]])
def test_a_reader_that_leaves_early_changes_no_exit_code(
    arguments: list[str], tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = printing(arguments, writing, tmp_path)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_link_keeps_pointing_at_its_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "report.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    deliver("new", link)
    assert link.is_symlink()
    assert target.read_text() == "new\n"
    assert names(target.parent) == ["report.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_to_and_stays(tmp_path: Path, linked: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    target = tmp_path / "link" if linked else pipe
    if linked:
        target.symlink_to(pipe)
    # Both ends in one process: the few bytes fit into the pipe.
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    deliver("new", target)
    assert os.read(reading, 100) == b"new\n"
    os.close(reading)
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
@pytest.mark.parametrize("option", ["--output", "--html"])
def test_no_file_of_the_model_is_written_over(
    name: str, option: str, run: Callable[..., Run], demo_model: Path
) -> None:
    before = (demo_model / name).read_bytes()
    result = run("inspect", demo_model, option, demo_model / name)
    assert result.code == 2
    assert "not overwritten" in result.err
    assert (demo_model / name).read_bytes() == before
