"""Peak memory does not grow with the file: every format, measured in processes of its own.

The tables are holes in their files where the format allows it, so that nothing large is written.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.failures.files import Stored, gguf, safetensors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peaks are counted as on Linux")
WIDTH = 1024
ROW_BYTES = 4 * WIDTH
PROGRAM = """
import sys
import numpy
import embcalc.checkpoints.gguf, embcalc.checkpoints.numpy_file, embcalc.checkpoints.pytorch
import embcalc.checkpoints.safetensors
from embcalc.checkpoints import open_checkpoint
from embcalc.sources import locate
if sys.argv[3] == "read":
    sys.platform = "darwin"
place = locate(sys.argv[1])
checkpoint = open_checkpoint(place.folder, place.file)
read = 0
for block in checkpoint.blocks(sys.argv[2]):
    block.values.max()
    read += len(block.values)
assert read == checkpoint.tensors[sys.argv[2]].rows
# Not ru_maxrss, which begins at that of the process that started this one.
status = open("/proc/self/status").read()
print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


def holes(path: Path, head: bytes, size: int) -> None:
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)


def empty(name: str, dtype: str, shape: tuple[int, ...], size: int) -> bytes:
    """A safetensors header for tensors whose bytes are holes."""
    entry = {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}
    raw = json.dumps({name: entry}).encode()
    return len(raw).to_bytes(8, "little") + raw


def of_safetensors(path: Path, rows: int) -> str:
    size = rows * ROW_BYTES
    holes(path, empty("wte", "F32", (rows, WIDTH), size), size)
    return "wte"


def of_half_bytes(path: Path, rows: int) -> str:
    size = rows * WIDTH // 2
    holes(path, empty("wte", "F4", (rows, WIDTH), size), size)
    return "wte"


def of_gguf(path: Path, rows: int) -> str:
    one: Stored = {"token_embd.weight": ("F32", (1, WIDTH), b"")}
    head = gguf({"general.architecture": "llama"}, one)
    short, long = (1).to_bytes(8, "little"), rows.to_bytes(8, "little")
    axes = WIDTH.to_bytes(8, "little")
    holes(path, head.replace(axes + short, axes + long), rows * ROW_BYTES)
    return "token_embd.weight"


def of_quantised_gguf(path: Path, rows: int) -> str:
    pytest.importorskip("gguf")
    one: Stored = {"token_embd.weight": ("Q8_0", (1, WIDTH), b"")}
    head = gguf({"general.architecture": "llama"}, one)
    axes = WIDTH.to_bytes(8, "little")
    head = head.replace(axes + (1).to_bytes(8, "little"), axes + rows.to_bytes(8, "little"))
    holes(path, head, rows * WIDTH // 32 * 34)
    return "token_embd.weight"


def of_mlx(path: Path, rows: int) -> str:
    parts = {"weight": ("U32", WIDTH // 8, 4), "scales": ("F16", WIDTH // 64, 2)}
    parts["biases"] = parts["scales"]
    header, at = {}, 0
    for part, (dtype, width, size) in parts.items():
        end = at + rows * width * size
        header[f"wte.{part}"] = {"dtype": dtype, "shape": [rows, width], "data_offsets": [at, end]}
        at = end
    raw = json.dumps(header).encode()
    holes(path, len(raw).to_bytes(8, "little") + raw, at)
    return "wte.weight"


def of_numpy(path: Path, rows: int) -> str:
    np.lib.format.open_memmap(path, "w+", np.float32, (rows, WIDTH)).flush()
    return "table"


def of_torch(path: Path, rows: int) -> str:
    from tests.checkpoints.test_pytorch import archive, tensor

    state = {"wte": tensor("0", (rows, WIDTH), scalars=rows * WIDTH)}
    path.write_bytes(archive(state, k0=bytes(rows * ROW_BYTES)))
    with zipfile.ZipFile(path) as written:
        assert all(item.compress_type == zipfile.ZIP_STORED for item in written.infolist())
    return "wte"


FORMATS: dict[str, tuple[Callable[[Path, int], str], str]] = {
    "safetensors": (of_safetensors, "m.safetensors"),
    "F4": (of_half_bytes, "m.safetensors"),
    "MLX": (of_mlx, "m.safetensors"),
    "GGUF": (of_gguf, "m.gguf"),
    "quantised GGUF": (of_quantised_gguf, "m.gguf"),
    "NumPy": (of_numpy, "table.npy"),
    "PyTorch": (of_torch, "m.pt"),
}


def peak(folder: Path, kind: str, rows: int, way: str) -> int:
    """MB at the most, of a process that opens a file and reads all rows of its table."""
    build, name = FORMATS[kind]
    folder.mkdir()
    tensor = build(folder / name, rows)
    command = [sys.executable, "-c", PROGRAM, str(folder / name), tensor, way]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize("way", ["map", "read"])
@pytest.mark.parametrize("kind", FORMATS)
def test_the_peak_does_not_grow_with_the_file(kind: str, way: str, tmp_path: Path) -> None:
    few, many = 1 << 12, 1 << 15  # 16 MB and 128 MB as F32
    small = peak(tmp_path / "small", kind, few, way)
    large = peak(tmp_path / "large", kind, many, way)
    assert large - small < 40, f"{small} MB for {few} rows, {large} MB for {many}"


def test_headers_describe_what_is_there(tmp_path: Path) -> None:
    tensor = of_gguf(tmp_path / "m.gguf", 16)
    from tests.checkpoints.conftest import opened

    assert opened(tmp_path / "m.gguf").tensors[tensor].shape == (16, WIDTH)
    assert safetensors({"a": ("U8", (1,), b"x")}).endswith(b"x")
