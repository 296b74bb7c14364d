"""The id that fills short sequences up, as the tokenizer's files declare it."""

from __future__ import annotations

from typing import Any

import msgspec

from embcalc.core.files import Folder
from embcalc.core.vocabulary import Vocabulary
from embcalc.tokenizers.files import read_json


class _Padding(msgspec.Struct):
    pad_id: int | None = None


class _File(msgspec.Struct):
    padding: _Padding | None = None


def declared_pad(folder: Folder, vocabulary: Vocabulary | None) -> tuple[int, str] | None:
    """Find the pad id: the pad token of the settings, then the padding of tokenizer.json.

    Returns:
        The id and where it stands, or None where no file names one.

    Raises:
        TokenizerError: a file is not valid JSON.
        SourceError: a file cannot be read.
    """
    if vocabulary is None:
        return None
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        text = _token_text(settings(folder, name).get("pad_token"))
        token = None if text is None else vocabulary.id(text)
        if token is not None:
            return token, f"{name}:pad_token"
    if vocabulary.format != "tokenizer.json":
        return None
    padding = read_json(folder, vocabulary.file, _File).padding
    if padding is None or padding.pad_id is None:
        return None
    return padding.pad_id, f"{vocabulary.file}:padding.pad_id"


def settings(folder: Folder, name: str) -> dict[str, Any]:
    """The object in a small JSON file, {} where the folder has none.

    Raises:
        TokenizerError: it is not valid JSON.
        SourceError: it cannot be read.
    """
    if name not in folder.names():
        return {}
    return read_json(folder, name, dict[str, Any])


def _token_text(value: Any) -> str | None:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else None
