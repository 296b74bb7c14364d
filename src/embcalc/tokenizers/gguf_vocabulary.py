"""The vocabulary in the metadata of a GGUF file."""

from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.files import Folder
from embcalc.core.gguf import GgufHeader, read_header, read_numbers, read_strings
from embcalc.core.special_ids import SpecialId
from embcalc.core.vocabulary import TextForm, Token, Vocabulary
from embcalc.errors import TokenizerError
from embcalc.tokenizers.base import BaseRead
from embcalc.tokenizers.repeated import repeated_texts

FORMAT = "gguf"
TOKENS = "tokenizer.ggml.tokens"
TYPES = "tokenizer.ggml.token_type"
CONTROL, USER_DEFINED = 3, 4
NAMES = {"bos": "bos", "eos": "eos", "padding": "pad", "unknown": "unk", "seperator": "sep"}
"""Names of special ids in the metadata ("seperator" is the format's spelling) and elsewhere."""
_FORMS = {"gpt2": TextForm.BYTE_LEVEL, "rwkv": TextForm.PLAIN}


def read_gguf_vocabulary(folder: Folder, name: str) -> BaseRead:
    """Read the tokens of a GGUF file; merges and scores are stepped over.

    Raises:
        TokenizerError: the file is broken, or holds no vocabulary.
        SourceError: it cannot be read.
    """
    file = folder.open(name)
    header = read_header(file)
    texts = read_strings(file, header, TOKENS)
    if not texts:
        raise TokenizerError(
            f"{name} holds no vocabulary", hint="give the tokenizer with --tokenizer PATH"
        )
    base = {text: index for index, text in enumerate(texts)}
    types = read_numbers(file, header, TYPES)
    kinds = types.tolist() if types is not None else []
    added = tuple(
        Token(text=texts[i], id=i, special=kind == CONTROL, file=name)
        for i, kind in enumerate(kinds[: len(texts)])
        if kind in (CONTROL, USER_DEFINED)
    )
    vocabulary = Vocabulary(
        format=FORMAT,
        file=name,
        form=_FORMS.get(header.text("tokenizer.ggml.model") or "", TextForm.SENTENCEPIECE),
        base=base,
        listed=texts if len(base) != len(texts) else None,
        added=added,
    )
    stated = tuple(_stated(header, name))
    named = {
        f"{special.name.removesuffix('_id')}": texts[special.ids[0]]
        for special in stated
        if 0 <= special.ids[0] < len(texts)
    }
    return BaseRead(
        vocabulary=vocabulary,
        base_count=len(texts),
        duplicates=repeated_texts(texts, base),
        named=named,
        stated=stated,
    )


def _stated(header: GgufHeader, name: str) -> Iterator[SpecialId]:
    for written, usual in NAMES.items():
        token_id = header.integer(f"tokenizer.ggml.{written}_token_id")
        if token_id is not None:
            source = f"{name}:tokenizer.ggml.{written}_token_id"
            yield SpecialId(f"{usual}_token_id", (token_id,), source)
