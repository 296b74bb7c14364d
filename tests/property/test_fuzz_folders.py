"""Damaged folders through check and inspect: a report of text and JSON, or one of our errors."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.conftest import Run
from tests.tokenizers.folders import folder
from tests.usecases.test_check_vocab_bad_input import FILES, damaged

EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def build(place: Path, chance: random.Random) -> None:
    kept = {name: content for name, content in FILES.items() if chance.random() < 0.7}
    folder(place, {name: damaged(content, chance) for name, content in kept.items()})
    for name in FILES:
        if chance.random() < 0.03:
            (place / name).unlink(missing_ok=True)
            (place / name).mkdir()
    if chance.random() < 0.8:
        table = np.random.default_rng(1).normal(0, 0.02, (104, 4)).astype("f4")
        head = {HEAD: chance.choice([1, 2]) * table} if chance.random() < 0.4 else {}
        save_file({EMBED: table, **head}, place / "model.safetensors")


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("command", ["check", "inspect"])
def test_a_damaged_folder(command: str, seed: int, run: Callable[..., Run], tmp_path: Path) -> None:
    build(tmp_path, random.Random(seed))
    result = run(command, tmp_path, "--format", "json")
    assert result.code in (0, 1, 2)
    if result.code == 2:
        error, *hint = result.err.splitlines()
        assert error.startswith("error: ")
        assert len(hint) <= 1
        return
    assert json.loads(result.out)["schema"].startswith("embcalc/")
