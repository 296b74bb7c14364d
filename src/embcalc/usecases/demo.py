"""A model small enough to read with the eye."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from embcalc.errors import UsageError

TOKENS = ("PAD", "我", "爱", "学习", "你", "！")
ROWS = (
    (0.0, 0.0, 0.0, 0.0),
    (0.2, -0.1, 0.7, 0.4),
    (-0.3, 0.8, 0.1, 0.5),
    (0.6, 0.2, -0.4, 0.9),
    (0.1, -0.5, 0.9, 0.3),
    (-0.2, 0.4, 0.5, -0.6),
)


def write_demo(folder: Path) -> tuple[str, ...]:
    """Write a tiny, complete model: six tokens, width 4, tied head.

    The files are made beside `folder` and moved there in one step, so an interrupted run leaves
    nothing half-written.

    Returns:
        The names of the files written.

    Raises:
        UsageError: the folder holds something already, or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder} is not an empty folder; nothing was written",
            hint="name a new folder: embcalc demo my-demo",
        )
    parent = folder.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".embcalc-demo-", dir=parent) as scratch:
            made = Path(scratch) / "model"
            made.mkdir()
            names = _write_files(made)
            made.replace(folder.absolute())
    except OSError as error:
        raise UsageError(
            f"cannot write {folder}: {error.strerror or error}",
            hint="choose a folder that you may write to",
        ) from error
    return names


def _write_files(folder: Path) -> tuple[str, ...]:
    import numpy as np
    from safetensors.numpy import save

    files = {
        "config.json": _json(_config()),
        "tokenizer.json": _json(_tokenizer()),
        "model.safetensors": save(
            {"model.embed_tokens.weight": np.array(ROWS, dtype=np.float32)},
            metadata={"format": "pt"},
        ),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return tuple(files)


def _json(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def _config() -> dict[str, Any]:
    return {
        "model_type": "llama",
        "vocab_size": len(TOKENS),
        "hidden_size": len(ROWS[0]),
        "num_hidden_layers": 0,
        "tie_word_embeddings": True,
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": 0,
    }


def _tokenizer() -> dict[str, Any]:
    """A WordPiece model without a continuation prefix: the longest known word is taken first."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": {
            "strategy": "BatchLongest",
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "PAD",
        },
        "added_tokens": [
            {
                "id": 0,
                "content": "PAD",
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
        ],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {
            "type": "WordPiece",
            "unk_token": "PAD",
            "continuing_subword_prefix": "",
            "max_input_chars_per_word": 100,
            "vocab": {text: index for index, text in enumerate(TOKENS)},
        },
    }
