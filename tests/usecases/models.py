"""Small model folders for the tests of `check`, healthy unless something is changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from tests.tokenizers.folders import tokenizer

Tables = dict[str, NDArray[Any]]
ROWS, WIDTH = 16, 8
EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def tables(rows: int = ROWS, width: int = WIDTH) -> Tables:
    random = np.random.default_rng(3)
    return {name: random.normal(0, 0.02, (rows, width)).astype("f4") for name in (EMBED, HEAD)}


def healthy(
    folder: Path,
    change: Callable[[Tables], object] | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    rows: int = ROWS,
) -> Path:
    """Write a model; `change` alters its tensors first."""
    folder.mkdir(parents=True)
    stored = tables(rows)
    if change is not None:
        change(stored)
    save_file(stored, folder / "model.safetensors")
    document = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": rows,
        "hidden_size": WIDTH,
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
        **(config or {}),
    }
    (folder / "config.json").write_text(json.dumps(document))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(rows)))
    return folder
