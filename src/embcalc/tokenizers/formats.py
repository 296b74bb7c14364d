"""Which file of a folder is its tokenizer, and who reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from embcalc.core.files import Folder, read_small
from embcalc.errors import EmbcalcError, TokenizerError
from embcalc.tokenizers.base import BaseRead, Reader
from embcalc.tokenizers.byte_level import MAKERS
from embcalc.tokenizers.fairseq_dict import read_fairseq_dict
from embcalc.tokenizers.rwkv import read_rwkv
from embcalc.tokenizers.sentencepiece_model import sentencepiece_reader
from embcalc.tokenizers.settings import Settings
from embcalc.tokenizers.tekken import read_tekken
from embcalc.tokenizers.tiktoken_file import looks_like_tiktoken, read_tiktoken
from embcalc.tokenizers.tokenizer_json import read_tokenizer_json
from embcalc.tokenizers.vocab_json import read_m2m100, read_vocab_json
from embcalc.tokenizers.vocab_txt import read_vocab_txt

PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"tokenizer\.json",
        r"tekken\w*\.json",
        r"(vocab|encoder|vocab-src)\.json",
        r"(tokenizer|spiece|spm|sentencepiece\.bpe|sentencepiece|source)(\.model|\.spm)",
        r"[^/]+\.tiktoken",
        r"rwkv_vocab\w*\.txt",
        r"vocab\.txt",
        r"[^/]+\.(model(\.v\w+)?|spm)",
        r"[^/]+\.gguf",
    )
)
"""Names of vocabulary files; the first that fits wins."""
KNOWN = (
    "tokenizer.json, tekken.json, vocab.json, *.model, *.tiktoken, rwkv_vocab*.txt, vocab.txt, "
    "*.gguf"
)


def known_names() -> str:
    """File names that are looked for, for people."""
    return KNOWN


def is_tokenizer_file(name: str) -> bool:
    """Whether a file's name is that of a vocabulary and of nothing else."""
    leaf = name.rpartition("/")[2]
    return not leaf.endswith(".gguf") and any(pattern.fullmatch(leaf) for pattern in PATTERNS)


def find(folder: Folder) -> str | None:
    """The file that holds the vocabulary of a folder; those in folders below come last."""
    names = sorted(folder.names(), key=lambda name: (name.count("/"), name))
    here = [name for name in names if "/" not in name]
    return _first(here) or _first(n for n in names if n.startswith("tokenizer/"))


def _first(names: Iterable[str]) -> str | None:
    listed = list(names)
    return next(
        (
            name
            for pattern in PATTERNS
            for name in listed
            if pattern.fullmatch(name.rpartition("/")[2])
        ),
        None,
    )


def kind_of(folder: Folder, settings: Settings) -> str:
    """The tokenizer class in lower case without `Tokenizer`, else one guessed from model_type."""
    if settings.tokenizer_class:
        return settings.tokenizer_class.removesuffix("Tokenizer").lower()
    try:
        content = read_small(folder, "config.json")
        kind = msgspec.json.decode(content, type=_Config).model_type if content else None
    except (EmbcalcError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        kind = None
    plain = (kind or "").replace("-", "").replace("_", "").lower()
    return _BY_MODEL.get(plain, plain)


class _Config(msgspec.Struct):
    model_type: str | None = None


_BY_MODEL = {
    "mt5": "t5",
    "umt5": "t5",
    "longt5": "t5",
    "switchtransformers": "t5",
    "m2m100": "nllb",
    "nllbmoe": "nllb",
    "bigbirdpegasus": "pegasus",
    "pegasusx": "pegasus",
    "xlmrobertaxl": "xlmroberta",
    "xmod": "xlmroberta",
}
"""Model types whose tokenizer class has another name. M2M100 proper has a vocab.json."""


def byte_tokenizer(folder: Folder, settings: Settings) -> BaseRead | None:
    """The vocabulary of a class that needs no file, or None."""
    maker = MAKERS.get(kind_of(folder, settings))
    return maker(settings) if maker else None


def reader_of(folder: Folder, file: str, settings: Settings) -> Reader:
    """The reader of a file, by its name and, where that says too little, its first bytes.

    Raises:
        TokenizerError: the format is not known.
        SourceError: the file cannot be read.
    """
    leaf = file.rpartition("/")[2].lower()
    if leaf.endswith(".json"):
        return _json_reader(leaf, folder, settings)
    if leaf.endswith(".txt"):
        return _text_reader(leaf, folder, settings)
    if leaf.endswith(".gguf"):
        from embcalc.tokenizers.gguf_vocabulary import read_gguf_vocabulary

        return read_gguf_vocabulary
    if leaf.endswith((".tiktoken", ".spm")) or ".model" in leaf:
        if looks_like_tiktoken(folder.open(file).read(0, 4096)) or leaf.endswith(".tiktoken"):
            return read_tiktoken
        return sentencepiece_reader(kind_of(folder, settings), settings)
    raise TokenizerError(
        f"{file} is no tokenizer file that embcalc knows", hint=f"known are: {known_names()}"
    )


def _json_reader(leaf: str, folder: Folder, settings: Settings) -> Reader:
    if leaf.startswith("tekken"):
        return read_tekken
    if leaf.startswith(("vocab", "encoder")):
        if kind_of(folder, settings) in ("m2m100", "nllb"):
            return read_m2m100
        return read_vocab_json
    return read_tokenizer_json


def _text_reader(leaf: str, folder: Folder, settings: Settings) -> Reader:
    if leaf.startswith("rwkv"):
        return read_rwkv
    if kind_of(folder, settings) in ("phobert", "bertweet"):
        return read_fairseq_dict
    return read_vocab_txt
