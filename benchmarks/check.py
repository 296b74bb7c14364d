"""`embcalc check` beside reading the same bytes once, and over many small folders.

Two claims, each as a ratio within one run:

- checking a folder with a 1 GB BF16 table takes at most 3 times as long as reading its weights
  once in a fresh process, page cache warm, start-up apart;
- 1,000 small folders are checked by headers in one call in under 10 s, in memory that does not
  grow with their number.

Every contender runs in a fresh process and times itself after its imports; contenders alternate,
and the median counts. Beside wall time stands the CPU time, which a busy machine disturbs less.

Usage: python -m benchmarks.check [ROUNDS] [FOLDER]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.row_norms import write_table

ROWS, WIDTH = 128_256, 4_096
SMALL = 1_000
PRELUDE = """
import sys, time
from pathlib import Path
from embcalc.usecases.check import check
from embcalc.usecases.check_vocab import CheckOptions
import embcalc.rows.scan, embcalc.rows.health, embcalc.rows.fingerprints
import embcalc.usecases.gather, embcalc.checkpoints.open, safetensors, numkong
wall, cpu = time.perf_counter(), time.process_time()
"""
TALE = """
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
lines = Path("/proc/self/status").read_text().splitlines()
print(wall, cpu, next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024)
"""
READ = """
from benchmarks.row_norms import read
read(Path(sys.argv[1]))
"""
CHECK = """
run = check(sys.argv[1])
assert run.ok, run
"""
HEADERS = """
run = check(sys.argv[1] + "/m*", CheckOptions(select=("EMB1", "EMB2", "EMB3")))
assert run.ok and run.models, run
"""


def timed(body: str, folder: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak MiB of one contender in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + body + TALE, str(folder)],
        check=True,
        capture_output=True,
        text=True,
    )
    wall, cpu, peak = map(float, done.stdout.split()[-3:])
    return wall, cpu, peak


def large(folder: Path, rounds: int) -> None:
    """One table of 1.05 GB."""
    folder.mkdir(exist_ok=True)
    write_table(folder / "model.safetensors", "BF16", ROWS, WIDTH)
    config = {"model_type": "llama", "vocab_size": ROWS, "hidden_size": WIDTH}
    (folder / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": True}))
    contenders = {"read once": READ, "check": CHECK}
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, body in contenders.items():
            measured = timed(body, folder)
            if number:  # the first round warms the page cache
                found[name].append(measured)
    base = [statistics.median(column) for column in zip(*found["read once"], strict=True)]
    for name, values in found.items():
        wall, cpu, peak = (statistics.median(column) for column in zip(*values, strict=True))
        print(
            f"{name:12} {wall:7.3f} s  ratio {wall / base[0]:4.2f}   "
            f"CPU {cpu:7.3f} s  ratio {cpu / base[1]:4.2f}   peak {peak:6.0f} MiB"
        )


def small(folder: Path) -> None:
    """Many folders, and a tenth of them: memory must not follow."""
    for number in range(SMALL):
        write_small(folder / f"m{number:04}")
    few = folder / "few"
    few.mkdir()
    for number in range(SMALL // 10):
        (few / f"m{number:04}").symlink_to(folder / f"m{number:04}")
    for name, place, count in (("", few, SMALL // 10), ("", folder, SMALL)):
        wall, cpu, peak = timed(HEADERS, place)
        print(f"{count:5,} folders{name} {wall:7.2f} s   CPU {cpu:6.2f} s   peak {peak:6.0f} MiB")


def write_small(folder: Path) -> None:
    """A model of 64 tokens."""
    folder.mkdir()
    values = np.random.default_rng(0).normal(0, 0.02, (64, 16)).astype(np.float32)
    from safetensors.numpy import save_file

    save_file({"model.embed_tokens.weight": values}, folder / "model.safetensors")
    config = {"model_type": "llama", "vocab_size": 64, "tie_word_embeddings": True}
    (folder / "config.json").write_text(json.dumps(config))
    model = {"type": "WordLevel", "unk_token": "t0", "vocab": {f"t{i}": i for i in range(64)}}
    (folder / "tokenizer.json").write_text(json.dumps({"model": model, "added_tokens": []}))


def main(rounds: int, folder: Path) -> None:
    """Run both comparisons."""
    large(folder / "large", rounds)
    small(folder)


if __name__ == "__main__":
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    if len(sys.argv) > 2:
        main(times, Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(times, Path(scratch))
