"""Whole outputs of lookup, neighbors and diff, in every format.

All numbers of the tables are small integers, so that sums are exact in any order and the files
hold on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.cells import cell_len

from tests.conftest import Run
from tests.golden.compare import check

Build = Callable[..., Path]
NAME = "model.embed_tokens.weight"
FORMATS = ("text", "json", "csv", "markdown")
HOSTILE = [
    "ok", "\x1b[31mred\x1b[0m", "[bold]x[/bold]", "[/INST]", "a|b", "line\nbreak",
    "日本語の長い名前" * 6,
    "שלום", "\u202eevil", "", " lead", "=1+1", "@x", "<b>h</b>", "\x00\x7f", "x" * 90,
]  # fmt: skip
_NOISE = re.compile(r"""(?<="mean_cosine": )(-?[0-9.e-]+)|-?[0-9]+\.[0-9]{12,}""")
"""Digits that another processor may round otherwise; the mean cosine comes from a fast kernel."""
CONFIG = {"model_type": "llama", "vocab_size": 16, "hidden_size": 4, "tie_word_embeddings": True}
CASES = {
    "lookup-demo": ("lookup", "demo", "--text", "我爱学习", "--text", "你爱", "--one-hot"),
    "lookup-hostile": (
        "lookup", "hostile", "--ids", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", "--ids", "1,2",
        "--pad-id", "0",
    ),
    "lookup-nameless": ("lookup", "nameless", "--ids", "2,0,2", "--ids", "1"),
    "lookup-nothing": ("lookup", "demo", "--text", ""),
    "lookup-refused": ("lookup", "hostile", "--ids", "0,16"),
    "neighbors-demo": ("neighbors", "demo", "我", "你", "--minus", "爱"),
    "neighbors-hostile": (
        "neighbors", "hostile", "--id", "1", "--minus-id", "6", "--top", "20", "--metric", "dot",
    ),
    "neighbors-none": ("neighbors", "single", "--id", "0", "--metric", "euclidean"),
    "neighbors-refused": ("neighbors", "hostile", "日本語の長い名前日本語の長い名前"),
    "diff-same": ("diff", "demo", "demo"),
    "diff-hostile": ("diff", "hostile", "tuned", "--top", "20"),
    "diff-widths": ("diff", "hostile", "nameless", "--fail-on", "shape"),
    "diff-refused": ("diff", "hostile", "nowhere"),
}  # fmt: skip


def words(texts: list[str]) -> dict[str, Any]:
    vocabulary = {text: number for number, text in enumerate(texts)}
    return {"added_tokens": [], "model": {"type": "WordLevel", "vocab": vocabulary}}


def numbers(rows: int, width: int, seed: int = 0) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).integers(-9, 10, (rows, width))
    return drawn.astype(np.float32)


@pytest.fixture
def models(
    demo_model: Path, tiny_checkpoint: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders `demo`, `hostile`, `tuned`, `nameless` and `single` in the working directory."""
    table = numbers(16, 4)
    tiny_checkpoint({NAME: table}, config=CONFIG, tokenizer=words(HOSTILE), name="hostile")
    tuned = np.concatenate([table, np.zeros((1, 4), np.float32), table[:1] * 2])
    tuned[:14:2] += numbers(7, 4, seed=1)
    tuned[3, 0] = np.nan
    texts = [HOSTILE[1], HOSTILE[0], *HOSTILE[2:15], "new\x1b[1m|", "[x]", "line\n2"]
    tiny_checkpoint(
        {NAME: tuned, "lm_head.weight": numbers(18, 4, seed=2)},
        config={**CONFIG, "vocab_size": 18, "tie_word_embeddings": False},
        tokenizer=words(texts),
        name="tuned",
    )
    tiny_checkpoint({NAME: numbers(3, 6)}, name="nameless")
    tiny_checkpoint({NAME: numbers(1, 6)}, name="single")
    assert demo_model == tmp_path / "demo"
    monkeypatch.chdir(tmp_path)


def _shortened(found: re.Match[str]) -> str:
    return f"{float(found[0]):.4g}" if found[1] else f"{float(found[0]):.12g}"


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize("case", CASES)
def test_golden(run: Callable[..., Run], case: str, output_format: str) -> None:
    command = CASES[case]
    result = run(*command, "--format", output_format)
    result = replace(result, out=_NOISE.sub(_shortened, result.out))
    shown = " ".join(
        ("embcalc", *(repr(word) if " " in word or not word else word for word in command))
    )
    check(f"explore/{case}-{output_format}", f"{shown} --format {output_format}", result)
    if output_format == "text":
        assert all(cell_len(line) <= 80 for line in result.out.splitlines())
    assert all(char.isprintable() or char == "\n" for char in result.out + result.err)
