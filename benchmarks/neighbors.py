"""`neighbors` and `diff` beside reading the same bytes once, in one run.

One query over a table of 128,256 x 4,096 BF16, and a diff of two such tables (1.05 GB each).
Every contender runs in a fresh process on warm files; its clock starts after imports and covers
the first touch of every page. Contenders alternate; the best of all rounds counts, since noise
only adds, and the processor time beside it, since others may hold the cores. Aims: a query
within 2 times of reading, a diff within 3 times, under 250 MB.

Usage: python benchmarks/neighbors.py [ROUNDS [ROWS]]
"""

from __future__ import annotations

import json
import mmap
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

WIDTH = 4096
NAME = "model.embed_tokens.weight"
BLOCK = 1 << 18


def write_table(folder: Path, rows: int, seed: int, changed: str) -> None:
    """Write one BF16 table, block by block; `changed` of `none`, `some` or `all` rows differ."""
    folder.mkdir(parents=True)
    entry = {"dtype": "BF16", "shape": [rows, WIDTH], "data_offsets": [0, rows * WIDTH * 2]}
    header = json.dumps({NAME: entry}).encode()
    header += b" " * (-len(header) % 8)
    rng = np.random.default_rng(0)
    other = np.random.default_rng(seed)
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(len(header).to_bytes(8, "little") + header)
        for start in range(0, rows, 1024):
            count = min(1024, rows - start)
            values = rng.standard_normal((count, WIDTH), np.float32) * np.float32(0.02)
            if changed == "all":
                values += other.standard_normal(values.shape, np.float32) * np.float32(0.002)
            elif changed == "some":
                values[::100] *= np.float32(1.5)
            stream.write((values.view(np.uint32) >> 16).astype(np.uint16).tobytes())


def read(*folders: str) -> None:
    """Touch every byte once, through a memory map."""
    for folder in folders:
        with (Path(folder) / "model.safetensors").open("rb") as stream:
            mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        words = np.frombuffer(mapped, np.uint64, count=len(mapped) // 8)
        for start in range(0, len(words), BLOCK // 8):
            np.bitwise_or.reduce(words[start : start + BLOCK // 8])


def _table(folder: str) -> np.ndarray[tuple[int, int], np.dtype[np.uint16]]:
    path = Path(folder) / "model.safetensors"
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
    return np.memmap(path, np.uint16, "r", offset=8 + length).reshape(-1, WIDTH)


def numpy_blocks(folder: str) -> None:
    """Decode a few rows at a time to float32 and multiply: what careful numpy can do."""
    table = _table(folder)
    query = (table[1000].astype(np.uint32) << 16).view(np.float32)
    scores = np.empty(len(table), np.float32)
    for start in range(0, len(table), 256):
        values = (table[start : start + 256].astype(np.uint32) << 16).view(np.float32)
        norms = np.sqrt(np.einsum("ij,ij->i", values, values))
        scores[start : start + 256] = values @ query / norms
    np.argsort(-scores)[:10]


def numpy_whole(folder: str) -> None:
    """Decode the whole table first: what is usually written."""
    values = (_table(folder).astype(np.uint32) << 16).view(np.float32)
    scores = values @ values[1000] / np.linalg.norm(values, axis=1)
    np.argsort(-scores)[:10]


def neighbors(folder: str) -> None:
    """One query."""
    from embcalc.usecases.neighbors import neighbors as find

    find(folder, ids=[1000])


def neighbors_centred(folder: str) -> None:
    """One query, the mean row subtracted from all."""
    from embcalc.usecases.neighbors import neighbors as find

    find(folder, ids=[1000], center=True)


def diff(a: str, b: str) -> None:
    """Two tables."""
    from embcalc.usecases.diff import diff as compare

    compare(a, b)


CONTENDERS: dict[str, Callable[..., None]] = {
    "read": read,
    "neighbors": neighbors,
    "neighbors_centred": neighbors_centred,
    "numpy_blocks": numpy_blocks,
    "numpy_whole": numpy_whole,
    "diff": diff,
}


def contend(name: str, folders: list[str]) -> None:
    """Run one contender in this process; print seconds and peak memory in MB."""
    import embcalc.rows.diff
    import embcalc.rows.neighbors
    import embcalc.usecases.diff_table
    import embcalc.usecases.neighbors

    del embcalc
    start, busy = time.perf_counter(), time.process_time()
    CONTENDERS[name](*folders)
    spent = time.perf_counter() - start, time.process_time() - busy
    print(*spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


Result = tuple[float, float, float]
"""Seconds on the clock, seconds of the processor, peak memory in MB."""


def best(jobs: dict[str, list[str]], rounds: int) -> dict[str, Result]:
    """Best times, and peak memory, of each job; the jobs alternate."""
    results: dict[str, Result] = {}
    for _ in range(rounds):
        for label, arguments in jobs.items():
            command = [sys.executable, __file__, "--contend", *arguments]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            clock, busy, peak = (float(part) for part in done.stdout.split())
            known = results.get(label, (clock, busy, peak))
            results[label] = min(known[0], clock), min(known[1], busy), max(known[2], peak)
    return results


def report(title: str, results: dict[str, Result], gigabytes: float) -> None:
    """Print each job beside the first one."""
    print(f"{title:32} {'clock':>7} {'GB/s':>6} {'ratio':>7} {'busy':>7} {'ratio':>7} {'MB':>6}")
    base = next(iter(results.values()))
    for label, (clock, busy, peak) in results.items():
        ratios = clock / base[0], busy / base[1]
        print(
            f"  {label:30} {clock:7.3f} {gigabytes / clock:6.1f} {ratios[0]:7.2f}"
            f" {busy:7.3f} {ratios[1]:7.2f} {peak:6.0f}"
        )


def main(rounds: int, rows: int) -> None:
    """Write the tables, run all contenders, print ratios."""
    gigabytes = rows * WIDTH * 2 / 1e9
    with tempfile.TemporaryDirectory() as place:
        base = str(Path(place) / "base")
        write_table(Path(base), rows, seed=1, changed="none")
        query = {
            "read once": ["read", base],
            "embcalc neighbors": ["neighbors", base],
            "embcalc neighbors --center": ["neighbors_centred", base],
            "numpy, 256 rows at a time": ["numpy_blocks", base],
            "numpy, whole table": ["numpy_whole", base],
        }
        print(f"tables of {rows:,} x {WIDTH:,} BF16: {gigabytes:.2f} GB")
        report("one query", best(query, rounds), gigabytes)
        compare: dict[str, list[str]] = {}
        for kind in ("none", "some", "all"):
            folder = str(Path(place) / kind)
            write_table(Path(folder), rows, seed=1, changed=kind)
            compare.setdefault("read both", ["read", base, folder])
            compare[f"embcalc diff, {kind} changed"] = ["diff", base, folder]
        report("diff of two", best(compare, rounds), 2 * gigabytes)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--contend"]:
        contend(sys.argv[2], sys.argv[3:])
    else:
        main(*(int(part) for part in (sys.argv[1:] + ["5", "128256"][len(sys.argv) - 1 :])))
