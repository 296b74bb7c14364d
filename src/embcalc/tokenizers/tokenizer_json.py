"""tokenizer.json of the `tokenizers` library, all model types."""

from __future__ import annotations

import msgspec

from embcalc.core.files import Folder
from embcalc.core.vocabulary import Declared, TextForm, Vocabulary, append_added
from embcalc.errors import TokenizerError
from embcalc.tokenizers.files import check_ids, read_json

NAME = "tokenizer.json"


class _AddedToken(msgspec.Struct):
    content: str
    id: int
    special: bool = False


class _Model(msgspec.Struct):
    vocab: dict[str, int] | list[tuple[str, float]]
    type: str | None = None


class _Tokenizer(msgspec.Struct):
    model: _Model
    added_tokens: list[_AddedToken] | None = None
    normalizer: msgspec.Raw = msgspec.Raw(b"null")
    pre_tokenizer: msgspec.Raw = msgspec.Raw(b"null")
    decoder: msgspec.Raw = msgspec.Raw(b"null")


def read_tokenizer_json(folder: Folder, name: str) -> Vocabulary:
    """Read a tokenizer.json; everything that has no bearing on ids is skipped over.

    Raises:
        TokenizerError: it is broken, or has no vocabulary.
        SourceError: it cannot be read.
    """
    document = read_json(folder, name, _Tokenizer)
    vocab = document.model.vocab
    if not vocab:
        raise TokenizerError(f"{name} has an empty vocabulary", "download the file again")
    listed = [piece for piece, _ in vocab] if isinstance(vocab, list) else None
    if isinstance(vocab, list):
        base = {piece: index for index, (piece, _) in enumerate(vocab)}
    else:
        base = vocab
        check_ids(base, name)
    declared = [
        Declared(text=token.content, id=token.id, special=token.special, file=name)
        for token in document.added_tokens or ()
    ]
    return Vocabulary(
        format=NAME,
        file=name,
        form=_form(document),
        base=base,
        listed=listed if listed and len(listed) != len(base) else None,
        added=append_added(base, len(vocab), declared),
    )


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
