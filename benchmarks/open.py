"""How long it takes to open a checkpoint, beside the libraries that made the formats.

    python benchmarks/open.py [FOLDER OF GGUF FILES]

Each line is the best of several openings in fresh processes (imports left out), and the ratio to
the other library: below 1 means that embcalc is faster. A library that is absent is skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 5
_OURS = """
import sys, time
from embcalc.checkpoints import open_checkpoint
from embcalc.sources import locate
import embcalc.checkpoints.{module}, numpy
begin = time.perf_counter()
located = locate(sys.argv[1])
checkpoint = open_checkpoint(located.folder, located.file)
count = len(checkpoint.tensors)
"""
_SAFE_OPEN = """
import sys, time
from safetensors import safe_open
import numpy
begin = time.perf_counter()
with safe_open(sys.argv[1], "numpy") as file:
    count = len(file.keys())
"""
_GGUF_READER = """
import sys, time
from gguf import GGUFReader
begin = time.perf_counter()
count = len(GGUFReader(sys.argv[1]).tensors)
"""
_TORCH_LOAD = """
import sys, time
import torch
begin = time.perf_counter()
count = len(torch.load(sys.argv[1], map_location="cpu", mmap=True, weights_only=True))
"""
_STREAM = """
import os, sys, time
from pathlib import Path
from embcalc.sources.local import LocalFile
import numpy
if sys.argv[2] == "read":
    sys.platform = "darwin"
file = LocalFile(Path(sys.argv[1]), "f")
if sys.argv[3] == "cold":
    opened = os.open(sys.argv[1], os.O_RDONLY)
    os.fsync(opened)
    os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
begin = time.perf_counter()
for piece in file.stream(0, file.size, 1 << 18):
    numpy.frombuffer(piece, "u8").max()
"""
_END = "\nprint(time.perf_counter() - begin)"


def best(program: str, *arguments: str) -> float | None:
    """Run a program several times; return its best time in seconds, None where it cannot run."""
    times = []
    for _ in range(ROUNDS):
        command = [sys.executable, "-c", program + _END, *arguments]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            return None
        times.append(float(run.stdout))
    return min(times)


def compare(label: str, module: str, other: str, program: str, path: Path) -> None:
    """Print our time, the other's, and the ratio."""
    ours, theirs = best(_OURS.format(module=module), str(path)), best(program, str(path))
    if ours is None or theirs is None:
        print(f"{label:34} skipped: {other if ours else 'embcalc'} cannot run")
        return
    print(f"{label:34} {ours:7.3f} s  {other} {theirs:7.3f} s  ratio {ours / theirs:.2f}")


def large_header(path: Path, tensors: int = 94_000) -> None:
    """Write a safetensors file with many tensors and, sparsely, their data."""
    entries = {"__metadata__": {"format": "pt"}}
    for number in range(tensors):
        name = f"model.layers.{number // 1536}.mlp.experts.{number % 1536}.up_proj.weight"
        offsets = [number * 4096, (number + 1) * 4096]
        entries[name] = {"dtype": "BF16", "shape": [32, 64], "data_offsets": offsets}  # type: ignore[dict-item]
    raw = json.dumps(entries, separators=(",", ":")).encode()
    with path.open("wb") as file:
        file.write(len(raw).to_bytes(8, "little") + raw)
        file.truncate(8 + len(raw) + tensors * 4096)


def torch_file(path: Path) -> None:
    """Write a state_dict of 2,000 tensors, where torch is installed."""
    program = (
        "import sys, torch; torch.save({f'layers.{n}.weight': torch.zeros(64, 64)"
        " for n in range(2000)}, sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, check=False)


def streams(path: Path) -> None:
    """Print the speed of both ways of reading a gigabyte, warm and cold."""
    with path.open("wb") as file:
        for _ in range(64):
            file.write(bytes(range(256)) * 65536)
    for state in ("warm", "cold"):
        seconds = {way: best(_STREAM, str(path), way, state) for way in ("map", "read")}
        if seconds["map"] and seconds["read"]:
            speeds = {way: path.stat().st_size / 1e9 / (took or 1) for way, took in seconds.items()}
            print(
                f"1 GB, {state}: map {speeds['map']:.1f} GB/s, positioned reads"
                f" {speeds['read']:.1f} GB/s, ratio {speeds['map'] / speeds['read']:.2f}"
            )


def main(arguments: list[str]) -> None:
    """Compare every format."""
    with tempfile.TemporaryDirectory() as folder:
        many = Path(folder) / "many.safetensors"
        large_header(many)
        compare("safetensors, 94,000 tensors", "safetensors", "safe_open", _SAFE_OPEN, many)
        saved = Path(folder) / "saved.pt"
        torch_file(saved)
        compare("torch zip, 2,000 tensors", "pytorch", "torch.load", _TORCH_LOAD, saved)
        for path in [path for place in arguments for path in sorted(Path(place).rglob("*.gguf"))]:
            compare(path.name, "gguf", "GGUFReader", _GGUF_READER, path)
        streams(Path(folder) / "large")


if __name__ == "__main__":
    main(sys.argv[1:])
