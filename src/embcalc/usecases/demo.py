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
    nothing half-written. A folder that holds the same files already is left as it is.

    Returns:
        The names of the model's files.

    Raises:
        UsageError: the folder holds something else, or cannot be written.
    """
    files = _files()
    parent = folder.absolute().parent
    try:
        if _holds(folder, files):
            return tuple(files)
        _require_empty(folder)
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".embcalc-demo-", dir=parent) as scratch:
            made = Path(scratch) / "model"
            made.mkdir()
            for name, content in files.items():
                (made / name).write_bytes(content)
            made.replace(folder.absolute())
    except OSError as error:
        raise UsageError(
            f"cannot write {folder}: {error.strerror or error}",
            hint="choose a folder that you may write to",
        ) from error
    return tuple(files)


def _holds(folder: Path, files: dict[str, bytes]) -> bool:
    """Whether each of the files is there with this very content."""
    paths = [(folder / name, content) for name, content in files.items()]
    return all(
        path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content
        for path, content in paths
    )


def _require_empty(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(
            f"{folder} is a file, not a folder", hint="name a folder: embcalc demo tiny"
        )
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"{folder} is there and holds something else than the demo; nothing was written",
            hint="name a new folder: embcalc demo my-demo",
        )


def _files() -> dict[str, bytes]:
    import numpy as np
    from safetensors.numpy import save

    return {
        "config.json": _json(_config()),
        "tokenizer.json": _json(_tokenizer()),
        "model.safetensors": save(
            {"model.embed_tokens.weight": np.array(ROWS, dtype=np.float32)},
            metadata={"format": "pt"},
        ),
    }


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
