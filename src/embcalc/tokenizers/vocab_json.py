"""vocab.json of GPT-2, RoBERTa, Marian, M2M100 and their kin: text to id."""

from __future__ import annotations

from dataclasses import replace

from embcalc.core.files import Folder
from embcalc.core.vocabulary import Declared, TextForm, Vocabulary, append_added
from embcalc.errors import TokenizerError
from embcalc.tokenizers.base import BaseRead
from embcalc.tokenizers.files import check_ids, decode_json, read_bytes
from embcalc.tokenizers.languages import M2M100
from embcalc.tokenizers.repeated import repeated_keys

NAME = "vocab.json"


def read_vocab_json(folder: Folder, name: str) -> BaseRead:
    """Read a vocab.json: the ids are those of the file.

    Raises:
        TokenizerError: it is broken, or empty.
        SourceError: it cannot be read.
    """
    content = read_bytes(folder, name)
    base = decode_json(content, name, dict[str, int])
    if not base:
        raise TokenizerError(f"{name} has an empty vocabulary", "download the file again")
    check_ids(base, name)
    return BaseRead(
        vocabulary=Vocabulary(format=NAME, file=name, form=_form(base), base=base),
        duplicates=repeated_keys(content, base),
    )


def read_m2m100(folder: Folder, name: str) -> BaseRead:
    """Read the vocab.json of M2M100, whose class appends 100 language codes.

    Raises:
        TokenizerError: it is broken, or empty.
        SourceError: it cannot be read.
    """
    read = read_vocab_json(folder, name)
    codes = [Declared(text=text, special=True, file=name) for text in M2M100]
    base = read.vocabulary.base
    added = append_added(base, len(base), codes)
    return replace(read, vocabulary=replace(read.vocabulary, added=added))


def _form(base: dict[str, int]) -> TextForm:
    if any("Ġ" in text for text in base):
        return TextForm.BYTE_LEVEL
    if any(text.startswith("▁") for text in base):
        return TextForm.SENTENCEPIECE
    return TextForm.PLAIN
