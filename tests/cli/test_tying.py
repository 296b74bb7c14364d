"""What three commands say of the head of a file that holds nothing but its token table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Run

SAID = [
    ({"model_type": "llama", "tie_word_embeddings": True}, "tied", True),
    ({"model_type": "llama", "tie_word_embeddings": False}, "head-missing", True),
    ({"model_type": "gpt2"}, "tied", True),
    ({"model_type": "llama"}, "no-head", False),
    ({"model_type": "gpt2", "architectures": ["GPT2Model"]}, "no-head", False),
    ({"model_type": "marian", "architectures": ["MarianMTModel"]}, "tied", True),
    ({"model_type": "electra", "architectures": ["ElectraForPreTraining"]}, "no-head", False),
]
"""A config, the verdict, and whether the head is counted."""


@pytest.mark.parametrize(("said", "verdict", "counted"), SAID)
def test_what_a_config_says_outweighs_that_only_a_table_is_stored(
    run: Callable[..., Run],
    tiny_checkpoint: Callable[..., Path],
    said: dict[str, Any],
    verdict: str,
    counted: bool,
) -> None:
    table = np.ones((8, 4), np.float32)
    config = {"vocab_size": 8, "hidden_size": 4, **said}
    folder = tiny_checkpoint({"model.embed_tokens.weight": table}, config=config)
    assert run("inspect", folder, "--format", "json").json["tying"]["verdict"] == verdict
    tables = run("estimate", folder, "--format", "json").json["tables"]
    assert [table["role"] for table in tables] == ["token"] + ["output"] * counted
    findings = run("check", folder, "--format", "json").json["findings"]
    missing = [finding["rule"] for finding in findings if finding["rule"] == "EMB402"]
    assert missing == ["EMB402"] * (verdict == "head-missing")
