"""The id that fills short sequences up, as the tokenizer's files declare it."""

from __future__ import annotations

import msgspec

from embcalc.core.files import Folder
from embcalc.core.vocabulary import Vocabulary
from embcalc.tokenizers.files import read_json
from embcalc.tokenizers.settings import read_settings


class _Padding(msgspec.Struct):
    pad_id: int | None = None


class _File(msgspec.Struct):
    padding: _Padding | None = None


def declared_pad(folder: Folder, vocabulary: Vocabulary | None) -> tuple[int, str] | None:
    """Find the pad id: the pad token of the settings, then the padding of tokenizer.json.

    Returns:
        The id and where it stands, or None where no file names one.

    Raises:
        TokenizerError: tokenizer.json is broken.
        SourceError: a file cannot be read.
    """
    if vocabulary is None:
        return None
    for key, text, file in read_settings(folder, prefix_of(vocabulary)).named():
        token = vocabulary.id(text) if key == "pad_token" else None
        if token is not None:
            return token, f"{file}:pad_token"
    if vocabulary.format != "tokenizer.json":
        return None
    padding = read_json(folder, vocabulary.file, _File).padding
    if padding is None or padding.pad_id is None:
        return None
    return padding.pad_id, f"{vocabulary.file}:padding.pad_id"


def prefix_of(vocabulary: Vocabulary) -> str:
    """The folder of a vocabulary's file inside its model's, with its slash."""
    folder = vocabulary.file.rpartition("/")[0]
    return f"{folder}/" if folder else ""
