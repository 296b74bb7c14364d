"""Writers of checkpoint files that need none of the libraries that usually write them."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Stored = Mapping[str, tuple[str, tuple[int, ...], bytes]]
"""Name → dtype, shape and bytes of a tensor."""
_STRING, _ARRAY, _UINT32 = 8, 9, 4
GGML = {"F32": (0, 4), "F16": (1, 2), "Q8_0": (8, 34 / 32)}
"""Type code and bytes of a scalar."""


def safetensors(stored: Stored) -> bytes:
    """Lay out a safetensors file."""
    header, at = {}, 0
    for name, (dtype, shape, data) in stored.items():
        end = at + len(data)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + b"".join(data for _, _, data in stored.values())


def plain(tensors: Mapping[str, NDArray[Any]]) -> Stored:
    """Arrays as safetensors stores them."""
    names = {"float32": "F32", "float16": "F16", "int32": "I32", "uint32": "U32"}
    return {
        name: (names[str(array.dtype)], array.shape, array.tobytes())
        for name, array in tensors.items()
    }


def write_index(folder: Path, places: Mapping[str, str], total: int | None = None) -> None:
    """Write model.safetensors.index.json."""
    metadata = {} if total is None else {"total_size": total}
    document = {"metadata": metadata, "weight_map": dict(places)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(document))


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: int | str | list[str]) -> bytes:
    if isinstance(value, int):
        return struct.pack("<II", _UINT32, value)
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _text(value)
    head = struct.pack("<IIQ", _ARRAY, _STRING, len(value))
    return head + b"".join(map(_text, value))


def gguf(
    metadata: Mapping[str, int | str | list[str]],
    stored: Stored,
    *,
    moved: Mapping[str, int] | None = None,
) -> bytes:
    """Lay out a GGUF file of version 3.

    Args:
        metadata: keys and values.
        stored: tensors; shapes as numpy has them.
        moved: offsets of some tensors that are not where the data is.
    """
    header = b"GGUF" + struct.pack("<IQQ", 3, len(stored), len(metadata))
    header += b"".join(_text(key) + _value(value) for key, value in metadata.items())
    data = b""
    for name, (dtype, shape, content) in stored.items():
        offset = (moved or {}).get(name, len(data))
        header += _text(name) + struct.pack("<I", len(shape))
        header += b"".join(struct.pack("<Q", axis) for axis in reversed(shape))
        header += struct.pack("<IQ", GGML[dtype][0], offset)
        data += content + bytes(-len(content) % 32)
    return header + bytes(-len(header) % 32) + data


def q8_0(table: NDArray[np.float32]) -> bytes:
    """Quantise to blocks of 32: a half-precision scale and 32 signed bytes."""
    blocks = table.reshape(-1, 32)
    scales = (np.abs(blocks).max(axis=1, keepdims=True) / 127).astype(np.float16)
    codes = np.round(blocks / np.maximum(scales.astype(np.float32), 1e-12)).astype(np.int8)
    packed = np.concatenate([scales.view(np.int8).reshape(-1, 2), codes], axis=1)
    return packed.tobytes()


def mlx(table: NDArray[np.float32], bits: int, group: int) -> dict[str, NDArray[Any]]:
    """Quantise as MLX does: codes in 32-bit words, a scale and a bias a group."""
    groups = table.reshape(len(table), -1, group)
    low = groups.min(axis=2, keepdims=True)
    steps = (1 << bits) - 1
    scale = np.maximum((groups.max(axis=2, keepdims=True) - low) / steps, 1e-8)
    codes = np.round((groups - low) / scale).astype(np.uint32).reshape(len(table), -1)
    per_word = 32 // bits
    shifts = np.arange(per_word, dtype=np.uint32) * bits
    words = (codes.reshape(len(table), -1, per_word) << shifts).sum(axis=2, dtype=np.uint32)
    return {
        "weight": words,
        "scales": scale[..., 0].astype(np.float16),
        "biases": low[..., 0].astype(np.float16),
    }
