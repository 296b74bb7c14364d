"""Row norms and the whole of inspect against reading the same bytes once.

Usage: python benchmarks/row_norms.py [--dtype BF16] [--rows 128256] [--width 4096] [--rounds 5]

Each contender runs in a fresh process over a warm page cache; the best of the rounds counts, and
the rounds of all contenders are interleaved, so that a busy machine hits them alike. `read` takes
every byte once, on one thread, in the pieces in which inspect reads.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TENSOR = "model.embed_tokens.weight"
BYTES = {"BF16": 2, "F16": 2, "F32": 4, "F8_E4M3": 1, "F8_E5M2": 1}
_CHUNK = 256


def _scalars() -> dict[str, Any]:
    import ml_dtypes

    return {
        "BF16": ml_dtypes.bfloat16,
        "F16": np.float16,
        "F32": np.float32,
        "F8_E4M3": ml_dtypes.float8_e4m3fn,
        "F8_E5M2": ml_dtypes.float8_e5m2,
    }


def write_table(path: Path, dtype: str, rows: int, width: int) -> None:
    """Write a safetensors file of one table of normal numbers."""
    size = rows * width * BYTES[dtype]
    header = {TENSOR: {"dtype": dtype, "shape": [rows, width], "data_offsets": [0, size]}}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    random = np.random.default_rng(0)
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(head)) + head)
        for start in range(0, rows, 4096):
            block = random.standard_normal((min(4096, rows - start), width), np.float32) * 0.02
            stream.write(block.astype(_scalars()[dtype]).tobytes())


def read(path: Path) -> None:
    """The limit: each byte taken once."""
    from embcalc.checkpoints import open_checkpoint
    from embcalc.sources import locate

    place = locate(str(path))
    checkpoint = open_checkpoint(place.folder, place.file)
    for block in checkpoint.blocks(TENSOR):
        words = block.values.reshape(-1).view(np.uint8)
        np.bitwise_or.reduce(words[: len(words) // 8 * 8].view(np.uint64))


def norms(path: Path) -> None:
    """The row-norm pass alone, rechecks included, on as many threads as inspect takes."""
    _norms(path, min(4, os.cpu_count() or 1))


def norms_one_thread(path: Path) -> None:
    """The same on one thread."""
    _norms(path, 1)


def _norms(path: Path, workers: int) -> None:
    from embcalc.checkpoints import open_checkpoint
    from embcalc.rows.scan import norms_of
    from embcalc.sources import locate

    place = locate(str(path))
    norms_of(open_checkpoint(place.folder, place.file), TENSOR, workers)


def inspect(path: Path) -> None:
    """Everything: statistics, flags, duplicates, neighbours, histogram."""
    from embcalc.usecases.inspect import inspect as run

    run(str(path))


def ml_dtypes_chunks(path: Path) -> None:
    """Decode 256 rows at a time with ml_dtypes, then einsum in float32."""
    table = _mapped(path)
    for start in range(0, len(table), _CHUNK):
        chunk = table[start : start + _CHUNK].astype(np.float32)
        np.sqrt(np.einsum("ij,ij->i", chunk, chunk))


def plain_numpy(path: Path) -> None:
    """The whole table to float32, then numpy's norm."""
    np.linalg.norm(_mapped(path).astype(np.float32), axis=1)


def torch_norm(path: Path) -> None:
    """Use torch over the table as safetensors maps it."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        file.get_tensor(TENSOR).float().norm(dim=1)


def _mapped(path: Path) -> np.ndarray:
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        entry = json.loads(stream.read(length))[TENSOR]
    scalar = np.dtype(_scalars()[entry["dtype"]])
    return np.memmap(path, scalar, "r", offset=8 + length, shape=tuple(entry["shape"]))


CONTENDERS: dict[str, Callable[[Path], None]] = {
    "read": read,
    "norms": norms,
    "norms_one_thread": norms_one_thread,
    "inspect": inspect,
    "ml_dtypes_chunks": ml_dtypes_chunks,
    "plain_numpy": plain_numpy,
    "torch_norm": torch_norm,
}
SLOW = ("plain_numpy", "torch_norm")
"""Tried once, and left out where the machine lacks the memory or torch."""


def run_one(name: str, path: Path) -> None:
    """In the child: warm up imports on a tiny table, then time the real one."""
    contender = CONTENDERS[name]
    with tempfile.TemporaryDirectory() as folder:
        tiny = Path(folder) / "tiny.safetensors"
        dtype = json.loads(path.with_suffix(".json").read_text("utf-8"))["dtype"]
        write_table(tiny, dtype, 64, 64)
        contender(tiny)
    start = time.perf_counter()
    contender(path)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "resident": resident(), "peak": peak()}))


def resident() -> int:
    """Anonymous memory of this process in bytes (Linux), 0 elsewhere."""
    return _status("RssAnon")


def peak() -> int:
    """Peak resident memory in bytes, mapped pages included (Linux), 0 elsewhere."""
    return _status("VmHWM")


def _status(key: str) -> int:
    path = Path("/proc/self/status")
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(key)), 0)


def measure(name: str, path: Path) -> dict[str, float] | None:
    """Run one contender in a fresh process; None where it cannot run."""
    command = [sys.executable, __file__, "--child", name, "--file", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        if name not in SLOW:
            raise SystemExit(done.stderr)
        return None
    result: dict[str, float] = json.loads(done.stdout)
    return result


def compare(path: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Best of all rounds for each contender."""
    best: dict[str, dict[str, float]] = {}
    for turn in range(rounds):
        for name in CONTENDERS:
            if name in SLOW and turn:
                continue
            result = measure(name, path)
            if result and (name not in best or result["seconds"] < best[name]["seconds"]):
                best[name] = result
    return best


def show(best: dict[str, dict[str, float]], nbytes: int) -> None:
    """Print speed, ratio to reading, and peak memory."""
    limit = best["read"]["seconds"]
    print(f"{'contender':<18}{'GB/s':>8}{'of reading':>12}{'times reading':>15}{'peak MB':>9}")
    for name, result in best.items():
        seconds = result["seconds"]
        print(
            f"{name:<18}{nbytes / seconds / 1e9:>8.2f}{limit / seconds:>12.1%}"
            f"{seconds / limit:>15.2f}{result['peak'] / 1e6:>9.0f}"
        )


def main() -> None:
    """Write the table, run the rounds, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtype", choices=BYTES, default="BF16")
    parser.add_argument("--rows", type=int, default=128_256)
    parser.add_argument("--width", type=int, default=4_096)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        run_one(given.child, given.file)
        return
    with tempfile.TemporaryDirectory(prefix="embcalc-bench-") as folder:
        path = Path(folder) / "model.safetensors"
        write_table(path, given.dtype, given.rows, given.width)
        path.with_suffix(".json").write_text(json.dumps({"dtype": given.dtype}), "utf-8")
        print(f"{given.rows:,} × {given.width:,} {given.dtype}, {path.stat().st_size / 1e9:.2f} GB")
        show(compare(path, given.rounds), path.stat().st_size)


if __name__ == "__main__":
    main()
