"""The tokenizer of a folder, whatever its format."""

from __future__ import annotations

from collections.abc import Callable

from embcalc.core.files import Folder
from embcalc.core.vocabulary import Vocabulary
from embcalc.errors import TokenizerError
from embcalc.tokenizers.tokenizer_json import read_tokenizer_json
from embcalc.tokenizers.vocab_txt import read_vocab_txt

Reader = Callable[[Folder, str], Vocabulary]
READERS: tuple[tuple[str, Reader], ...] = (
    ("tokenizer.json", read_tokenizer_json),
    ("vocab.txt", read_vocab_txt),
)
"""File name and reader; the first file that a folder has is its tokenizer."""


def read_vocabulary(folder: Folder, name: str | None = None) -> Vocabulary | None:
    """Read the vocabulary of a folder, or the one file of it that is named.

    Args:
        folder: where to look.
        name: a tokenizer file; None looks for one.

    Returns:
        The vocabulary, or None where the folder has no tokenizer.

    Raises:
        TokenizerError: a file is broken, or of no known format.
        SourceError: a file cannot be read.
    """
    if name is not None:
        return _reader(name)(folder, name)
    names = folder.names()
    for known, reader in READERS:
        if known in names:
            return reader(folder, known)
    return None


def _reader(name: str) -> Reader:
    for known, reader in READERS:
        if name.rsplit("/", 1)[-1] == known or name.endswith(known.rsplit(".", 1)[-1]):
            return reader
    raise TokenizerError(
        f"{name} is no tokenizer file that embcalc knows",
        hint="known are: " + ", ".join(known for known, _ in READERS),
    )
