from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embcalc.sources.local import LocalFile

SIZE = 1 << 16


@pytest.fixture
def files(tmp_path: Path) -> list[LocalFile]:
    found = []
    for number in range(3):
        path = tmp_path / f"{number}.bin"
        path.write_bytes(bytes([number]) * SIZE)
        found.append(LocalFile(path, path.name))
    return found


def address(piece: object) -> int:
    return np.frombuffer(piece, np.uint8).ctypes.data  # type: ignore[call-overload,no-any-return]


def test_a_buffer_serves_again_when_nobody_looks_at_it(files: list[LocalFile]) -> None:
    seen = {address(piece) for file in files * 4 for piece in file.stream(0, SIZE, SIZE)}
    assert len(seen) < 12


def test_a_piece_that_is_kept_is_not_written_over(files: list[LocalFile]) -> None:
    """An array over a piece may outlive the stream that gave it."""
    kept = [np.frombuffer(next(iter(file.stream(0, SIZE, SIZE))), np.uint8) for file in files]
    for file in files * 3:
        assert all(set(bytes(piece)) == {files.index(file)} for piece in file.stream(0, SIZE, SIZE))
    assert [set(values.tolist()) for values in kept] == [{0}, {1}, {2}]


def test_streams_side_by_side_have_buffers_of_their_own(files: list[LocalFile]) -> None:
    streams = [file.stream(0, SIZE, SIZE // 4) for file in files]
    for _ in range(4):
        pieces = [next(stream) for stream in streams]
        assert [set(bytes(piece)) for piece in pieces] == [{0}, {1}, {2}]


def test_pieces_lie_as_in_the_file(files: list[LocalFile]) -> None:
    for start in (0, 64, 4096 + 128):
        for piece in files[1].stream(start, SIZE // 2, SIZE // 2):
            assert address(piece) % 4096 == start % 4096


def test_a_large_buffer_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    path.write_bytes(bytes(6 << 20))
    file = LocalFile(path, path.name)
    assert sum(len(piece) for piece in file.stream(0, 6 << 20, 6 << 20)) == 6 << 20
