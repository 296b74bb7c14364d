"""How long it takes to open a checkpoint, beside the libraries that made the formats.

    python benchmarks/open.py [--rounds N] [GGUF FILE OR FOLDER…]

Each line is the best of several openings in fresh processes, in processor seconds with imports
left out, and the ratio to the other library: below 1 means that embcalc is faster. A library that
is absent is skipped. All files are made in a temporary folder; a run takes about two minutes, and
no single process more than one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

AT_MOST = 60.0
"""Seconds after which a process is given up."""
_OURS = """
import sys, time
from embcalc.checkpoints import open_checkpoint
from embcalc.sources import locate
import embcalc.checkpoints.{module}, numpy
begin = time.process_time()
located = locate(sys.argv[1])
checkpoint = open_checkpoint(located.folder, located.file)
count = len(checkpoint.tensors)
took = time.process_time() - begin
"""
_SAFE_OPEN = """
import sys, time
from safetensors import safe_open
import numpy
begin = time.process_time()
with safe_open(sys.argv[1], "numpy") as file:
    count = len(file.keys())
took = time.process_time() - begin
"""
_GGUF_READER = """
import sys, time
from gguf import GGUFReader
begin = time.process_time()
count = len(GGUFReader(sys.argv[1]).tensors)
took = time.process_time() - begin
"""
_TORCH_LOAD = """
import sys, time
import torch
begin = time.process_time()
count = len(torch.load(sys.argv[1], map_location="cpu", mmap=True, weights_only=True))
took = time.process_time() - begin
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
    os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
begin = time.perf_counter()
for piece in file.stream(0, file.size, 1 << 18):
    numpy.frombuffer(piece, "u8").max()
took = time.perf_counter() - begin
"""
_TORCH_SAVE = """
import sys, torch
torch.save({f"layers.{n}.weight": torch.zeros(64, 64) for n in range(2000)}, sys.argv[1])
"""
_GGUF_WRITE = """
import sys, gguf, numpy
writer = gguf.GGUFWriter(sys.argv[1], "llama")
writer.add_token_list([f"token{n}" for n in range(128_256)])
writer.add_token_merges([f"a{n} b{n}" for n in range(280_147)])
writer.add_tensor("token_embd.weight", numpy.zeros((128_256, 32), numpy.float16))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
"""


def run(program: str, *arguments: str) -> str | None:
    """What a program prints in a process of its own; None where it fails or takes too long."""
    command = [sys.executable, "-c", program, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=AT_MOST)
    except subprocess.TimeoutExpired:
        return None
    return None if done.returncode else done.stdout


def best(program: str, rounds: int, *arguments: str) -> float | None:
    """The best of several runs in seconds; a slow program runs once."""
    least: float | None = None
    for _ in range(rounds):
        printed = run(f"{program}\nprint(took)", *arguments)
        if printed is None:
            return least
        least = min(float(printed), least or AT_MOST)
        if least > 2:
            break
    return least


def compare(label: str, ours: str, other: tuple[str, str], path: Path, rounds: int) -> None:
    """Print our time, the other library's, and the ratio."""
    if not path.exists():
        print(f"{label:40} skipped: what writes such a file is not installed")
        return
    name, program = other
    mine = best(_OURS.format(module=ours), rounds, str(path))
    theirs = best(program, rounds, str(path))
    if mine is None or theirs is None:
        print(f"{label:40} skipped: {name if mine else 'embcalc'} cannot run")
        return
    ratio = mine / theirs if theirs else float("inf")
    print(f"{label:40} {mine:6.3f} s   {name} {theirs:6.3f} s   ratio {ratio:.2f}", flush=True)


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


def streams(path: Path, rounds: int) -> None:
    """Print the speed of both ways of reading a quarter of a gigabyte, warm and cold."""
    with path.open("wb") as file:
        for _ in range(16):
            file.write(bytes(range(256)) * 65536)
    for state in ("warm", "cold"):
        seconds = {way: best(_STREAM, rounds, str(path), way, state) for way in ("map", "read")}
        if seconds["map"] and seconds["read"]:
            speeds = {way: path.stat().st_size / 1e9 / (took or 1) for way, took in seconds.items()}
            print(
                f"256 MB, {state}: map {speeds['map']:.1f} GB/s, positioned reads"
                f" {speeds['read']:.1f} GB/s, ratio {speeds['map'] / speeds['read']:.2f}",
                flush=True,
            )


def main(arguments: list[str]) -> None:
    """Compare every format."""
    parser = argparse.ArgumentParser(description="How long opening a checkpoint takes.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("gguf", nargs="*", type=Path, help="further GGUF files")
    given = parser.parse_args(arguments)
    rounds = max(1, given.rounds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many, saved, vocabulary = folder / "many.safetensors", folder / "s.pt", folder / "v.gguf"
        large_header(many)
        run(_TORCH_SAVE, str(saved))
        run(_GGUF_WRITE, str(vocabulary))
        safe, torch, gguf = (
            ("safe_open", _SAFE_OPEN),
            ("torch.load", _TORCH_LOAD),
            ("GGUFReader", _GGUF_READER),
        )
        compare("safetensors, 94,000 tensors", "safetensors", safe, many, rounds)
        compare("PyTorch zip, 2,000 tensors", "pytorch", torch, saved, rounds)
        compare("GGUF, 128,256 tokens with merges", "gguf", gguf, vocabulary, rounds)
        for path in [path for place in given.gguf for path in _ggufs(place)]:
            compare(path.name, "gguf", gguf, path, rounds)
        streams(folder / "large", min(rounds, 3))


def _ggufs(place: Path) -> list[Path]:
    return sorted(place.rglob("*.gguf")) if place.is_dir() else [place]


if __name__ == "__main__":
    main(sys.argv[1:])
