"""Which file of a folder is its tokenizer, and who reads it."""

from __future__ import annotations

from embcalc.core.files import Folder
from embcalc.errors import TokenizerError
from embcalc.tokenizers.base import Reader
from embcalc.tokenizers.settings import Settings
from embcalc.tokenizers.tokenizer_json import read_tokenizer_json
from embcalc.tokenizers.vocab_txt import read_vocab_txt

KNOWN = ("tokenizer.json", "vocab.txt")


def known_names() -> str:
    """File names that are looked for, for people."""
    return ", ".join(KNOWN)


def is_tokenizer_file(name: str) -> bool:
    """Whether a file's name is that of a vocabulary."""
    return name.rpartition("/")[2] in KNOWN


def find(folder: Folder) -> str | None:
    """The file that holds the vocabulary of a folder."""
    names = folder.names()
    return next((known for known in KNOWN if known in names), None)


def reader_of(folder: Folder, file: str, settings: Settings) -> Reader:
    """The reader of a file.

    Raises:
        TokenizerError: the format is not known.
    """
    if file.endswith(".json"):
        return read_tokenizer_json
    if file.endswith(".txt"):
        return read_vocab_txt
    raise TokenizerError(
        f"{file} is no tokenizer file that embcalc knows", hint=f"known are: {known_names()}"
    )
