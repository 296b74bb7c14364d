"""From text to ids, by running the reference libraries on a folder's tokenizer files.

Only data files are read: a tokenizer that is Python code is never run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from embcalc.core.files import Folder
from embcalc.core.vocabulary import TextForm, Vocabulary
from embcalc.errors import TokenizerError
from embcalc.tokenizers.files import read_json
from embcalc.tokenizers.padding import prefix_of
from embcalc.tokenizers.raw_bytes import written
from embcalc.tokenizers.refusals import LibraryRefusalError, refusals
from embcalc.tokenizers.settings import read_settings

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

    from tokenizers import Tokenizer


class _Model(msgspec.Struct):
    unk_token: str | None = None
    unk_id: int | None = None


class _File(msgspec.Struct):
    model: _Model


NAME = "tokenizer.json"
BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
USE_IDS = "give the ids themselves: --ids 1,2,3"


@dataclass(frozen=True, slots=True)
class Encoded:
    """Ids of one text, never padded and never cut."""

    ids: tuple[int, ...]
    template: tuple[bool, ...]
    """Which ids the tokenizer's template added, such as [CLS]."""


class Encoder(Protocol):
    """Something that turns text into ids."""

    @property
    def file(self) -> str:
        """Name of the file that it was made from, relative to the folder."""

    @property
    def unknown_id(self) -> int | None:
        """The id of text that the vocabulary does not have, or None where there is none."""

    @property
    def truncation(self) -> int | None:
        """Tokens after which the file says to cut, or None. Nothing is cut here."""

    @property
    def has_template(self) -> bool:
        """Whether the files say which ids frame a text; where not, none are added."""

    def encode(self, text: str, *, template: bool) -> Encoded:
        """Encode one text, with or without the ids that the template adds."""


def open_encoder(folder: Folder, vocabulary: Vocabulary | None) -> Encoder:
    """Make the encoder that belongs to a vocabulary.

    Args:
        folder: holds the tokenizer's files.
        vocabulary: as read from the folder; its added tokens are added where the file lacks them.

    Raises:
        TokenizerError: there is no tokenizer, it is broken, or no library here can run it.
        SourceError: a file cannot be read.
    """
    if vocabulary is None:
        raise TokenizerError(f"{folder.label} has no tokenizer to encode text with", hint=USE_IDS)
    if vocabulary.format == NAME:
        return _from_tokenizer_json(folder, vocabulary)
    if vocabulary.format == "sentencepiece":
        return _SentencePieceEncoder(folder, vocabulary)
    if vocabulary.format == "vocab.txt":
        return _wordpiece(folder, vocabulary)
    if vocabulary.format == "vocab.json" and vocabulary.form is TextForm.BYTE_LEVEL:
        return _byte_level(folder, vocabulary)
    if vocabulary.format == "bytes":
        return _ByteEncoder(vocabulary)
    raise TokenizerError(
        f"{vocabulary.file} ({vocabulary.format}) names tokens, but cannot be run to encode text",
        hint=USE_IDS,
    )


class _FastEncoder:
    """`tokenizers`, with padding and truncation switched off."""

    def __init__(
        self, tokenizer: Tokenizer, vocabulary: Vocabulary, unknown_id: int | None
    ) -> None:
        self.file = vocabulary.file
        self.unknown_id = unknown_id
        self.has_template = tokenizer.post_processor is not None or vocabulary.format == NAME
        truncation = tokenizer.truncation
        self.truncation: int | None = truncation["max_length"] if truncation else None
        tokenizer.no_padding()
        tokenizer.no_truncation()
        _add_missing(tokenizer, vocabulary)
        self._tokenizer = tokenizer

    def encode(self, text: str, *, template: bool) -> Encoded:
        """Encode one text."""
        try:
            with refusals():
                encoding = self._tokenizer.encode(text, add_special_tokens=template)
        except LibraryRefusalError as error:
            raise _broken(self.file, "tokenizers", error) from error
        marks = tuple(bool(mark) for mark in encoding.special_tokens_mask)
        return Encoded(tuple(encoding.ids), marks)


def _from_tokenizer_json(folder: Folder, vocabulary: Vocabulary) -> Encoder:
    from tokenizers import Tokenizer

    content = folder.open(vocabulary.file).read()
    try:
        with refusals():
            tokenizer = Tokenizer.from_buffer(content)
    except LibraryRefusalError as error:
        raise _broken(vocabulary.file, "tokenizers", error) from error
    return _FastEncoder(tokenizer, vocabulary, _unknown_id(folder, vocabulary.file, tokenizer))


def _add_missing(tokenizer: Tokenizer, vocabulary: Vocabulary) -> None:
    """Add the tokens that only the files beside it name, as transformers does."""
    from tokenizers import AddedToken

    known = tokenizer.get_added_tokens_decoder()
    for token in vocabulary.added:
        if tokenizer.token_to_id(token.text) is not None and token.id in known:
            continue
        added = AddedToken(token.text, special=token.special, normalized=not token.special)
        add = tokenizer.add_special_tokens if token.special else tokenizer.add_tokens
        add([added])


def _unknown_id(folder: Folder, name: str, tokenizer: Tokenizer) -> int | None:
    """The id of unknown text: WordPiece and BPE name the token, Unigram its number."""
    model = read_json(folder, name, _File).model
    if model.unk_token is not None:
        return tokenizer.token_to_id(model.unk_token)
    return model.unk_id


def _wordpiece(folder: Folder, vocabulary: Vocabulary) -> Encoder:
    """BERT's tokenizer from its vocab.txt; `do_lower_case` is in tokenizer_config.json."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    lowercase = bool(_config(folder, vocabulary).get("do_lower_case", True))
    model = models.WordPiece(dict(vocabulary.base), unk_token="[UNK]")  # noqa: S106 - no password
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens([name for name in BERT_SPECIAL if name in vocabulary.base])
    sep, cls = vocabulary.base.get("[SEP]"), vocabulary.base.get("[CLS]")
    if sep is not None and cls is not None:
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    return _FastEncoder(tokenizer, vocabulary, tokenizer.token_to_id("[UNK]"))


def _byte_level(folder: Folder, vocabulary: Vocabulary) -> Encoder:
    """GPT-2's tokenizer from vocab.json and merges.txt, without any template."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    merges = vocabulary.file.removesuffix("vocab.json") + "merges.txt"
    if merges not in folder.names():
        raise TokenizerError(
            f"{vocabulary.file} needs {merges} beside it to encode text", hint=USE_IDS
        )
    lines = folder.open(merges).read().decode("utf-8", "replace").split("\n")
    pairs = [line.split(" ", 1) for line in lines if " " in line and not line.startswith("#ver")]
    try:
        with refusals():
            model = models.BPE(dict(vocabulary.base), [(pair[0], pair[1]) for pair in pairs])
    except LibraryRefusalError as error:
        raise _broken(merges, "tokenizers", error) from error
    tokenizer = Tokenizer(model)
    space = bool(_config(folder, vocabulary).get("add_prefix_space", False))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=space)
    return _FastEncoder(tokenizer, vocabulary, None)


class _SentencePieceEncoder:
    """`sentencepiece` cuts the text; the vocabulary gives each piece its id.

    Some families shift the ids of the pieces, so the library's own ids are not used.
    """

    truncation: int | None = None
    has_template = False

    def __init__(self, folder: Folder, vocabulary: Vocabulary) -> None:
        from sentencepiece import SentencePieceProcessor

        self.file = vocabulary.file
        self._vocabulary = vocabulary
        self._processor: SentencePieceProcessor = SentencePieceProcessor()
        content = folder.open(vocabulary.file).read()
        try:
            with refusals():
                self._processor.LoadFromSerializedProto(content)
        except LibraryRefusalError as error:
            raise _broken(vocabulary.file, "sentencepiece", error) from error
        unknown = self._processor.IdToPiece(self._processor.unk_id())
        self.unknown_id = vocabulary.base.get(unknown)

    def encode(self, text: str, *, template: bool) -> Encoded:
        """Encode one text; a SentencePiece model has no template of its own."""
        del template
        known = self._vocabulary.base
        ids = []
        for piece in self._processor.EncodeAsPieces(text):
            token = known.get(piece, self.unknown_id)
            if token is None:
                raise TokenizerError(f"{self.file} has no id for {piece!r}", hint=USE_IDS)
            ids.append(token)
        return Encoded(tuple(ids), (False,) * len(ids))


class _ByteEncoder:
    """One id a byte of the UTF-8 text."""

    truncation: int | None = None
    has_template = False
    unknown_id: int | None = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.file = vocabulary.file
        self._ids = [vocabulary.base.get(written(bytes([byte]))) for byte in range(256)]

    def encode(self, text: str, *, template: bool) -> Encoded:
        """Encode one text; a byte tokenizer has no file that could name a template."""
        del template
        ids = tuple(
            token
            for byte in text.encode("utf-8", "replace")
            if (token := self._ids[byte]) is not None
        )
        return Encoded(ids, (False,) * len(ids))


def _config(folder: Folder, vocabulary: Vocabulary) -> Mapping[str, Any]:
    return read_settings(folder, prefix_of(vocabulary)).config


def _broken(file: str, library: str, error: Exception) -> TokenizerError:
    return TokenizerError(f"{file}: {library} cannot run it: {str(error)[:200]}", hint=USE_IDS)
