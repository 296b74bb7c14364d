"""What the tests of the readers share."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from embcalc.checkpoints import Checkpoint, open_checkpoint
from embcalc.core.decode import to_float32
from embcalc.sources import locate


def opened(path: Path) -> Checkpoint:
    """Open a file or a folder as the command line does."""
    located = locate(str(path))
    return open_checkpoint(located.folder, located.file)


def values(checkpoint: Checkpoint, name: str, rows: range | None = None) -> NDArray[np.float32]:
    """Decode rows of a tensor, as one array."""
    blocks = [
        (block.start, to_float32(block.values, block.dtype).copy())
        for block in checkpoint.blocks(name, rows)
    ]
    first = 0 if rows is None else rows.start
    for start, block in blocks:
        assert start == first
        first += len(block)
    return np.concatenate([block for _, block in blocks])


def safetensors_bytes(header: Mapping[str, Any] | str | bytes, data: bytes = b"") -> bytes:
    """Lay out a safetensors file from its header, valid or not."""
    text = header if isinstance(header, str | bytes) else json.dumps(header)
    raw = text if isinstance(text, bytes) else text.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw + data


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes], Path]:
    """Write a file into the test's folder."""

    def build(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return build
