"""Folders of tokenizer files, built in a temporary place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from embcalc.core.files import Folder
from embcalc.sources.local import LocalFolder

Content = str | bytes | Mapping[str, Any] | list[Any]


def folder(path: Path, files: Mapping[str, Content]) -> Folder:
    """Write files (JSON where the content is no text) and open their folder."""
    for name, content in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            target.write_bytes(content)
        elif isinstance(content, str):
            target.write_text(content, "utf-8", newline="")
        else:
            target.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    return LocalFolder(path, str(path))


def added_token(text: str, token_id: int, *, special: bool = True) -> dict[str, Any]:
    """An entry of `added_tokens`."""
    return {
        "id": token_id,
        "content": text,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": special,
    }


def model(kind: str, vocab: Mapping[str, int] | list[list[Any]]) -> dict[str, Any]:
    """The `model` of a tokenizer.json."""
    extra: dict[str, dict[str, Any]] = {
        "BPE": {"merges": []},
        "WordLevel": {"unk_token": "a"},
        "WordPiece": {
            "unk_token": "a",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
        },
        "Unigram": {"unk_id": 0},
    }
    return {"type": kind, "vocab": vocab, **extra[kind]}


def tokenizer(
    vocab: Mapping[str, int] | list[list[Any]] | int = 10,
    added: list[dict[str, Any]] | None = None,
    kind: str = "BPE",
    **parts: object,
) -> dict[str, Any]:
    """A whole tokenizer.json; a number stands for that many tokens `t0`, `t1`, …"""
    if isinstance(vocab, int):
        vocab = {f"t{index}": index for index in range(vocab)}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added or [],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        **parts,
        "model": model(kind, vocab),
    }
