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


@pytest.mark.parametrize(("outer", "inner"), [(True, False), (False, True)])
@pytest.mark.parametrize(("head", "verdict"), [(False, "tied"), (True, "untied")])
def test_a_nested_config_that_says_both_is_no_alarm(
    run: Callable[..., Run],
    tiny_checkpoint: Callable[..., Path],
    outer: bool,
    inner: bool,
    head: bool,
    verdict: str,
) -> None:
    table = np.random.default_rng(1).normal(size=(64, 16)).astype(np.float32)
    tensors = {"language_model.model.embed_tokens.weight": table}
    if head:
        tensors["language_model.lm_head.weight"] = table[::-1].copy()
    text = {"model_type": "mistral", "vocab_size": 64, "hidden_size": 16}
    config = {
        "model_type": "mistral3",
        "architectures": ["Mistral3ForConditionalGeneration"],
        "tie_word_embeddings": outer,
        "text_config": {**text, "tie_word_embeddings": inner},
    }
    folder = tiny_checkpoint(tensors, config=config)
    assert run("inspect", folder, "--format", "json").json["tying"]["verdict"] == verdict
    findings = run("check", folder, "--select", "EMB4", "--format", "json").json["findings"]
    assert findings == []
    shared = run("estimate", folder, "--format", "json").json["tables"][1]["shared"]
    assert shared == (verdict == "tied")
