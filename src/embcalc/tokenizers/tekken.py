"""tekken.json of Mistral: ranked bytes behind a block of special tokens."""

from __future__ import annotations

from binascii import a2b_base64

import msgspec

from embcalc.core.files import Folder
from embcalc.core.vocabulary import TextForm, Token, Vocabulary
from embcalc.errors import TokenizerError
from embcalc.tokenizers.base import BaseRead
from embcalc.tokenizers.files import read_json
from embcalc.tokenizers.raw_bytes import written

FORMAT = "tekken"
NAME = "tekken.json"
OLD_SPECIALS = (
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
)
"""Special tokens of files that list none (up to v3)."""


class _Entry(msgspec.Struct):
    rank: int
    token_bytes: str


class _Special(msgspec.Struct):
    rank: int
    token_str: str


class _Config(msgspec.Struct):
    default_vocab_size: int
    default_num_special_tokens: int


class _Tekken(msgspec.Struct):
    config: _Config
    vocab: list[_Entry]
    special_tokens: list[_Special] | None = None


def read_tekken(folder: Folder, name: str) -> BaseRead:
    """Read a tekken.json: specials take the first ids, a text's id is its rank behind them.

    More entries may be listed than are used: default_vocab_size counts all ids.

    Raises:
        TokenizerError: it is broken, or its sizes are impossible.
        SourceError: it cannot be read.
    """
    document = read_json(folder, name, _Tekken)
    reserved = document.config.default_num_special_tokens
    used = document.config.default_vocab_size - reserved
    if reserved < 0 or not 0 < used <= len(document.vocab):
        raise TokenizerError(
            f"{name} asks for {used:,} of {len(document.vocab):,} entries",
            hint="download the file again",
        )
    base = _base(document, reserved, used, name)
    listed = document.special_tokens
    texts = {s.rank: s.token_str for s in listed} if listed else dict(enumerate(OLD_SPECIALS))
    specials = [texts.get(rank, f"<SPECIAL_{rank}>") for rank in range(reserved)]
    added = tuple(
        Token(text=text, id=rank, declared_id=rank, special=True, file=name)
        for rank, text in enumerate(specials)
    )
    whole = {text: rank for rank, text in enumerate(specials)} | base
    vocabulary = Vocabulary(
        format=FORMAT, file=name, form=TextForm.BYTE_LEVEL, base=whole, added=added
    )
    return BaseRead(vocabulary=vocabulary)


def _base(document: _Tekken, reserved: int, used: int, name: str) -> dict[str, int]:
    base = {}
    try:
        for entry in document.vocab[:used]:
            base[written(a2b_base64(entry.token_bytes, strict_mode=True))] = entry.rank + reserved
    except ValueError as error:
        raise TokenizerError(
            f"{name} holds invalid base64: {error}", hint="download the file again"
        ) from error
    return base
