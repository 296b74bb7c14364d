"""tiktoken vocabularies: base64 of the bytes and a rank on each line."""

from __future__ import annotations

import re
from binascii import a2b_base64

from embcalc.core.files import Folder
from embcalc.core.vocabulary import TextForm, Vocabulary
from embcalc.errors import TokenizerError
from embcalc.tokenizers.base import BaseRead
from embcalc.tokenizers.files import check_ids, read_bytes
from embcalc.tokenizers.raw_bytes import written

FORMAT = "tiktoken"
_LINE = re.compile(rb"([A-Za-z0-9+/]+={0,2}|=)[ \t]+(\d{1,10})\r?$", re.MULTILINE)
_FIRST = re.compile(rb"\A[A-Za-z0-9+/]+={0,2} \d+\r?\n")


def looks_like_tiktoken(content: bytes) -> bool:
    """Whether a file begins as tiktoken files do (`tokenizer.model` may be either kind)."""
    return _FIRST.match(content[:4096]) is not None


def read_tiktoken(folder: Folder, name: str) -> BaseRead:
    """Read a tiktoken file; its special tokens are in code and not known.

    Raises:
        TokenizerError: it is broken.
        SourceError: it cannot be read.
    """
    content = read_bytes(folder, name)
    base: dict[str, int] = {}
    lines = 0
    for encoded, rank in _LINE.findall(content):
        base[written(_decoded(encoded, name))] = int(rank)
        lines += 1
    expected = sum(1 for line in content.splitlines() if line.strip())
    if not lines or lines != expected:
        raise TokenizerError(
            f"{name} is no tiktoken file: {expected - lines:,} of {expected:,} lines are not "
            "base64 and a rank",
            hint="download the file again",
        )
    check_ids(base, name)
    vocabulary = Vocabulary(format=FORMAT, file=name, form=TextForm.BYTE_LEVEL, base=base)
    return BaseRead(vocabulary=vocabulary, open_ended=True, holes_by_design=True)


def _decoded(encoded: bytes, name: str) -> bytes:
    try:
        return b"" if encoded == b"=" else a2b_base64(encoded, strict_mode=True)
    except ValueError as error:
        raise TokenizerError(
            f"{name} holds invalid base64: {encoded[:40].decode('ascii')}",
            hint="download the file again",
        ) from error
