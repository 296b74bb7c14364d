"""Break copies of the tiny model in ten ways, and show that the gate turns red for each.

Usage: python examples/break_it.py [FORMAT]

Prints one line a breakage: the exit code and the rules that were named. With FORMAT (text, json,
csv, markdown, github, sarif, junit) prints what `embcalc check` said, too. Exits with 1 when a
breakage was not noticed as it should be.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

HEALTHY = Path(__file__).resolve().parent / "tiny-model"
EMBED, FIRST = "model.embed_tokens.weight", "model-00001-of-00002.safetensors"
SECOND = "model-00002-of-00002.safetensors"


@dataclass(frozen=True)
class Breakage:
    """One way to break the model."""

    what: str
    breaks: Callable[[Path], object]
    code: int
    rule: str | None
    """The rule that names it; None where the model can no longer be read at all."""


def edit(folder: Path, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a JSON file."""
    document = json.loads((folder / name).read_text("utf-8"))
    change(document)
    (folder / name).write_text(json.dumps(document, ensure_ascii=False, indent=2), "utf-8")


def set_row(folder: Path, row: int, value: np.ndarray | float) -> None:
    """Overwrite a row of the embedding table."""
    tensors = load_file(folder / FIRST)
    tensors[EMBED][row] = value
    save_file(tensors, folder / FIRST)


def add_token(folder: Path) -> None:
    """Add a token and forget the model."""
    added = {"id": 64, "content": "<|tool|>", "special": True, "normalized": False}
    flags = {"single_word": False, "lstrip": False, "rstrip": False}
    edit(folder, "tokenizer.json", lambda t: t["added_tokens"].append(added | flags))


def copy_row(folder: Path) -> None:
    """Give a token the row of another one."""
    set_row(folder, 40, load_file(folder / FIRST)[EMBED][17])


def keep_a_page(folder: Path) -> None:
    """Leave nothing but an error page under the name of the weights."""
    for path in folder.iterdir():
        if path.is_file() and path.suffix in (".json", ".safetensors"):
            path.unlink()
    (folder / "model.safetensors").write_text("<!DOCTYPE html><title>404</title>")


BREAKAGES = (
    Breakage("a token without a row", add_token, 1, "EMB101"),
    Breakage(
        "vocab_size is off by one",
        lambda f: edit(f, "config.json", lambda c: c.update(vocab_size=65)),
        1,
        "EMB102",
    ),
    Breakage(
        "another end token in the config",
        lambda f: edit(f, "config.json", lambda c: c.update(eos_token_id=3)),
        1,
        "EMB201",
    ),
    Breakage(
        "tokenizer.json is cut short",
        lambda f: (f / "tokenizer.json").write_text((f / "tokenizer.json").read_text()[:900]),
        1,
        "EMB302",
    ),
    Breakage(
        "the config ties what is stored apart",
        lambda f: edit(f, "config.json", lambda c: c.update(tie_word_embeddings=True)),
        1,
        "EMB403",
    ),
    Breakage("a row of NaN", lambda f: set_row(f, 33, np.nan), 1, "EMB501"),
    Breakage("a chat token on a row of zeros", lambda f: set_row(f, 4, 0.0), 1, "EMB504"),
    Breakage("two tokens with one row", copy_row, 1, "EMB507"),
    Breakage("a shard is absent", lambda f: (f / SECOND).unlink(), 1, "EMB601"),
    Breakage("an error page instead of weights", keep_a_page, 2, None),
)


def check(folder: Path, output_format: str) -> tuple[int, str]:
    """Run the gate in a folder; give its exit code and what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "embcalc", "check", ".", "--format", output_format],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def main(output_format: str | None) -> int:
    """Check the healthy model and every broken copy."""
    surprises = 0
    healthy = Breakage("nothing", lambda folder: None, 0, None)
    print(f"{'breakage':38}  exit  rules")
    for breakage in (healthy, *BREAKAGES):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(shutil.copytree(HEALTHY, Path(scratch) / "model"))
            breakage.breaks(folder)
            code, said = check(folder, output_format or "csv")
        rules = sorted(set(re.findall(r"EMB\d{3}", said))) if output_format is None else []
        noticed = code == breakage.code and (breakage.rule is None or breakage.rule in said)
        surprises += not noticed
        line = f"{breakage.what:38}  {code:4}  {' '.join(rules)}".rstrip()
        print(line + ("" if noticed else f"   (not as expected: {breakage.code} {breakage.rule})"))
        if output_format is not None:
            print(said)
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))
