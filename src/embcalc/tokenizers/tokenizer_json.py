"""tokenizer.json of the `tokenizers` library, all model types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from embcalc.core.files import Folder
from embcalc.core.tokenizer_facts import Duplicate, EmittedId, Merges
from embcalc.core.vocabulary import Declared, TextForm, Vocabulary, append_added, is_in_order
from embcalc.errors import TokenizerError
from embcalc.tokenizers.base import BaseRead
from embcalc.tokenizers.files import check_ids, decode_json, read_bytes
from embcalc.tokenizers.repeated import repeated_keys, repeated_texts

NAME = "tokenizer.json"
PARTS = (
    "version", "truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"
)  # fmt: skip
"""What stands in a tokenizer.json beside the vocabulary."""
_ANY_MODEL = {
    "vocab": {"a": 0},
    "merges": [],
    "unk_token": "a",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
}
"""What a model of any type but Unigram may hold."""
_NULL = msgspec.Raw(b"null")
_VERSION = msgspec.Raw(b'"1.0"')


class _AddedToken(msgspec.Struct, gc=False):
    content: str
    id: int
    special: bool = False


class _Model(msgspec.Struct):
    vocab: dict[str, int] | list[tuple[str, float]]
    type: str | None = None
    merges: msgspec.Raw = _NULL
    continuing_subword_prefix: msgspec.Raw = _NULL
    unk_id: msgspec.Raw = _NULL


class _Tokenizer(msgspec.Struct):
    model: _Model
    version: msgspec.Raw = _VERSION
    truncation: msgspec.Raw = _NULL
    padding: msgspec.Raw = _NULL
    added_tokens: msgspec.Raw = _NULL
    normalizer: msgspec.Raw = _NULL
    pre_tokenizer: msgspec.Raw = _NULL
    post_processor: msgspec.Raw = _NULL
    decoder: msgspec.Raw = _NULL


class _RawModel(msgspec.Struct):
    vocab: msgspec.Raw


class _RawTokenizer(msgspec.Struct):
    model: _RawModel


def read_tokenizer_json(folder: Folder, name: str) -> BaseRead:
    """Read a tokenizer.json; everything that has no bearing on ids is skipped over.

    Raises:
        TokenizerError: it is broken, or has no vocabulary.
        SourceError: it cannot be read.
    """
    content = read_bytes(folder, name)
    document = decode_json(content, name, _Tokenizer)
    vocab = document.model.vocab
    if not vocab:
        raise TokenizerError(f"{name} has an empty vocabulary", "download the file again")
    listed = [piece for piece, _ in vocab] if isinstance(vocab, list) else None
    base = _base(vocab)
    in_order = len(base) == len(vocab) and is_in_order(base)
    if not in_order:
        check_ids(base, name)
    added = _added(document.added_tokens, name)
    check_ids([token.id for token in added], name)
    declared = [
        Declared(text=token.content, id=token.id, special=token.special, file=name)
        for token in added
    ]
    vocabulary = Vocabulary(
        format=NAME,
        file=name,
        form=_form(document),
        base=base,
        listed=listed if listed and len(listed) != len(base) else None,
        in_order=in_order,
        added=append_added(base, len(vocab), declared),
    )
    return BaseRead(
        vocabulary=vocabulary,
        base_count=len(vocab),
        emitted=tuple(_emitted(document, name)),
        duplicates=() if in_order else _twice(content, name, listed, base),
        parts=_parts(document),
        merges=_merges(document.model),
    )


def _added(raw: msgspec.Raw, name: str) -> list[_AddedToken]:
    return [] if bytes(raw) == b"null" else decode_json(raw, name, list[_AddedToken])


def _parts(document: _Tokenizer) -> dict[str, bytes]:
    parts = {name: bytes(getattr(document, name)) for name in PARTS}
    if document.model.type == "Unigram":
        unknown = _unknown(document.model)
        parts["model"] = msgspec.json.encode(
            {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": unknown}
        )
    elif document.model.type is not None:
        parts["model"] = msgspec.json.encode({"type": document.model.type, **_ANY_MODEL})
    return parts


def _unknown(model: _Model) -> object:
    """The number of the unknown piece as it stands to a vocabulary of one: 0 within, 1 past it."""
    value: object = msgspec.json.decode(model.unk_id)
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return int(value >= len(model.vocab))
    return value


def _merges(model: _Model) -> Merges | None:
    if model.type != "BPE" or model.merges is _NULL:
        return None
    prefix = msgspec.json.decode(model.continuing_subword_prefix)
    return Merges(memoryview(model.merges), prefix if isinstance(prefix, str) else "")


def _base(vocab: dict[str, int] | list[tuple[str, float]]) -> dict[str, int]:
    if isinstance(vocab, dict):
        return vocab
    return {piece: index for index, (piece, _) in enumerate(vocab)}


def _twice(
    content: bytes, name: str, listed: list[str] | None, base: dict[str, int]
) -> tuple[Duplicate, ...]:
    if listed is not None:
        return repeated_texts(listed, base)
    return repeated_keys(bytes(decode_json(content, name, _RawTokenizer).model.vocab), base)


def _emitted(document: _Tokenizer, name: str) -> Iterator[EmittedId]:
    padding = msgspec.json.decode(document.padding)
    if isinstance(padding, dict) and _is_id(padding.get("pad_id")):
        text = str(padding.get("pad_token", ""))
        yield EmittedId(where="padding.pad_id", id=padding["pad_id"], text=text, file=name)
    seen = set()
    for text, token_id in _processed(msgspec.json.decode(document.post_processor), depth=4):
        if (text, token_id) not in seen:
            seen.add((text, token_id))
            yield EmittedId(where="post_processor", id=token_id, text=text, file=name)


def _processed(part: object, depth: int) -> Iterator[tuple[str, int]]:
    """Texts and ids of a post-processor: templates, BERT's and RoBERTa's pairs, sequences."""
    if not isinstance(part, dict) or not depth:
        return
    for inner in _items(part.get("processors")):
        yield from _processed(inner, depth - 1)
    for pair in (part.get("cls"), part.get("sep")):
        if isinstance(pair, list) and len(pair) == 2 and _is_id(pair[1]):
            yield str(pair[0]), pair[1]
    special = part.get("special_tokens")
    for entry in special.values() if isinstance(special, dict) else ():
        yield from _templated(entry)


def _templated(entry: object) -> Iterator[tuple[str, int]]:
    if isinstance(entry, dict):
        pairs = zip(_items(entry.get("tokens")), _items(entry.get("ids")), strict=False)
        yield from ((str(text), token_id) for text, token_id in pairs if _is_id(token_id))


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _form(document: _Tokenizer) -> TextForm:
    steps = b" ".join(
        bytes(part) for part in (document.normalizer, document.pre_tokenizer, document.decoder)
    )
    if b'"ByteLevel"' in steps:
        return TextForm.BYTE_LEVEL
    if document.model.type == "WordPiece":
        return TextForm.WORDPIECE
    if document.model.type == "Unigram" or b'"Metaspace"' in steps or "▁".encode() in steps:
        return TextForm.SENTENCEPIECE
    return TextForm.PLAIN
