"""Whole outputs of `embcalc estimate` and `embcalc presets`, for people to read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.golden.compare import check

BARE = "--vocab-size 150000 --hidden-size 2560"
CASES = {
    "bare": BARE,
    "bert": "bert-base-uncased --precision mixed",
    "llama-3-8b": "llama-3-8b",
    "growth-untied": "llama-2-7b --precision amp --add-tokens 5 --pad-to 64",
    "growth-unknown": f"{BARE} --precision mixed --add-tokens 3",
    "batch": f"{BARE} --tied --precision bf16 --batch-size 64 --seq-len 2048",
    "ranks": "gpt2 --precision mixed-master --zero-stage 2 --data-parallel 8 --tensor-parallel 8",
    "pipeline": f"{BARE} --pipeline-parallel 4",
    "budget": f"{BARE} --budget 5GB --batch-size 1 --seq-len 512",
    "budget-exceeded": f"{BARE} --tied --precision fp32 --budget 5GiB",
    "rows": "qwen2.5-0.5b --precision mixed --trainable-rows 22",
    "frozen": "gpt2 --frozen --precision fp32",
    "sparse": f"{BARE} --untied --precision fp32 --optimizer sparse-adam",
    "eight-bit": f"{BARE} --untied --precision bf16 --optimizer adamw8bit",
    "sgd": f"{BARE} --tied --optimizer sgd",
    "amsgrad": f"{BARE} --tied --optimizer amsgrad",
    "explain": "gpt2 --precision mixed --explain --batch-size 8 --seq-len 1024 --add-tokens 1"
    " --tensor-parallel 2 --budget 1GB",
    "explain-chunked": f"{BARE} --tied --precision bf16 --explain --batch-size 8 --seq-len 1024"
    " --loss chunked",
    "markdown": f"{BARE} --precision mixed --precision fp32 --add-tokens 3 --pad-to 64"
    " --batch-size 2 --seq-len 8 --tensor-parallel 2 --budget 5GB --format markdown",
    "markdown-explain": "gpt2 --precision mixed --explain --format markdown",
    "csv": f"{BARE} --precision mixed --format csv",
    "json": "bert-base-uncased --precision mixed --batch-size 2 --seq-len 8 --add-tokens 1"
    " --budget 1GB --zero-stage 1 --data-parallel 2 --explain --format json",
    "override": "llama-3-8b --precision mixed --vocab-size 128300 --tied",
    "override-width": "gpt2 --precision mixed --hidden-size 1024",
    "unknown-preset": "llama-9-8b",
    "no-sizes": "--vocab-size 5",
}


@pytest.mark.parametrize("name", CASES)
def test_estimate(run: Callable[..., Run], name: str) -> None:
    result = run("estimate", *CASES[name].split())
    check(f"estimate/{name}", f"embcalc estimate {CASES[name]}", result)
    if "--format" not in CASES[name]:
        assert max(map(len, result.out.splitlines()), default=0) <= 80


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("text", "bert"),
        ("json", "gpt2-xl --format json"),
        ("csv", "opt --format csv"),
        ("markdown", "gemma 2b --format markdown"),
        ("nothing", "bert 70b"),
    ],
)
def test_presets(run: Callable[..., Run], name: str, arguments: str) -> None:
    result = run("presets", *arguments.split())
    check(f"presets/{name}", f"embcalc presets {arguments}", result)


def test_every_preset_is_listed_in_80_columns(run: Callable[..., Run]) -> None:
    lines = run("presets").out.splitlines()
    assert len(lines) > 41
    assert max(map(len, lines)) <= 80


def test_hostile_names_reach_no_terminal(
    run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "a\x1b[31m|b`<b>.json"
    config = {"vocab_size": 10, "hidden_size": 4, "model_type": "x\x1b]0;y\x07\n::error::|"}
    Path(name).write_text(json.dumps(config), "utf-8")
    for output_format in ("text", "markdown", "csv", "json"):
        result = run("estimate", name, "--precision", "mixed", "--format", output_format)
        assert result.code == 0
        assert "\x1b" not in result.out + result.err
        assert "\x07" not in result.out + result.err
        check(f"estimate/hostile-{output_format}", "embcalc estimate HOSTILE", result)
